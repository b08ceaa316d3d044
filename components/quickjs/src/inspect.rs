//! Values as people read them in a log: strings as they are, objects in the
//! manner of an object literal, cycles and depth shown, length bounded.

use rquickjs::convert::Coerced;
use rquickjs::object::Filter;
use rquickjs::{Array, Atom, Ctx, Object, Value};

use crate::internals;
use crate::kind::{self, Kind};
use crate::limits::{INSPECT_DEPTH, INSPECT_ENTRIES, LOG_LINE_BYTES};
use crate::stack;
use crate::state::State;

/// The items of one line of the log.
pub(crate) fn line<'js>(ctx: &Ctx<'js>, state: &State, items: &Array<'js>) -> String {
    let mut writer = Inspector::new(ctx, state);
    for index in 0..items.len() {
        if index > 0 {
            writer.push(" ");
        }
        let Ok(item) = items.get::<Value<'js>>(index) else {
            break;
        };
        writer.item(&item);
    }
    writer.finish()
}

/// One value, as part of an error's message.
pub(crate) fn value<'js>(ctx: &Ctx<'js>, state: &State, value: &Value<'js>) -> String {
    let mut writer = Inspector::new(ctx, state);
    writer.item(value);
    writer.finish()
}

struct Inspector<'a, 'js> {
    ctx: &'a Ctx<'js>,
    state: &'a State,
    out: String,
    full: bool,
    ancestors: Vec<Value<'js>>,
}

impl<'a, 'js> Inspector<'a, 'js> {
    fn new(ctx: &'a Ctx<'js>, state: &'a State) -> Self {
        Self { ctx, state, out: String::new(), full: false, ancestors: Vec::new() }
    }

    fn finish(mut self) -> String {
        if self.full {
            self.out.push_str("… (cut)");
        }
        self.out
    }

    fn push(&mut self, text: &str) {
        if self.full {
            return;
        }
        let room = LOG_LINE_BYTES.saturating_sub(self.out.len());
        if text.len() <= room {
            self.out.push_str(text);
            return;
        }
        self.out.push_str(&text[..text.floor_char_boundary(room)]);
        self.full = true;
    }

    /// A whole item: a string is shown without quotes.
    fn item(&mut self, value: &Value<'js>) {
        if value.is_string() {
            let text = self.text(value);
            self.push(&text);
        } else {
            self.value(value);
        }
    }

    fn text(&mut self, value: &Value<'js>) -> String {
        if kind::string_units(self.ctx, value) > 16 * LOG_LINE_BYTES {
            return "[a very long string]".to_owned();
        }
        internals::text_of(self.ctx, value).unwrap_or_else(|_| self.thrown())
    }

    /// What stands for a part whose own code threw.
    fn thrown(&mut self) -> String {
        self.ctx.catch();
        "[threw]".to_owned()
    }

    fn value(&mut self, value: &Value<'js>) {
        if self.full {
            return;
        }
        if value.is_string() {
            let text = self.text(value);
            let quoted = serde_json::to_string(&text).unwrap_or(text);
            self.push(&quoted);
        } else if value.is_big_int() {
            let digits = internals::big_int(self.ctx, value).map(|(digits, _)| digits + "n");
            let digits = digits.unwrap_or_else(|_| self.thrown());
            self.push(&digits);
        } else if value.is_symbol() {
            self.symbol(value);
        } else if value.is_function() {
            self.function(value);
        } else if value.is_object() {
            self.nested(value);
        } else {
            let text = value.get::<Coerced<String>>().map(|text| text.0);
            let text = text.unwrap_or_else(|_| self.thrown());
            self.push(&text);
        }
    }

    fn symbol(&mut self, value: &Value<'js>) {
        let description = value.as_symbol().and_then(|symbol| symbol.description().ok());
        let name = description.and_then(|text| internals::text_of(self.ctx, &text).ok()).unwrap_or_default();
        self.push(&format!("Symbol({name})"));
    }

