// The MCP inspector's command line: `npx @modelcontextprotocol/inspector --cli`.

import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';

import { check } from '../lib/cases.mjs';
import { freshFolder } from '../lib/daemon.mjs';
import { run } from '../lib/processes.mjs';

/** Runs it over both transports, in both eras. */
export async function inspector(require, { daemon, mcpToken }) {
  const home = await freshFolder('inspector');
  const program = require.file('@modelcontextprotocol/inspector/clients/launcher/build/index.js');
  const faces = {
    http: ['--server-url', `${daemon.origin}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${mcpToken}`],
    // It hands its own environment to no server that it starts.
    stdio: [daemon.executor, 'mcp', '-e', `EXECUTOR_HOME=${daemon.home}`, '-e', 'EXECUTOR_PORT=auto'],
  };
  const inspect = async (face, era, ...args) => {
    const { code, stdout, stderr } = await run(
      process.execPath,
      [program, '--cli', ...faces[face], '--stored-auth-only', '--protocol-era', era, '--format', 'json', ...args],
      { env: { ...daemon.env, HOME: home, MCP_CATALOG_PATH: `${home}/catalog.json` }, cwd: home },
    );
    return { code, stderr, stdout, json: () => JSON.parse(stdout) };
  };
  try {
    for (const face of Object.keys(faces)) {
      for (const era of ['legacy', 'modern']) {
        const name = `clients/inspector/${face}/${era}`;
        await check(`${name}: tools/list`, async () => {
          const listed = await inspect(face, era, '--method', 'tools/list', '--strict');
          assert.equal(listed.code, 0, `every client can take our schemas: ${listed.stderr}`);
          assert.match(listed.stdout, /"execute"/);
          assert.match(listed.stdout, /"describe_tool"/);
        });
        await check(`${name}: tools/call`, async () => {
          const args = JSON.stringify({ code: 'return (await tools.github.users.getAuthenticated({})).login' });
          const called = await inspect(face, era, '--method', 'tools/call', '--tool-name', 'execute', '--tool-args-json', args);
          assert.equal(called.code, 0, called.stderr);
          assert.match(called.stdout, /octocat/);
          assert.match(called.stdout, /"status": ?"completed"/);
        });
      }
    }
    await check('clients/inspector/http: a wrong token is told as such', async () => {
      faces.http[faces.http.length - 1] = 'Authorization: Bearer guessed';
      const refused = await inspect('http', 'legacy', '--method', 'tools/list');
      assert.notEqual(refused.code, 0);
      assert.match(refused.stderr + refused.stdout, /401|auth/i);
    });
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
