// Revision 2026-07-28 alone: no handshake, and questions that come as answers
// which require input. A client may take its time, answer twice, or lie.

import assert from 'node:assert/strict';

import { check } from '../lib/cases.mjs';
import { overHttp } from './all.mjs';
import { accepting, outcome } from './suite.mjs';

const ISSUES = '/repos/octocat/hello-world/issues';

/** Runs them against one daemon. */
export async function modern(sdk, around) {
  const face = overHttp(sdk, around);
  let count = 0;
  const case_ = (what, work) => check(`${face.name}: ${what}`, async () => {
    const title = `modern ${process.pid} ${(count += 1)}`;
    const sent = async () => {
      const all = await around.upstream.received('POST', ISSUES);
      return all.filter((entry) => JSON.parse(entry.body).title === title).length;
    };
    const connection = await face.open({ elicit: async () => assert.fail('manual'), manual: true });
    try {
      await work({ connection, sent, ...asking(connection, title) });
    } finally {
      await connection.close();
    }
  });

  await case_('an answer that requires input, and the retry that brings it', async ({ ask, retry, sent }) => {
    const asked = await ask();
    assert.equal(asked.resultType, 'input_required', JSON.stringify(asked));
    const [key] = Object.keys(asked.inputRequests);
    assert.equal(asked.inputRequests[key].method, 'elicitation/create');
    assert.equal(await sent(), 0);
    const done = await retry(asked, yes(asked));
    assert.equal(done.structuredContent.status, 'completed', JSON.stringify(done));
    assert.equal(await sent(), 1);
  });

  await case_('the same answer twice is sent once', async ({ ask, retry, sent }) => {
    const asked = await ask();
    const [first, second] = await Promise.all([outcome(retry(asked, yes(asked))), outcome(retry(asked, yes(asked)))]);
    assert.ok(!first.failed || !second.failed, `${first.text} ${second.text}`);
    await outcome(retry(asked, yes(asked)));
    assert.equal(await sent(), 1);
  });

  await case_('a state that was tampered with is refused', async ({ ask, retry, sent }) => {
    const asked = await ask();
    const state = asked.requestState;
    for (const forged of [`${state}x`, state.slice(1), '', '{}', 'x'.repeat(100_000), swapped(state)]) {
      const { failed, result } = await outcome(retry({ ...asked, requestState: forged }, yes(asked)));
      assert.ok(failed || result.resultType === 'input_required', JSON.stringify(result));
      assert.equal(await sent(), 0, forged.slice(0, 80));
    }
  });

  await case_('a state of one question answers no other', async ({ ask, askOther, retry, sent }) => {
    const asked = await ask();
    const other = await askOther();
    const { result } = await outcome(retry({ ...asked, requestState: other.requestState }, yes(asked)));
    assert.notEqual(result?.structuredContent?.result, 'made');
    assert.equal(await sent(), 0);
  });

  await case_('an answer that nobody asked for accepts nothing', async ({ ask, retry, sent }) => {
    const asked = await ask();
    for (const responses of [{}, { other: { action: 'accept', content: {} } }, { [first(asked)]: { action: 'sure' } }]) {
      const { result, failed } = await outcome(retry(asked, responses));
      assert.ok(failed || result.structuredContent?.status !== 'completed', JSON.stringify(result));
    }
    assert.equal(await sent(), 0);
  });
}

function asking({ client }, title) {
  const code = (name) => `
    await tools.github.issues.create({ owner: 'octocat', repo: 'hello-world', body: { title: '${name}' } });
    return 'made'`;
  const call = (name, more = {}) =>
    client.request(
      { method: 'tools/call', params: { name: 'execute', arguments: { code: code(name) }, ...more } },
      { allowInputRequired: true, timeout: 30_000 },
    );
  return {
    ask: () => call(title),
    askOther: () => call(`${title} other`),
    retry: (asked, inputResponses) => call(title, { inputResponses, requestState: asked.requestState }),
  };
}

const first = (asked) => Object.keys(asked.inputRequests)[0];

/** The answer of somebody who says yes. */
function yes(asked) {
  const key = first(asked);
  return { [key]: { action: 'accept', content: accepting(asked.inputRequests[key].params) } };
}

/** Another character in the middle. */
function swapped(text) {
  const at = Math.floor(text.length / 2);
  return text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
}

