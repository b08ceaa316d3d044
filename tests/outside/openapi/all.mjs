// schemathesis against the daemon's own description of its API: whatever it
// may be sent, it answers as it says that it does, and never with a 500.

import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { check, fail } from '../lib/cases.mjs';
import { Daemon, freshFolder, Upstream } from '../lib/daemon.mjs';
import { run } from '../lib/processes.mjs';

/** The same requests each time. */
const SEED = '20261130';
/** Requests for each operation in each phase; what finds faults here are the boundary cases, which are always tried. */
const EXAMPLES = '10';
/** The longest that all of it may take. */
const PATIENCE_MS = 120_000;

const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
  'response_headers_conformance',
  'negative_data_rejection',
  'unsupported_method',
  'allow_header_conformance',
  'ignored_auth',
];

const here = path.dirname(fileURLToPath(import.meta.url));

/** Runs everything whose name begins with `openapi`: a case an operation. */
export async function openapi(given) {
  const upstream = await Upstream.start(given.upstream);
  const home = await freshFolder('schemathesis');
  let daemon;
  try {
    daemon = await Daemon.start(given);
    await daemon.addGithub(upstream);
    const python = path.join(given.target, 'python');
    const report = path.join(home, 'report.xml');
    const ended = await run(
      'python3',
      [
        path.join(python, 'bin/schemathesis'),
        '--config-file', path.join(here, 'schemathesis.toml'),
        'run', `${daemon.origin}/openapi.json`,
        '--header', `Authorization: Bearer ${daemon.token}`,
        '--seed', SEED,
        '--max-examples', EXAMPLES,
        '--checks', CHECKS.join(','),
        '--phases', 'examples,coverage,fuzzing',
        '--continue-on-failure',
        '--report', 'junit',
        '--report-junit-path', report,
        '--no-color',
      ],
      {
        env: { PATH: process.env.PATH, HOME: home, PYTHONPATH: `${python}:${here}`, PYTHONDONTWRITEBYTECODE: '1', SCHEMATHESIS_HOOKS: 'hooks' },
        cwd: home,
        timeoutMs: PATIENCE_MS,
      },
    );
    const operations = testcases(await readFile(report, 'utf8').catch(() => ''));
    for (const { name, failure } of operations) {
      await check(`openapi: ${name}`, async () => {
        if (failure) throw new Error(failure);
      });
    }
    await check('openapi: schemathesis ran to its end', async () => {
      const failed = operations.some(({ failure }) => failure);
      if (operations.length === 0 || (ended.code !== 0 && !failed)) {
        throw new Error(`it ended with ${ended.code}:\n${(ended.stdout + ended.stderr).slice(-5_000)}`);
      }
    });
    await check('openapi: every operation was tried', async () => {
      const document = (await daemon.http('GET', '/openapi.json')).json;
      const methods = ['get', 'put', 'post', 'delete', 'patch'];
      const declared = Object.entries(document.paths).flatMap(([route, item]) =>
        methods.filter((method) => item[method]).map((method) => `${method.toUpperCase()} ${route}`),
      );
      const tried = operations.map(({ name }) => name);
      // The one ends the daemon, and the other is how schemathesis got all of this.
      const apart = ['POST /v1/shutdown', 'GET /openapi.json'];
      const left = declared.filter((name) => !tried.includes(name) && !apart.includes(name));
      if (left.length > 0) throw new Error(`not tried: ${left}`);
    });
    await check('openapi: the daemon is well after it', async () => {
      const { stdout } = await daemon.cli('run', '-e', 'return 6 * 7');
      if (!stdout.includes('42')) throw new Error(stdout);
      const requests = await upstream.received('POST', '/repos/octocat/hello-world/issues');
      if (requests.length > 0) throw new Error('a write was sent that nobody accepted');
    });
  } catch (error) {
    fail('openapi', error);
  } finally {
    await daemon?.stop();
    await upstream.stop();
    await rm(home, { recursive: true, force: true });
  }
}

/** The test cases of a JUnit report. */
function testcases(xml) {
  const found = [];
  for (const [, attributes, , body = ''] of xml.matchAll(/<testcase ([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g)) {
    const name = unescape(/name="([^"]*)"/.exec(attributes)[1]);
    const failures = [...body.matchAll(/<(failure|error)[^>]*>([\s\S]*?)<\/\1>/g)].map(([, , text]) => unescape(text));
    found.push({ name, failure: failures.join('\n\n') });
  }
  return found;
}

function unescape(text) {
  const names = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
  return text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (_, decimal, hex, name) =>
    name ? (names[name] ?? '?') : String.fromCodePoint(decimal ? Number(decimal) : parseInt(hex, 16)),
  );
}
