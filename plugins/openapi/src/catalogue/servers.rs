//! Servers: which base URL a call goes to.
//!
//! From the strongest: the source's `base_url`, the call's `server` argument,
//! the operation's servers, the path's, the document's. A relative one is
//! resolved on the document's URL while indexing, so that a binding needs
//! nothing else.

use serde_json::{Map, Value};

use super::operations::Operation;
use super::swagger;
use crate::address;
use crate::wire::binding::{Server, Variable};

const MAX_SERVERS: usize = 32;
const MAX_VARIABLES: usize = 16;
const MAX_ORIGINS: usize = 64;

/// The servers that a list in the document names. Empty where it names none;
/// those that can't be used are told in `faults`.
pub(crate) fn read(
    list: Option<&Value>,
    document_url: Option<&str>,
    faults: &mut Vec<String>,
) -> Vec<Server> {
    let mut servers = Vec::new();
    for entry in list.and_then(Value::as_array).into_iter().flatten().take(MAX_SERVERS) {
        let Some(url) = entry.get("url").and_then(Value::as_str) else {
            continue;
        };
        let variables = variables(entry.get("variables").and_then(Value::as_object));
        match template(url, document_url, &variables) {
            Some(template) => servers.push(Server { template, variables }),
            None => faults.push(format!(
                "the server {:?} is relative or not http, and there is no document URL to resolve it on: set base_url",
                crate::text::line(url, 200)
            )),
        }
    }
    servers
}

/// Nothing is resolved where a variable stands for scheme or host.
fn template(url: &str, document_url: Option<&str>, variables: &[Variable]) -> Option<String> {
    let url = url.trim();
    if url.starts_with('{')
        && (url.contains("://") || variables.iter().any(|each| each.default.contains("://")))
    {
        return Some(url.to_owned());
    }
    address::resolve(document_url, url)
}

fn variables(map: Option<&Map<String, Value>>) -> Vec<Variable> {
    let read = |(name, value): (&String, &Value)| {
        let choices: Vec<String> = value
            .get("enum")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(scalar)
            .take(100)
            .collect();
        let default =
            value.get("default").and_then(scalar).or_else(|| choices.first().cloned()).unwrap_or_default();
        Variable { name: name.clone(), default, choices }
    };
    map.into_iter().flatten().take(MAX_VARIABLES).map(read).collect()
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// The document's own servers, or by default the root of where it came from.
pub(crate) fn of_document(root: &Value, document_url: Option<&str>, faults: &mut Vec<String>) -> Vec<Server> {
    if root.get("openapi").is_none() && root.get("swagger").is_some() {
        return swagger::servers(root, document_url, faults);
    }
    let listed = root.get("servers").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let servers = read(root.get("servers"), document_url, faults);
    if listed {
        return servers;
    }
    let default = address::resolve(document_url, "/");
    default.map(|template| Server { template, variables: Vec::new() }).into_iter().collect()
}

/// The servers of one operation, where it has its own.
pub(crate) fn of_operation(
    operation: &Operation<'_>,
    document_url: Option<&str>,
    faults: &mut Vec<String>,
) -> Vec<Server> {
    for level in [operation.value, operation.item] {
        let servers = read(level.get("servers"), document_url, faults);
        if !servers.is_empty() {
            return servers;
        }
    }
    Vec::new()
}

/// Every origin that a server can lead to, by the choices its variables have.
pub(crate) fn add_origins(servers: &[Server], origins: &mut Vec<String>) {
    for server in servers {
        let mut urls = vec![server.template.clone()];
        for variable in &server.variables {
            let place = format!("{{{}}}", variable.name);
            let values = if variable.choices.is_empty() {
                std::slice::from_ref(&variable.default)
            } else {
                &variable.choices
            };
            urls = urls
                .iter()
                .flat_map(|url| values.iter().map(|value| url.replace(&place, value)))
                .take(MAX_ORIGINS)
                .collect();
        }
        for origin in urls.iter().filter_map(|url| address::origin(&address::as_base(url).ok()?)) {
            if origins.len() < MAX_ORIGINS && !origins.contains(&origin) {
                origins.push(origin);
            }
        }
    }
}
