//! An API with one operation for each way to authenticate. Its table is what
//! the documents are made of and what requests are checked against.

use serde_json::{Value, json};

use super::app::Turn;
use super::discovery::RESOURCE;
use super::schemes::{Lack, Scheme, TokenScheme, access};
use crate::pattern::path_matches;
use crate::plain::Answer;

use Scheme::{Aws, Basic, Bearer, KeyCookie, KeyHeader, KeyQuery, MutualTls, Token};
use TokenScheme::{Code, Device, Machine, OpenId};

/// Seconds that `GET /limited` asks to wait.
const RETRY_AFTER_S: &str = "7";

/// An operation of the API.
pub(crate) struct Operation {
    pub(crate) id: &'static str,
    pub(crate) group: &'static str,
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) summary: &'static str,
    /// One of these has to be met as a whole. None at all is `security: []`, an
    /// empty one is `{}`.
    pub(crate) alternatives: &'static [&'static [Scheme]],
    effect: Effect,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Says what was accepted.
    Accept,
    ListItems,
    CreateItem,
    Me,
    /// Gives back what was sent, whoever sent it.
    Echo,
    Limited,
}

const fn accepting(
    id: &'static str,
    path: &'static str,
    summary: &'static str,
    alternatives: &'static [&'static [Scheme]],
) -> Operation {
    Operation { id, group: "auth", method: "GET", path, summary, alternatives, effect: Effect::Accept }
}

const EVERY_ONE: &[&[Scheme]] =
    &[&[KeyHeader], &[KeyQuery], &[KeyCookie], &[Basic], &[Bearer], &[Token(Code, &[])], &[Aws]];

pub(crate) const OPERATIONS: &[Operation] = &[
    accepting("keyHeader", "/auth/key-header", "Takes a key in a header", &[&[KeyHeader]]),
    accepting("keyQuery", "/auth/key-query", "Takes a key in the query", &[&[KeyQuery]]),
    accepting("keyCookie", "/auth/key-cookie", "Takes a key in a cookie", &[&[KeyCookie]]),
    accepting("basic", "/auth/basic", "Takes a name and a password", &[&[Basic]]),
    accepting("bearer", "/auth/bearer", "Takes a fixed token", &[&[Bearer]]),
    accepting("both", "/auth/both", "Takes a key and a token together", &[&[KeyHeader, Bearer]]),
    accepting("either", "/auth/either", "Takes a key or a token", &[&[KeyHeader], &[Bearer]]),
    accepting("optional", "/auth/optional", "Takes a token or nothing", &[&[], &[Bearer]]),
    accepting("open", "/auth/open", "Takes nothing", &[]),
    accepting("machine", "/auth/machine", "Takes a service's token", &[&[Token(Machine, &["machine:read"])]]),
    accepting("device", "/auth/device", "Takes a device's token", &[&[Token(Device, &["device:read"])]]),
    accepting(
        "openid",
        "/auth/openid",
        "Takes a token of OpenID",
        &[&[Token(OpenId, &["openid", "profile"])]],
    ),
    accepting("signed", "/auth/signed/{name}", "Takes a signed request", &[&[Aws]]),
    Operation {
        id: "signedWrite",
        method: "POST",
        ..accepting("", "/auth/signed/{name}", "Takes a signed body", &[&[Aws]])
    },
    accepting("mutual", "/auth/mutual", "Takes a client's certificate", &[&[MutualTls]]),
    Operation {
        id: "list",
        group: "items",
        method: "GET",
        path: "/items",
        summary: "Lists the items",
        alternatives: &[&[Token(Code, &["items:read"])]],
        effect: Effect::ListItems,
    },
    Operation {
        id: "create",
        group: "items",
        method: "POST",
        path: "/items",
        summary: "Makes an item",
        alternatives: &[&[Token(Code, &["items:write"])]],
        effect: Effect::CreateItem,
    },
    Operation {
        id: "me",
        group: "probe",
        method: "GET",
        path: "/me",
        summary: "Says who calls",
        alternatives: &[&[Token(Code, &[])], &[Bearer]],
        effect: Effect::Me,
    },
    Operation {
        id: "echo",
        group: "probe",
        method: "GET",
        path: "/echo",
        summary: "Gives back what was sent",
        alternatives: EVERY_ONE,
        effect: Effect::Echo,
    },
    Operation {
        id: "echoBody",
        group: "probe",
        method: "POST",
        path: "/echo",
        summary: "Gives back what was sent, with its body",
        alternatives: EVERY_ONE,
        effect: Effect::Echo,
    },
    Operation {
        id: "limited",
        group: "probe",
        method: "GET",
        path: "/limited",
        summary: "Is always asked too often",
        alternatives: &[],
        effect: Effect::Limited,
    },
];

/// The answer of the operation at the request's method and path.
pub(crate) fn answer(turn: &mut Turn<'_>) -> Option<Answer> {
    let at = |operation: &&Operation| {
        let pattern = operation.path.replace("{name}", "*");
        operation.method == turn.request.method && path_matches(&pattern, turn.request.path)
    };
    let operation = OPERATIONS.iter().find(at)?;
    if operation.effect == Effect::Echo {
        return Some(echo(turn));
    }
    Some(match accepted(turn, operation.alternatives) {
        Ok(schemes) => performed(turn, operation, &schemes),
        Err(lack) => refused(turn, operation, &lack),
    })
}

