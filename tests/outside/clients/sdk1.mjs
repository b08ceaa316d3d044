// The MCP SDK 1.x as a client: `npm install @modelcontextprotocol/sdk`.

/** Every revision of the protocol that this SDK speaks over one endpoint, the newest first. */
export const REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26'];
/** One that it still takes from a server. */
export const OLDEST = '2024-11-05';

/** Gives the SDK as the suite wants it. */
export function sdk1(require) {
  const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
  const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
  const { ElicitRequestSchema } = require('@modelcontextprotocol/sdk/types.js');
  const version = require.version('@modelcontextprotocol/sdk');
  return {
    name: 'sdk1',
    version,
    transports: { StreamableHTTPClientTransport, StdioClientTransport },
    /** Connects; `elicit` answers what the server asks, and without it the client can't be asked. */
    async connect(transport, { elicit, name = 'outside-sdk1', protocol } = {}) {
      const client = new Client({ name, version }, { capabilities: elicit ? { elicitation: {} } : {} });
      if (elicit) client.setRequestHandler(ElicitRequestSchema, (request) => elicit(request.params));
      let agreed;
      const heard = transport.setProtocolVersion?.bind(transport);
      transport.setProtocolVersion = (revision) => {
        agreed = revision;
        heard?.(revision);
      };
      await client.connect(protocol ? offering(transport, protocol) : transport);
      return {
        client,
        revision: () => agreed,
        call: (tool, args, options) => client.callTool({ name: tool, arguments: args }, undefined, options),
        tools: async () => {
          const tools = [];
          let cursor;
          do {
            const page = await client.listTools(cursor ? { cursor } : {});
            tools.push(...page.tools);
            cursor = page.nextCursor;
          } while (cursor);
          return tools;
        },
        close: () => client.close(),
      };
    },
  };
}

/** The SDK offers its newest revision; this makes it offer an older one, as older SDKs do. */
function offering(transport, protocol) {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (message.method === 'initialize') {
      message = { ...message, params: { ...message.params, protocolVersion: protocol } };
    }
    return send(message, options);
  };
  return transport;
}
