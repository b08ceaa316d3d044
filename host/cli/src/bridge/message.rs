//! Lines of JSON-RPC, as far as the bridge has to understand them.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

/// JSON-RPC's own codes (JSON-RPC 2.0, section 5.1), and one of ours.
pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const INTERNAL_ERROR: i64 = -32603;
pub(super) const CONNECTION_LOST: i64 = -32000;

/// The first revision whose requests stand for themselves.
const SELF_CONTAINED: &str = "2026-07-28";

/// A message of the client.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message {
    Request(Request),
    Notification {
        method: String,
        /// The request that `notifications/cancelled` is about.
        cancels: Option<Value>,
    },
    /// The answer to a question of the server.
    Response,
}

/// A request of the client.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) id: Value,
    pub(super) method: String,
    /// The revision that it names itself.
    pub(super) version: Option<String>,
    /// What it is about: a tool, a prompt, a resource.
    name: Option<String>,
}

/// Reads a message, or says why it is none: JSON-RPC's code, and words.
pub(super) fn read(line: &[u8]) -> Result<Message, (i64, String)> {
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| (PARSE_ERROR, format!("the line is no JSON: {error}")))?;
    let Value::Object(members) = &value else {
        let what = if value.is_array() { "batches are not taken" } else { "a message is a JSON object" };
        return Err((INVALID_REQUEST, what.to_owned()));
    };
    let method = members.get("method").and_then(Value::as_str).map(str::to_owned);
    let parameter = |pointer: &str| value.pointer(&format!("/params{pointer}"));
    let text = |pointer: &str| parameter(pointer).and_then(Value::as_str).map(str::to_owned);
    match (method, members.get("id").filter(|id| !id.is_null())) {
        (Some(method), Some(id)) if id.is_string() || id.is_number() => {
            let name = match method.as_str() {
                "tools/call" | "prompts/get" => text("/name"),
                "resources/read" => text("/uri"),
                _ => None,
            };
            let version = text("/_meta/io.modelcontextprotocol~1protocolVersion");
            Ok(Message::Request(Request { id: id.clone(), method, version, name }))
        }
        (Some(_), Some(_)) => Err((INVALID_REQUEST, "an id is a text or a number".to_owned())),
        (Some(method), None) => {
            Ok(Message::Notification { method, cancels: parameter("/requestId").cloned() })
        }
        (None, Some(_)) if members.contains_key("result") || members.contains_key("error") => {
            Ok(Message::Response)
        }
        (None, _) => Err((INVALID_REQUEST, "the message has no method".to_owned())),
    }
}

impl Request {
    /// Whether it is of a revision without sessions.
    pub(super) fn stands_alone(&self) -> bool {
        self.version.as_deref().is_some_and(|version| version >= SELF_CONTAINED)
    }

    /// Whether sending it twice does no more than sending it once.
    pub(super) fn is_repeatable(&self) -> bool {
        self.method != "tools/call"
    }

    /// The headers that repeat what is in a request that stands alone.
    pub(super) fn headers(&self) -> Vec<(&'static str, String)> {
        let Some(version) = self.version.as_ref().filter(|_| self.stands_alone()) else { return Vec::new() };
        let mut headers = vec![("mcp-protocol-version", plain(version)), ("mcp-method", plain(&self.method))];
        if let Some(name) = &self.name {
            headers.push(("mcp-name", encoded(name)));
        }
        headers
    }
}

/// The error that answers a request; without an id where none could be read.
pub(super) fn error(id: &Value, code: i64, message: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }).to_string()
}

/// Whether a message of the server settles the request `id`.
pub(super) fn settles(message: &[u8], id: &Value) -> bool {
    serde_json::from_slice::<Value>(message)
        .is_ok_and(|value| value.get("method").is_none() && value.get("id") == Some(id))
}

/// A header's value: what can't stand there is left out, and the server says
/// that it does not fit.
fn plain(value: &str) -> String {
    value.chars().filter(|character| character.is_ascii_graphic()).collect()
}

/// As revision 2026-07-28 wants names in headers: encoded where they hold more
/// than plain characters, or look encoded.
fn encoded(value: &str) -> String {
    let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && value.trim() == value
        && !value.starts_with("=?base64?");
    if is_plain {
        return value.to_owned();
    }
    let mut whole = String::from("=?base64?");
    let _ = write!(whole, "{}?=", BASE64.encode(value));
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(line: &str) -> Request {
        match read(line.as_bytes()) {
            Ok(Message::Request(request)) => request,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn messages_are_told_apart() {
        let call = request(r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"execute"}}"#);
        assert!(!call.stands_alone() && !call.is_repeatable() && call.headers().is_empty());
        assert!(request(r#"{"id":1,"method":"tools/list"}"#).is_repeatable());
        let cancelled = read(br#"{"method":"notifications/cancelled","params":{"requestId":7}}"#);
        assert_eq!(
            cancelled,
            Ok(Message::Notification { method: "notifications/cancelled".into(), cancels: Some(json!(7)) })
        );
        assert_eq!(read(br#"{"id":1,"result":{}}"#), Ok(Message::Response));
        for (line, code) in [
            ("{", PARSE_ERROR),
            ("\u{fffd}", PARSE_ERROR),
            ("[]", INVALID_REQUEST),
            ("7", INVALID_REQUEST),
            ("{}", INVALID_REQUEST),
            (r#"{"id":1}"#, INVALID_REQUEST),
            (r#"{"id":{},"method":"x"}"#, INVALID_REQUEST),
        ] {
            assert_eq!(read(line.as_bytes()).unwrap_err().0, code, "{line}");
        }
        assert_eq!(read(b"\xff\xfe").unwrap_err().0, PARSE_ERROR);
    }

    #[test]
    fn a_request_that_stands_alone_is_repeated_in_headers() {
        let line = |name: &str| {
            json!({ "id": 1, "method": "tools/call", "params": { "name": name,
                "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } } })
            .to_string()
        };
        let headers = |name: &str| request(&line(name)).headers();
        assert_eq!(
            headers("execute"),
            [
                ("mcp-protocol-version", "2026-07-28".to_owned()),
                ("mcp-method", "tools/call".to_owned()),
                ("mcp-name", "execute".to_owned())
            ]
        );
        assert_eq!(headers("ü\r\nx: y")[2].1, format!("=?base64?{}?=", BASE64.encode("ü\r\nx: y")));
        let odd = line("x").replace("2026-07-28", "2026-07-29\\r\\nx: y");
        assert_eq!(request(&odd).headers()[0].1, "2026-07-29x:y");
    }

    #[test]
    fn an_answer_is_known_by_its_id() {
        assert!(settles(br#"{"jsonrpc":"2.0","id":"a","result":{}}"#, &json!("a")));
        assert!(!settles(br#"{"id":1,"method":"elicitation/create"}"#, &json!(1)));
        assert!(!settles(br#"{"id":2,"result":{}}"#, &json!(1)));
        assert_eq!(
            error(&Value::Null, PARSE_ERROR, "no"),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#
        );
    }
}
