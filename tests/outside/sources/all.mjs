// Other people's MCP servers, called by their own SDK and through executor:
// what comes back is the same.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { check, fail } from '../lib/cases.mjs';
import { Daemon } from '../lib/daemon.mjs';
import { packages } from '../lib/packages.mjs';
import { start } from '../lib/processes.mjs';
import { sdk1 } from '../clients/sdk1.mjs';

/** What a server answers otherwise each time, or only by asking back. */
const UNSTEADY = /^(get-env|get-structured-content|simulate-|trigger-|toggle-|sampling|get-roots|gzip-|get-resource-reference|create_|delete_|add_|write_|edit_|move_)/;

/** Runs everything whose name begins with `sources`. */
export async function sources(given) {
  const require = packages(given.target);
  const sdk = sdk1(require);
  const { SSEClientTransport } = require('@modelcontextprotocol/sdk/client/sse.js');
  const { StdioClientTransport, StreamableHTTPClientTransport } = sdk.transports;
  const daemon = await Daemon.start(given);
  try {
    const files = path.join(daemon.home, 'files');
    await mkdir(files);
    await writeFile(path.join(files, 'a.txt'), 'one\ntwo\n');
    const server = (name, ...args) => [require.file(`@modelcontextprotocol/server-${name}/dist/index.js`), ...args];
    const env = { ...daemon.env, MEMORY_FILE_PATH: path.join(files, 'memory.jsonl') };
    const node = process.execPath;
    for (const [name, args] of [
      ['everything', server('everything', 'stdio')],
      ['memory', server('memory')],
      ['filesystem', server('filesystem', files)],
    ]) {
      const direct = () => sdk.connect(new StdioClientTransport({ command: node, args, env, stderr: 'ignore' }));
      const add = () => daemon.cli('sources', 'add', '--name', name, '--trusted', '--', node, ...args);
      await compared(`sources/${name}/stdio`, { daemon, name, files, direct, add });
    }
    for (const [mode, face, Transport] of [
      ['streamableHttp', 'mcp', StreamableHTTPClientTransport],
      ['sse', 'sse', SSEClientTransport],
    ]) {
      const port = 20_000 + Math.floor(Math.random() * 20_000);
      const upstream = await start(node, server('everything', mode), {
        env: { ...env, PORT: String(port) },
        ready: /port|listening/i,
      });
      try {
        const url = `http://127.0.0.1:${port}/${face}`;
        const name = mode.toLowerCase();
        const direct = () => sdk.connect(new Transport(new URL(url)));
        const add = () =>
          daemon.cli('sources', 'add', url, '--name', name, '--trusted', '--allow-host', `127.0.0.1:${port}`);
        await compared(`sources/everything/${mode}`, { daemon, name, files, direct, add });
      } finally {
        await upstream.stop();
      }
    }
    await asking({ daemon, given, env });
  } catch (error) {
    fail('sources', error);
  } finally {
    await daemon.stop();
  }
}

/** A server that asks in the middle of a call, wherever its SDK puts the question. */
async function asking({ daemon, given, env }) {
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const file = path.join(import.meta.dirname, 'asking.mjs');
  const upstream = await start(process.execPath, [file, given.target, String(port)], { env, ready: /listening/ });
  const call = async (tool) => {
    const { json } = await daemon.http('POST', `/v1/workspaces/default/tools/asking.${tool}/call`, {
      body: { args: {} },
    });
    return json;
  };
  const answered = async (tool) => {
    const view = await call(tool);
    assert.equal(view.status, 'waiting_for_interaction', JSON.stringify(view));
    const [asked] = view.interactions;
    const body = { action: 'accept', interaction: asked.id, content: { seat: '12a' } };
    const done = await daemon.http('POST', `/v1/workspaces/default/executions/${view.id}/resume`, { body });
    assert.deepEqual(done.json.result, { action: 'accept', seat: '12a' }, done.text);
  };
  try {
    await check('sources/asking: becomes a source', async () => {
      const url = `http://127.0.0.1:${port}/mcp`;
      const trust = ['--trusted', '--allow-host', `127.0.0.1:${port}`];
      const added = await daemon.cli('sources', 'add', url, '--name', 'asking', ...trust);
      assert.equal(added.code, 0, added.stderr);
      assert.equal((await daemon.cli('policies', 'add', 'asking.*', 'allow')).code, 0);
    });
    await check('sources/asking: beside the answer, in the first call', () => answered('aside'));
    await check('sources/asking: within the answer', () => answered('within'));
    await check('sources/asking: beside the answer', () => answered('aside'));
    await check('sources/asking: a ping', async () => assert.equal((await call('ping')).result, 'pong'));
  } finally {
    await upstream.stop();
  }
}

/** Calls each tool both ways. */
async function compared(group, { daemon, name, files, direct, add }) {
  await check(`${group}: becomes a source`, async () => {
    const added = await add();
    assert.equal(added.code, 0, added.stderr);
    const allowed = await daemon.cli('policies', 'add', `${name}.*`, 'allow');
    assert.equal(allowed.code, 0, allowed.stderr);
  });
  const client = await direct();
  try {
    for (const tool of await client.tools()) {
      if (UNSTEADY.test(tool.name)) continue;
      await check(`${group}: ${tool.name}`, async () => {
        const args = filled(tool.inputSchema, files);
        const theirs = await client.call(tool.name, args);
        const called = await daemon.cli('call', `${name}.${tool.name}`, JSON.stringify(args), '--json');
        const view = JSON.parse(called.stdout);
        if (theirs.isError) {
          assert.equal(view.error?.code, 'tool-failed', called.stdout);
          return;
        }
        assert.deepEqual(view.result, reduced(theirs), called.stdout);
      });
    }
  } finally {
    await client.close();
  }
}

/** What a program gets of a result: structured content, else a lone text, else all of it. */
function reduced({ structuredContent, content }) {
  if (structuredContent !== undefined) return structuredContent;
  if (content.length !== 1 || content[0].type !== 'text') return { content };
  try {
    return JSON.parse(content[0].text);
  } catch {
    return content[0].text;
  }
}

/** Arguments that fit a schema. */
function filled(schema, files) {
  const value = (name, property) => {
    if ('default' in property) return property.default;
    if (property.enum) return property.enum[0];
    if (name === 'path') return name === 'path' && files;
    switch (property.type) {
      case 'number':
      case 'integer':
        return property.minimum ?? 2;
      case 'boolean':
        return false;
      case 'array':
        return property.items?.type === 'string' && name === 'paths' ? [path.join(files, 'a.txt')] : [];
      case 'object':
        return {};
      default:
        return 'a';
    }
  };
  const required = new Set(schema.required ?? []);
  const properties = Object.entries(schema.properties ?? {}).filter(([name]) => required.has(name));
  return Object.fromEntries(properties.map(([name, property]) => [name, value(name, property)]));
}
