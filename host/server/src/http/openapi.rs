//! `/openapi.json`: the HTTP API as an OpenAPI 3.1 document, made from the
//! table of routes, so that it can't say anything else than what is served.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use utoipa::openapi::path::{HttpMethod, PathItem, PathsBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    ComponentsBuilder, ContentBuilder, InfoBuilder, LicenseBuilder, OpenApiBuilder, ResponseBuilder, Schema,
};

use axum::http::Method;
use axum::http::StatusCode;

use super::encode::{Answer, bytes};
use super::route::{Need, Route};
use crate::access::SESSION_COOKIE;

/// Where it is served.
pub(super) const PATH: &str = "/openapi.json";

/// What the answer is that every operation can give.
pub(super) const REFUSAL: &str = "What was wrong, where, and what to do";

const DESCRIPTION: &str = "Every route that does not say otherwise takes `Authorization: Bearer` – the owner's \
     token from `<home>/token`, or a client's from `executor tokens add` – or the cookie of a session, with which a \
     change has to come from one of the daemon's own pages. What a workspace or an organization holds is answered \
     to its members alone; to others it is not there. Errors are one object: a stable `code`, a \
     `message`, often a `hint`. Lists page by an opaque cursor.";

static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
    let document = document().to_pretty_json().expect("a document of texts can be written");
    format!("{document}\n")
});

pub(super) fn routes() -> Vec<Route> {
    vec![Route::get(PATH, "This document", show).needs(Need::Token).gives_other("application/json")]
}

async fn show() -> Answer {
    Ok(bytes(StatusCode::OK, DOCUMENT.as_bytes().to_vec()))
}

fn document() -> utoipa::openapi::OpenApi {
    let mut paths = PathsBuilder::new();
    let mut schemas = BTreeMap::new();
    for route in super::routes() {
        // JSON-RPC is described by its own protocol.
        if route.path.starts_with("/mcp") {
            continue;
        }
        let (path, method) = (route.path, method(&route.method));
        let (operation, named) = route.describe();
        schemas.extend(named);
        paths = paths.path(path, PathItem::new(method, operation));
    }
    let error = ContentBuilder::new().schema(Some(error_schema())).build();
    let error = ResponseBuilder::new().description(REFUSAL).content("application/json", error).build();
    let components = ComponentsBuilder::new()
        .schemas_from_iter(schemas)
        .response("Error", error)
        .security_scheme("token", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)))
        .security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new(SESSION_COOKIE))))
        .build();
    let license =
        LicenseBuilder::new().name("MIT OR Apache-2.0").identifier(Some("MIT OR Apache-2.0")).build();
    let info = InfoBuilder::new()
        .title("executor")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .license(Some(license));
    OpenApiBuilder::new()
        .info(info)
        .paths(paths)
        .components(Some(components))
        .security(Some(["token", "session"].map(|name| SecurityRequirement::new(name, Vec::<String>::new()))))
        .build()
}

fn method(method: &Method) -> HttpMethod {
    match *method {
        Method::POST => HttpMethod::Post,
        Method::DELETE => HttpMethod::Delete,
        _ => HttpMethod::Get,
    }
}

pub(super) fn error_schema() -> Schema {
    let text = |said: &str| ObjectBuilder::new().schema_type(Type::String).description(Some(said));
    let error = ObjectBuilder::new()
        .property("code", text("Stable; `executor explain CODE` tells more."))
        .required("code")
        .property("message", text("What is wrong, and where."))
        .required("message")
        .property("hint", text("What to do."))
        .property("details", ObjectBuilder::new().schema_type(utoipa::openapi::schema::SchemaType::AnyValue));
    ObjectBuilder::new().property("error", error).required("error").build().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The document that readers find in the repository.
    const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");

    #[test]
    fn the_committed_document_is_what_is_served() {
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(COMMITTED, DOCUMENT.as_bytes()).unwrap();
        }
        let committed = std::fs::read_to_string(COMMITTED).unwrap_or_default();
        assert!(
            committed == *DOCUMENT,
            "docs/openapi.json is not what the routes say: run UPDATE=1 cargo test -p executor-server"
        );
    }

    #[test]
    fn every_reference_leads_somewhere_and_operation_ids_are_unique() {
        let document: serde_json::Value = serde_json::from_str(&DOCUMENT).unwrap();
        let mut ids = std::collections::HashSet::new();
        let mut pending = vec![&document];
        while let Some(value) = pending.pop() {
            if let Some(reference) = value.get("$ref").and_then(serde_json::Value::as_str) {
                let pointer = reference.strip_prefix('#').unwrap();
                assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
            }
            if let Some(id) = value.get("operationId").and_then(serde_json::Value::as_str) {
                assert!(ids.insert(id.to_owned()), "{id} twice");
            }
            match value {
                serde_json::Value::Array(items) => pending.extend(items),
                serde_json::Value::Object(fields) => pending.extend(fields.values()),
                _ => {}
            }
        }
        assert!(ids.len() > 30, "{}", ids.len());
    }
}