    fn function(&mut self, value: &Value<'js>) {
        match internals::tool_path(self.ctx, value) {
            Some(path) if path.is_empty() => self.push("[tools]"),
            Some(path) => self.push(&format!("[tool {path}]")),
            None => {
                let name = value
                    .as_object()
                    .and_then(|object| object.get::<_, Value<'js>>("name").ok())
                    .and_then(|name| internals::text_of(self.ctx, &name).ok())
                    .unwrap_or_default();
                self.ctx.catch();
                let what = if name.is_empty() { "(anonymous)" } else { &name };
                self.push(&format!("[function {what}]"));
            }
        }
    }

    fn nested(&mut self, value: &Value<'js>) {
        let Some(object) = value.as_object() else {
            return;
        };
        if self.ancestors.contains(value) {
            return self.push("[circular]");
        }
        let kind = Kind::of(value);
        if self.ancestors.len() >= INSPECT_DEPTH {
            return self.push(if kind == Kind::Array { "[…]" } else { "{…}" });
        }
        self.ancestors.push(value.clone());
        self.object(value, object, kind);
        self.ancestors.pop();
    }

    fn object(&mut self, value: &Value<'js>, object: &Object<'js>, kind: Kind) {
        match kind {
            Kind::Array => self.list("", value.as_array()),
            Kind::Set => {
                let items = internals::items(self.ctx, value).ok();
                self.list("Set ", items.as_ref());
            }
            Kind::Map => self.map(value),
            Kind::Date => {
                let text = internals::date_text(self.ctx, value).ok().flatten();
                self.push(text.as_deref().unwrap_or("Invalid Date"));
            }
            Kind::RegExp => {
                let text = internals::reg_exp_text(self.ctx, value);
                let text = text.unwrap_or_else(|_| self.thrown());
                self.push(&text);
            }
            Kind::Error => self.error(object),
            Kind::Promise => self.push("Promise {}"),
            Kind::Opaque => self.push("[opaque object]"),
            Kind::Buffer | Kind::Bytes | Kind::View | Kind::Numbers => {
                let size = kind::bytes(value, kind).map_or(0, |bytes| bytes.len());
                self.push(&format!("[{} of {size} bytes]", kind.name()));
            }
            Kind::Object => {
                self.push("{");
                self.fields(object, " ");
                self.push("}");
            }
        }
    }

    fn list(&mut self, prefix: &str, items: Option<&Array<'js>>) {
        let Some(items) = items else {
            return self.push("[threw]");
        };
        self.push(prefix);
        self.push("[");
        for index in 0..items.len().min(INSPECT_ENTRIES) {
            if index > 0 {
                self.push(", ");
            }
            match items.get::<Value<'js>>(index) {
                Ok(item) => self.value(&item),
                Err(_) => {
                    let text = self.thrown();
                    self.push(&text);
                }
            }
            if self.full {
                return;
            }
        }
        self.more(items.len());
        self.push("]");
    }

    fn more(&mut self, count: usize) {
        if count > INSPECT_ENTRIES {
            self.push(&format!(", … {} more", count - INSPECT_ENTRIES));
        }
    }

    fn map(&mut self, value: &Value<'js>) {
        let Ok(entries) = internals::entries(self.ctx, value) else {
            return self.push("[threw]");
        };
        self.push("Map {");
        for (index, pair) in entries.iter::<Array<'js>>().take(INSPECT_ENTRIES).enumerate() {
            self.push(if index > 0 { ", " } else { " " });
            let Ok(pair) = pair else { return };
            if let (Ok(key), Ok(item)) = (pair.get::<Value<'js>>(0), pair.get::<Value<'js>>(1)) {
                self.value(&key);
                self.push(" => ");
                self.value(&item);
            }
        }
        self.more(entries.len());
        self.push(if entries.is_empty() { "}" } else { " }" });
    }

    /// `Name: message`, its own fields, and the author's lines.
    fn error(&mut self, object: &Object<'js>) {
        let text = crate::failure::headline(self.ctx, object);
        self.push(&text);
        let raw = object.get::<_, Value<'js>>("stack").ok();
        let raw = raw.filter(Value::is_string).map(|raw| self.text(&raw));
        if let Some(raw) = raw {
            let trace = stack::trace(&raw, self.state);
            if !trace.text.is_empty() {
                self.push("\n");
                self.push(&trace.text);
                self.push("\n");
            }
        }
        let before = self.out.len();
        self.push(" {");
        if self.fields(object, " ") == 0 {
            self.out.truncate(before.min(self.out.len()));
        } else {
            self.push("}");
        }
    }

    /// The own enumerable properties, and how many there are.
    fn fields(&mut self, object: &Object<'js>, pad: &str) -> usize {
        let mut count = 0;
        for key in object.own_keys::<Atom<'js>>(Filter::default()) {
            let Ok(key) = key else {
                let text = self.thrown();
                self.push(&text);
                break;
            };
            if count < INSPECT_ENTRIES {
                self.push(if count > 0 { ", " } else { pad });
                self.field(object, key);
            }
            count += 1;
            if self.full {
                return count;
            }
        }
        self.more(count);
        if count > 0 {
            self.push(pad);
        }
        count
    }

    fn field(&mut self, object: &Object<'js>, key: Atom<'js>) {
        let name = key.to_value().ok().map(|name| self.text(&name)).unwrap_or_default();
        if is_identifier(&name) {
            self.push(&name);
        } else {
            let quoted = serde_json::to_string(&name).unwrap_or(name);
            self.push(&quoted);
        }
        self.push(": ");
        match object.get::<_, Value<'js>>(key) {
            Ok(item) => self.value(&item),
            Err(_) => {
                let text = self.thrown();
                self.push(&text);
            }
        }
    }
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '$'))
}
