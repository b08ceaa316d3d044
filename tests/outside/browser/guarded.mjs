// The daemon as a hostile page would like to find it: with a source, a
// credential, and an execution that waits for somebody's yes.

import assert from 'node:assert/strict';

import { CANARY, Daemon, Upstream } from '../lib/daemon.mjs';

const CODE = `return await tools.github.issues.create(
  { owner: 'octocat', repo: 'hello-world', body: { title: 'not by a page' } })`;

/** Starts it; gives `{origin, port, token, secrets, changes(), stop()}` as `careless` does, and more. */
export async function guarded(given) {
  const upstream = await Upstream.start(given.upstream);
  const daemon = await Daemon.start(given);
  await daemon.addGithub(upstream);
  const waiting = await daemon.http('POST', '/v1/workspaces/default/executions', { body: { code: CODE } });
  assert.equal(waiting.status, 202, waiting.text);
  return {
    port: daemon.port,
    origin: daemon.origin,
    daemon,
    upstream,
    token: daemon.token,
    execution: waiting.json.id,
    interaction: waiting.json.interactions[0].id,
    secrets: [daemon.token, CANARY, waiting.json.id, waiting.json.interactions[0].id, '"octocat"', '"github"'],
    /** Everything that a request could have changed, as text. */
    changes: async () => {
      const sent = await upstream.received('POST', '/repos/octocat/hello-world/issues');
      return JSON.stringify([await daemon.tally(), sent.map((entry) => entry.body)], null, 1);
    },
    stop: async () => {
      await daemon.stop();
      await upstream.stop();
    },
  };
}
