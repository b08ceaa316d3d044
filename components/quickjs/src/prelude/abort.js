// AbortController and AbortSignal, as far as they make sense without events:
// listeners of "abort" alone, and the calls that the host is to stop.
const signalAbort = create(null);

class AbortSignal {
  #aborted = false;
  #reason = undefined;
  #listeners = [];

  constructor(key) {
    if (key !== signalAbort) {
      throw new PrimordialTypeError("AbortSignal has no constructor: use new AbortController().signal");
    }
  }
  get aborted() { return this.#aborted; }
  get reason() { return this.#reason; }
  throwIfAborted() {
    if (this.#aborted) throw this.#reason;
  }
  addEventListener(type, listener) {
    if (type === "abort" && !this.#aborted) put(this.#listeners, listener);
  }
  removeEventListener(type, listener) {
    for (let index = 0; index < this.#listeners.length; index += 1) {
      if (this.#listeners[index] === listener) this.#listeners[index] = undefined;
    }
  }
  static isSignal(value) { return typeof value === "object" && value !== null && #aborted in value; }
  static fire(signal, reason) {
    if (signal.#aborted) return;
    signal.#aborted = true;
    signal.#reason = reason;
    const listeners = signal.#listeners;
    signal.#listeners = [];
    const event = { type: "abort", target: signal };
    for (let index = 0; index < listeners.length; index += 1) notify(listeners[index], signal, event);
    if (typeof signal.onabort === "function") notify(signal.onabort, signal, event);
  }
  static abort(reason) {
    const signal = new AbortSignal(signalAbort);
    fireSignal(signal, reason ?? named("AbortError", "this operation was aborted"));
    return signal;
  }
  static timeout(ms) {
    const signal = new AbortSignal(signalAbort);
    startTimer(() => fireSignal(signal, named("TimeoutError", `no answer within ${ms} ms`)), ms);
    return signal;
  }
  static any(signals) {
    const joined = new AbortSignal(signalAbort);
    for (const signal of signals) {
      if (signal.aborted) {
        fireSignal(joined, signal.reason);
        break;
      }
      signal.addEventListener("abort", () => fireSignal(joined, signal.reason));
    }
    return joined;
  }
}
const isSignal = AbortSignal.isSignal;
const fireSignal = AbortSignal.fire;
delete AbortSignal.isSignal;
delete AbortSignal.fire;
const listen = uncurry(AbortSignal.prototype.addEventListener);
const unlisten = uncurry(AbortSignal.prototype.removeEventListener);
const isAborted = getter(AbortSignal.prototype, "aborted");
const abortReason = getter(AbortSignal.prototype, "reason");

function notify(listener, signal, event) {
  if (listener === undefined || listener === null) return;
  try {
    if (typeof listener === "function") apply(listener, signal, [event]);
    else listener.handleEvent(event);
  } catch (error) {
    host.log(ERROR, ["uncaught in an abort listener:", error]);
  }
}

class AbortController {
  #signal = new AbortSignal(signalAbort);
  get signal() { return this.#signal; }
  abort(reason) {
    fireSignal(this.#signal, reason ?? named("AbortError", "this operation was aborted"));
  }
}
