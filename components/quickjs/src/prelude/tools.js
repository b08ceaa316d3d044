// `tools`: any dotted path under it is a function. Nothing is looked up until
// it is called; the host knows the catalogue.
const pathKey = Symbol("path");

// What was looked up below a path and how much of that there is: the next call
// of a tool makes nothing anew. Only handlers look at it, at their own targets.
const belowKey = Symbol("below");
const KEPT_BELOW = 256;

// Names that the language itself asks of any value. A path never has them, so
// that `await tools.x`, JSON.stringify and console.log see a plain function;
// a tool that is really called so is reached as tools["source.then"](…).
const hidden = create(null);
hidden.then = hidden.toJSON = hidden.constructor = hidden.prototype = true;
hidden["__proto__"] = true;

const label = (path) => (path === "" ? "[tools]" : `[tool ${path}]`);

const NOT_LISTED =
  "tools can't be listed: use tools.search({ query }) to find them, or tools.sources.list()";
const refuseListing = () => {
  throw new PrimordialTypeError(NOT_LISTED);
};
const refuseChange = () => {
  throw new PrimordialTypeError("tools is read-only");
};

const handler = {
  __proto__: null,
  get(target, key) {
    const path = target[pathKey];
    if (key === pathKey) return path;
    if (typeof key === "symbol") return key === Symbol.toPrimitive ? () => label(path) : undefined;
    if (key === "toString" || key === "valueOf" || key === "toLocaleString") return () => label(path);
    if (hidden[key]) return undefined;
    const below = target[belowKey];
    const known = below.tools[key];
    if (known !== undefined) return known;
    const tool = toolAt(path === "" ? key : `${path}.${key}`);
    if (below.count < KEPT_BELOW) {
      below.tools[key] = tool;
      below.count += 1;
    }
    return tool;
  },
  apply(target, _self, args) {
    const given = args.length;
    return callTool(target[pathKey], given > 0 ? args[0] : undefined, given > 1 ? args[1] : undefined);
  },
  has: refuseListing,
  ownKeys: refuseListing,
  getOwnPropertyDescriptor: () => undefined,
  getPrototypeOf: () => null,
  set: refuseChange,
  defineProperty: refuseChange,
  deleteProperty: refuseChange,
  setPrototypeOf: refuseChange,
};

function toolAt(path) {
  const target = () => {};
  target[pathKey] = path;
  target[belowKey] = { __proto__: null, tools: create(null), count: 0 };
  return new PrimordialProxy(target, handler);
}

// The path of a value of `tools`, or undefined for any other function.
const toolPath = (value) => (typeof value === "function" ? value[pathKey] : undefined);

function callTool(path, args, options) {
  try {
    if (path === "") {
      throw new PrimordialTypeError(
        "tools is not a tool: call one by its path, such as tools.github.issues.list({ … }); tools.search({ query }) finds them",
      );
    }
    if (path === "search" && typeof args === "string") args = { __proto__: null, query: args };
    if (path === "describe") {
      args = describeArguments(args, options);
      options = undefined;
    }
    checkArguments(path, args);
    const signal = checkOptions(path, options);
    return startCall("tools", path, args ?? create(null), withoutSignal(options), signal, `tools.${path}`);
  } catch (error) {
    return new PrimordialPromise((_, reject) => reject(error));
  }
}

function describeArguments(what, options) {
  const path = typeof what === "string" ? what : toolPath(what);
  if (path === undefined) return what;
  return { __proto__: null, path, type: options?.type, depth: options?.depth };
}

const nameOf = (value) => (value === null ? "null" : isArray(value) ? "an array" : `a ${typeof value}`);

function checkArguments(path, args) {
  if (args === undefined || (typeof args === "object" && args !== null && !isArray(args))) return;
  throw new PrimordialTypeError(
    `tools.${path} takes one object of named arguments, not ${nameOf(args)}: tools.describe("${path}") shows them`,
  );
}

function checkOptions(path, options) {
  if (options === undefined || options === null) return undefined;
  if (typeof options !== "object" || isArray(options)) {
    throw new PrimordialTypeError(
      `the second argument of tools.${path} is an object of options (connection, raw, signal), not ${nameOf(options)}`,
    );
  }
  const signal = options.signal ?? undefined;
  if (signal !== undefined && !isSignal(signal)) {
    throw new PrimordialTypeError(`the option "signal" of tools.${path} has to be an AbortSignal`);
  }
  return signal;
}

function withoutSignal(options) {
  if (options === undefined || options === null) return undefined;
  const kept = create(null);
  let count = 0;
  const keys = ownKeys(options);
  for (let index = 0; index < keys.length; index += 1) {
    if (typeof keys[index] === "symbol" || keys[index] === "signal") continue;
    kept[keys[index]] = options[keys[index]];
    count += 1;
  }
  return count === 0 ? undefined : kept;
}