/// The names of the schemes that the request meets.
fn accepted(turn: &Turn<'_>, alternatives: &[&[Scheme]]) -> Result<Vec<&'static str>, Lack> {
    let mut worst = None;
    for schemes in alternatives.iter().filter(|schemes| !schemes.is_empty()) {
        match schemes.iter().try_for_each(|scheme| scheme.check(turn)) {
            Ok(()) => return Ok(schemes.iter().map(|scheme| scheme.name()).collect()),
            Err(lack @ Lack::Scopes(_)) => worst = Some(lack),
            Err(lack @ Lack::Wrong(_)) if worst.is_none() => worst = Some(lack),
            Err(_) => {}
        }
    }
    let open = alternatives.is_empty() || alternatives.iter().any(|schemes| schemes.is_empty());
    match worst {
        None if open => Ok(Vec::new()),
        worst => Err(worst.unwrap_or(Lack::Absent)),
    }
}

fn performed(turn: &mut Turn<'_>, operation: &Operation, schemes: &[&str]) -> Answer {
    let body = match operation.effect {
        Effect::Accept | Effect::Echo => {
            json!({ "operation": operation.id, "accepted": schemes, "query": turn.request.query })
        }
        Effect::ListItems => json!({ "items": turn.state.items }),
        Effect::CreateItem => {
            let sent: Value = serde_json::from_slice(turn.request.body).unwrap_or_default();
            let Some(name) = sent.get("name").and_then(Value::as_str) else {
                return Answer::json(422, &json!({ "message": "an item has a name" }));
            };
            turn.state.items.push(name.to_owned());
            return Answer::json(201, &json!({ "name": name, "number": turn.state.items.len() }));
        }
        Effect::Me => match access(turn) {
            Ok(grant) => json!({
                "accepted": schemes,
                "client": grant.client,
                "grant": grant.kind,
                "scopes": grant.scopes,
                "resources": grant.resources,
            }),
            Err(_) => json!({ "accepted": schemes }),
        },
        Effect::Limited => {
            let headers = [("content-type", "application/json"), ("retry-after", RETRY_AFTER_S)];
            return Answer::new(429, &headers, "{\"message\":\"too many requests\"}");
        }
    };
    Answer::json(200, &body)
}

/// 401 with a challenge for each scheme, or 403 with the scopes that are
/// missing (RFC 6750, section 3).
fn refused(turn: &Turn<'_>, operation: &Operation, lack: &Lack) -> Answer {
    let (status, error, message) = match lack {
        Lack::Absent => (401, None, "authentication is needed".to_owned()),
        Lack::Wrong(why) => (401, Some("invalid_token"), why.clone()),
        Lack::Scopes(missing) => {
            (403, Some("insufficient_scope"), format!("{} is missing", missing.join(" ")))
        }
    };
    let mut challenges: Vec<String> = Vec::new();
    for scheme in operation.alternatives.iter().copied().flatten() {
        let challenge = match scheme {
            Basic => "Basic realm=\"emulator\", charset=\"UTF-8\"".to_owned(),
            Bearer | Token(..) => bearer_challenge(turn, *scheme, error),
            Aws => "AWS4-HMAC-SHA256".to_owned(),
            KeyHeader | KeyQuery | KeyCookie | MutualTls => "ApiKey realm=\"emulator\"".to_owned(),
        };
        if !challenges.contains(&challenge) {
            challenges.push(challenge);
        }
    }
    let mut headers = vec![("content-type", "application/json")];
    headers.extend(challenges.iter().map(|challenge| ("www-authenticate", challenge.as_str())));
    Answer::new(status, &headers, json!({ "error": error, "message": message }).to_string())
}

fn bearer_challenge(turn: &Turn<'_>, scheme: Scheme, error: Option<&str>) -> String {
    let script = &turn.script.protected;
    if let Some(challenge) = &script.challenge {
        return challenge.clone();
    }
    let mut challenge = "Bearer realm=\"emulator\"".to_owned();
    let mut say = |name: &str, value: &str| challenge.push_str(&format!(", {name}=\"{value}\""));
    if let Some(error) = error {
        say("error", error);
    }
    if script.names_scope && !scheme.scopes().is_empty() {
        say("scope", &scheme.scopes().join(" "));
    }
    if script.names_metadata && script.metadata_served {
        let path = if script.by_path { turn.request.path } else { "" };
        say("resource_metadata", &format!("{}{RESOURCE}{path}", turn.origin));
    }
    challenge
}

/// Every header and the query, in the body and in headers of the answer.
fn echo(turn: &Turn<'_>) -> Answer {
    let request = turn.request;
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let sent: Vec<(String, String)> =
        request.headers.iter().map(|one| (one.name.to_ascii_lowercase(), text(one.value))).collect();
    let body = json!({
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "headers": sent,
        "body": text(request.body),
    });
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    headers.push(("x-echo-query".to_owned(), request.query.to_owned()));
    headers.extend(sent.iter().map(|(name, value)| (format!("x-echo-{name}"), value.clone())));
    let headers: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    Answer::new(200, &headers, body.to_string())
}
