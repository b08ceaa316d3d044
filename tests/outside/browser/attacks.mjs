// What a hostile page tries. An attack is `{name, run(page, target)}`; it gives
// the evidence that it got something, a text each, and none where it got
// nothing. What it may have changed, the target itself tells afterwards.
//
// Where a request can carry the token it does, the right one: that no page
// knows it is one wall, and what is tested is whether there are others.

import { doings, readings, TOKEN_PATHS } from './routes.mjs';

/** From a page of another origin. */
export const CROSS_ORIGIN = [
  {
    name: 'reads an answer',
    run: async (page, target) => {
      const inits = [{}, { credentials: 'include' }, { mode: 'no-cors', credentials: 'include' }, { mode: 'same-origin' }];
      return await page.evaluate(fetchAll, { urls: urls(target, readings(target)), inits });
    },
  },
  {
    name: 'reads with a header that asks first',
    run: async (page, target) => {
      const inits = [
        { headers: { authorization: 'Bearer guessed' } },
        { headers: { authorization: `Bearer ${target.token}` } },
        { headers: { 'x-executor-client': 'console' }, credentials: 'include' },
        { method: 'OPTIONS' },
      ];
      return await page.evaluate(fetchAll, { urls: urls(target, readings(target)), inits });
    },
  },
  {
    name: 'posts JSON as text, blindly',
    changes: true,
    run: async (page, target) => {
      const kinds = ['text/plain', 'application/x-www-form-urlencoded', 'text/plain;application/json', ''];
      const posts = doings(target).filter(([method]) => method === 'POST');
      await page.evaluate(
        async ({ origin, posts, kinds }) => {
          const send = ([, path, body], kind) =>
            fetch(origin + path, {
              method: 'POST',
              mode: 'no-cors',
              credentials: 'include',
              ...(kind && { headers: { 'content-type': kind } }),
              body: body && new Blob([JSON.stringify(body)]),
            }).catch(() => {});
          await Promise.all(posts.flatMap((post) => kinds.map((kind) => send(post, kind))));
        },
        { origin: target.origin, posts, kinds },
      );
      return [];
    },
  },
  {
    name: 'does something with a request that asks first',
    changes: true,
    run: async (page, target) =>
      await page.evaluate(
        async ({ origin, doings, token }) => {
          const got = [];
          const send = async ([method, path, body], headers) => {
            try {
              const answer = await fetch(origin + path, { method, headers, body: body && JSON.stringify(body) });
              got.push(`${method} ${path}: ${answer.status}`);
            } catch {
              // Refused, as it should be.
            }
          };
          for (const doing of doings) {
            await send(doing, { 'content-type': 'application/json' });
            await send(doing, { 'content-type': 'application/json', authorization: `Bearer ${token}` });
            await send(doing, { 'x-http-method-override': doing[0] });
          }
          return got;
        },
        { origin: target.origin, doings: doings(target), token: target.token },
      ),
  },
  {
    name: 'posts a form',
    changes: true,
    run: async (page, target) => {
      for (const [, path, body] of doings(target).filter(([method]) => method === 'POST')) {
        for (const kind of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
          await page.evaluate(submitForm, { url: target.origin + path, kind, body });
        }
      }
      return [];
    },
  },
  {
    name: 'sends a beacon',
    changes: true,
    run: async (page, target) => {
      await page.evaluate(
        async ({ origin, doings }) => {
          for (const [, path, body] of doings) {
            navigator.sendBeacon(origin + path, body && JSON.stringify(body));
            navigator.sendBeacon(origin + path, new URLSearchParams({ payload: JSON.stringify(body ?? {}) }));
          }
          // A beacon says nothing of its end; a request after them is behind them.
          await fetch(`${origin}/v1/health`, { mode: 'no-cors' }).catch(() => {});
          await new Promise((go) => setTimeout(go, 200));
        },
        { origin: target.origin, doings: doings(target) },
      );
      return [];
    },
  },
  {
    name: 'is sent on by a redirect',
    changes: true,
    run: async (page, target) =>
      await page.evaluate(
        async ({ origin, readings, doings }) => {
          const got = [];
          const go = async (status, path, init) => {
            try {
              const answer = await fetch(`/redirect/${status}?to=${encodeURIComponent(origin + path)}`, init);
              if (answer.type !== 'opaque') got.push(`${status} ${path}: ${answer.status}`);
            } catch {
              // Refused, as it should be.
            }
          };
          for (const path of readings) await go(302, path, {});
          for (const [method, path, body] of doings) {
            await go(307, path, { method, mode: method === 'POST' ? 'no-cors' : 'cors', body: body && JSON.stringify(body) });
          }
          return got;
        },
        { origin: target.origin, readings: readings(target), doings: doings(target) },
      ),
  },
  {
    name: 'opens an event stream or a socket',
    run: async (page, target) =>
      await page.evaluate(
        async ({ origin, paths }) => {
          const got = [];
          const settle = (source, what) =>
            new Promise((done) => {
              const timer = setTimeout(done, 3_000);
              const end = () => (clearTimeout(timer), source.close(), done());
              for (const event of ['open', 'message']) source.addEventListener(event, () => (got.push(`${what}: ${event}`), end()));
              source.addEventListener('error', end);
            });
          for (const path of paths) {
            await settle(new EventSource(origin + path, { withCredentials: true }), `EventSource ${path}`);
            await settle(new WebSocket(origin.replace('http', 'ws') + path), `WebSocket ${path}`);
          }
          return got;
        },
        { origin: target.origin, paths: ['/mcp', '/v1/events', '/v1/workspaces/default/events', '/'] },
      ),
  },
  {
    name: 'includes an answer as a script, a style or a picture',
    run: async (page, target) =>
      await page.evaluate(
        async ({ urls }) => {
          const got = [];
          const include = (tag, attributes) =>
            new Promise((done) => {
              const element = Object.assign(document.createElement(tag), attributes);
              const end = (event) => {
                if (event.type === 'load' && tag !== 'link') got.push(`${tag} ${attributes.src}`);
                element.remove();
                done();
              };
              element.onload = element.onerror = end;
              document.head.append(element);
            });
          const loud = window.onerror;
          window.onerror = () => true;
          for (const url of urls) {
            await include('script', { src: url });
            await include('link', { rel: 'stylesheet', href: url });
            await include('img', { src: url });
          }
          window.onerror = loud;
          return got;
        },
        // The health check is for everybody, and says what everybody may know.
        { urls: urls(target, readings(target)).filter((url) => !url.endsWith('/v1/health')) },
      ),
  },
  {
    name: 'guesses where the token lies',
    run: async (page, target) => {
      const files = [`file://${target.daemon?.home ?? '/nowhere'}/token`, 'file:///root/.local/share/executor/token'];
      const inits = [{}, { mode: 'no-cors' }];
      return await page.evaluate(fetchAll, { urls: [...urls(target, TOKEN_PATHS), ...files], inits });
    },
  },
];

