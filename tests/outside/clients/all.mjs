// Every client against one daemon: two SDKs, both transports, all revisions,
// and the inspector's command line.

import assert from 'node:assert/strict';

import { check, fail, until, wanted } from '../lib/cases.mjs';
import { Daemon, Upstream } from '../lib/daemon.mjs';
import { packages } from '../lib/packages.mjs';
import { inspector } from './inspector.mjs';
import { modern } from './modern.mjs';
import { OLDEST, REVISIONS, sdk1 } from './sdk1.mjs';
import { MODERN, sdk2 } from './sdk2.mjs';
import { outcome, suite } from './suite.mjs';

/** Runs everything whose name begins with `clients`. */
export async function clients(given) {
  const require = packages(given.target);
  const one = sdk1(require);
  const two = (mode) => sdk2(require, mode);
  const upstream = await Upstream.start(given.upstream);
  let daemon;
  try {
    daemon = await Daemon.start(given);
    await daemon.addGithub(upstream);
    const mcpToken = await daemon.mcpToken();
    const around = { daemon, upstream, mcpToken };
    for (const [sdk, revision] of [
      [one, REVISIONS[0]],
      [two('legacy'), REVISIONS[0]],
      [two(MODERN), MODERN],
    ]) {
      for (const face of [overHttp(sdk, around), overStdio(sdk, around)]) {
        if (wanted(face.name)) await suite(face, { ...around, revision });
      }
    }
    await revisions(one, two, around);
    await strangers(one, around);
    await modern(two(MODERN), around);
    await inspector(require, around);
    await bridge(one, { ...around, given });
  } catch (error) {
    fail('clients', error);
  } finally {
    await daemon?.stop();
    await upstream.stop();
  }
}

/** A client that comes over streamable HTTP, with a token of its own. */
export function overHttp(sdk, { daemon, mcpToken }) {
  const connect = (query, { token = mcpToken, ...options } = {}) => {
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    const url = new URL(`${daemon.origin}/mcp${query}`);
    return sdk.connect(new sdk.transports.StreamableHTTPClientTransport(url, { requestInit: { headers } }), options);
  };
  return {
    name: `clients/${sdk.name}/http`,
    open: (options) => connect('', options),
    direct: (options) => connect('?tools=direct', options),
  };
}

/** A client that starts `executor mcp`, as editors do. */
export function overStdio(sdk, { daemon }) {
  const connect = (args, options) => {
    const { StdioClientTransport } = sdk.transports;
    const command = { command: daemon.executor, args: ['mcp', ...args], env: daemon.env, stderr: 'ignore' };
    return sdk.connect(new StdioClientTransport(command), options);
  };
  return {
    name: `clients/${sdk.name}/stdio`,
    open: (options) => connect([], options),
    direct: (options) => connect(['--tools', 'github'], options),
  };
}

/** Old clients of the SDK offer old revisions; the newer SDK finds the newest by itself. */
async function revisions(one, two, around) {
  const faces = (sdk) => [overHttp(sdk, around), overStdio(sdk, around)];
  for (const face of faces(one)) {
    for (const protocol of REVISIONS.slice(1)) {
      await check(`${face.name}: revision ${protocol}`, () => says(face, { protocol }, protocol));
    }
    await check(`${face.name}: a client that offers ${OLDEST} is served`, async () => {
      // It was made for a transport of two endpoints; what is agreed on may be newer.
      await says(face, { protocol: OLDEST }, [OLDEST, ...REVISIONS]);
    });
    await check(`${face.name}: a revision that nobody knows is answered with one we do`, async () => {
      await says(face, { protocol: '1999-01-01' }, REVISIONS[0]);
    });
  }
  for (const face of faces(two('auto'))) {
    await check(`${face.name}: finds ${MODERN} by itself`, () => says(face, {}, MODERN));
  }
}

async function says(face, options, revision) {
  const connection = await face.open(options);
  try {
    assert.ok([revision].flat().includes(connection.revision()), `${connection.revision()} was agreed on`);
    const result = await connection.call('execute', { code: 'return 6 * 7' });
    assert.match(JSON.stringify(result.content), /42/);
  } finally {
    await connection.close();
  }
}

/** Who has no token, or a wrong one, learns nothing. */
async function strangers(sdk, around) {
  const face = overHttp(sdk, around);
  for (const [what, token] of [['no token', ''], ['a wrong token', 'guessed']]) {
    await check(`${face.name}: ${what} opens nothing`, async () => {
      const { failed, text } = await outcome(face.open({ token }));
      assert.ok(failed);
      assert.match(text, /401|[Uu]nauthorized/);
      assert.ok(!/github/.test(text));
    });
  }
}

/** `executor mcp` where no daemon runs: it starts one, which goes on when the client has gone. */
async function bridge(sdk, { given }) {
  const name = `clients/${sdk.name}/stdio: starts the daemon where none runs`;
  await check(name, async () => {
    const daemon = await Daemon.start(given);
    try {
      await daemon.process.stop();
      await says(overStdio(sdk, { daemon }), {}, REVISIONS[0]);
      const status = await daemon.cli('status', '--json');
      assert.match(status.stdout, /"address"/, status.stdout + status.stderr);
      const down = await daemon.cli('down');
      assert.equal(down.code, 0, down.stderr);
      await until(async () => (await daemon.cli('down')).code !== 70, 'the daemon is down');
    } finally {
      await daemon.cli('down');
      await daemon.stop();
    }
  }, { timeoutMs: 120_000 });
}
