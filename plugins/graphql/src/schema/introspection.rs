//! Reads what an introspection query answers.

use serde_json::Value;

use super::{Draft, EnumValue, Field, Input, Kind, Ref, Type, Wrap};

/// The `__schema` of a JSON document: bare, as an answer, or as tools wrap it.
pub(crate) fn find(root: &Value) -> Option<&Value> {
    ["/__schema", "/data/__schema", "/result/data/__schema", "/body/data/__schema", "/schema/__schema"]
        .iter()
        .find_map(|place| root.pointer(place))
        .filter(|schema| schema.is_object())
}

/// Reads a `__schema`. What is not as it should be costs the type or the
/// field that it stands in.
///
/// # Errors
/// In words: it has no types.
pub(crate) fn read(schema: &Value) -> Result<Draft, String> {
    let root = |key: &str| schema.get(key)?.get("name")?.as_str().map(str::to_owned);
    let mut draft = Draft {
        description: text(schema, "description"),
        query: root("queryType"),
        mutation: root("mutationType"),
        subscription: root("subscriptionType"),
        ..Draft::default()
    };
    for ty in list(schema, "types") {
        match read_type(ty) {
            Some(ty) if ty.name.starts_with("__") => {}
            Some(ty) => draft.types.push(ty),
            None => draft.faults.push("a type without a name or of an unknown kind is left out".to_owned()),
        }
    }
    for directive in list(schema, "directives") {
        // Servers before 2015 say `onField` instead of locations.
        let on_field = list(directive, "locations").any(|place| place == "FIELD")
            || directive.get("onField").and_then(Value::as_bool) == Some(true);
        if on_field {
            draft.directives.extend(Some(text(directive, "name")).filter(|name| !name.is_empty()));
        }
    }
    if draft.types.is_empty() { Err("its __schema has no types".to_owned()) } else { Ok(draft) }
}

fn read_type(value: &Value) -> Option<Type> {
    let kind = match value.get("kind")?.as_str()? {
        "SCALAR" => Kind::Scalar,
        "OBJECT" => Kind::Object,
        "INTERFACE" => Kind::Interface,
        "UNION" => Kind::Union,
        "ENUM" => Kind::Enum,
        "INPUT_OBJECT" => Kind::Input,
        _ => return None,
    };
    let names = |key: &str| list(value, key).map(|it| text(it, "name")).collect();
    let mut ty = Type::new(value.get("name")?.as_str()?.to_owned(), kind);
    ty.description = text(value, "description");
    ty.fields = list(value, "fields").filter_map(field).collect();
    ty.interfaces = names("interfaces");
    ty.members = names("possibleTypes");
    ty.inputs = list(value, "inputFields").filter_map(input).collect();
    ty.values = list(value, "enumValues")
        .map(|it| EnumValue { name: text(it, "name"), deprecated: deprecated(it).is_some() })
        .collect();
    ty.one_of = value.get("isOneOf").and_then(Value::as_bool) == Some(true);
    ty.specified_by = ["specifiedByURL", "specifiedByUrl"]
        .iter()
        .find_map(|key| value.get(key)?.as_str())
        .map(str::to_owned);
    Some(ty)
}

fn field(value: &Value) -> Option<Field> {
    Some(Field {
        name: value.get("name")?.as_str()?.to_owned(),
        description: text(value, "description"),
        arguments: list(value, "args").filter_map(input).collect(),
        ty: reference(value.get("type")),
        deprecated: deprecated(value),
    })
}

fn input(value: &Value) -> Option<Input> {
    Some(Input {
        name: value.get("name")?.as_str()?.to_owned(),
        description: text(value, "description"),
        ty: reference(value.get("type")),
        default: value.get("defaultValue").and_then(Value::as_str).map(str::to_owned),
        deprecated: deprecated(value),
    })
}

fn deprecated(value: &Value) -> Option<String> {
    let is_deprecated = value.get("isDeprecated").and_then(Value::as_bool) == Some(true);
    is_deprecated.then(|| text(value, "deprecationReason"))
}

/// A type with what is around it; the empty name where the query's depth cut
/// it off.
fn reference(value: Option<&Value>) -> Ref {
    let mut wraps = Vec::new();
    let mut rest = value;
    while let Some(ty) = rest.filter(|_| wraps.len() <= super::MAX_WRAPS) {
        match ty.get("kind").and_then(Value::as_str) {
            Some("NON_NULL") => wraps.push(Wrap::NonNull),
            Some("LIST") => wraps.push(Wrap::List),
            _ => return Ref { name: text(ty, "name"), wraps },
        }
        rest = ty.get("ofType");
    }
    Ref { name: String::new(), wraps }
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}
