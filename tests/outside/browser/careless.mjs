// A daemon that forgets every defence. Each attack has to succeed against it
// first: an attack that no browser carries out proves nothing about ours.

import { createHash } from 'node:crypto';
import http from 'node:http';

const SECRET = 'the-careless-daemon-told-everything';

/** Starts it; gives `{origin, port, token, secrets, changes(), stop()}` as `guarded` does. */
export async function careless() {
  let changed = 0;
  const server = http.createServer(async (request, response) => {
    const cors = {
      'access-control-allow-origin': request.headers.origin ?? '*',
      'access-control-allow-credentials': 'true',
      'access-control-allow-private-network': 'true',
      'access-control-allow-headers': request.headers['access-control-request-headers'] ?? '*',
      'access-control-allow-methods': request.headers['access-control-request-method'] ?? '*',
    };
    for await (const _ of request);
    const answer = (status, type, body) => response.writeHead(status, { ...cors, 'content-type': type }).end(body);
    if (request.method === 'OPTIONS') return answer(204, 'text/plain');
    if (request.method !== 'GET') {
      changed += 1;
      return answer(200, 'application/json', JSON.stringify({ done: SECRET }));
    }
    if (request.headers.accept === 'text/event-stream') return answer(200, 'text/event-stream', `data: ${SECRET}\n\n`);
    if (request.headers['sec-fetch-dest'] === 'script') return answer(200, 'text/javascript', `told = '${SECRET}'`);
    answer(200, 'text/html', `<!doctype html><p>${SECRET}<form method=post><button>Accept</button></form>`);
  });
  server.on('upgrade', (request, socket) => {
    const key = request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
    const accept = createHash('sha1').update(key).digest('base64');
    socket.on('error', () => {}).on('end', () => socket.destroy()).resume();
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address();
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    token: 'anything',
    secrets: [SECRET],
    changes: async () => String(changed),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
