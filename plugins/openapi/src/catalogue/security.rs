//! Security schemes as auth methods, and which of them an operation takes.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::operations::Operation;
use super::swagger;
use crate::address;
use crate::document::Refs;
use crate::seam::AuthMethod;
use crate::text::{line, sanitised};
use crate::wire::binding::Place;

const MAX_SCHEMES: usize = 100;
const MAX_ALTERNATIVES: usize = 20;
const MAX_SCOPES: usize = 500;
const MAX_OPERATION_SCOPES: usize = 50;
/// What a signature of AWS consists of, which the host makes.
const SIGV4_PARTS: [&str; 7] = [
    "X-Amz-Algorithm",
    "X-Amz-Content-Sha256",
    "X-Amz-Credential",
    "X-Amz-Date",
    "X-Amz-Security-Token",
    "X-Amz-Signature",
    "X-Amz-SignedHeaders",
];
/// The flows of `oauth2`, the best first; the last two are legacy.
const FLOWS: [&str; 5] =
    ["authorizationCode", "deviceAuthorization", "clientCredentials", "implicit", "password"];

/// The schemes of a document.
#[derive(Debug, Default)]
pub(crate) struct Security<'d> {
    pub(crate) methods: Vec<AuthMethod>,
    pub(crate) faults: Vec<(&'static str, String)>,
    ids: HashMap<&'d str, String>,
    /// Parameters that carry credentials, which the host places.
    placed: Vec<(Place, String)>,
    root: Option<&'d Value>,
    /// What every operation takes that says nothing, where the document says
    /// nothing anywhere.
    fallback: Vec<Vec<String>>,
}

/// What one operation takes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Required {
    /// Alternatives of methods that apply together.
    pub(crate) alternatives: Vec<Vec<String>>,
    pub(crate) scopes: Vec<String>,
    /// The scopes that each method needs, where it needs any.
    pub(crate) scopes_by_method: Map<String, Value>,
    pub(crate) faults: Vec<String>,
}

