// Everything, in order; `run.sh` says what the arguments are.

import { rmSync } from 'node:fs';
import path from 'node:path';

import { browser } from './browser/all.mjs';
import { clients } from './clients/all.mjs';
import { fail, finish, pick, wanted } from './lib/cases.mjs';
import { folders } from './lib/daemon.mjs';
import { killAll, leftovers } from './lib/processes.mjs';
import { openapi } from './openapi/all.mjs';
import { sources } from './sources/all.mjs';

const [executor, upstream, target, only] = process.argv.slice(2);
const given = {
  executor: path.resolve(executor),
  upstream: /^http:/.test(upstream) ? upstream : path.resolve(upstream),
  target: path.resolve(target),
};
if (only) pick(only);

// Whoever ends us ends what we started; each is in a process group of its own.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(130));
process.once('exit', () => {
  killAll();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});
// A client library that forgets to wait for its own promise is a failure of that client.
process.on('unhandledRejection', (error) => fail('a promise that nobody waited for', error));

for (const [name, work] of Object.entries({ browser, clients, openapi, sources })) {
  if (!wanted(name)) continue;
  try {
    await work(given);
  } catch (error) {
    fail(name, error);
  }
}
const left = await leftovers(folders);
if (left.length > 0) fail('no process is left behind', left.join('\n'));
process.exit(finish());
