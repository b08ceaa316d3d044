// Cases: a name, what is done, a line of output. A case that fails stops no other.

import { performance } from 'node:perf_hooks';

/** The longest that one case may take, where it says nothing. */
const PATIENCE_MS = 60_000;

const state = { only: undefined, passed: 0, failed: [] };

/** Keeps the cases whose name contains `text`. */
export function pick(text) {
  state.only = text;
}

/** Whether a group may hold a case that was picked: one need not start what it does without. */
export function wanted(group) {
  const { only } = state;
  const grouped = /^(browser|clients|openapi|sources)/.test(only ?? '');
  return !grouped || only.startsWith(group) || group.startsWith(only);
}

/** Runs one case, unless others were picked. */
export async function check(name, work, { timeoutMs = PATIENCE_MS } = {}) {
  if (state.only && !name.includes(state.only)) return;
  const begun = performance.now();
  const took = () => `${Math.round(performance.now() - begun)} ms`;
  try {
    await within(timeoutMs, work(), name);
    state.passed += 1;
    console.log(`ok    ${name} (${took()})`);
  } catch (error) {
    fail(name, error, took());
  }
}

/** Records a failure that is no case's own, such as a server that did not start. */
export function fail(name, error, took = '') {
  state.failed.push(name);
  console.log(`FAIL  ${name}${took && ` (${took})`}`);
  const text = error?.stack ?? String(error);
  console.log(text.slice(0, 6_000).replace(/^/gm, '      '));
}

/** Prints the sum and gives the exit code. */
export function finish() {
  const { passed, failed } = state;
  if (passed + failed.length === 0) {
    console.log(`no case has a name with "${state.only}" in it`);
    return 2;
  }
  console.log(`\n${passed} passed, ${failed.length} failed`);
  for (const name of failed) console.log(`  ${name}`);
  return failed.length === 0 ? 0 : 1;
}

/** What `promise` gives, unless it takes longer. */
export async function within(milliseconds, promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing after ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Asks again until `ask` gives something. */
export async function until(ask, what, milliseconds = 20_000) {
  const end = performance.now() + milliseconds;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > end) throw new Error(`${what}: not so after ${milliseconds} ms`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
