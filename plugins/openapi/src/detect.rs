//! Says whether a document is for this adapter, without indexing it.

use serde_json::{Value, json};

use crate::catalogue::operations::{self, Operation};
use crate::catalogue::security::Security;
use crate::catalogue::servers;
use crate::document::{self, Format, Kind, Parsed, Refs, identify};
use crate::seam::{Detection, Probe};
use crate::settings::Settings;
use crate::text::line;
use crate::wire::base;
use crate::{address, suggest};

/// Ours beyond doubt, but with nothing in it to call.
const CONFIDENCE_WITHOUT_OPERATIONS: u8 = 60;
const CONFIDENCE: u8 = 95;
/// Ways to sign in that are told.
const AUTH_METHODS: usize = 20;
const CONFIDENCE_NEWER: u8 = 80;
/// Enough to be asked what is wrong, when nobody else claims it.
const CONFIDENCE_OF_A_NAME: u8 = 5;

/// What the probe holds. None for what another adapter reads, and for what
/// nothing is known of.
pub fn detect(probe: &Probe) -> Option<Detection> {
    let url = probe.document.url.as_deref().or(probe.url.as_deref());
    let parsed = match document::read(&probe.document.body) {
        Ok(parsed) => parsed,
        Err(fault) => return of_fault(&fault.code, &fault.message, &probe.document.body),
    };
    match identify(&parsed.root) {
        Kind::OpenApi { text, newer, .. } => Some(ours(&parsed, &text, newer, url)),
        Kind::OtherOpenApi(name) => {
            Some(named(format!("this is {name}, which is not read: convert it to OpenAPI 3 first")))
        }
        Kind::Foreign(name) if name.contains("GraphQL") || name.contains("JSON-RPC") => None,
        Kind::Foreign(name) => Some(named(format!("this is {name}, not an OpenAPI document"))),
        Kind::Unknown => None,
    }
}

/// The ways to sign in that the document declares.
fn auth(root: &Value, operations: &[Operation<'_>], url: Option<&str>) -> Vec<Value> {
    let schemes = root.pointer("/components/securitySchemes").or_else(|| root.get("securityDefinitions"));
    if schemes.and_then(Value::as_object).is_none_or(|schemes| schemes.is_empty()) {
        return Vec::new();
    }
    let methods = Security::read(root, Refs::new(root), url, operations).methods;
    let told = methods.iter().take(AUTH_METHODS);
    told.map(|method| json!({"kind": method.kind, "label": method.label})).collect()
}

fn of_fault(code: &str, message: &str, body: &[u8]) -> Option<Detection> {
    let start = String::from_utf8_lossy(&body[..body.len().min(2048)]);
    let looks_like_ours = start.contains("openapi") || start.contains("swagger");
    let is_named = code == "document-unsupported" && !message.contains("GraphQL");
    (is_named || looks_like_ours).then(|| named(message.to_owned()))
}

fn named(warning: String) -> Detection {
    Detection {
        confidence: CONFIDENCE_OF_A_NAME,
        config: "{}".to_owned(),
        suggested_name: "api".to_owned(),
        warnings: vec![line(&warning, 400)],
        meta: None,
    }
}

fn ours(parsed: &Parsed, specification: &str, newer: bool, url: Option<&str>) -> Detection {
    let root = &parsed.root;
    let found = operations::find(root, Refs::new(root));
    let mut warnings = Vec::new();
    let servers = servers::of_document(root, url, &mut warnings);
    let mut origins = Vec::new();
    servers::add_origins(&servers, &mut origins);
    let title = root.pointer("/info/title").and_then(Value::as_str).unwrap_or_default();
    let host = base::default(&servers, &Settings::default())
        .ok()
        .or_else(|| url.map(str::to_owned))
        .and_then(|url| address::host(&url));
    if newer {
        warnings.push(format!("OpenAPI {specification} is read as 3.2"));
    }
    let confidence = match (found.operations.len(), newer) {
        (0, _) => CONFIDENCE_WITHOUT_OPERATIONS,
        (_, true) => CONFIDENCE_NEWER,
        _ => CONFIDENCE,
    };
    let version = root.pointer("/info/version").map(crate::wire::style::text).unwrap_or_default();
    Detection {
        confidence,
        config: match parsed.format {
            Format::Json => "{}".to_owned(),
            Format::Yaml => json!({"format": parsed.format.name()}).to_string(),
        },
        suggested_name: suggest::name(title, host.as_deref()),
        warnings,
        meta: Some(
            json!({
                "title": line(title, 200),
                "version": line(&version, 100),
                "specification": specification,
                "operations": found.operations.len(),
                "origins": origins,
                "transport": "http",
                "auth": auth(root, &found.operations, url),
            })
            .to_string(),
        ),
    }
}
