//! JavaScript values as JSON: the results of programs, what they emit, and
//! the arguments of calls.
//!
//! | value | JSON |
//! |---|---|
//! | undefined, function, symbol | left out of objects, `null` in arrays; at the top undefined is `null` and the others are refused |
//! | NaN, Infinity | `null` |
//! | BigInt | a number where that is exact, else its digits as a string |
//! | Date | ISO 8601; `null` where invalid |
//! | RegExp | its source text |
//! | Map | an object where every key is a string, else an array of pairs |
//! | Set | an array |
//! | Uint8Array and its like, ArrayBuffer, DataView | `{"$bytes": base64}` |
//! | other typed arrays | an array of numbers |
//! | Error | `{name, message, …its own fields, cause}` |
//! | an object with `toJSON` | what that gives |
//! | Promise, cycles, too deep, too large | refused, with the path |

use base64::Engine as _;
use rquickjs::convert::Coerced;
use rquickjs::object::Filter;
use rquickjs::{Array, Atom, Ctx, Function, Object, Value};

use crate::internals;
use crate::kind::{self, Kind};
use crate::limits::JSON_DEPTH;

/// Why a value has no JSON.
pub(crate) enum JsonError {
    /// Code of the program's own (a getter, `toJSON`) threw; the exception is
    /// pending in the context.
    Engine(rquickjs::Error),
    /// The value can't be written; says where and why.
    Refused { code: &'static str, message: String },
}

impl From<rquickjs::Error> for JsonError {
    fn from(error: rquickjs::Error) -> Self {
        Self::Engine(error)
    }
}

type Outcome<T> = Result<T, JsonError>;

/// Writes `value`, called `what` in errors, as at most `limit_bytes` of JSON.
pub(crate) fn write<'js>(
    ctx: &Ctx<'js>,
    value: &Value<'js>,
    what: &str,
    limit_bytes: usize,
) -> Outcome<String> {
    let mut writer =
        Writer { ctx, out: Vec::new(), limit_bytes, what, ancestors: Vec::new(), path: Vec::new() };
    if !writer.value(value)? {
        if !value.is_undefined() {
            return Err(writer.refuse_top(value));
        }
        writer.out.extend_from_slice(b"null");
    }
    Ok(String::from_utf8(writer.out).expect("every part that was written is UTF-8"))
}

/// One step from a value to a part of it.
enum Step {
    Field(String),
    Index(usize),
}

struct Writer<'a, 'js> {
    ctx: &'a Ctx<'js>,
    out: Vec<u8>,
    limit_bytes: usize,
    what: &'a str,
    ancestors: Vec<Value<'js>>,
    path: Vec<Step>,
}

