//! What a server says: results, errors, notifications and requests.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::text::line;

/// Messages that one batch may have (2025-03-26 allowed batches).
const MAX_BATCH: usize = 10_000;
const MAX_ERROR_CHARS: usize = 1_000;
const MAX_DATA_BYTES: usize = 64 << 10;

/// One message of the other side. What it carries is still text.
#[derive(Debug)]
pub(crate) enum Message<'m> {
    /// The answer to a request of ours.
    Response {
        /// The request's id, written as its digits or text; none where it could not be read.
        id: Option<String>,
        /// What it answers.
        outcome: Result<&'m str, RpcError>,
    },
    /// A request of the server's.
    Request {
        /// As it was written.
        id: &'m str,
        /// What it wants.
        method: String,
        /// JSON.
        params: Option<&'m str>,
    },
    /// Something that is told.
    Notification {
        /// What.
        method: String,
        /// JSON.
        params: Option<&'m str>,
    },
}

/// An error as JSON-RPC has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    /// JSON.
    pub(crate) data: Option<String>,
}

#[derive(Deserialize)]
struct Members<'m> {
    #[serde(borrow, default)]
    id: Option<&'m RawValue>,
    #[serde(borrow, default)]
    method: Option<&'m RawValue>,
    #[serde(borrow, default)]
    params: Option<&'m RawValue>,
    #[serde(borrow, default)]
    result: Option<&'m RawValue>,
    #[serde(borrow, default)]
    error: Option<&'m RawValue>,
}

/// The messages of a text; none where it is no JSON-RPC. A byte order mark and
/// white space around it are nobody's business.
pub(crate) fn parse(text: &str) -> Option<Vec<Message<'_>>> {
    let text = text.trim_start_matches('\u{FEFF}').trim();
    match text.as_bytes().first()? {
        b'{' => Some(vec![one(text)?]),
        b'[' => {
            let parts: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            let messages: Vec<_> =
                parts.into_iter().take(MAX_BATCH).filter_map(|part| one(part.get())).collect();
            (!messages.is_empty()).then_some(messages)
        }
        _ => None,
    }
}

fn one(text: &str) -> Option<Message<'_>> {
    // An array would be read as the members in their order.
    if !text.starts_with('{') {
        return None;
    }
    let members: Members<'_> = serde_json::from_str(text).ok()?;
    let id = members.id.map(RawValue::get);
    let params = members.params.map(RawValue::get);
    if let Some(method) = members.method {
        let method: String = serde_json::from_str(method.get()).ok()?;
        return Some(match id {
            Some(id) => Message::Request { id, method, params },
            None => Message::Notification { method, params },
        });
    }
    let outcome = match (members.error, members.result) {
        (Some(error), _) => Err(error_of(error.get())),
        (None, Some(result)) => Ok(result.get()),
        // A result of null reads as none at all.
        (None, None) => {
            id?;
            Ok("null")
        }
    };
    Some(Message::Response { id: id.and_then(id_text), outcome })
}

/// An id by its digits or its text: some servers give a number back as a
/// string, or as 5.0.
pub(crate) fn id_text(raw: &str) -> Option<String> {
    match raw.as_bytes().first()? {
        b'"' => serde_json::from_str(raw).ok(),
        b'-' | b'0'..=b'9' => {
            if let Ok(whole) = raw.parse::<i64>() {
                return Some(whole.to_string());
            }
            let number: f64 = raw.parse().ok()?;
            (number.fract() == 0.0 && number.abs() < 9.0e15).then(|| (number as i64).to_string())
        }
        _ => None,
    }
}

#[derive(Deserialize)]
struct ErrorMembers<'m> {
    #[serde(borrow, default)]
    code: Option<&'m RawValue>,
    #[serde(borrow, default)]
    message: Option<&'m RawValue>,
    #[serde(borrow, default)]
    data: Option<&'m RawValue>,
}

/// Servers put strings and other objects where JSON-RPC wants code and message.
fn error_of(text: &str) -> RpcError {
    let members = text.starts_with('{').then(|| serde_json::from_str::<ErrorMembers<'_>>(text).ok());
    let Some(members) = members.flatten() else {
        let message = serde_json::from_str(text).unwrap_or_else(|_| text.to_owned());
        return RpcError { code: 0, message: line(&message, MAX_ERROR_CHARS), data: None };
    };
    let code = members.code.and_then(|code| id_text(code.get())).and_then(|code| code.parse().ok());
    let message = members.message.map_or_else(String::new, |message| {
        serde_json::from_str(message.get()).unwrap_or_else(|_| message.get().to_owned())
    });
    let data = members.data.map(RawValue::get).filter(|data| data.len() <= MAX_DATA_BYTES);
    RpcError {
        code: code.unwrap_or(0),
        message: line(&message, MAX_ERROR_CHARS),
        data: data.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(text: &str) -> (Option<String>, Result<String, RpcError>) {
        match parse(text).unwrap().remove(0) {
            Message::Response { id, outcome } => (id, outcome.map(str::to_owned)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn ids_are_told_by_what_they_mean() {
        for id in ["5", "\"5\"", "5.0", " 5"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":1}}}}"#);
            assert_eq!(response(&text), (Some("5".to_owned()), Ok(r#"{"a":1}"#.to_owned())), "{id}");
        }
        assert_eq!(response(r#"{"id":null,"error":{"code":-32700,"message":"no"}}"#).0, None);
        assert_eq!(response(r#"{"id":1,"result":null}"#).1, Ok("null".to_owned()));
    }

    #[test]
    fn errors_of_every_shape_have_a_message() {
        let check = |error: &str, code: i64, message: &str| {
            let (_, outcome) = response(&format!(r#"{{"id":1,"error":{error}}}"#));
            let found = outcome.unwrap_err();
            assert_eq!((found.code, found.message.as_str()), (code, message), "{error}");
        };
        check(r#"{"code":-32601,"message":"Method not found"}"#, -32601, "Method not found");
        check(r#"{"code":"-32601","message":{"x":1}}"#, -32601, r#"{"x":1}"#);
        check(r#""it broke""#, 0, "it broke");
        check("[1]", 0, "[1]");
    }

    #[test]
    fn what_is_no_message_is_noise() {
        let noise = [
            "",
            "Server running on stdio",
            "{",
            "[]",
            "[1,2]",
            "[[1,\"ping\"]]",
            "5",
            r#"{"level":"info"}"#,
            r#"{"method":7}"#,
            "\u{1b}[32mready\u{1b}[0m",
            "[info] listening",
        ];
        for text in noise {
            assert!(parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn batches_marks_and_line_ends_are_read() {
        let text = "\u{FEFF}[{\"id\":1,\"result\":{}},{\"method\":\"notifications/x\"},7]\r";
        let messages = parse(text).unwrap();
        assert!(matches!(&messages[..], [Message::Response { .. }, Message::Notification { .. }]));
        assert!(matches!(
            &parse(r#"{"id":"a","method":"ping"}"#).unwrap()[..],
            [Message::Request { id: "\"a\"", .. }]
        ));
    }
}
