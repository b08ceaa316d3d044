//! The errors of GraphQL answers, whose shapes servers take liberties with,
//! and what they mean.

use serde_json::Value;

use super::headers::Headers;
use crate::text::line;

const MAX_ERRORS: usize = 100;
const MAX_MESSAGE_CHARS: usize = 500;

/// One error of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Error {
    pub(crate) message: String,
    /// `extensions.code`, GitHub's `type`, or what else stands for them; in
    /// upper case.
    pub(crate) code: Option<String>,
}

/// What kind of error it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Rejected,
    NotFound,
    RateLimited,
    Invalid,
    Failed,
    Unknown,
}

/// The errors of an answer. Shopify writes one as a bare string.
pub(crate) fn of(root: &Value) -> Vec<Error> {
    match root.get("errors") {
        Some(Value::Array(list)) => list.iter().take(MAX_ERRORS).map(one).collect(),
        Some(Value::Null) | None => Vec::new(),
        Some(other) => vec![one(other)],
    }
}

fn one(error: &Value) -> Error {
    let message = error.as_str().map(str::to_owned).or_else(|| words(error));
    let code = [
        "/extensions/code",
        "/type",
        "/code",
        "/extensions/classification",
        "/extensions/errorType",
        "/errorType",
    ]
    .iter()
    .find_map(|place| error.pointer(place)?.as_str());
    Error {
        message: message.unwrap_or_else(|| line(&error.to_string(), MAX_MESSAGE_CHARS)),
        code: code.map(|code| line(code, 100).to_ascii_uppercase().replace([' ', '-'], "_")),
    }
}

/// What JSON says in words, where APIs are used to say it.
pub(crate) fn words(value: &Value) -> Option<String> {
    fn within(value: &Value, depth: u8) -> Option<String> {
        const KEYS: [&str; 9] = [
            "message",
            "error_description",
            "detail",
            "title",
            "error",
            "errors",
            "description",
            "reason",
            "msg",
        ];
        match value {
            Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
            Value::Array(list) if depth < 4 => within(list.first()?, depth + 1),
            Value::Object(map) if depth < 4 => KEYS.iter().find_map(|key| within(map.get(*key)?, depth + 1)),
            _ => None,
        }
    }
    within(value, 0).map(|text| line(&text, MAX_MESSAGE_CHARS)).filter(|text| !text.is_empty())
}

impl Error {
    /// By the codes of Apollo, GitHub, Shopify, Hasura, HotChocolate, AWS and
    /// graphql-java.
    pub(crate) fn class(&self) -> Class {
        let code = self.code.as_deref().unwrap_or_default();
        let has = |words: &[&str]| words.iter().any(|word| code.contains(word));
        if has(&[
            "UNAUTHENTICATED",
            "UNAUTHORIZED",
            "FORBIDDEN",
            "ACCESS_DENIED",
            "INSUFFICIENT_SCOPES",
            "INVALID_JWT",
            "AUTH_NOT",
        ]) {
            Class::Rejected
        } else if has(&["RATE_LIMIT", "THROTTLED", "TOO_MANY_REQUESTS"]) {
            Class::RateLimited
        } else if has(&["NOT_FOUND", "NOTFOUND"]) {
            Class::NotFound
        } else if has(&[
            "VALIDATION",
            "BAD_USER_INPUT",
            "PARSE_FAILED",
            "BAD_REQUEST",
            "INVALID",
            "UNPROCESSABLE",
            "UNDEFINEDFIELD",
            "ARGUMENT",
            "MAX_COST",
            "MISSING_PAGINATION",
        ]) {
            Class::Invalid
        } else if has(&["INTERNAL", "UNAVAILABLE", "TIMEOUT", "UNEXPECTED", "SERVER_ERROR", "DOWNSTREAM"]) {
            Class::Failed
        } else {
            Class::Unknown
        }
    }
}

/// The stable code of an answer that is an error.
pub(crate) fn code(status: u16, headers: &Headers, errors: &[Error]) -> &'static str {
    if status == 429 || (status == 403 && headers.is_out_of_quota()) {
        return "upstream-rate-limited";
    }
    match errors.iter().map(Error::class).find(|class| *class != Class::Unknown) {
        Some(Class::Rejected) => "upstream-rejected",
        Some(Class::NotFound) => "upstream-not-found",
        Some(Class::RateLimited) => "upstream-rate-limited",
        Some(Class::Invalid) => "upstream-invalid",
        Some(Class::Failed) => "upstream-failed",
        _ => match status {
            401 | 403 => "upstream-rejected",
            404 | 410 => "upstream-not-found",
            409 | 412 => "upstream-conflict",
            400 | 422 => "upstream-invalid",
            300..=399 => "upstream-redirected",
            500..=599 => "upstream-failed",
            _ => "upstream-error",
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shapes_that_servers_give_errors() {
        let check = |root: Value, message: &str, class: Class| {
            let found = of(&root);
            assert_eq!(found[0].message, message);
            assert_eq!(found[0].class(), class, "{root}");
        };
        check(json!({"errors": "[API] Invalid API key"}), "[API] Invalid API key", Class::Unknown);
        check(json!({"errors": [{"message": "no", "type": "NOT_FOUND"}]}), "no", Class::NotFound);
        check(
            json!({"errors": [{"message": "x", "extensions": {"code": "THROTTLED"}}]}),
            "x",
            Class::RateLimited,
        );
        check(
            json!({"errors": [{"message": "x", "extensions": {"code": "UNAUTHENTICATED"}}]}),
            "x",
            Class::Rejected,
        );
        check(
            json!({"errors": [{"message": "x", "extensions": {"classification": "ValidationError"}}]}),
            "x",
            Class::Invalid,
        );
        check(json!({"errors": {"message": "odd"}}), "odd", Class::Unknown);
        check(json!({"errors": [{"extensions": {}}]}), "{\"extensions\":{}}", Class::Unknown);
        assert_eq!(of(&json!({"errors": null})), []);
        assert_eq!(of(&json!({"data": {}})), []);
    }
}