impl<'js> Writer<'_, 'js> {
    /// Writes a value; false, and nothing written, where JSON has none for it.
    fn value(&mut self, value: &Value<'js>) -> Outcome<bool> {
        self.check_size(0)?;
        if value.is_null() {
            self.out.extend_from_slice(b"null");
        } else if let Some(flag) = value.as_bool() {
            self.out.extend_from_slice(if flag { b"true" } else { b"false" });
        } else if let Some(number) = value.as_int() {
            self.out.extend_from_slice(number.to_string().as_bytes());
        } else if let Some(number) = value.as_float() {
            self.number(value, number)?;
        } else if value.is_string() {
            self.check_size(kind::string_units(self.ctx, value))?;
            let text = internals::text_of(self.ctx, value)?;
            self.string(&text)?;
        } else if value.is_big_int() {
            self.big_int(value)?;
        } else if value.is_function() {
            return Ok(false);
        } else if value.is_object() {
            return self.nested(value);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn number(&mut self, value: &Value<'js>, number: f64) -> Outcome<()> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if !number.is_finite() {
            self.out.extend_from_slice(b"null");
        } else if number.fract() == 0.0 && number.abs() < EXACT {
            #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^53")]
            let whole = number as i64;
            self.out.extend_from_slice(whole.to_string().as_bytes());
        } else {
            let text: Coerced<String> = value.get()?;
            self.out.extend_from_slice(text.0.as_bytes());
        }
        Ok(())
    }

    fn big_int(&mut self, value: &Value<'js>) -> Outcome<()> {
        let (digits, exact) = internals::big_int(self.ctx, value)?;
        if exact {
            self.out.extend_from_slice(digits.as_bytes());
            return Ok(());
        }
        self.string(&digits)
    }

    fn string(&mut self, text: &str) -> Outcome<()> {
        self.check_size(text.len())?;
        serde_json::to_writer(&mut self.out, text).expect("writing to memory does not fail");
        Ok(())
    }

    /// An object of any kind, with the checks that all of them need.
    fn nested(&mut self, value: &Value<'js>) -> Outcome<bool> {
        if self.ancestors.contains(value) {
            return Err(self.refuse("cycle", "refers back to itself, which JSON can't hold"));
        }
        if self.ancestors.len() >= JSON_DEPTH {
            let message = format!("is nested more than {JSON_DEPTH} levels deep");
            return Err(self.refuse("too-deep", &message));
        }
        self.ancestors.push(value.clone());
        let written = self.object(value);
        self.ancestors.pop();
        written
    }

    fn object(&mut self, value: &Value<'js>) -> Outcome<bool> {
        let object = value.as_object().ok_or(rquickjs::Error::Unknown)?;
        match Kind::of(value) {
            Kind::Date => self.date(value)?,
            Kind::Promise => {
                return Err(self.refuse("promise", "is a promise: await it first"));
            }
            Kind::Array => {
                let array = value.as_array().ok_or(rquickjs::Error::Unknown)?;
                self.array(array)?;
            }
            kind => {
                if let Some(function) = to_json(object)? {
                    let plain: Value<'js> = function.call((rquickjs::function::This(value.clone()),))?;
                    return self.value(&plain);
                }
                self.by_kind(value, object, kind)?;
            }
        }
        Ok(true)
    }

    fn by_kind(&mut self, value: &Value<'js>, object: &Object<'js>, kind: Kind) -> Outcome<()> {
        match kind {
            Kind::Map => self.map(value),
            Kind::Set => {
                let items = internals::items(self.ctx, value)?;
                self.array(&items)
            }
            Kind::RegExp => {
                let text = internals::reg_exp_text(self.ctx, value)?;
                self.string(&text)
            }
            Kind::Buffer | Kind::Bytes | Kind::View => self.bytes(value, kind),
            Kind::Numbers => self.numbers(object),
            Kind::Error => self.error(object),
            _ => {
                self.out.push(b'{');
                self.fields(object, true)?;
                self.out.push(b'}');
                Ok(())
            }
        }
    }

    fn date(&mut self, value: &Value<'js>) -> Outcome<()> {
        match internals::date_text(self.ctx, value)? {
            Some(text) => self.string(&text),
            None => {
                self.out.extend_from_slice(b"null");
                Ok(())
            }
        }
    }

    fn array(&mut self, array: &Array<'js>) -> Outcome<()> {
        self.out.push(b'[');
        for index in 0..array.len() {
            if index > 0 {
                self.out.push(b',');
            }
            self.path.push(Step::Index(index));
            let item: Value<'js> = array.get(index)?;
            if !self.value(&item)? {
                self.out.extend_from_slice(b"null");
            }
            self.path.pop();
        }
        self.out.push(b']');
        Ok(())
    }

    fn numbers(&mut self, object: &Object<'js>) -> Outcome<()> {
        self.out.push(b'[');
        let mut first = true;
        for item in object.own_props::<Value<'js>, Value<'js>>(Filter::default()) {
            let (_, item) = item?;
            if !std::mem::take(&mut first) {
                self.out.push(b',');
            }
            if !self.value(&item)? {
                self.out.extend_from_slice(b"null");
            }
        }
        self.out.push(b']');
        Ok(())
    }

    fn bytes(&mut self, value: &Value<'js>, kind: Kind) -> Outcome<()> {
        let bytes = kind::bytes(value, kind).unwrap_or_default();
        self.check_size(bytes.len())?;
        self.out.extend_from_slice(b"{\"$bytes\":\"");
        let text = base64::engine::general_purpose::STANDARD.encode(bytes);
        self.out.extend_from_slice(text.as_bytes());
        self.out.extend_from_slice(b"\"}");
        Ok(())
    }

    fn map(&mut self, value: &Value<'js>) -> Outcome<()> {
        let entries = internals::entries(self.ctx, value)?;
        let mut named = Vec::with_capacity(entries.len());
        for pair in entries.iter::<Array<'js>>() {
            let pair = pair?;
            let key: Value<'js> = pair.get(0)?;
            if !key.is_string() {
                return self.array(&entries);
            }
            named.push((internals::text_of(self.ctx, &key)?, pair.get::<Value<'js>>(1)?));
        }
        self.out.push(b'{');
        let mut first = true;
        for (key, item) in named {
            first = !self.field(key, &item, first)? && first;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn error(&mut self, object: &Object<'js>) -> Outcome<()> {
        self.out.push(b'{');
        let mut first = true;
        for key in ["name", "message", "cause"] {
            let item: Value<'js> = object.get(key)?;
            first = !self.field(key.to_owned(), &item, first)? && first;
        }
        self.fields(object, first)?;
        self.out.push(b'}');
        Ok(())
    }

    /// The own enumerable properties; `first` where none stands before them.
    fn fields(&mut self, object: &Object<'js>, mut first: bool) -> Outcome<()> {
        for key in object.own_keys::<Atom<'js>>(Filter::default()) {
            let key = key?;
            let item: Value<'js> = object.get(key.clone())?;
            let name = internals::text_of(self.ctx, &key.to_value()?)?;
            first = !self.field(name, &item, first)? && first;
        }
        Ok(())
    }

    /// True where the field was written.
    fn field(&mut self, name: String, item: &Value<'js>, first: bool) -> Outcome<bool> {
        let before = self.out.len();
        if !first {
            self.out.push(b',');
        }
        self.string(&name)?;
        self.out.push(b':');
        self.path.push(Step::Field(name));
        let written = self.value(item)?;
        self.path.pop();
        if !written {
            self.out.truncate(before);
        }
        Ok(written)
    }

    fn check_size(&self, more: usize) -> Outcome<()> {
        if self.out.len().saturating_add(more) <= self.limit_bytes {
            return Ok(());
        }
        Err(JsonError::Refused {
            code: "too-large",
            message: format!(
                "{} would be more than {} of JSON: return or pass less, or a part at a time",
                self.what,
                megabytes(self.limit_bytes)
            ),
        })
    }

    fn refuse(&self, code: &'static str, why: &str) -> JsonError {
        let mut place = self.what.to_owned();
        for step in &self.path {
            match step {
                Step::Field(name) => place.push_str(&format!(".{}", shorten(name))),
                Step::Index(index) => place.push_str(&format!("[{index}]")),
            }
            if place.len() > 300 {
                place.push('…');
                break;
            }
        }
        JsonError::Refused { code, message: format!("{place} {why}") }
    }

    fn refuse_top(&self, value: &Value<'js>) -> JsonError {
        if let Some(path) = internals::tool_path(self.ctx, value) {
            let why = format!("is the tool {path} itself: call it, as in tools.{path}({{ … }})");
            return self.refuse("function", &why);
        }
        let kind = if value.is_function() { "function" } else { "symbol" };
        self.refuse(kind, &format!("is a {kind}, which JSON can't hold"))
    }
}

fn to_json<'js>(object: &Object<'js>) -> rquickjs::Result<Option<Function<'js>>> {
    let method: Value<'js> = object.get("toJSON")?;
    Ok(method.into_function())
}

fn shorten(name: &str) -> String {
    if name.chars().count() <= 40 {
        return name.to_owned();
    }
    name.chars().take(40).chain(['…']).collect()
}

fn megabytes(bytes: usize) -> String {
    if bytes >= 1024 * 1024 {
        format!("{} MiB", bytes / (1024 * 1024))
    } else {
        format!("{} KiB", bytes / 1024)
    }
}
