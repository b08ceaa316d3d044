// A server of the SDK 1.x whose tools ask in their middle: `node asking.mjs FOLDER PORT`.
//
// `aside` asks as the SDK has it where a tool does not say which request it
// asks for: on the stream that belongs to none.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { packages } from '../lib/packages.mjs';

const [target, port] = process.argv.slice(2);
const require = packages(target);
const { McpServer } = require('@modelcontextprotocol/sdk/server/mcp.js');
const { StreamableHTTPServerTransport } = require('@modelcontextprotocol/sdk/server/streamableHttp.js');
const { ElicitResultSchema } = require('@modelcontextprotocol/sdk/types.js');

const question = {
  message: 'Which seat?',
  requestedSchema: { type: 'object', properties: { seat: { type: 'string' } }, required: ['seat'] },
};
const said = ({ action, content }) => ({
  content: [{ type: 'text', text: JSON.stringify({ action, seat: content?.seat ?? null }) }],
});

function server() {
  const server = new McpServer({ name: 'asking', version: '1' });
  server.registerTool('aside', {}, async () => said(await server.server.elicitInput(question)));
  server.registerTool('within', {}, async (extra) =>
    said(await extra.sendRequest({ method: 'elicitation/create', params: question }, ElicitResultSchema)),
  );
  server.registerTool('ping', {}, async () => {
    await server.server.ping();
    return { content: [{ type: 'text', text: 'pong' }] };
  });
  return server;
}

const sessions = new Map();
createServer(async (request, response) => {
  const known = sessions.get(request.headers['mcp-session-id']);
  if (known) return known.handleRequest(request, response);
  if (request.method !== 'POST') return response.writeHead(400).end();
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  await server().connect(transport);
  return transport.handleRequest(request, response);
}).listen(Number(port), '127.0.0.1', () => console.log(`listening on ${port}`));
