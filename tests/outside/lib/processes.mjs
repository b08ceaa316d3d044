// Programs that run beside the tests, each ended by whoever started it.

import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';

const running = new Set();

/**
 * Starts a program in a process group of its own and waits for a line that
 * `ready` matches. Gives `{match, child, ended, output(), stop()}`.
 */
export async function start(command, args, { env, ready, cwd, patienceMs = 180_000 }) {
  const child = spawn(command, args, { env, cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let output = '';
  const ended = new Promise((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
    child.once('error', (error) => resolve({ error }));
  }).finally(() => running.delete(child));
  const matched = new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`${command} was not ready after ${patienceMs} ms:\n${output}`)),
      patienceMs,
    );
    const read = (bytes) => {
      output = (output + bytes).slice(-200_000);
      const match = ready.exec(output);
      if (match) {
        clearTimeout(timer);
        resolve(match);
      }
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    ended.then((how) => {
      clearTimeout(timer);
      reject(new Error(`${command} ended before it was ready, ${JSON.stringify(how)}:\n${output}`));
    });
  });
  const stop = async () => {
    signal(child, 'SIGTERM');
    const timer = setTimeout(() => signal(child, 'SIGKILL'), 10_000);
    const how = await ended;
    clearTimeout(timer);
    return how;
  };
  try {
    return { match: await matched, child, ended, output: () => output, stop };
  } catch (error) {
    signal(child, 'SIGKILL');
    throw error;
  }
}

/** Runs a program to its end; gives `{code, stdout, stderr}`. */
export async function run(command, args, { env, cwd, input = '', timeoutMs = 60_000 } = {}) {
  const child = spawn(command, args, { env, cwd, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  running.add(child);
  const timer = setTimeout(() => signal(child, 'SIGKILL'), timeoutMs);
  const out = [];
  const err = [];
  child.stdout.on('data', (bytes) => out.push(bytes));
  child.stderr.on('data', (bytes) => err.push(bytes));
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  try {
    const code = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve(code ?? signal));
    });
    return { code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() };
  } finally {
    clearTimeout(timer);
    running.delete(child);
  }
}

/** Ends whatever is left; for the way out alone. */
export function killAll() {
  for (const child of running) signal(child, 'SIGKILL');
}

/** Processes that outlived whoever started them: those with one of `homes` as their home. */
export async function leftovers(homes) {
  const found = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
    if (homes.some((home) => environment.includes(home))) {
      found.push(`${pid} ${(await readFile(`/proc/${pid}/cmdline`, 'latin1')).replaceAll('\0', ' ')}`);
      process.kill(Number(pid), 'SIGKILL');
    }
  }
  return found;
}

/** To the whole group: a program may have started others. */
function signal(child, name) {
  try {
    process.kill(-child.pid, name);
  } catch {
    // It has ended already, or never began.
  }
}
