// URL and URLSearchParams. Parsing and the setters' rules are the `url`
// crate's; these classes are the shape that programs know.
const notAUrl = (text, base) =>
  new PrimordialTypeError(`Invalid URL: "${text}"${base === undefined ? "" : ` against "${base}"`}`);

class URL {
  #parts;
  #query;

  constructor(text, base) {
    const parts = host.url(`${text}`, base === undefined ? undefined : `${base}`);
    if (parts === undefined) throw notAUrl(text, base);
    this.#parts = parts;
  }
  static canParse(text, base) {
    return host.url(`${text}`, base === undefined ? undefined : `${base}`) !== undefined;
  }
  static parse(text, base) { return URL.canParse(text, base) ? new URL(text, base) : null; }

  get searchParams() {
    if (this.#query === undefined) {
      this.#query = new URLSearchParams(this.#parts.search);
      follow(this.#query, (text) => { this.#parts = host.urlWith(this.#parts.href, "search", text); });
    }
    return this.#query;
  }
  get href() { return this.#parts.href; }
  set href(text) {
    const parts = host.url(`${text}`, undefined);
    if (parts === undefined) throw notAUrl(text);
    this.#parts = parts;
    this.#refresh();
  }
  get origin() { return this.#parts.origin; }
  toString() { return this.#parts.href; }
  toJSON() { return this.#parts.href; }

  #refresh() { if (this.#query !== undefined) refill(this.#query, this.#parts.search); }

  static {
    for (const name of ["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"]) {
      defineProperty(URL.prototype, name, {
        __proto__: null, configurable: true, enumerable: true,
        get() { return this.#parts[name]; },
        set(value) {
          this.#parts = host.urlWith(this.#parts.href, name, `${value}`);
          this.#refresh();
        },
      });
    }
  }
}

class URLSearchParams {
  #pairs = [];
  #changed;

  constructor(init = "") {
    if (typeof init === "string") this.#pairs = host.query(init);
    else if (typeof init?.[Symbol.iterator] === "function") for (const [name, value] of init) this.append(name, value);
    else for (const name of Object.keys(init ?? {})) this.append(name, init[name]);
  }
  get size() { return this.#pairs.length; }
  append(name, value) { this.#become([...this.#pairs, [`${name}`, `${value}`]]); }
  delete(name, value) {
    this.#become(this.#pairs.filter((pair) => pair[0] !== `${name}` || (value !== undefined && pair[1] !== `${value}`)));
  }
  get(name) { return this.#pairs.find((pair) => pair[0] === `${name}`)?.[1] ?? null; }
  getAll(name) { return this.#pairs.filter((pair) => pair[0] === `${name}`).map((pair) => pair[1]); }
  has(name, value) {
    return this.#pairs.some((pair) => pair[0] === `${name}` && (value === undefined || pair[1] === `${value}`));
  }
  set(name, value) {
    const first = this.#pairs.findIndex((pair) => pair[0] === `${name}`);
    if (first < 0) return this.append(name, value);
    this.#become(
      this.#pairs
        .map((pair, index) => (index === first ? [pair[0], `${value}`] : pair))
        .filter((pair, index) => index <= first || pair[0] !== `${name}`),
    );
  }
  sort() { this.#become([...this.#pairs].sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0))); }
  forEach(visit, self) { for (const [name, value] of this.#pairs) apply(visit, self, [value, name, this]); }
  *entries() { for (const [name, value] of this.#pairs) yield [name, value]; }
  *keys() { for (const [name] of this.#pairs) yield name; }
  *values() { for (const [, value] of this.#pairs) yield value; }
  [Symbol.iterator]() { return this.entries(); }
  toString() { return host.queryText(this.#pairs); }
  toJSON() { return host.queryText(this.#pairs); }

  #become(pairs) {
    this.#pairs = pairs;
    this.#changed?.(host.queryText(pairs));
  }
  static follow(query, changed) { query.#changed = changed; }
  static refill(query, text) { query.#pairs = host.query(text); }
}
const { follow, refill } = URLSearchParams;
delete URLSearchParams.follow;
delete URLSearchParams.refill;
