//! The style table of OpenAPI 3.0.4 and 3.1.1: how a value becomes text.
//!
//! A null is left out everywhere, and so is an empty array. What the table
//! leaves undefined (objects inside of objects) is written as JSON text, except
//! under `deepObject`, which goes on inwards.

use serde_json::Value;

use super::binding::{Encoding, Parameter, Style};
use super::encode;

/// A value with its atoms already encoded.
enum Atoms {
    One(String),
    List(Vec<String>),
    Map(Vec<(String, String)>),
}

/// How atoms are encoded in a place.
type Encode = fn(&str) -> String;

fn atoms(value: &Value, encode: Encode) -> Option<Atoms> {
    match value {
        Value::Null => None,
        Value::Array(list) => {
            let atoms: Vec<String> =
                list.iter().filter(|item| !item.is_null()).map(|item| encode(&text(item))).collect();
            (!atoms.is_empty()).then_some(Atoms::List(atoms))
        }
        Value::Object(map) => {
            let members = map.iter().filter(|(_, member)| !member.is_null());
            let atoms: Vec<_> = members.map(|(name, member)| (encode(name), encode(&text(member)))).collect();
            (!atoms.is_empty()).then_some(Atoms::Map(atoms))
        }
        scalar => Some(Atoms::One(encode(&text(scalar)))),
    }
}

/// A value as text: a string as it is, a number without an exponent, anything
/// with parts as JSON.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => float.to_string(),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// A path parameter; none where nothing is left to write.
pub(crate) fn path(parameter: &Parameter, value: &Value, encode: Encode) -> Option<String> {
    let Encoding { style, explode, json, .. } = parameter.encoding;
    if json {
        return Some(encode(&value.to_string()));
    }
    let name = encode::atom(parameter.wire_name());
    let atoms = atoms(value, encode)?;
    Some(match style {
        Style::Label => label(explode, atoms),
        Style::Matrix => matrix(&name, explode, atoms),
        _ => simple(explode, separator(style, Escapes::URL), atoms),
    })
}

/// A header, whose values are not encoded (RFC 9110 knows no encoding there).
pub(crate) fn header(parameter: &Parameter, value: &Value) -> Option<String> {
    if parameter.encoding.json {
        return Some(value.to_string());
    }
    let Encoding { style, explode, .. } = parameter.encoding;
    atoms(value, str::to_owned).map(|atoms| simple(explode, separator(style, Escapes::NONE), atoms))
}

fn simple(explode: bool, separator: &str, atoms: Atoms) -> String {
    match atoms {
        Atoms::One(text) => text,
        Atoms::List(list) => list.join(separator),
        Atoms::Map(members) => joined(members, if explode { "=" } else { separator }, separator),
    }
}

/// What stands between the items of an array.
fn separator(style: Style, escapes: Escapes) -> &'static str {
    match style {
        Style::Space if escapes.url => "%20",
        Style::Pipe if escapes.url => "%7C",
        Style::Tab if escapes.url => "%09",
        Style::Space => " ",
        Style::Pipe => "|",
        Style::Tab => "\t",
        _ => ",",
    }
}

fn label(explode: bool, atoms: Atoms) -> String {
    let separator = if explode { "." } else { "," };
    let inside = match atoms {
        Atoms::One(text) => text,
        Atoms::List(list) => list.join(separator),
        Atoms::Map(members) => joined(members, if explode { "=" } else { "," }, separator),
    };
    format!(".{inside}")
}

fn matrix(name: &str, explode: bool, atoms: Atoms) -> String {
    match atoms {
        Atoms::One(text) if text.is_empty() => format!(";{name}"),
        Atoms::One(text) => format!(";{name}={text}"),
        Atoms::List(list) if explode => list.iter().map(|item| format!(";{name}={item}")).collect(),
        Atoms::List(list) => format!(";{name}={}", list.join(",")),
        Atoms::Map(members) if explode => format!(";{}", joined(members, "=", ";")),
        Atoms::Map(members) => format!(";{name}={}", joined(members, ",", ",")),
    }
}

fn joined(members: Vec<(String, String)>, between: &str, after: &str) -> String {
    let pairs: Vec<String> =
        members.into_iter().map(|(name, value)| format!("{name}{between}{value}")).collect();
    pairs.join(after)
}

/// Encoded pairs of a query, a cookie or a form.
pub(crate) type Pairs = Vec<(String, String)>;

/// How names and values are encoded where pairs go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Escapes {
    url: bool,
}

impl Escapes {
    /// In a URL, and in bodies written like one.
    pub(crate) const URL: Self = Self { url: true };
    /// In a part of its own, where nothing has a meaning.
    pub(crate) const NONE: Self = Self { url: false };

    fn name(self, text: &str) -> String {
        if self.url { encode::atom(text) } else { text.to_owned() }
    }

    fn value(self, reserved: bool) -> Encode {
        match (self.url, reserved) {
            (false, _) => str::to_owned,
            (true, true) => encode::reserved,
            (true, false) => encode::atom,
        }
    }
}

/// Adds the pairs that a value becomes under a name.
pub(crate) fn pairs(name: &str, encoding: Encoding, escapes: Escapes, value: &Value, pairs: &mut Pairs) {
    let encode = escapes.value(encoding.reserved);
    let name = escapes.name(name);
    if encoding.json {
        if !value.is_null() {
            pairs.push((name, encode(&value.to_string())));
        }
        return;
    }
    if encoding.style == Style::Deep {
        return deep(name, encoding.indexed, escapes, encode, value, pairs);
    }
    let separator = separator(encoding.style, escapes);
    match atoms(value, encode) {
        None => {}
        Some(Atoms::One(text)) => pairs.push((name, text)),
        Some(Atoms::List(list)) if encoding.explode => {
            pairs.extend(list.into_iter().map(|item| (name.clone(), item)));
        }
        Some(Atoms::List(list)) => pairs.push((name, list.join(separator))),
        Some(Atoms::Map(members)) if encoding.explode => pairs.extend(members),
        Some(Atoms::Map(members)) => pairs.push((name, joined(members, separator, separator))),
    }
}