/** From a page whose own name leads to the daemon by now: to the browser it is one origin. */
export const REBOUND = {
  name: 'reads and does as the daemon\'s own page would',
  changes: true,
  run: async (page, target) =>
    await page.evaluate(
      async ({ readings, doings, tokens, token }) => {
        const got = [];
        const authorization = `Bearer ${token}`;
        const go = async (method, path, init) => {
          try {
            const answer = await fetch(path, { method, ...init });
            const text = await answer.text();
            // An answer can be read: it may refuse, and say nothing else.
            if (answer.status < 400 || !text.includes('host-denied')) got.push(`${method} ${path}: ${answer.status} ${text}`);
          } catch {
            // No answer at all is none.
          }
        };
        for (const path of [...readings, ...tokens]) {
          await go('GET', path, { credentials: 'include' });
          await go('GET', path, { headers: { authorization } });
        }
        for (const [method, path, body] of doings) {
          const headers = { 'content-type': 'application/json' };
          await go(method, path, { headers, body: body && JSON.stringify(body) });
          await go(method, path, { headers: { ...headers, authorization }, body: body && JSON.stringify(body) });
        }
        return got;
      },
      { readings: readings(target), doings: doings(target), tokens: TOKEN_PATHS, token: target.token },
    ),
};

/** Pages of the daemon that somebody could be made to click on without seeing them. */
export function framed({ execution = 'exe_0', interaction = 'int_0' } = {}) {
  return [
    ...readings({ execution }),
    '/console',
    '/index.html',
    '/login',
    `/resume/${execution}`,
    `/approve/${interaction}`,
    `/executions/${execution}`,
    `/interactions/${interaction}`,
    '/oauth/callback?code=x&state=y',
    '/v1/oauth/callback?code=x&state=y',
    '/oauth/connect/x',
    '/no/such/page',
  ];
}

/** Frames a page; gives what came of it. */
export async function frame(page, url) {
  const name = 'sink';
  const loaded = page.evaluate(
    ({ name, url }) =>
      new Promise((done) => {
        const frame = document.querySelector(`iframe[name=${name}]`);
        frame.onload = () => done();
        frame.src = url;
        setTimeout(done, 5_000);
      }),
    { name, url },
  );
  await loaded;
  const frame = page.frame({ name });
  const told = await frame
    .evaluate(() => ({ url: location.href, type: document.contentType, text: document.body?.innerText ?? '' }))
    .catch(() => ({ url: 'chrome-error://', type: '', text: '' }));
  return told.url.startsWith('chrome-error:') ? undefined : told;
}

function urls(target, paths) {
  return paths.map((path) => target.origin + path);
}

/** Runs in the page: every answer that it can read is evidence. */
async function fetchAll({ urls, inits }) {
  const got = [];
  const one = async (url, init) => {
    try {
      const answer = await fetch(url, init);
      if (answer.type !== 'opaque') got.push(`${JSON.stringify(init)} ${url}: ${answer.status} ${(await answer.text()).slice(0, 200)}`);
    } catch {
      // Refused, as it should be.
    }
  };
  for (const url of urls) await Promise.all(inits.map((init) => one(url, init)));
  return got;
}

/** Runs in the page: a form into the frame, its fields shaped so that JSON comes out as text. */
async function submitForm({ url, kind, body }) {
  const frame = document.querySelector('iframe[name=sink]');
  const loaded = new Promise((done) => {
    frame.onload = done;
    setTimeout(done, 5_000);
  });
  const form = Object.assign(document.createElement('form'), { method: 'post', action: url, enctype: kind, target: 'sink' });
  const json = JSON.stringify(body ?? {});
  const input = document.createElement('input');
  input.type = 'hidden';
  // `{"a":1,"x":"=y"}` as text: the equals sign of the form lies within a string.
  input.name = json === '{}' ? '{"x":"' : `${json.slice(0, -1)},"x":"`;
  input.value = '"}';
  form.append(input);
  document.body.append(form);
  form.submit();
  await loaded;
  form.remove();
}
