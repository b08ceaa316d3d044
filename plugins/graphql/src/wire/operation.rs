//! From a binding and arguments to an operation with its variables.

use serde_json::{Map, Value, json};

use super::binding::{Binding, Selected, stale};
use crate::closest;
use crate::seam::{Failure, Http};
use crate::select::{Table, check};
use crate::settings::Settings;

/// The table of the largest schema that is published has 1 MB.
const MAX_TABLE_BYTES: u64 = 24 << 20;

/// An operation, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prepared {
    pub(crate) endpoint: String,
    pub(crate) query: String,
    pub(crate) name: String,
    pub(crate) variables: Map<String, Value>,
    /// Whether the selection is the caller's.
    pub(crate) chosen: bool,
}

impl Prepared {
    /// As GraphQL over HTTP sends it.
    pub(crate) fn body(&self) -> Value {
        json!({"query": self.query, "operationName": self.name, "variables": self.variables})
    }
}

/// Makes the operation of a call.
///
/// # Errors
/// `invalid-arguments`, naming the argument; `settings-invalid` where there is
/// no endpoint; `binding-invalid` where the table is gone.
pub(crate) fn prepare<H: Http>(
    binding: &Binding,
    arguments: &str,
    settings: &Settings,
    http: &mut H,
) -> Result<Prepared, Failure> {
    let endpoint = settings.endpoint.clone().or_else(|| binding.endpoint.clone()).ok_or_else(|| {
        Failure::new(
            "settings-invalid",
            "the source was made from a schema that does not say where its API is: `executor sources set NAME --set base_url=…` says it, the URL of the GraphQL endpoint",
        )
    })?;
    let mut given: Map<String, Value> = serde_json::from_str(arguments)
        .map_err(|fault| invalid(format!("the arguments are no JSON object: {fault}")))?;
    let (selection, chosen) = match &binding.selection {
        None => (String::new(), false),
        Some(selected) => match given.remove(&selected.argument) {
            None | Some(Value::Null) => (format!(" {{ {} }}", selected.default), false),
            Some(Value::String(text)) => (format!(" {{ {} }}", chosen(selected, &text, http)?), true),
            Some(_) => {
                return Err(invalid(format!("{:?} is a text: a GraphQL selection", selected.argument)));
            }
        },
    };
    let variables = variables(binding, given, settings)?;
    Ok(Prepared {
        endpoint,
        query: text(binding, &variables, &selection),
        name: binding.field.clone(),
        variables,
        chosen,
    })
}

/// The caller's selection, checked against the schema.
fn chosen<H: Http>(selected: &Selected, text: &str, http: &mut H) -> Result<String, Failure> {
    let gone = || stale("the schema that a selection is checked against is gone");
    let table = selected.table.as_ref().ok_or_else(gone)?;
    let bytes = http.read_file(table, MAX_TABLE_BYTES).map_err(|failure| match failure.code.as_str() {
        "not-found" => gone(),
        _ => failure,
    })?;
    let table = Table::read(&bytes).ok_or_else(|| stale("the table of the schema is damaged"))?;
    check(text, &selected.ty, &table)
        .map_err(|faults| invalid(format!("{}: {}", selected.argument, faults.join("; "))))
}

/// The arguments that were given, all of them known.
fn variables(
    binding: &Binding,
    mut given: Map<String, Value>,
    settings: &Settings,
) -> Result<Map<String, Value>, Failure> {
    let names = || binding.arguments.iter().map(|argument| argument.name.as_str());
    if let Some(unknown) = given.keys().find(|key| names().all(|name| name != key.as_str())) {
        return Err(invalid(format!("there is no argument {unknown:?}{}", closest::hint(unknown, names()))));
    }
    let missing = binding.arguments.iter().find(|argument| {
        argument.ty.ends_with('!')
            && !argument.has_default
            && given.get(&argument.name).is_none_or(Value::is_null)
    });
    if let Some(argument) = missing {
        return Err(invalid(format!("the argument {:?} ({}) is required", argument.name, argument.ty)));
    }
    let is_given = |name: &str| given.get(name).is_some_and(|value| !value.is_null());
    if binding.pages && !is_given("first") && !is_given("last") {
        given.insert("first".to_owned(), json!(settings.page_size));
    }
    let mut variables = Map::new();
    for name in names() {
        variables.extend(given.remove(name).map(|value| (name.to_owned(), value)));
    }
    Ok(variables)
}

/// Arguments that were not given are not in the operation either, so that
/// the server's defaults count.
fn text(binding: &Binding, variables: &Map<String, Value>, selection: &str) -> String {
    let used: Vec<_> =
        binding.arguments.iter().filter(|argument| variables.contains_key(&argument.name)).collect();
    let declared: Vec<String> = used.iter().map(|one| format!("${}: {}", one.name, one.ty)).collect();
    let passed: Vec<String> = used.iter().map(|one| format!("{0}: ${0}", one.name)).collect();
    let in_brackets = |parts: Vec<String>| match parts.is_empty() {
        true => String::new(),
        false => format!("({})", parts.join(", ")),
    };
    let (word, field) = (binding.operation.word(), &binding.field);
    format!("{word} {field}{} {{ {field}{}{selection} }}", in_brackets(declared), in_brackets(passed))
}

fn invalid(message: String) -> Failure {
    Failure::new("invalid-arguments", message)
}
