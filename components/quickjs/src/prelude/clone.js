// structuredClone: JSON's values and Map, Set, Date, RegExp, Error, buffers and
// typed arrays, with cycles kept. What can't be cloned is named.
const copiers = {
  __proto__: null,
  date: (value) => new Date(dateTime(value)),
  regexp: (value) => new RegExp(value),
  buffer: (value) => value.slice(0),
  typed: (value) => new value.constructor(value),
  view: (value) => new DataView(value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength)),
};

function cloneValue(value, seen) {
  if (typeof value === "symbol" || typeof value === "function") {
    throw named("DataCloneError", `a ${typeof value} can't be cloned`);
  }
  if (typeof value !== "object" || value === null) return value;
  const known = mapGet(seen, value);
  if (known !== undefined) return known;
  const kind = host.kind(value);
  if (copiers[kind] !== undefined) {
    const copy = copiers[kind](value);
    mapSet(seen, value, copy);
    return copy;
  }
  if (kind === "map") return cloneMap(value, seen);
  if (kind === "set") return cloneSet(value, seen);
  if (kind === "opaque") throw named("DataCloneError", "a promise, weak collection or proxy can't be cloned");
  return cloneObject(value, seen, kind);
}

function cloneMap(value, seen) {
  const copy = new PrimordialMap();
  mapSet(seen, value, copy);
  mapForEach(value, (item, key) => mapSet(copy, cloneValue(key, seen), cloneValue(item, seen)));
  return copy;
}

function cloneSet(value, seen) {
  const copy = new PrimordialSet();
  mapSet(seen, value, copy);
  setForEach(value, (item) => setAdd(copy, cloneValue(item, seen)));
  return copy;
}

function cloneObject(value, seen, kind) {
  const copy = kind === "array" ? [] : kind === "error" ? named(value.name, value.message) : {};
  mapSet(seen, value, copy);
  if (kind === "array") copy.length = value.length;
  if (kind === "error") define(copy, "stack", value.stack);
  const keys = ownKeys(value);
  for (let index = 0; index < keys.length; index += 1) {
    const key = keys[index];
    if (typeof key === "symbol" || !getOwnPropertyDescriptor(value, key)?.enumerable) continue;
    defineProperty(copy, key, {
      __proto__: null, value: cloneValue(value[key], seen),
      writable: true, enumerable: true, configurable: true,
    });
  }
  return copy;
}

const structuredClone = (value) => cloneValue(value, new PrimordialMap());
