//! What OpenAPI 2 writes another way: bodies among the parameters, media types
//! beside them, servers in three parts.

use serde_json::{Map, Value, json};

use super::body::{self, Choice, Planned};
use super::form::field_schema;
use super::model::Model;
use super::object::Object;
use super::operations::Operation;
use super::parameters::{collection_style, shape};
use crate::address;
use crate::schema::Definitions;
use crate::wire::binding::{Body, BodyKind, BodyType, Encoding, Field, Place, Server, Shape};
use crate::wire::content;

/// The body of an operation: its parameter in `body`, or those in `formData`.
pub(super) fn body<'d>(
    operation: &Operation<'d>,
    model: &Model<'d>,
    definitions: &mut Definitions<'d>,
) -> Option<Planned> {
    let mut list: Vec<&'d Value> = Vec::new();
    for level in [operation.item, operation.value] {
        for entry in level.get("parameters").and_then(Value::as_array).into_iter().flatten() {
            // What can't be followed is told where parameters are read.
            let Ok(parameter) = model.refs.follow(entry) else { continue };
            let key = |each: &Value| (each.get("name").cloned(), each.get("in").cloned());
            match list.iter_mut().find(|held| key(held) == key(parameter)) {
                Some(held) => *held = parameter,
                None => list.push(parameter),
            }
        }
    }
    let is_in = |place: &'static str| move |each: &&&Value| each.get("in").is_some_and(|held| held == place);
    let consumes = media_types(operation, model, "consumes");
    if let Some(body) = list.iter().find(is_in("body")) {
        let consumes = if consumes.is_empty() { vec!["application/json"] } else { consumes };
        let choices = consumes
            .iter()
            .map(|name| Choice { name, kind: content::body_kind(name), media: body })
            .collect();
        let description = body.get("description").and_then(Value::as_str);
        return Some(body::plan(choices, is_required(body), description, model, definitions));
    }
    let fields: Vec<&Value> = list.iter().filter(is_in("formData")).copied().collect();
    (!fields.is_empty()).then(|| form(&fields, &consumes, model, definitions))
}

fn form<'d>(
    parameters: &[&'d Value],
    consumes: &[&'d str],
    model: &Model<'d>,
    definitions: &mut Definitions<'d>,
) -> Planned {
    let mut schema = Object::default();
    let (mut fields, mut faults) = (Vec::new(), Vec::new());
    for parameter in parameters {
        let Some(name) = parameter.get("name").and_then(Value::as_str) else {
            faults.push("a form field without a name is left out".to_owned());
            continue;
        };
        let file = parameter.get("type").is_some_and(|kind| kind == "file");
        let text = field_schema(parameter, file, model.refs, definitions, &mut faults);
        schema.add(name, &text, is_required(parameter));
        let (style, explode) = collection_style(parameter, Place::Query);
        let array = shape(parameter, model.refs) == Shape::Array;
        let encoding =
            Encoding { style, explode: explode || !array, reserved: false, indexed: false, json: false };
        let field = Field { name: name.to_owned(), encoding, file, media_type: None };
        fields.extend((!field.is_plain()).then_some(field));
    }
    let has_file = fields.iter().any(|field| field.file);
    let is_form = |name: &&&str| {
        let kind = content::body_kind(name);
        kind == BodyKind::Multipart || (kind == BodyKind::Form && !has_file)
    };
    let usual = if has_file { "multipart/form-data" } else { "application/x-www-form-urlencoded" };
    let mut names: Vec<&str> = consumes.iter().filter(is_form).copied().collect();
    if names.is_empty() {
        names.push(usual);
    }
    let required = parameters.iter().any(|parameter| is_required(parameter));
    let mut types: Vec<BodyType> = names
        .iter()
        .map(|name| BodyType {
            media_type: (*name).to_owned(),
            kind: content::body_kind(name),
            fields: fields.clone(),
        })
        .collect();
    types.sort_by_key(|each| each.kind);
    types.dedup_by(|one, other| one.kind == other.kind);
    Planned { body: Body { required, types }, schema: schema.closed(), faults }
}

fn is_required(parameter: &Value) -> bool {
    parameter.get("required") == Some(&Value::Bool(true))
}

/// `consumes` or `produces`: the operation's own, else the document's.
pub(super) fn media_types<'d>(operation: &Operation<'d>, model: &Model<'d>, key: &str) -> Vec<&'d str> {
    let own = operation.value.get(key).filter(|list| list.is_array());
    let list = own.or_else(|| model.root.get(key)).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|name| content::visible(name).is_some())
        .collect()
}

/// The one base URL that `schemes`, `host` and `basePath` make. Of several
/// schemes `https` is used: the others lead to the same API.
pub(super) fn servers(root: &Value, document_url: Option<&str>, faults: &mut Vec<String>) -> Vec<Server> {
    let text =
        |key: &str| root.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let schemes: Vec<&str> = root
        .get("schemes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let fetched_by = document_url.and_then(|url| url.split_once("://")).map(|(scheme, _)| scheme);
    let scheme = if schemes.contains(&"https") || (schemes.is_empty() && fetched_by != Some("http")) {
        "https"
    } else {
        "http"
    };
    let host = match text("host") {
        Some(host) => {
            Some(host.split_once("://").map_or(host, |(_, rest)| rest).trim_end_matches('/').to_owned())
        }
        None => document_url
            .and_then(address::origin)
            .and_then(|origin| origin.split_once("://").map(|(_, authority)| authority.to_owned())),
    };
    let Some(host) = host else {
        faults.push(
            "the document names no host, and there is no document URL to take it from: set base_url"
                .to_owned(),
        );
        return Vec::new();
    };
    let path = text("basePath").unwrap_or("/");
    let slash = if path.starts_with('/') { "" } else { "/" };
    vec![Server { template: format!("{scheme}://{host}{slash}{path}"), variables: Vec::new() }]
}

/// A security definition in the words of OpenAPI 3.
pub(super) fn security_scheme(declared: &Value) -> Value {
    let text = |key: &str| declared.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "basic" => json!({"type": "http", "scheme": "basic", "description": text("description")}),
        "oauth2" => {
            let flow = match text("flow") {
                "accessCode" => "authorizationCode",
                "application" => "clientCredentials",
                other => other,
            };
            let mut flows = Map::new();
            flows.insert(flow.to_owned(), declared.clone());
            json!({"type": "oauth2", "flows": flows, "description": text("description")})
        }
        _ => declared.clone(),
    }
}
