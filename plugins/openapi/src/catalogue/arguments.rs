//! One flat object of arguments for each operation: its parameters by name,
//! `body`, and `contentType` and `server` where there is a choice.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::body;
use super::model::Model;
use super::object::Object;
use super::operations::Operation;
use super::parameters::{self, Declared};
use super::template::Template;
use crate::schema::{Definitions, Notes, Side};
use crate::wire::binding::{Binding, Parameter, Place};
use crate::wire::next;

const NEXT_LINK: &str = r#"{"type":"string","description":"the URL of the next page, as an answer gave it; its query takes the place of the other query parameters"}"#;

/// Adds parameters and body to a binding whose servers are set, and gives the
/// schema of the arguments.
///
/// # Errors
/// In words, why the operation can't be called.
pub(crate) fn plan<'d>(
    model: &Model<'d>,
    definitions: &mut Definitions<'d>,
    operation: &Operation<'d>,
    binding: &mut Binding,
    faults: &mut Vec<String>,
) -> Result<String, String> {
    let mut declared = parameters::declared(operation, model, faults);
    declared.retain(|each| !model.security.places(each.place, each.name));
    let template = Template::read(operation.path)?;
    add_undeclared(&template, &mut declared);
    declared.retain(|each| each.place != Place::Path || template.names.contains(&each.name));
    let body = body::read(operation, model, definitions)?;

    let mut schema = Object::default();
    let names = argument_names(&declared, &slots(binding, body.as_ref()));
    for (each, argument) in declared.iter().zip(names) {
        let notes = Notes { description: each.description(), deprecated: each.is_deprecated() };
        // Nobody but the caller sets a parameter, whatever its schema says of
        // who sets its properties.
        let written = definitions.write(Side::Whole, each.schema(), notes);
        faults.extend(written.faults);
        let required = each.is_required() && each.default(model.refs).is_none();
        schema.add(&argument, &written.json, required);
        binding.parameters.push(parameter(each, argument, model));
    }
    binding.path = template.pieces(&declared);
    binding.query = template.query;
    if let Some(planned) = body {
        faults.extend(add_body(&mut schema, binding, planned));
    }
    if binding.offers_server() {
        schema.add("server", &server_schema(binding), false);
    }
    if binding.next {
        schema.add(next::ARGUMENT, NEXT_LINK, false);
    }
    Ok(schema.closed())
}

/// The names of arguments that are no parameters.
fn slots(binding: &Binding, body: Option<&body::Planned>) -> Vec<&'static str> {
    let types = body.map_or(0, |planned| planned.body.types.len());
    let mut slots = Vec::new();
    slots.extend((types > 0).then_some("body"));
    slots.extend((types > 1).then_some("contentType"));
    slots.extend(binding.offers_server().then_some("server"));
    slots.extend(binding.next.then_some(next::ARGUMENT));
    slots
}

fn add_body(schema: &mut Object, binding: &mut Binding, planned: body::Planned) -> Vec<String> {
    schema.add("body", &planned.schema, planned.body.required);
    let types = planned.body.types.iter();
    let types: Vec<&str> = types.map(|each| each.media_type.as_str()).collect();
    if types.len() > 1 {
        let choice = json!({"type": "string", "enum": types, "default": types[0]});
        schema.add("contentType", &choice.to_string(), false);
    }
    binding.body = Some(planned.body);
    planned.faults
}

fn parameter(each: &Declared<'_>, argument: String, model: &Model<'_>) -> Parameter {
    Parameter {
        wire: (argument != each.name).then(|| each.name.to_owned()),
        argument,
        place: each.place,
        encoding: each.encoding(model.refs),
        required: each.is_required(),
        shape: parameters::shape(each.schema(), model.refs),
        default: each.default(model.refs).cloned(),
    }
}

/// A placeholder nobody declared is a required string.
fn add_undeclared<'d>(template: &Template<'d>, declared: &mut Vec<Declared<'d>>) {
    static STRING: LazyLock<Value> = LazyLock::new(|| json!({"schema": {"type": "string"}}));
    for name in &template.names {
        if !declared.iter().any(|each| each.place == Place::Path && each.name == *name) {
            declared.push(Declared { name, place: Place::Path, value: &STRING, swagger: false });
        }
    }
}

/// Each parameter's own name; where two share one, or it is that of a slot,
/// the place is added to it.
fn argument_names(declared: &[Declared<'_>], slots: &[&str]) -> Vec<String> {
    let mut holders: HashMap<&str, u32> = HashMap::new();
    for each in declared {
        *holders.entry(each.name).or_default() += 1;
    }
    let is_plain = |name: &str| holders[name] == 1 && !slots.contains(&name) && name != "__proto__";
    let mut used: Vec<String> = slots.iter().map(|slot| (*slot).to_owned()).collect();
    used.extend(declared.iter().filter(|each| is_plain(each.name)).map(|each| each.name.to_owned()));
    let mut names = Vec::with_capacity(declared.len());
    for each in declared {
        let mut name = each.name.to_owned();
        if !is_plain(each.name) {
            name = format!("{name}_{}", each.place.name());
            while used.contains(&name) {
                name.push('_');
            }
            used.push(name.clone());
        }
        names.push(name);
    }
    names
}

fn server_schema(binding: &Binding) -> String {
    let urls: Vec<&str> = binding.servers.iter().map(|server| server.template.as_str()).collect();
    let mut variables = serde_json::Map::new();
    for variable in binding.servers.iter().flat_map(|server| &server.variables) {
        let mut schema = json!({"type": "string", "default": variable.default});
        if !variable.choices.is_empty() {
            schema["enum"] = json!(variable.choices);
        }
        variables.entry(variable.name.clone()).or_insert(schema);
    }
    let mut properties = json!({"url": {"type": "string", "enum": urls}});
    if !variables.is_empty() {
        properties["variables"] =
            json!({"type": "object", "properties": variables, "additionalProperties": false});
    }
    let description = format!("where to send it, by default {}", urls[0]);
    json!({"type": "object", "description": description, "properties": properties, "additionalProperties": false}).to_string()
}
