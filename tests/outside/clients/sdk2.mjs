// The MCP SDK 2.x as a client: `npm install @modelcontextprotocol/client`.
// It speaks two eras: the handshakes up to 2025-11-25, and 2026-07-28, which is
// stateless and asks by answers that require input.

/** The revision that has no handshake. */
export const MODERN = '2026-07-28';

/** Gives the SDK as the suite wants it; `mode` is `legacy`, `auto` or a revision. */
export function sdk2(require, mode) {
  const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
  const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
  const version = require.version('@modelcontextprotocol/client');
  return {
    name: `sdk2-${mode}`,
    version,
    transports: { StreamableHTTPClientTransport, StdioClientTransport },
    /** Connects; `elicit` answers what the server asks, and without it the client can't be asked. */
    async connect(transport, { elicit, name = 'outside-sdk2', manual = false } = {}) {
      const client = new Client(
        { name, version },
        {
          capabilities: elicit ? { elicitation: { form: {}, url: {} } } : {},
          versionNegotiation: { mode: mode === MODERN ? { pin: MODERN } : mode },
          ...(manual && { inputRequired: { autoFulfill: false } }),
        },
      );
      if (elicit) client.setRequestHandler('elicitation/create', (request) => elicit(request.params));
      await client.connect(transport);
      return {
        client,
        revision: () => client.getNegotiatedProtocolVersion(),
        call: (tool, args, options) => client.callTool({ name: tool, arguments: args }, options),
        tools: async () => (await client.listTools()).tools,
        close: () => client.close(),
      };
    },
  };
}
