//! The API's documents: OpenAPI 3.1 and, for what it can say, Swagger 2.0.

use serde_json::{Map, Value, json};

use super::api::{OPERATIONS, Operation};
use super::app::Turn;
use super::schemes::{Scheme, TokenScheme};

/// OpenAPI 3.1. The device flow stands in it as OpenAPI 3.2 has it.
pub(crate) fn openapi(turn: &Turn<'_>) -> Value {
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Ways to authenticate", "version": "1.0.0" },
        "servers": [{ "url": turn.origin }],
        "paths": paths(Version::OpenApi),
        "components": { "securitySchemes": schemes(turn) },
    })
}

/// Swagger 2.0, without the operations whose ways it has no words for.
pub(crate) fn swagger(turn: &Turn<'_>) -> Value {
    json!({
        "swagger": "2.0",
        "info": { "title": "Ways to authenticate", "version": "1.0.0" },
        "host": turn.origin.trim_start_matches("http://"),
        "basePath": "/",
        "schemes": ["http"],
        "consumes": ["application/json"],
        "produces": ["application/json"],
        "paths": paths(Version::Swagger),
        "securityDefinitions": definitions(turn),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    OpenApi,
    Swagger,
}

impl Version {
    fn knows(self, scheme: Scheme) -> bool {
        let foreign = matches!(
            scheme,
            Scheme::KeyCookie
                | Scheme::Bearer
                | Scheme::MutualTls
                | Scheme::Token(TokenScheme::Device | TokenScheme::OpenId, _)
        );
        self == Self::OpenApi || !foreign
    }
}

fn paths(version: Version) -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let known = |schemes: &&&[Scheme]| schemes.iter().all(|scheme| version.knows(*scheme));
        let alternatives: Vec<&[Scheme]> = operation.alternatives.iter().filter(known).copied().collect();
        if alternatives.is_empty() && !operation.alternatives.is_empty() {
            continue;
        }
        let item = paths.entry(operation.path).or_insert_with(|| json!({}));
        item[operation.method.to_ascii_lowercase()] = described(version, operation, &alternatives);
    }
    paths.into()
}

fn described(version: Version, operation: &Operation, alternatives: &[&[Scheme]]) -> Value {
    let security: Vec<Value> = alternatives
        .iter()
        .map(|schemes| schemes.iter().map(|one| (one.name().to_owned(), json!(one.scopes()))).collect())
        .map(Value::Object)
        .collect();
    let mut parameters = vec![parameter(version, "q", "query")];
    if operation.path.contains("{name}") {
        parameters.push(parameter(version, "name", "path"));
    }
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let answer = json!({ "type": "object" });
    let mut described = json!({
        "operationId": operation.id,
        "tags": [operation.group],
        "summary": operation.summary,
        "security": security,
        "responses": { "default": match version {
            Version::OpenApi => json!({
                "description": "The answer",
                "content": { "application/json": { "schema": answer } },
            }),
            Version::Swagger => json!({ "description": "The answer", "schema": answer }),
        } },
    });
    if operation.method == "POST" {
        match version {
            Version::OpenApi => {
                described["requestBody"] =
                    json!({ "required": true, "content": { "application/json": { "schema": schema } } });
            }
            Version::Swagger => {
                parameters.push(json!({ "name": "body", "in": "body", "required": true, "schema": schema }));
            }
        }
    }
    described["parameters"] = parameters.into();
    described
}

fn parameter(version: Version, name: &str, place: &str) -> Value {
    let mut parameter = json!({ "name": name, "in": place, "required": place == "path" });
    match version {
        Version::OpenApi => parameter["schema"] = json!({ "type": "string" }),
        Version::Swagger => parameter["type"] = json!("string"),
    }
    parameter
}

fn url(turn: &Turn<'_>, path: &str) -> String {
    match turn.script.relative_urls {
        true => path.to_owned(),
        false => format!("{}{path}", turn.origin),
    }
}

fn scopes(names: &[&str]) -> Value {
    names
        .iter()
        .map(|name| ((*name).to_owned(), json!(format!("Allows {name}"))))
        .collect::<Map<_, _>>()
        .into()
}

fn keys() -> Map<String, Value> {
    let mut keys = Map::new();
    let mut key = |name: &str, place: &str, parameter: &str| {
        keys.insert(name.to_owned(), json!({ "type": "apiKey", "in": place, "name": parameter }));
    };
    key("keyHeader", "header", "X-Api-Key");
    key("keyQuery", "query", "api_key");
    key("keyCookie", "cookie", "session_key");
    key("aws", "header", "Authorization");
    keys["aws"]["x-amazon-apigateway-authtype"] = json!("awsSigv4");
    keys
}

fn schemes(turn: &Turn<'_>) -> Map<String, Value> {
    let mut schemes = keys();
    let mut scheme = |name: &str, value: Value| _ = schemes.insert(name.to_owned(), value);
    scheme("basic", json!({ "type": "http", "scheme": "basic" }));
    scheme("bearer", json!({ "type": "http", "scheme": "bearer" }));
    scheme("mutual", json!({ "type": "mutualTLS" }));
    let flow = |name: &str, value: Value| json!({ "type": "oauth2", "flows": { name: value } });
    let code = json!({
        "authorizationUrl": url(turn, "/authorize"),
        "tokenUrl": url(turn, "/token"),
        "refreshUrl": url(turn, "/token"),
        "scopes": scopes(&["items:read", "items:write"]),
    });
    scheme("oauth", flow("authorizationCode", code));
    let machine = json!({ "tokenUrl": url(turn, "/token"), "scopes": scopes(&["machine:read"]) });
    scheme("machine", flow("clientCredentials", machine));
    let device = json!({
        "deviceAuthorizationUrl": url(turn, "/device_authorization"),
        "tokenUrl": url(turn, "/token"),
        "scopes": scopes(&["device:read"]),
    });
    scheme("device", flow("deviceAuthorization", device));
    let configuration = format!("{}/.well-known/openid-configuration", turn.script.issuer_path);
    scheme("openid", json!({ "type": "openIdConnect", "openIdConnectUrl": url(turn, &configuration) }));
    schemes
}

fn definitions(turn: &Turn<'_>) -> Map<String, Value> {
    let mut definitions = keys();
    definitions.remove("keyCookie");
    let mut define = |name: &str, value: Value| _ = definitions.insert(name.to_owned(), value);
    define("basic", json!({ "type": "basic" }));
    let code = json!({
        "type": "oauth2",
        "flow": "accessCode",
        "authorizationUrl": url(turn, "/authorize"),
        "tokenUrl": url(turn, "/token"),
        "scopes": scopes(&["items:read", "items:write"]),
    });
    define("oauth", code);
    let machine = json!({
        "type": "oauth2",
        "flow": "application",
        "tokenUrl": url(turn, "/token"),
        "scopes": scopes(&["machine:read"]),
    });
    define("machine", machine);
    definitions
}