impl<'d> Security<'d> {
    pub(crate) fn read(
        root: &'d Value,
        refs: Refs<'d>,
        url: Option<&str>,
        operations: &[Operation<'d>],
    ) -> Self {
        let mut security =
            Self { root: root.get("security").filter(|list| list.is_array()), ..Self::default() };
        let schemes = root.pointer("/components/securitySchemes").and_then(Value::as_object);
        let older = root.get("securityDefinitions").and_then(Value::as_object);
        for (name, scheme) in schemes.or(older).into_iter().flatten().take(MAX_SCHEMES) {
            match refs.follow(scheme) {
                Ok(scheme) if schemes.is_none() => {
                    security.add(name, &swagger::security_scheme(scheme), url);
                }
                Ok(scheme) => security.add(name, scheme, url),
                Err(fault) => security
                    .faults
                    .push(("auth-unsupported", format!("the security scheme {name:?} is left out: {fault}"))),
            }
        }
        let silent = security.root.is_none()
            && operations.iter().all(|operation| operation.value.get("security").is_none());
        if security.methods.is_empty() {
            security.offer_bearer();
        } else if silent {
            security.offer_all();
        }
        if operations.is_empty() {
            security.faults.retain(|(code, _)| *code != "no-security-declared");
        }
        security
    }

    /// Documents that declare no scheme often describe APIs that take a token
    /// all the same; a person who has one must be able to connect it.
    fn offer_bearer(&mut self) {
        self.methods.push(method(
            "bearer",
            "http-bearer",
            "Bearer token",
            &bearer("token", "Bearer token"),
            None,
        ));
        self.fallback = vec![vec!["bearer".to_owned()], vec![]];
        self.faults.push(("no-security-declared", "the document declares no security scheme: a bearer token is offered, and calls work without one too".to_owned()));
    }

    fn offer_all(&mut self) {
        self.fallback = self.any_method();
        self.faults.push(("no-security-declared", "the document declares security schemes but never says which operation takes one: each is offered, and calls work without one too".to_owned()));
    }

    fn add(&mut self, name: &'d str, scheme: &Value, url: Option<&str>) {
        let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
        let mut id = sanitised(name, 64);
        while self.methods.iter().any(|method| method.id == id) {
            id.push('_');
        }
        let meta = Some(text("description"))
            .filter(|text| !text.is_empty())
            .map(|text| json!({"description": line(text, 300)}));
        let made = match text("type") {
            "apiKey" if text("x-amazon-apigateway-authtype").eq_ignore_ascii_case("awsSigv4") => {
                Ok(self.sigv4(&id))
            }
            "apiKey" => self.api_key(&id, text("in"), text("name")),
            "http" => self.http(&id, text("scheme")),
            "oauth2" => oauth(&id, scheme, url),
            "openIdConnect" => openid(&id, text("openIdConnectUrl"), url),
            "mutualTLS" => Ok(method(
                &id,
                "mtls",
                "Client certificate",
                &json!({"placements": [], "variables": []}),
                None,
            )),
            other => Err(format!("its type is {other:?}")),
        };
        match made {
            Ok(mut made) => {
                made.meta = meta.map(|meta| meta.to_string());
                self.ids.insert(name, id);
                self.methods.push(made);
            }
            Err(why) => self
                .faults
                .push(("auth-unsupported", format!("the security scheme {name:?} is left out: {why}"))),
        }
    }

    fn api_key(&mut self, id: &str, place: &str, name: &str) -> Result<AuthMethod, String> {
        let carrier = match place {
            "header" => Place::Header,
            "query" => Place::Query,
            "cookie" => Place::Cookie,
            other => return Err(format!("an API key can't be placed in {other:?}")),
        };
        let odd = |c: char| c.is_control() || c.is_whitespace();
        if name.is_empty() || name.len() > 200 || name.contains(odd) {
            return Err(format!("the name {:?} can't carry an API key", line(name, 100)));
        }
        self.placed.push((carrier, name.to_owned()));
        let config = json!({
            "placements": [{"in": place, "name": name, "template": "{token}"}],
            "variables": [{"name": "token", "label": "API key", "secret": true}],
        });
        let label = if name.eq_ignore_ascii_case("authorization") {
            "the whole Authorization header, such as Bearer …".to_owned()
        } else {
            format!("API key ({place} {})", line(name, 60))
        };
        Ok(method(id, "api-key", &label, &config, None))
    }

    /// Signature version 4 of AWS, which some documents write as an API key.
    fn sigv4(&mut self, id: &str) -> AuthMethod {
        for part in SIGV4_PARTS {
            self.placed.push((Place::Header, part.to_owned()));
            self.placed.push((Place::Query, part.to_owned()));
        }
        let config = json!({
            "placements": [],
            "variables": [
                {"name": "access_key_id", "label": "Access key id", "secret": false},
                {"name": "secret_access_key", "label": "Secret access key", "secret": true},
                {"name": "session_token", "label": "Session token", "secret": true},
                {"name": "region", "label": "Region", "secret": false},
            ],
        });
        method(id, "aws-sigv4", "AWS signature", &config, None)
    }

    fn http(&mut self, id: &str, scheme: &str) -> Result<AuthMethod, String> {
        match scheme.to_ascii_lowercase().as_str() {
            "bearer" => Ok(method(id, "http-bearer", "Bearer token", &bearer("token", "Bearer token"), None)),
            "basic" => {
                let config = json!({
                    "placements": [],
                    "variables": [
                        {"name": "username", "label": "User name", "secret": false},
                        {"name": "password", "label": "Password", "secret": true},
                    ],
                });
                Ok(method(id, "http-basic", "User name and password", &config, None))
            }
            other => {
                let other = sanitised(other, 32);
                self.faults.push(("auth-unsupported", format!("the HTTP authentication scheme {other:?} is not known; calls that need it will be refused")));
                Ok(method(
                    id,
                    &format!("http-{other}"),
                    &format!("HTTP {other}"),
                    &json!({"placements": [], "variables": []}),
                    None,
                ))
            }
        }
    }

    /// Whether the host places a credential there.
    pub(crate) fn places(&self, place: Place, name: &str) -> bool {
        self.placed.iter().any(|(held, carrier)| {
            *held == place
                && if place == Place::Header { carrier.eq_ignore_ascii_case(name) } else { carrier == name }
        })
    }

    /// What an operation takes: its own list, else the document's.
    pub(crate) fn required(&self, operation: &Operation<'d>) -> Required {
        let own = operation.value.get("security").filter(|list| list.is_array());
        let Some(list) = own.or(self.root).and_then(Value::as_array) else {
            return Required { alternatives: self.fallback.clone(), ..Required::default() };
        };
        let mut required = Required::default();
        for alternative in list.iter().filter_map(Value::as_object).take(MAX_ALTERNATIVES) {
            match self.alternative(alternative) {
                Ok(methods) => {
                    required.add_scopes(&methods, alternative);
                    if !required.alternatives.contains(&methods) {
                        required.alternatives.push(methods);
                    }
                }
                Err(fault) => required.faults.push(fault),
            }
        }
        if required.alternatives.is_empty() && !list.is_empty() {
            required.alternatives = self.any_method();
        }
        required
    }

    /// Where it is known that a credential is wanted and not which.
    fn any_method(&self) -> Vec<Vec<String>> {
        let each = self.methods.iter().map(|method| vec![method.id.clone()]).take(MAX_ALTERNATIVES);
        each.chain([vec![]]).collect()
    }

    fn alternative(&self, alternative: &Map<String, Value>) -> Result<Vec<String>, String> {
        let known = |name: &String| {
            self.ids.get(name.as_str()).cloned().ok_or_else(|| {
                format!(
                    "the security scheme {:?} is required but not declared; that alternative is ignored",
                    line(name, 100)
                )
            })
        };
        alternative.keys().map(known).collect()
    }
}

impl Required {
    /// `methods` are those of `alternative`, in its order.
    fn add_scopes(&mut self, methods: &[String], alternative: &Map<String, Value>) {
        for (id, wanted) in methods.iter().zip(alternative.values()) {
            let mut own: Vec<String> = Vec::new();
            for scope in wanted.as_array().into_iter().flatten().filter_map(Value::as_str) {
                let scope = line(scope, 200);
                if self.scopes.len() < MAX_OPERATION_SCOPES && !self.scopes.contains(&scope) {
                    self.scopes.push(scope.clone());
                }
                if own.len() < MAX_OPERATION_SCOPES {
                    own.push(scope);
                }
            }
            if !own.is_empty() {
                self.scopes_by_method.entry(id.clone()).or_insert(json!(own));
            }
        }
    }
}

fn method(id: &str, kind: &str, label: &str, config: &Value, meta: Option<String>) -> AuthMethod {
    AuthMethod {
        id: id.to_owned(),
        kind: kind.to_owned(),
        label: label.to_owned(),
        config: config.to_string(),
        meta,
    }
}

fn bearer(variable: &str, label: &str) -> Value {
    json!({
        "placements": [{"in": "header", "name": "Authorization", "template": format!("Bearer {{{variable}}}")}],
        "variables": [{"name": variable, "label": label, "secret": true}],
    })
}

fn oauth(id: &str, scheme: &Value, url: Option<&str>) -> Result<AuthMethod, String> {
    let declared = scheme.get("flows").and_then(Value::as_object);
    let flows: Vec<Value> =
        FLOWS.iter().filter_map(|name| Some(flow(name, declared?.get(*name)?.as_object()?, url))).collect();
    let metadata = scheme.get("oauth2MetadataUrl").and_then(Value::as_str);
    let metadata = metadata.and_then(|metadata| address::resolve(url, metadata));
    if flows.is_empty() && metadata.is_none() {
        return Err("it has no OAuth flow".to_owned());
    }
    let mut config = bearer("token", "Access token");
    config["oauth"] = flows.first().cloned().unwrap_or_else(|| json!({}));
    if flows.len() > 1 {
        config["oauth"]["alternatives"] = json!(flows[1..]);
    }
    if let Some(metadata) = metadata {
        config["oauth"]["metadataUrl"] = json!(metadata);
    }
    Ok(method(id, "oauth2", "OAuth 2", &config, None))
}

fn flow(name: &str, declared: &Map<String, Value>, url: Option<&str>) -> Value {
    let mut flow = Map::new();
    flow.insert("flow".to_owned(), json!(name));
    for key in ["authorizationUrl", "tokenUrl", "refreshUrl", "deviceAuthorizationUrl"] {
        let written = declared.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        if let Some(resolved) = written.and_then(|written| address::resolve(url, written)) {
            flow.insert(key.to_owned(), json!(resolved));
        }
    }
    let scopes = declared.get("scopes").and_then(Value::as_object).into_iter().flatten().take(MAX_SCOPES);
    let scopes: Map<String, Value> = scopes
        .map(|(scope, text)| (line(scope, 200), json!(line(text.as_str().unwrap_or_default(), 200))))
        .collect();
    flow.insert("scopes".to_owned(), Value::Object(scopes));
    Value::Object(flow)
}

fn openid(id: &str, written: &str, url: Option<&str>) -> Result<AuthMethod, String> {
    let discovery =
        Some(written).filter(|text| !text.is_empty()).and_then(|text| address::resolve(url, text));
    let discovery =
        discovery.ok_or_else(|| "its openIdConnectUrl is missing or relative to nothing".to_owned())?;
    let mut config = bearer("token", "Access token");
    config["oauth"] = json!({"openIdConnectUrl": discovery});
    Ok(method(id, "openid-connect", "OpenID Connect", &config, None))
}
