//! JSON Schema of what a selection answers.

use serde_json::{Map, Value, json};

use super::definitions::Definitions;
use super::scalars;
use super::selection::{Picked, Selection};
use crate::schema::{Kind, Ref, Wrap};

/// The schema of a field's value: `selection` is none for scalars and enums.
pub(crate) fn output(definitions: &mut Definitions<'_>, ty: &Ref, selection: Option<&Selection>) -> Value {
    wrapped(&ty.wraps, &mut |_| match selection {
        Some(selection) => object(definitions, selection),
        None => leaf(definitions, &ty.name),
    })
}

/// From the outside in; what is not required may be null.
fn wrapped(wraps: &[Wrap], inner: &mut dyn FnMut(()) -> Value) -> Value {
    let (required, rest) = match wraps.split_first() {
        Some((Wrap::NonNull, rest)) => (true, rest),
        _ => (false, wraps),
    };
    let value = match rest.split_first() {
        Some((Wrap::List, rest)) => json!({"type": "array", "items": wrapped(rest, inner)}),
        _ => inner(()),
    };
    if required { value } else { scalars::or_null(value) }
}

fn leaf(definitions: &mut Definitions<'_>, name: &str) -> Value {
    match definitions.schema.get(name) {
        Some(ty) if ty.kind == Kind::Enum => definitions.reference(name),
        Some(ty) => scalars::schema(ty, scalars::Side::Output),
        None => json!({}),
    }
}

fn object(definitions: &mut Definitions<'_>, selection: &Selection) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if selection.typename {
        properties.insert("__typename".to_owned(), json!({"type": "string"}));
        required.push("__typename".to_owned());
    }
    let mut add = |field: &Picked, everywhere: bool| {
        let value = output(definitions, &field.ty, field.below.as_ref());
        properties.insert(field.key().to_owned(), value);
        if everywhere {
            required.push(field.key().to_owned());
        }
    };
    selection.fields.iter().for_each(|field| add(field, true));
    selection.fragments.iter().flat_map(|(_, fields)| fields).for_each(|field| add(field, false));
    json!({"type": "object", "properties": properties, "required": required})
}