/// `a[b][c]=x`, to any depth. Arrays repeat their name or are numbered.
fn deep(name: String, indexed: bool, escapes: Escapes, encode: Encode, value: &Value, pairs: &mut Pairs) {
    let inside = |key: &str| {
        if escapes.url { format!("{name}%5B{key}%5D") } else { format!("{name}[{key}]") }
    };
    match value {
        Value::Null => {}
        Value::Object(map) => {
            for (key, member) in map {
                deep(inside(&escapes.name(key)), indexed, escapes, encode, member, pairs);
            }
        }
        Value::Array(list) => {
            for (index, member) in list.iter().enumerate() {
                let name = if indexed { inside(&index.to_string()) } else { name.clone() };
                deep(name, indexed, escapes, encode, member, pairs);
            }
        }
        scalar => pairs.push((name, encode(&text(scalar)))),
    }
}

/// Pairs as a query or a form has them.
pub(crate) fn query(pairs: &Pairs) -> String {
    let parts: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    parts.join("&")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::binding::{Place, Shape};
    use super::*;

    fn encoding(style: Style, explode: bool) -> Encoding {
        Encoding { style, explode, reserved: false, indexed: false, json: false }
    }

    fn values() -> [Value; 4] {
        [json!(""), json!("blue"), json!(["blue", "black", "brown"]), json!({"R": 100, "G": 200, "B": 150})]
    }

    /// The table of OpenAPI 3.1.1, section "Style Examples", row by row.
    #[test]
    fn path_styles_are_the_specifications_byte_for_byte() {
        let rows = [
            (
                Style::Matrix,
                false,
                [";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"],
            ),
            (
                Style::Matrix,
                true,
                [";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"],
            ),
            (Style::Label, false, [".", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"]),
            (Style::Label, true, [".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"]),
            (Style::Simple, false, ["", "blue", "blue,black,brown", "R,100,G,200,B,150"]),
            (Style::Simple, true, ["", "blue", "blue,black,brown", "R=100,G=200,B=150"]),
        ];
        for (style, explode, expected) in rows {
            let parameter = Parameter {
                argument: "color".to_owned(),
                wire: None,
                place: Place::Path,
                encoding: encoding(style, explode),
                required: true,
                shape: Shape::Any,
                default: None,
            };
            for (value, expected) in values().iter().zip(expected) {
                assert_eq!(
                    path(&parameter, value, encode::atom).as_deref(),
                    Some(expected),
                    "{style:?} {explode}"
                );
            }
        }
    }

    fn written(style: Style, explode: bool, value: &Value) -> String {
        let mut list = Pairs::new();
        pairs("color", encoding(style, explode), Escapes::URL, value, &mut list);
        query(&list)
    }

    #[test]
    fn query_styles_are_the_specifications_byte_for_byte() {
        let rows = [
            (
                Style::Form,
                false,
                ["color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"],
            ),
            (
                Style::Form,
                true,
                ["color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"],
            ),
        ];
        for (style, explode, expected) in rows {
            for (value, expected) in values().iter().zip(expected) {
                assert_eq!(written(style, explode, value), expected, "{style:?} {explode}");
            }
        }
        let [_, _, array, object] = values();
        assert_eq!(written(Style::Space, false, &array), "color=blue%20black%20brown");
        assert_eq!(written(Style::Space, false, &object), "color=R%20100%20G%20200%20B%20150");
        assert_eq!(written(Style::Pipe, false, &array), "color=blue%7Cblack%7Cbrown");
        assert_eq!(written(Style::Pipe, false, &object), "color=R%7C100%7CG%7C200%7CB%7C150");
        assert_eq!(written(Style::Deep, true, &object), "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150");
    }

    #[test]
    fn what_the_table_leaves_open() {
        assert_eq!(written(Style::Form, true, &json!([])), "");
        assert_eq!(written(Style::Form, true, &json!(null)), "");
        assert_eq!(written(Style::Form, true, &json!([1, null, true])), "color=1&color=true");
        assert_eq!(written(Style::Form, false, &json!(["a,b", "c&d"])), "color=a%2Cb,c%26d");
        assert_eq!(written(Style::Form, true, &json!(1e21)), "color=1000000000000000000000");
        assert_eq!(written(Style::Form, true, &json!(0.000_000_1)), "color=0.0000001");
        assert_eq!(
            written(Style::Deep, true, &json!({"a": {"b": [1, 2]}})),
            "color%5Ba%5D%5Bb%5D=1&color%5Ba%5D%5Bb%5D=2"
        );
        let mut list = Pairs::new();
        pairs(
            "x",
            Encoding { indexed: true, ..encoding(Style::Deep, true) },
            Escapes::URL,
            &json!(["a", {"b": 1}]),
            &mut list,
        );
        assert_eq!(query(&list), "x%5B0%5D=a&x%5B1%5D%5Bb%5D=1");
        let mut list = Pairs::new();
        let json_form = Encoding { json: true, ..encoding(Style::Form, true) };
        pairs("f", json_form, Escapes::URL, &json!({"a": [1]}), &mut list);
        assert_eq!(query(&list), "f=%7B%22a%22%3A%5B1%5D%7D");
    }
}
