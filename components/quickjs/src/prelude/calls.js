// Calls to the host that have no answer yet, by the host's id.
const DEBUG = 0, INFO = 1, WARN = 2, ERROR = 3;
const pending = create(null);

// The durable scope that calls are numbered in; 0 outside any.
let scope = 0;

function startCall(root, path, args, options, signal, label) {
  return new PrimordialPromise((resolve, reject) => {
    if (signal !== undefined && isAborted(signal)) {
      reject(abortReason(signal));
      return;
    }
    const site = {};
    captureStackTrace(site, startCall);
    const id = host.start(root, path, args, options, scope);
    const call = { __proto__: null, resolve, reject, label, site, signal, onAbort: undefined };
    pending[id] = call;
    if (signal !== undefined) {
      call.onAbort = () => {
        if (pending[id] !== call) return;
        delete pending[id];
        host.cancel(id);
        reject(abortReason(signal));
      };
      listen(signal, "abort", call.onAbort);
    }
  });
}

// The host's answer to a call: `value` is the parsed JSON of it.
function settle(id, ok, value) {
  const call = pending[id];
  if (call === undefined) return;
  delete pending[id];
  if (call.timer !== undefined) {
    if (ok) call.timer();
    else host.log(ERROR, ["a timer failed:", value]);
    return;
  }
  if (call.signal !== undefined) unlisten(call.signal, "abort", call.onAbort);
  if (ok) {
    call.resolve(value);
    return;
  }
  const error = new ToolError(value ?? {});
  define(error, "stack", call.site.stack);
  call.reject(error);
}

// Cancels what is outstanding and says what of it was not a timer.
function abandon() {
  const labels = [];
  const ids = ownKeys(pending);
  for (let index = 0; index < ids.length; index += 1) {
    const call = pending[ids[index]];
    delete pending[ids[index]];
    host.cancel(+ids[index]);
    if (call.timer === undefined) put(labels, call.label);
  }
  return labels;
}

function startTimer(run, ms) {
  let delay = +ms;
  if (!(delay > 0)) delay = 0;
  if (delay > 2147483647) delay = 2147483647;
  const id = host.start("timer", "", { __proto__: null, ms: delay - (delay % 1) }, undefined, scope);
  pending[id] = { __proto__: null, timer: run };
  return id;
}

function setTimeout(callback, ms, ...rest) {
  if (typeof callback !== "function") {
    throw new PrimordialTypeError("setTimeout takes a function and a delay in milliseconds");
  }
  return startTimer(() => {
    try {
      apply(callback, undefined, rest);
    } catch (error) {
      host.log(ERROR, ["uncaught in a setTimeout callback:", error]);
    }
  }, ms);
}

function clearTimeout(id) {
  const call = typeof id === "number" ? pending[id] : undefined;
  if (call === undefined || call.timer === undefined) return;
  delete pending[id];
  host.cancel(id);
}

function setInterval() {
  throw new PrimordialTypeError(
    "setInterval is not available here: loop, and wait with `await new Promise((go) => setTimeout(go, ms))`",
  );
}

// What a thenable comes to, as a promise of the engine's own.
const adopt = async (value) => value;
