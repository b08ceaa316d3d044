// The packages that setup.sh installed, which lie in no folder above this one.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/** Gives a function that loads a package of `target`, with `.version(name)` and `.file(path)`. */
export function packages(target) {
  const root = path.join(path.resolve(target), 'npm');
  const load = createRequire(path.join(root, 'package.json'));
  load.file = (name) => path.join(root, 'node_modules', name);
  load.version = (name) => JSON.parse(readFileSync(load.file(`${name}/package.json`), 'utf8')).version;
  return load;
}
