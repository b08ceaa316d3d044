//! Whether an MCP server is behind a URL. It has no document there, so the
//! server is asked: by at most two requests, two more where it wants a sign-in,
//! and by none where a document is.

use serde_json::{Value, json};

use crate::address;
use crate::client::{Peer, ask_discover, ask_initialize};
use crate::config::{Endpoint, Era};
use crate::protected::{self, Protected};
use crate::seam::{Detection, Probe, World};
use crate::suggest;
use crate::transport::{Challenge, Headers, Lost};

const SURE: u8 = 95;
/// Its stream names an endpoint to post to, as nothing else does.
const OLD: u8 = 90;
/// It wants a sign-in and says where its metadata lie, as MCP servers do.
const LOCKED: u8 = 60;
/// It wants a sign-in, and its URL sounds like one.
const LOCKED_BY_NAME: u8 = 45;
/// It could not be asked, and its URL and its refusal of a GET sound like one.
const GUESS: u8 = 35;
/// The beginning of a body that is looked at.
const LOOKED_AT_BYTES: usize = 4_096;

/// What was found, where it is an MCP server.
pub fn detect(probe: &Probe, world: &dyn World) -> Option<Detection> {
    let url = probe.url.as_deref().or(probe.document.url.as_deref())?;
    address::origin(url)?;
    let head: Vec<(String, Vec<u8>)> =
        probe.headers.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes())).collect();
    let headers = Headers::new(head);
    let body = &probe.document.body[..probe.document.body.len().min(LOOKED_AT_BYTES)];
    let body = String::from_utf8_lossy(body);
    let status = probe.status?;
    if status == 200 && headers.media_type() == "text/event-stream" && names_endpoint(&body) {
        return Some(found(url, true, Some(Era::Legacy), None, OLD));
    }
    let sounds = sounds_like_one(url);
    if !looks_possible(status, &headers, &body, sounds) {
        return None;
    }
    match ask_discover(world, url) {
        Ok(Some(peer)) => return Some(found(url, false, Some(Era::Modern), Some(&peer), SURE)),
        Ok(None) => {}
        Err(lost) => return unreached(world, &lost, url, &headers, status, sounds),
    }
    match ask_initialize(world, url) {
        Ok(peer) => Some(found(url, false, Some(Era::Legacy), Some(&peer), SURE)),
        Err(lost) => unreached(world, &lost, url, &headers, status, sounds),
    }
}

fn sounds_like_one(url: &str) -> bool {
    ["mcp", "sse"].iter().any(|word| address::has_segment(url, word))
        || address::host(url).is_some_and(|host| host.split('.').any(|label| label == "mcp"))
}

/// What an endpoint of POST answers to a GET. A document with status 200 is a
/// document, unless the URL says otherwise.
fn looks_possible(status: u16, headers: &Headers, body: &str, sounds: bool) -> bool {
    let media_type = headers.media_type();
    match status {
        200..=299 => {
            let json_rpc = body.contains("\"jsonrpc\"");
            let empty = body.trim().is_empty();
            let page = media_type.contains("html") || media_type.contains("text/plain");
            media_type == "text/event-stream" || empty || json_rpc || (sounds && page)
        }
        400 | 401 | 405 | 406 | 415 | 501 => true,
        403 | 404 | 500 => sounds || body.contains("\"jsonrpc\""),
        _ => false,
    }
}

fn names_endpoint(body: &str) -> bool {
    let mut events = crate::transport::Events::default();
    let found = events.feed(body.as_bytes()).unwrap_or_default();
    found.iter().any(|event| event.is_endpoint())
}

fn unreached(
    world: &dyn World,
    lost: &Lost,
    url: &str,
    headers: &Headers,
    status: u16,
    sounds: bool,
) -> Option<Detection> {
    let refused = match lost {
        Lost::Refused(refused) if refused.status == 401 => refused.challenge.clone(),
        // The host lets nothing out here: what it fetched itself has to do.
        Lost::Unsent(failure) if failure.code.starts_with("denied") && status == 401 => headers.challenge(),
        Lost::Unsent(failure) if failure.code.starts_with("denied") => {
            let refuses_get = matches!(status, 400 | 405 | 406);
            return (sounds && refuses_get).then(|| found(url, false, None, None, GUESS));
        }
        _ => return None,
    };
    let challenge = refused.as_ref();
    let names_metadata = challenge.is_some_and(|challenge| challenge.resource_metadata.is_some());
    if !names_metadata && !sounds {
        return None;
    }
    let protected = Protected::find(world, url, challenge);
    let confidence = if names_metadata || protected.is_some() { LOCKED } else { LOCKED_BY_NAME };
    let ways = protected::ways(challenge, protected.as_ref());
    let mut detection = found_locked(url, ways, confidence);
    detection.warnings.push(
        "the server asks for a sign-in before it says what it is: its tools show once a connection is added"
            .to_owned(),
    );
    if let Some(challenge) = refused {
        keep_challenge(&mut detection, &challenge);
    }
    Some(detection)
}

fn keep_challenge(detection: &mut Detection, challenge: &Challenge) {
    let mut config: Value = serde_json::from_str(&detection.config).unwrap_or_default();
    config["challenge"] = json!({
        "resourceMetadataUrl": challenge.resource_metadata,
        "scope": challenge.scope,
    });
    detection.config = config.to_string();
}

/// One that does not say what it speaks before one has signed in.
fn found_locked(url: &str, ways: Vec<Value>, confidence: u8) -> Detection {
    let detection = found(url, false, None, None, confidence);
    Detection { meta: Some(json!({"auth": ways}).to_string()), ..detection }
}

fn found(url: &str, sse: bool, era: Option<Era>, peer: Option<&Peer>, confidence: u8) -> Detection {
    let endpoint = Endpoint::Http { url: url.to_owned(), sse, era };
    let name = peer.and_then(|peer| peer.name.as_deref());
    let title = peer.and_then(|peer| peer.title.as_deref()).or(name);
    let known = peer.is_some() || sse;
    let meta = json!({
        "title": title,
        "transport": known.then(|| endpoint.transport(sse)),
        "protocol": peer.map(|peer| &peer.version),
        "auth": [],
    });
    Detection {
        confidence,
        config: serde_json::to_string(&endpoint).unwrap_or_default(),
        suggested_name: suggest::name(name, url),
        warnings: Vec::new(),
        meta: Some(without_nulls(meta).to_string()),
    }
}

fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(members) = &mut value {
        members.retain(|_, member| !member.is_null());
    }
    value
}
