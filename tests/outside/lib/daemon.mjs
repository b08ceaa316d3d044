// A daemon on a home of its own, its command line and its HTTP API.

import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { until } from './cases.mjs';
import { run, start } from './processes.mjs';

/** The credential of the connection `github`; it may show nowhere. */
export const CANARY = 'canary-token-9d41c7';

/** Every fresh folder so far. */
export const folders = [];

/** A fresh folder; who asks for it removes it. */
export async function freshFolder(name) {
  const folder = await mkdtemp(path.join(tmpdir(), `executor-outside-${name}-`));
  folders.push(folder);
  return folder;
}

/** A home, and the daemon that owns it. */
export class Daemon {
  /** Starts one and waits until its components are compiled. */
  static async start({ executor, target }) {
    const daemon = new Daemon();
    daemon.executor = executor;
    daemon.home = await freshFolder('home');
    // Compiled components are the same for every home: each is compiled once.
    const shared = path.join(target, 'compiled');
    await mkdir(shared, { recursive: true });
    await mkdir(path.join(daemon.home, 'cache'), { recursive: true });
    await symlink(shared, path.join(daemon.home, 'cache/components'));
    await daemon.serve();
    return daemon;
  }

  /** The environment of everything that belongs to this home. */
  get env() {
    const { PATH } = process.env;
    return {
      PATH,
      HOME: this.home,
      EXECUTOR_HOME: this.home,
      EXECUTOR_PORT: 'auto',
      GITHUB_TOKEN: CANARY,
      NO_COLOR: '1',
    };
  }

  async serve() {
    this.process = await start(this.executor, ['serve', '--port', 'auto'], {
      env: this.env,
      ready: /listening on (http:\/\/\S+?:\d+)/,
    });
    this.origin = this.process.match[1];
    this.port = Number(new URL(this.origin).port);
    this.token = (await readFile(path.join(this.home, 'token'), 'utf8')).trim();
    await until(async () => (await this.cli('status', '--json')).stdout.match(/"ready": *true/), 'ready', 180_000);
  }

  /** Ends the daemon and removes its home. */
  async stop() {
    await this.process?.stop();
    await rm(this.home, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Runs the command line. */
  async cli(...args) {
    return await run(this.executor, ['--no-progress', ...args], { env: this.env });
  }

  /** Runs the command line, which must go well; gives its JSON. */
  async cliJson(...args) {
    const { code, stdout, stderr } = await this.cli(...args, '--json');
    if (code !== 0) throw new Error(`executor ${args.join(' ')} ended with ${code}: ${stdout}${stderr}`);
    return stdout.trim() ? JSON.parse(stdout) : undefined;
  }

  /** One request with the owner's token; gives `{status, headers, text, json}`. */
  async http(method, route, { body, headers = {}, token = this.token } = {}) {
    const answer = await fetch(this.origin + route, {
      method,
      redirect: 'manual',
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    let json;
    try {
      json = JSON.parse(text);
    } catch {
      // Not everything is JSON.
    }
    return { status: answer.status, headers: answer.headers, text, json };
  }

  /** A token as `executor connect` writes it into a client's configuration: it may not approve. */
  async mcpToken() {
    return (await this.cliJson('tokens', 'add', 'outside')).secret;
  }

  /** Adds the emulator as the source `github`, with a connection. */
  async addGithub(upstream) {
    const host = upstream.origin.replace('http://', '');
    await this.cliJson(
      'sources', 'add', `${upstream.origin}/openapi.json`, '--name', 'github',
      '--set', `base_url=${upstream.origin}`, '--allow-host', host,
    );
    await this.cliJson('connections', 'add', 'github', '--set', 'token=env:GITHUB_TOKEN');
  }

  /** An execution as the owner sees it. */
  async execution(id) {
    return (await this.http('GET', `/v1/workspaces/default/executions/${id}`)).json;
  }

  /** Everything that a request which does something changes: nothing was done where it stands still. */
  async tally() {
    const executions = [];
    let query = '';
    do {
      const page = (await this.http('GET', `/v1/workspaces/default/executions?limit=500${query}`)).json;
      executions.push(...page.items.map((item) => `${item.id} ${item.status}`));
      query = page.next_cursor ? `&cursor=${encodeURIComponent(page.next_cursor)}` : '';
    } while (query);
    const audit = [];
    for (let page; !page || page.length > 0; audit.push(...page)) {
      const after = audit.at(-1)?.sequence ?? 0;
      page = (await this.http('GET', `/v1/workspaces/default/audit?limit=1000&after=${after}`)).json.items;
    }
    const listed = async (noun) => (await this.http('GET', `/v1/workspaces/default/${noun}`)).text;
    return {
      executions,
      audit: audit.length,
      chain: audit.at(-1)?.hash,
      sources: await listed('sources'),
      connections: await listed('connections'),
      policies: await listed('policies'),
      components: await listed('components'),
    };
  }
}

/** GitHub's API on loopback: a program that is started, or one that runs. */
export class Upstream {
  static async start(given) {
    const upstream = new Upstream();
    if (/^http:/.test(given)) {
      upstream.origin = given;
      return upstream;
    }
    const document = process.env.GITHUB_DOCUMENT;
    if (!document) throw new Error('GITHUB_DOCUMENT has to name GitHub\'s OpenAPI document: run `make fixtures`');
    upstream.process = await start(given, ['--document', document, '--token', CANARY], {
      env: { PATH: process.env.PATH },
      ready: /listening on (http:\/\/\S+)/,
    });
    upstream.origin = upstream.process.match[1];
    return upstream;
  }

  async stop() {
    await this.process?.stop();
  }

  /** The requests of a method and a path that arrived so far. */
  async received(method, pathname) {
    const ledger = await (await fetch(`${this.origin}/_emulator/ledger`)).json();
    return ledger.entries.filter((entry) => entry.method === method && entry.path === pathname);
  }
}
