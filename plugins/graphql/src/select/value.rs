//! Checks a value that stands in a selection against its type.

use apollo_parser::cst;

use super::table::{Row, Table};
use crate::closest;
use crate::schema::Kind;

/// Whether a value can stand where the type `ty` is wanted.
///
/// # Errors
/// What is wrong, with what may have been meant.
pub(super) fn check(value: &cst::Value, ty: &str, table: &Table<'_>) -> Result<(), String> {
    let (ty, required) = match ty.strip_suffix('!') {
        Some(inner) => (inner, true),
        None => (ty, false),
    };
    match value {
        cst::Value::Variable(_) => return Err("there are no variables here: write the value".to_owned()),
        cst::Value::NullValue(_) if required => return Err(format!("{ty}! can't be null")),
        cst::Value::NullValue(_) => return Ok(()),
        _ => {}
    }
    if let Some(inner) = ty.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        // An item alone counts as a list of it.
        return match value {
            cst::Value::ListValue(list) => list.values().try_for_each(|item| check(&item, inner, table)),
            item => check(item, inner, table),
        };
    }
    match table.get(ty) {
        Some(row) if row.kind == Kind::Enum => an_enum(value, row),
        Some(row) if row.kind == Kind::Input => object(value, row, table),
        _ => scalar(value, ty),
    }
}

fn an_enum(value: &cst::Value, row: Row<'_>) -> Result<(), String> {
    let given = match value {
        cst::Value::EnumValue(given) => given.name().map(|name| name.text().to_string()).unwrap_or_default(),
        cst::Value::StringValue(_) => return Err(format!("a {} is written without quotes", row.name)),
        _ => return Err(format!("a {} is wanted", row.name)),
    };
    if row.names().any(|name| name == given) {
        return Ok(());
    }
    Err(format!("{} has no value {given}{}", row.name, closest::hint(&given, row.names())))
}

fn object(value: &cst::Value, row: Row<'_>, table: &Table<'_>) -> Result<(), String> {
    let cst::Value::ObjectValue(given) = value else {
        return Err(format!("an object of {} is wanted", row.name));
    };
    let mut seen = Vec::new();
    for field in given.object_fields() {
        let (Some(name), Some(value)) = (field.name().map(|name| name.text().to_string()), field.value())
        else {
            continue;
        };
        let Some(known) = row.field(&name) else {
            let hint = closest::hint(&name, row.fields().map(|known| known.name));
            return Err(format!("{} has no field {name}{hint}", row.name));
        };
        check(&value, known.ty, table).map_err(|fault| format!("{name}: {fault}"))?;
        seen.push(name);
    }
    match row.fields().find(|known| known.is_required() && !seen.iter().any(|name| name == known.name)) {
        Some(missing) => Err(format!("{} needs {}: {}", row.name, missing.name, missing.ty)),
        None => Ok(()),
    }
}

fn scalar(value: &cst::Value, ty: &str) -> Result<(), String> {
    use cst::Value as V;
    let fits = match ty {
        "Int" => matches!(value, V::IntValue(_)),
        "Float" => matches!(value, V::IntValue(_) | V::FloatValue(_)),
        "String" => matches!(value, V::StringValue(_)),
        "Boolean" => matches!(value, V::BooleanValue(_)),
        "ID" => matches!(value, V::StringValue(_) | V::IntValue(_)),
        // What a scalar of the server's takes, the server knows.
        _ => {
            return if has_variable(value) {
                Err("there are no variables here: write the value".to_owned())
            } else {
                Ok(())
            };
        }
    };
    if fits { Ok(()) } else { Err(format!("a value of {ty} is wanted")) }
}

fn has_variable(value: &cst::Value) -> bool {
    match value {
        cst::Value::Variable(_) => true,
        cst::Value::ListValue(list) => list.values().any(|item| has_variable(&item)),
        cst::Value::ObjectValue(object) => {
            object.object_fields().filter_map(|field| field.value()).any(|value| has_variable(&value))
        }
        _ => false,
    }
}
