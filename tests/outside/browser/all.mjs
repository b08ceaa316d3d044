// A hostile page in Chromium. Every attack is carried out twice: against a
// careless daemon, where it has to succeed, and against ours, where nothing may.

import assert from 'node:assert/strict';

import { check, fail, wanted } from '../lib/cases.mjs';
import { packages } from '../lib/packages.mjs';
import { CROSS_ORIGIN, frame, framed, REBOUND } from './attacks.mjs';
import { careless } from './careless.mjs';
import { chromium } from './chromium.mjs';
import { guarded } from './guarded.mjs';
import { resolver, site } from './site.mjs';

// The browser's own walls between the internet and this machine are taken
// down: what is tested is what the daemon does without them.
const NO_WALLS = '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,LocalNetworkAccessChecksWebSockets';
const NAMES = '--host-resolver-rules=MAP *.test 127.0.0.1';

/** Runs everything whose name begins with `browser`. */
export async function browser(given) {
  const require = packages(given.target);
  const targets = {};
  const stops = [];
  try {
    targets.careless = await careless();
    stops.push(targets.careless.stop);
    targets.ours = await guarded(given);
    stops.push(targets.ours.stop);
    const hostile = await site();
    stops.push(hostile.stop);
    const before = await targets.ours.changes();
    const around = { require, targets, hostile };
    await crossOrigin(around);
    await frames(around);
    await rebinding(around);
    await fromThePublic(around);
    await check('browser: nothing was run, changed or sent after all of it', async () => {
      assert.equal(await targets.ours.changes(), before);
      const { status } = await targets.ours.daemon.execution(targets.ours.execution);
      assert.equal(status, 'waiting_for_interaction', 'the question is still open');
    });
    await check('browser: the owner is still served', async () => {
      const { code, stdout, stderr } = await targets.ours.daemon.cli('resume', targets.ours.execution, '--accept', '--yes');
      assert.equal(code, 0, stdout + stderr);
      assert.notEqual(await targets.ours.changes(), before, 'and a change would have been seen');
    });
  } catch (error) {
    fail('browser', error);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

/** Succeeds against the careless daemon, and gets nothing out of ours. */
async function both({ targets }, name, attack, run) {
  await check(name, async () => {
    for (const [who, target] of Object.entries(targets)) {
      const before = await target.changes();
      const evidence = await run(target);
      const after = await target.changes();
      if (who === 'careless') {
        const told = attack.changes ? after !== before : evidence.length > 0;
        assert.ok(told, 'this attack does nothing even where nobody defends: the test is broken');
        continue;
      }
      assert.deepEqual(evidence, []);
      assert.equal(after, before);
    }
  }, { timeoutMs: 120_000 });
}

async function crossOrigin(around) {
  const { require, hostile } = around;
  if (!wanted('browser/cross-origin')) return;
  const { context, stop } = await chromium(require, [NO_WALLS, NAMES]);
  try {
    // Another port of this machine is the same site, a name of its own is not.
    const origins = { sibling: `http://127.0.0.1:${hostile.port}/`, stranger: `http://evil.test:${hostile.port}/` };
    for (const [from, url] of Object.entries(origins)) {
      const page = await context.newPage();
      for (const attack of CROSS_ORIGIN) {
        await both(around, `browser/cross-origin/${from}: ${attack.name}`, attack, async (target) => {
          await page.goto(url);
          return await attack.run(page, target);
        });
      }
      await page.close();
    }
    const page = await context.newPage();
    const attack = CROSS_ORIGIN.find(({ name }) => name === 'reads an answer');
    await both(around, `browser/cross-origin/sandboxed: ${attack.name}`, attack, async (target) => {
      // An origin of its own that is called `null`.
      await page.goto(origins.sibling);
      await page.setContent('<iframe sandbox=allow-scripts srcdoc="<p>x"></iframe>');
      const boxed = await (await page.waitForSelector('iframe')).contentFrame();
      assert.equal(await boxed.evaluate(() => origin), 'null');
      return await attack.run(boxed, target);
    });
  } finally {
    await stop();
  }
}

async function frames(around) {
  const { require, targets, hostile } = around;
  if (!wanted('browser/framed')) return;
  const { context, stop } = await chromium(require, [NO_WALLS, NAMES]);
  try {
    const page = await context.newPage();
    await page.goto(`http://evil.test:${hostile.port}/`);
    await check('browser/framed: a careless daemon is framed', async () => {
      const told = await frame(page, `${targets.careless.origin}/approve/1`);
      assert.ok(told?.text.includes(targets.careless.secrets[0]), JSON.stringify(told));
    });
    for (const path of framed(targets.ours)) {
      const name = path.replaceAll(targets.ours.execution, 'ID').replaceAll(targets.ours.interaction, 'ID');
      await check(`browser/framed: ${name}`, async () => {
        // As somebody without the token, and as the owner, sees it.
        for (const token of [undefined, targets.ours.daemon.token]) {
          const answer = await targets.ours.daemon.http('GET', path, { token, headers: { accept: 'text/html' } });
          if (!/html|xml|svg/.test(answer.headers.get('content-type') ?? '')) continue;
          const policy = answer.headers.get('content-security-policy') ?? '';
          assert.match(policy, /frame-ancestors 'none'/, `${answer.status} with ${token ? 'the' : 'no'} token: ${policy}`);
        }
        const told = await frame(page, targets.ours.origin + path);
        if (!told) return;
        assert.doesNotMatch(told.type, /html|xml|svg/, `it renders: ${JSON.stringify(told)}`);
        for (const secret of targets.ours.secrets) assert.ok(!told.text.includes(secret), JSON.stringify(told));
      });
    }
  } finally {
    await stop();
  }
}

async function rebinding(around) {
  const { require, targets } = around;
  if (!wanted('browser/rebinding')) return;
  await both(around, 'browser/rebinding: the name leads to another address once the page is there', REBOUND, async (target) => {
    // The site listens on the daemon's port at another loopback address.
    const hostile = await site('127.0.0.2', target.port);
    const names = new Map([['rebind.test', '127.0.0.2']]);
    const dns = await resolver(names);
    const { context, stop } = await chromium(require, [
      NO_WALLS,
      `--proxy-server=socks5://127.0.0.1:${dns.port}`,
      '--proxy-bypass-list=<-loopback>',
    ]);
    try {
      const page = await context.newPage();
      await page.goto(`http://rebind.test:${target.port}/`);
      assert.equal(await page.title(), 'A nice page');
      dns.point('rebind.test', '127.0.0.1');
      return await REBOUND.run(page, target);
    } finally {
      await stop();
      await dns.stop();
      await hostile.stop();
    }
  });
  const { context, stop } = await chromium(require, [NO_WALLS, NAMES]);
  try {
    const { port, secrets } = targets.ours;
    for (const host of [`evil.test:${port}`, `localhost.:${port}`, `0.0.0.0:${port}`, `x.localhost:${port}`, `127.1.1.1:${port}`]) {
      await check(`browser/rebinding: http://${host.replace(port, 'PORT')}`, async () => {
        const page = await context.newPage();
        try {
          const answer = await page.goto(`http://${host}/v1/health`).catch((error) => error);
          // Where nobody listens, there is nothing to refuse.
          if (answer instanceof Error) return assert.match(answer.message, /ERR_CONNECTION_REFUSED|ERR_ADDRESS_INVALID|ERR_BLOCKED/);
          assert.ok([400, 403, 421].includes(answer.status()), `${answer.status()}: ${await answer.text()}`);
          const text = await answer.text();
          for (const secret of secrets) assert.ok(!text.includes(secret), text);
        } finally {
          await page.close();
        }
      });
    }
  } finally {
    await stop();
  }
}

/** A page that the browser holds for one of the internet, whose visitor said yes to the local network. */
async function fromThePublic(around) {
  const { require, hostile } = around;
  if (!wanted('browser/public')) return;
  const url = `http://evil.test:${hostile.port}`;
  const { context, stop } = await chromium(require, [
    NAMES,
    `--ip-address-space-overrides=127.0.0.1:${hostile.port}=public`,
    // Only a secure page may ask its visitor, and this one has no certificate.
    `--unsafely-treat-insecure-origin-as-secure=${url}`,
  ]);
  try {
    await context.grantPermissions(['local-network-access'], { origin: url });
    const page = await context.newPage();
    const attack = CROSS_ORIGIN.find(({ name }) => name === 'reads an answer');
    await both(around, `browser/public: ${attack.name}`, attack, async (target) => {
      await page.goto(url);
      return await attack.run(page, target);
    });
    await check('browser/public: no answer invites the public to this machine', async () => {
      const { ours } = around.targets;
      const headers = { origin: url, 'access-control-request-method': 'POST', 'access-control-request-private-network': 'true', 'access-control-request-local-network': 'true' };
      for (const path of ['/', '/v1/health', '/mcp', '/v1/workspaces/default/executions', '/openapi.json']) {
        for (const token of [undefined, ours.daemon.token]) {
          for (const method of ['OPTIONS', 'GET']) {
            const answer = await ours.daemon.http(method, path, { token, headers });
            for (const [name] of answer.headers) assert.ok(!name.startsWith('access-control-allow'), `${method} ${path}: ${name}`);
          }
        }
      }
    });
  } finally {
    await stop();
  }
}
