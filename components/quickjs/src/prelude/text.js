// TextEncoder, TextDecoder (UTF-8 alone) and crypto over the host.
class TextEncoder {
  get encoding() { return "utf-8"; }
  encode(text = "") { return host.encode(`${text}`); }
  encodeInto(text, target) {
    let read = 0, written = 0;
    for (const character of `${text}`) {
      const bytes = host.encode(character);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      read += character.length;
      written += bytes.length;
    }
    return { read, written };
  }
}

class TextDecoder {
  #fatal;
  #keepBom;
  constructor(encoding = "utf-8", options = {}) {
    const name = lowerText(`${encoding}`);
    if (name !== "utf-8" && name !== "utf8" && name !== "unicode-1-1-utf-8") {
      throw new PrimordialRangeError(`TextDecoder knows utf-8 alone here, not "${encoding}"`);
    }
    this.#fatal = !!options.fatal;
    this.#keepBom = !!options.ignoreBOM;
  }
  get encoding() { return "utf-8"; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#keepBom; }
  decode(bytes, options) {
    if (options?.stream) throw new PrimordialTypeError("TextDecoder does not stream here: decode the whole at once");
    if (bytes === undefined) return "";
    return host.decode(bytes, this.#fatal, this.#keepBom);
  }
}

const crypto = {
  randomUUID() { return host.uuid(); },
  getRandomValues(array) {
    const kind = host.kind(array);
    if (kind !== "typed" || array instanceof Float32Array || array instanceof Float64Array) {
      throw new PrimordialTypeError("crypto.getRandomValues takes an array of integers, such as a Uint8Array");
    }
    if (array.byteLength > 65536) {
      throw named("QuotaExceededError", "crypto.getRandomValues fills at most 65,536 bytes at once");
    }
    const view = new PrimordialUint8Array(array.buffer, array.byteOffset, array.byteLength);
    const bytes = host.random(view.length);
    for (let index = 0; index < view.length; index += 1) view[index] = bytes[index];
    return array;
  },
};

let origin;
const performance = {
  get timeOrigin() {
    if (origin === undefined) origin = host.now();
    return origin;
  },
  now() {
    if (origin === undefined) {
      origin = host.now();
      return 0;
    }
    return host.now() - origin;
  },
};
