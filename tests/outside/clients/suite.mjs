// What every MCP client must be able to do, whichever SDK it is built on and
// whichever way it comes. A `face` is `{name, open(options), direct(options)}`.

import assert from 'node:assert/strict';

import { check, until } from '../lib/cases.mjs';
import { CANARY } from '../lib/daemon.mjs';

const ISSUES = '/repos/octocat/hello-world/issues';

/** Titles of this run's own, so that the ledger tells cases apart. */
let count = 0;
const title = () => `outside ${process.pid} ${(count += 1)}`;

/** A program that asks, since it writes. */
const creating = (name) => `
  try {
    const made = await tools.github.issues.create({ owner: 'octocat', repo: 'hello-world', body: { title: '${name}' } });
    return made.title;
  } catch (error) { return [error.name, error.code]; }`;

/** Runs the whole suite against one face. */
export async function suite(face, { daemon, upstream, revision }) {
  const sent = async (name) => {
    const all = await upstream.received('POST', ISSUES);
    return all.filter((entry) => JSON.parse(entry.body).title === name).length;
  };
  const here = { face, daemon, sent, revision };
  for (const [what, work] of CASES) {
    await check(`${face.name}: ${what}`, () => work(here));
  }
}

/** Opens a client for one case and closes it whatever happens. */
async function using(open, options, work) {
  const connection = await open(options);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

const texts = (result) => result.content.filter((block) => block.type === 'text').map((block) => block.text).join('\n');

/** The id of the execution that a result names. */
export function executionId(result) {
  const found = /exe_[a-z0-9]+/.exec(JSON.stringify(result));
  assert.ok(found, `no execution is named in ${JSON.stringify(result)}`);
  return found[0];
}

function settled(result, status) {
  assert.equal(result.structuredContent?.status, status, JSON.stringify(result));
  return result.structuredContent;
}

const CASES = [
  ['says who it is', async ({ face, revision }) => {
    await using(face.open, {}, async ({ client, revision: agreed }) => {
      assert.equal(client.getServerVersion().name, 'executor');
      assert.ok(client.getServerCapabilities().tools);
      assert.equal(agreed(), revision);
    });
  }],

  ['lists its tools', async ({ face }) => {
    await using(face.open, {}, async ({ tools }) => {
      const listed = await tools();
      const names = listed.map((tool) => tool.name);
      for (const name of ['execute', 'resume', 'search_tools', 'describe_tool']) assert.ok(names.includes(name), names);
      assert.ok(!names.some((name) => /issues/.test(name)), 'the catalogue is not listed unless it is asked for');
      for (const tool of listed) {
        assert.ok(tool.description.length > 20, tool.name);
        assert.equal(tool.inputSchema.type, 'object');
      }
      const { description } = listed.find((tool) => tool.name === 'execute');
      assert.match(description, /github/, 'the sources are named');
    });
  }],

  ['execute gives text and structured content', async ({ face }) => {
    await using(face.open, {}, async ({ call }) => {
      const code = "const at: number = 41; console.log('said', at); emit({ shown: true }); return { sum: at + 1 };";
      const result = await call('execute', { code });
      const view = settled(result, 'completed');
      assert.ok(!result.isError);
      assert.deepEqual(view.result, { sum: 42 });
      assert.match(JSON.stringify(view.logs), /said/);
      assert.deepEqual(view.emitted, [{ shown: true }]);
      assert.match(texts(result), /42/);
    });
  }],

  ['execute calls tools, and the credential shows nowhere', async ({ face }) => {
    await using(face.open, {}, async ({ call }) => {
      const result = await call('execute', { code: 'return await tools.github.users.getAuthenticated({})' });
      assert.equal(settled(result, 'completed').result.login, 'octocat');
      assert.ok(!JSON.stringify(result).includes(CANARY));
    });
  }],

  ['a program that throws is an error with its message', async ({ face }) => {
    await using(face.open, {}, async ({ call }) => {
      const result = await call('execute', { code: "const a = 1;\nthrow new Error('it broke here');" });
      settled(result, 'failed');
      assert.equal(result.isError, true);
      assert.match(texts(result), /it broke here/);
    });
  }],

  ['a program that does not compile says where', async ({ face }) => {
    await using(face.open, {}, async ({ call }) => {
      const result = await call('execute', { code: 'const a = 1;\nreturn a +;' });
      assert.equal(result.isError, true);
      assert.match(texts(result), /2/, 'the line is named');
    });
  }],

  ['a long result is cut, and says so', async ({ face }) => {
    await using(face.open, {}, async ({ call }) => {
      const result = await call('execute', { code: "return 'x'.repeat(100_000)" });
      settled(result, 'completed');
      const text = texts(result);
      assert.ok(text.length <= 30_000, `${text.length} characters`);
      assert.match(text, /cut|truncated|more/i);
    });
  }],

  ['an approval that the client accepts is sent once', async ({ face, sent }) => {
    const [name, asked] = [title(), []];
    const elicit = async (params) => (asked.push(params), { action: 'accept', content: accepting(params) });
    await using(face.open, { elicit }, async ({ call }) => {
      const result = await call('execute', { code: creating(name) });
      assert.equal(settled(result, 'completed').result, name, JSON.stringify(result));
    });
    assert.equal(asked.length, 1);
    assert.match(asked[0].message, /github\.issues\.create/, 'who accepts sees what');
    assert.match(asked[0].message, new RegExp(name), 'and with which arguments');
    assert.equal(await sent(name), 1);
  }],

  ['an approval that the client declines reaches the program', async ({ face, sent }) => {
    const name = title();
    await using(face.open, { elicit: async () => ({ action: 'decline' }) }, async ({ call }) => {
      const result = await call('execute', { code: creating(name) });
      assert.deepEqual(settled(result, 'completed').result, ['ToolError', 'denied']);
    });
    assert.equal(await sent(name), 0);
  }],

  ['an approval that the client cancels sends nothing', async ({ face, sent }) => {
    const name = title();
    await using(face.open, { elicit: async () => ({ action: 'cancel' }) }, async ({ call }) => {
      const result = await call('execute', { code: creating(name) });
      assert.notEqual(result.structuredContent?.status, 'completed', JSON.stringify(result));
    });
    assert.equal(await sent(name), 0);
  }],

  ['without elicitation it waits; a person accepts elsewhere; resume tells the outcome', async ({ face, daemon, sent }) => {
    const name = title();
    const id = await using(face.open, {}, async ({ call }) => {
      const result = await call('execute', { code: creating(name) });
      settled(result, 'waiting_for_interaction');
      assert.ok(!result.isError, 'waiting is no failure');
      assert.match(texts(result), /resume/);
      return executionId(result);
    });
    assert.equal(await sent(name), 0);
    const done = await daemon.cli('resume', id, '--accept', '--yes');
    assert.equal(done.code, 0, done.stdout + done.stderr);
    // From another connection: the one that asked is gone.
    await using(face.open, {}, async ({ call }) => {
      for (let times = 0; times < 2; times += 1) {
        const result = await call('resume', { executionId: id, action: 'decline' });
        assert.equal(settled(result, 'completed').result, name, 'the recorded outcome, not another one');
      }
    });
    assert.equal(await sent(name), 1);
  }],

  ['resume can not accept an approval', async ({ face, daemon, sent }) => {
    const name = title();
    await using(face.open, {}, async ({ call }) => {
      const id = executionId(await call('execute', { code: creating(name) }));
      for (const content of [undefined, {}, { approve: true }, { accept: true, remember: true }]) {
        const refused = await outcome(call('resume', { executionId: id, action: 'accept', ...(content && { content }) }));
        assert.ok(refused.failed, JSON.stringify(refused));
      }
      assert.equal((await daemon.execution(id)).status, 'waiting_for_interaction');
      assert.equal(await sent(name), 0);
      for (let times = 0; times < 2; times += 1) {
        const declined = await call('resume', { executionId: id, action: 'decline' });
        assert.deepEqual(settled(declined, 'completed').result, ['ToolError', 'denied']);
      }
    });
    assert.equal(await sent(name), 0);
  }],

  ['a program can not accept its own approval', async ({ face, daemon, sent }) => {
    const name = title();
    await using(face.open, {}, async ({ call }) => {
      const id = executionId(await call('execute', { code: creating(name) }));
      const code = `const found = await tools.search({ query: 'resume accept approve execution', limit: 50 });
        return found.items.map((item) => item.path)`;
      const result = settled(await call('execute', { code }), 'completed').result;
      assert.ok(!result.some((path) => /^executor\..*(resume|accept|approve)/i.test(path)), JSON.stringify(result));
      assert.equal((await daemon.execution(id)).status, 'waiting_for_interaction');
      await call('resume', { executionId: id, action: 'cancel' });
      assert.equal((await daemon.execution(id)).status, 'cancelled');
    });
    assert.equal(await sent(name), 0);
  }],

  ['resume of what is not there says so', async ({ face }) => {
    await using(face.open, {}, async ({ call }) => {
      for (const executionId of ['exe_nothing', '', '../token', 'exe_'.repeat(2_000)]) {
        const { failed, text } = await outcome(call('resume', { executionId, action: 'decline' }));
        assert.ok(failed, executionId.slice(0, 40));
        assert.ok(text.length < 3_000, 'what was given is not echoed whole');
      }
    });
  }],

  ['search_tools and describe_tool', async ({ face }) => {
    await using(face.open, {}, async ({ call }) => {
      const found = await call('search_tools', { query: 'create an issue' });
      assert.match(texts(found), /github\.issues\.create/);
      const told = await call('describe_tool', { path: 'github.issues.create' });
      assert.match(texts(told), /owner/);
      assert.match(texts(told), /title/);
      const missing = await outcome(call('describe_tool', { path: 'github.issue.create' }));
      assert.ok(missing.failed);
      assert.match(missing.text, /github\.issues\.create/, 'a name that is nearly right is put right');
    });
  }],

  ['the catalogue itself, where it is asked for', async ({ face, sent }) => {
    const name = title();
    const elicit = async (params) => ({ action: 'accept', content: accepting(params) });
    await using(face.direct, { elicit }, async ({ call, tools }) => {
      const listed = await tools();
      const named = (pattern) => listed.find((tool) => pattern.test(tool.name));
      const reading = named(/^github[._-]{1,2}users[._-]{1,2}getAuthenticated$/);
      const writing = named(/^github[._-]{1,2}issues[._-]{1,2}create$/);
      assert.ok(reading && writing, `${listed.length} tools, such as ${listed.slice(0, 8).map((tool) => tool.name)}`);
      assert.ok(listed.every((tool) => /^[A-Za-z0-9_.-]{1,128}$/.test(tool.name)), 'names that clients take');
      assert.equal(reading.annotations?.readOnlyHint, true);
      assert.notEqual(writing.annotations?.readOnlyHint, true);
      assert.match(JSON.stringify(await call(reading.name, {})), /octocat/);
      const made = await call(writing.name, { owner: 'octocat', repo: 'hello-world', body: { title: name } });
      assert.match(JSON.stringify(made), new RegExp(name));
      const wrong = await outcome(call(writing.name, { owner: 'octocat', repository: 'hello-world' }));
      assert.ok(wrong.failed, 'arguments are checked');
    });
    assert.equal(await sent(name), 1);
  }],

  ['a call that the client gives up ends the program', async ({ face, daemon }) => {
    await using(face.open, {}, async ({ call }) => {
      const mark = `/* ${title()} */`;
      const stop = new AbortController();
      const lost = outcome(call('execute', { code: `${mark} while (true) {}` }, { signal: stop.signal }));
      const running = async (status) => {
        const { items } = (await daemon.http('GET', `/v1/workspaces/default/executions?status=${status}`)).json;
        return items.filter((item) => item.title.includes('while (true)') || item.title.includes(mark));
      };
      const [{ id }] = await until(async () => {
        const items = await running('running');
        return items.length > 0 && items;
      }, 'the program runs');
      stop.abort('the user pressed escape');
      assert.ok((await lost).failed);
      await until(async () => (await daemon.execution(id)).status === 'cancelled', 'the program is cancelled');
    });
  }],

  ['a client that asks for progress hears of it', async ({ face }) => {
    await using(face.open, {}, async ({ call }) => {
      const heard = [];
      const code = `for (let turn = 0; turn < 3; turn += 1) {
          await tools.github.users.getAuthenticated({});
          await new Promise((go) => setTimeout(go, 700));
        } return 'done'`;
      const result = await call('execute', { code }, { onprogress: (progress) => heard.push(progress.progress) });
      assert.equal(settled(result, 'completed').result, 'done');
      assert.ok(heard.length > 0, 'nothing was heard');
      assert.ok(heard.every((value, at) => at === 0 || value > heard[at - 1]), `it only grows: ${heard}`);
    });
  }],

  ['many calls at one time are kept apart', async ({ face }) => {
    await using(face.open, {}, async ({ call }) => {
      const numbers = Array.from({ length: 16 }, (_, number) => number);
      const results = await Promise.all(numbers.map((number) => call('execute', { code: `return ${number} * 2` })));
      assert.deepEqual(results.map((result) => result.structuredContent.result), numbers.map((number) => number * 2));
    });
  }],

  ['wrong arguments and unknown tools are refused clearly', async ({ face }) => {
    await using(face.open, {}, async ({ call }) => {
      for (const [tool, args, expect] of [
        ['execute', {}, /code/],
        ['execute', { code: 7 }, /code|string/],
        ['execute', { code: 'return 1', workspace: 'nowhere' }, /nowhere/],
        ['resume', { executionId: 'exe_x', action: 'approve' }, /approve|action/],
        ['describe_tool', {}, /path/],
        ['delete_everything', {}, /delete_everything|not found|unknown/i],
      ]) {
        const { failed, text } = await outcome(call(tool, args));
        assert.ok(failed, `${tool} ${JSON.stringify(args)}: ${text}`);
        assert.match(text, expect);
      }
    });
  }],
];

/** How a call ended: an error of the protocol and a result that is one count alike. */
export async function outcome(promise) {
  try {
    const result = await promise;
    return { failed: result.isError === true, text: texts(result), result };
  } catch (error) {
    return { failed: true, text: `${error.code ?? ''} ${error.message ?? error}`, error };
  }
}

/** Fills in a form as somebody would who says yes to everything that it requires. */
export function accepting(params) {
  const content = {};
  for (const [name, schema] of Object.entries(params.requestedSchema?.properties ?? {})) {
    if (!params.requestedSchema.required?.includes(name)) continue;
    if (schema.default !== undefined) content[name] = schema.default;
    else if (schema.type === 'boolean') content[name] = true;
    else content[name] = schema.enum?.[0] ?? schema.oneOf?.[0]?.const ?? 'yes';
  }
  return content;
}
