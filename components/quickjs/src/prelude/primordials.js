// What the prelude uses of the language, taken before any author's code runs.
// Author's code may replace whatever it likes on the shared prototypes; nothing
// below looks at them again. For the same reason the prelude spreads no array,
// destructures none and appends to none once it is set up.
const { apply, construct, defineProperty, getOwnPropertyDescriptor, ownKeys } = Reflect;
const { create, freeze, getPrototypeOf } = Object;
const { isArray } = Array;
const { captureStackTrace } = Error;
const { isFinite, isSafeInteger } = Number;
const PrimordialError = Error;
const PrimordialMap = Map;
const PrimordialPromise = Promise;
const PrimordialProxy = Proxy;
const PrimordialRangeError = RangeError;
const PrimordialSet = Set;
const PrimordialString = String;
const PrimordialTypeError = TypeError;
const PrimordialUint8Array = Uint8Array;

const uncurry = (method) => (self, first, second) => apply(method, self, [first, second]);
const getter = (prototype, name) => {
  const read = getOwnPropertyDescriptor(prototype, name).get;
  return (self) => apply(read, self, []);
};

const mapForEach = uncurry(Map.prototype.forEach);
const mapGet = uncurry(Map.prototype.get);
const mapSet = uncurry(Map.prototype.set);
const setForEach = uncurry(Set.prototype.forEach);
const setAdd = uncurry(Set.prototype.add);
const dateTime = uncurry(Date.prototype.getTime);
const dateText = uncurry(Date.prototype.toISOString);
const regExpText = uncurry(RegExp.prototype.toString);
const bigIntText = uncurry(BigInt.prototype.toString);
const replaceText = uncurry(String.prototype.replace);
const splitText = uncurry(String.prototype.split);
const sliceText = uncurry(String.prototype.slice);
const indexOfText = uncurry(String.prototype.indexOf);
const lowerText = uncurry(String.prototype.toLowerCase);
const wellFormedText = uncurry(String.prototype.toWellFormed);
const hasOwn = uncurry(Object.prototype.hasOwnProperty);

/// An array's slot that no setter on a prototype can see.
const put = (list, value) =>
  defineProperty(list, list.length, {
    __proto__: null, value, writable: true, enumerable: true, configurable: true,
  });

const define = (target, name, value, fixed) =>
  defineProperty(target, name, {
    __proto__: null, value, writable: !fixed, enumerable: false, configurable: !fixed,
  });
