// What a program finds in its global scope, and what the Rust side calls.
for (const [name, value] of [
  ["AbortController", AbortController], ["AbortSignal", AbortSignal],
  ["TextDecoder", TextDecoder], ["TextEncoder", TextEncoder],
  ["URL", URL], ["URLSearchParams", URLSearchParams],
  ["setTimeout", setTimeout], ["clearTimeout", clearTimeout], ["setInterval", setInterval],
  ["structuredClone", structuredClone], ["crypto", crypto], ["performance", performance],
  ["console", {
    log: (...items) => host.log(INFO, items),
    info: (...items) => host.log(INFO, items),
    warn: (...items) => host.log(WARN, items),
    error: (...items) => host.log(ERROR, items),
    debug: (...items) => host.log(DEBUG, items),
    trace: (...items) => host.log(DEBUG, items),
  }],
  ["fetch", () => {
    throw new PrimordialTypeError(
      "fetch is not available here: call tools.<source>.<tool>(args) instead; tools.search({ query }) finds them",
    );
  }],
]) define(globalThis, name, value);

define(globalThis, "tools", toolAt(""), true);
define(globalThis, "blobs", freeze(blobs), true);
define(globalThis, "emit", (value) => host.emit(value), true);
define(globalThis, "ToolError", ToolError, true);
define(Math, "random", host.fraction);

const namespaces = create(null);

return {
  __proto__: null,
  adopt,
  settle,
  abandon,
  toolPath: (value) => toolPath(value),
  entries: (map) => {
    const pairs = [];
    mapForEach(map, (value, key) => put(pairs, [key, value]));
    return pairs;
  },
  items: (set) => {
    const items = [];
    setForEach(set, (value) => put(items, value));
    return items;
  },
  dateText: (date) => {
    const time = dateTime(date);
    return isFinite(time) ? dateText(date) : undefined;
  },
  regExpText,
  bigIntText: (value) => bigIntText(value),
  isSafeBigInt: (value) => value >= -9007199254740991n && value <= 9007199254740991n,
  wellFormed: (text) => wellFormedText(text),
  typeError: (message) => new PrimordialTypeError(message),
  keep: (specifier, namespace) => { namespaces[specifier] = namespace; },
  kept: (specifier) => namespaces[specifier],
};
