// What a hostile page knows of the API: it is open source, and only names and
// the token are not. Each of these would do or tell something, were it let in.

/** Routes that tell something. */
export function readings({ execution = 'exe_0' } = {}) {
  const workspace = '/v1/workspaces/default';
  return [
    '/',
    '/v1/health',
    '/v1/installation',
    '/v1/config',
    '/v1/doctor',
    '/openapi.json',
    '/metrics',
    '/mcp',
    ...['sources', 'connections', 'tools', 'executions', 'interactions', 'policies', 'audit'].map(
      (noun) => `${workspace}/${noun}`,
    ),
    `${workspace}/executions/${execution}`,
  ];
}

/** Requests that do something: `[method, path, body]`. */
export function doings({ execution = 'exe_0', interaction } = {}) {
  const workspace = '/v1/workspaces/default';
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'page', version: '1' } },
  };
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'execute',
      arguments: { code: 'return 1' },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'page', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  };
  return [
    ['POST', `${workspace}/executions`, { code: 'return await tools.github.users.getAuthenticated({})' }],
    ['POST', `${workspace}/executions/${execution}/resume`, { action: 'accept', interaction }],
    ['POST', `${workspace}/executions/${execution}/resume`, { action: 'accept', remember: true }],
    ['POST', `${workspace}/executions/${execution}/cancel`, undefined],
    ['POST', `${workspace}/executions/${execution}/rerun`, undefined],
    ['POST', `${workspace}/tools/github.users.getAuthenticated/call`, { args: {} }],
    ['POST', `${workspace}/policies`, { pattern: '*', action: 'allow' }],
    ['POST', `${workspace}/sources`, { url: 'http://127.0.0.1:9/openapi.json', name: 'page' }],
    ['POST', `${workspace}/connections`, { source: 'github', name: 'page', values: { token: 'x' } }],
    ['POST', '/v1/tokens', { name: 'page' }],
    ['POST', '/v1/shutdown', undefined],
    ['POST', '/mcp', initialize],
    ['POST', '/mcp', call],
    ['DELETE', `${workspace}/sources/github`, undefined],
    ['DELETE', `${workspace}/connections/github/default`, undefined],
  ];
}

/** Where a page would look for the token, on the daemon's own address. */
export const TOKEN_PATHS = [
  '/token',
  '/.token',
  '/home/token',
  '/static/../token',
  '/..%2ftoken',
  '/%2e%2e/token',
  '/%2e%2e%2f%2e%2e%2ftoken',
  '/..;/token',
  '//token',
  '/assets/..%5ctoken',
  '/token%00.html',
  '/v1/../token',
];
