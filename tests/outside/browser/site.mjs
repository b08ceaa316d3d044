// The hostile site, and the resolver that serves its owner.

import http from 'node:http';
import net from 'node:net';

const PAGE = `<!doctype html><title>A nice page</title><p>Win a prize!<iframe name=sink style="width:600px;height:400px"></iframe>`;

/** Starts the site on an address; `/redirect/STATUS?to=URL` sends whoever comes elsewhere. */
export async function site(address = '127.0.0.1', port = 0) {
  const server = http.createServer((request, response) => {
    const url = new URL(request.url, 'http://site');
    const redirect = /^\/redirect\/(30[1278])$/.exec(url.pathname);
    // The site itself lets everybody read, so that nothing but the daemon stands in the way.
    const open = { 'access-control-allow-origin': request.headers.origin ?? '*', 'access-control-allow-headers': '*' };
    if (redirect) return response.writeHead(Number(redirect[1]), { ...open, location: url.searchParams.get('to') }).end();
    if (url.pathname === '/favicon.ico') return response.writeHead(404).end();
    response.writeHead(200, { ...open, 'content-type': 'text/html' }).end(PAGE);
  });
  await new Promise((listening, failed) => server.once('error', failed).listen(port, address, listening));
  return {
    port: server.address().port,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/**
 * A SOCKS5 server (RFC 1928, CONNECT by name or IPv4 without a login) whose owner decides where a
 * name leads, and changes it: what a DNS server with a short TTL does. `names`
 * is a Map of host names to addresses.
 */
export async function resolver(names) {
  const sockets = new Set();
  const server = net.createServer((socket) => {
    track(sockets, socket);
    let stage = 'greeting';
    let pending = Buffer.alloc(0);
    socket.on('data', function read(bytes) {
      pending = Buffer.concat([pending, bytes]);
      if (stage === 'greeting' && pending.length >= 2 + pending[1]) {
        pending = pending.subarray(2 + pending[1]);
        stage = 'request';
        socket.write(Buffer.from([5, 0]));
      }
      if (stage !== 'request' || pending.length < 5) return;
      const length = pending[3] === 3 ? 1 + pending[4] : 4;
      if (pending.length < 4 + length + 2) return;
      const asked = pending[3] === 3 ? pending.toString('latin1', 5, 4 + length) : [...pending.subarray(4, 8)].join('.');
      const port = pending.readUInt16BE(4 + length);
      const address = names.get(asked) ?? (pending[3] === 1 ? asked : undefined);
      socket.off('data', read);
      if (pending[3] === 4 || !address) return socket.end(Buffer.from([5, 4, 0, 1, 0, 0, 0, 0, 0, 0]));
      const upstream = net.connect(port, address, () => {
        socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
        socket.pipe(upstream).pipe(socket);
      });
      track(sockets, upstream);
      upstream.on('error', () => socket.destroy());
      socket.on('close', () => upstream.destroy());
    });
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    port: server.address().port,
    /** Points a name elsewhere and ends what went the old way. */
    point: (name, address) => {
      names.set(name, address);
      for (const socket of sockets) socket.destroy();
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function track(sockets, socket) {
  sockets.add(socket);
  socket.on('error', () => {});
  socket.on('close', () => sockets.delete(socket));
}
