//! What a token endpoint answers: leniently read, since few keep to the
//! letter of RFC 6749, section 5.

use executor_runtime::Fetched;
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::grant::Tokens;

/// The longest lifetime that is believed.
const LIFETIME_LIMIT_S: f64 = 10.0 * 365.0 * 86_400.0;

/// No header carries more, and both tokens fit what one secret holds.
const TOKEN_LIMIT_BYTES: usize = 24 * 1024;

/// Tokens are replaced so long before they expire, or a tenth of their
/// lifetime.
const EARLY_S: f64 = 30.0;

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The server said no, by a code of RFC 6749 or of its own.
    Refused { error: String, description: Option<String> },
    /// It may say yes later.
    Transient { message: String, retry_after_ms: Option<u64> },
    /// It said nothing that makes sense.
    Garbage { message: String },
}

impl Refusal {
    /// The same without values that are nobody's to read.
    pub(super) fn without(self, secrets: &[&str]) -> Self {
        let Self::Refused { error, description: Some(description) } = self else { return self };
        let clean = |text: String| {
            let known = secrets.iter().filter(|secret| !secret.is_empty());
            known.fold(text, |text, secret| text.replace(secret, "[redacted]"))
        };
        Self::Refused { error: clean(error), description: Some(clean(description)) }
    }
}

/// The fields of an answer: JSON, or a form as some servers still send.
pub(super) fn fields(fetched: &Fetched) -> Option<Map<String, Value>> {
    if let Ok(Value::Object(object)) = serde_json::from_slice(&fetched.body) {
        return Some(object);
    }
    let form = fetched.header("content-type").unwrap_or_default().contains("x-www-form-urlencoded");
    let pairs = || form_urlencoded::parse(&fetched.body);
    form.then(|| {
        pairs().map(|(name, value)| (name.into_owned(), Value::String(value.into_owned()))).collect()
    })
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Reads the answer to a token request. `asked` are the scopes that hold where
/// it names none (RFC 6749, section 5.1).
pub(super) fn tokens(fetched: &Fetched, asked: &[String], now_ms: i64) -> Result<Tokens, Refusal> {
    let fields = understood(fetched)?;
    let Some(access) = text(&fields, "access_token") else {
        return Err(Refusal::Garbage { message: "its answer has no access_token".into() });
    };
    let too_long = [Some(access), text(&fields, "refresh_token")].into_iter().flatten();
    if too_long.into_iter().any(|token| token.len() > TOKEN_LIMIT_BYTES) {
        let message = format!("it gives tokens of more than {} KiB", TOKEN_LIMIT_BYTES / 1024);
        return Err(Refusal::Garbage { message });
    }
    if !access.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Refusal::Garbage {
            message: "its access token holds characters that no header carries".into(),
        });
    }
    if let Some(kind) = text(&fields, "token_type")
        && !kind.eq_ignore_ascii_case("bearer")
    {
        return Err(Refusal::Garbage {
            message: format!(
                "it gives tokens of type {:?}, and bearer tokens alone can be used",
                shown(kind)
            ),
        });
    }
    let lifetime = match fields.get("expires_in") {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    let stale_ms = lifetime
        .filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0)
        .map(|seconds| seconds.min(LIFETIME_LIMIT_S))
        .map(|seconds| now_ms + ((seconds - EARLY_S.min(seconds / 10.0)) * 1000.0) as i64);
    let scopes = match fields.get("scope") {
        Some(Value::String(scopes)) if !scopes.trim().is_empty() => split_scopes(scopes),
        Some(Value::Array(scopes)) => scopes.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => asked.to_vec(),
    };
    let refresh = text(&fields, "refresh_token").map(str::to_owned);
    Ok(Tokens { access: access.to_owned(), refresh, stale_ms, scopes, generation: 0 })
}

/// The fields of an answer that is no error.
pub(super) fn understood(fetched: &Fetched) -> Result<Map<String, Value>, Refusal> {
    let status = fetched.status;
    let fields = fields(fetched);
    let error = fields.as_ref().and_then(|fields| text(fields, "error")).map(shown);
    if status >= 500 || status == 429 || status == 408 {
        let retry_after = fetched.header("retry-after").and_then(|value| value.trim().parse::<u64>().ok());
        let retry_after_ms = retry_after.map(|seconds| seconds.min(86_400) * 1_000);
        return Err(Refusal::Transient { message: format!("it answered {status}"), retry_after_ms });
    }
    match (fields, error) {
        (_, Some(error)) if matches!(error.as_str(), "temporarily_unavailable" | "server_error") => {
            Err(Refusal::Transient { message: format!("it answered {error}"), retry_after_ms: None })
        }
        (Some(fields), Some(error)) => {
            Err(Refusal::Refused { error, description: text(&fields, "error_description").map(shown) })
        }
        (Some(fields), None) if (200..300).contains(&status) => Ok(fields),
        (_, None) if (200..300).contains(&status) => {
            Err(Refusal::Garbage { message: "its answer is no JSON object".into() })
        }
        _ => Err(Refusal::Garbage { message: format!("it answered {status} without saying why") }),
    }
}

/// Scopes are separated by spaces; some servers write commas.
pub(super) fn split_scopes(text: &str) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::new();
    for scope in text.split([' ', ',']).filter(|scope| !scope.is_empty()) {
        if !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
}

/// A stranger's word, as far as it is shown.
pub(super) fn shown(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetched(status: u16, media_type: &str, body: &str) -> Fetched {
        Fetched {
            status,
            headers: vec![("content-type".into(), media_type.into()), ("retry-after".into(), "7".into())],
            body: body.into(),
        }
    }

    fn check(status: u16, media_type: &str, body: &str, expect: &str) {
        let asked = ["a".to_owned()];
        let found = match tokens(&fetched(status, media_type, body), &asked, 1_000) {
            Ok(tokens) => format!(
                "{} {:?} {:?} {}",
                tokens.access,
                tokens.refresh,
                tokens.stale_ms,
                tokens.scopes.join("+")
            ),
            Err(Refusal::Refused { error, description }) => format!("refused {error} {description:?}"),
            Err(Refusal::Transient { message, retry_after_ms }) => {
                format!("later {message} {retry_after_ms:?}")
            }
            Err(Refusal::Garbage { message }) => format!("garbage {message}"),
        };
        assert_eq!(found, expect);
    }

    #[test]
    fn answers_are_read_as_they_come() {
        let json = "application/json";
        check(200, json, r#"{"access_token":"t","token_type":"Bearer"}"#, "t None None a");
        check(
            200,
            json,
            r#"{"access_token":"t","token_type":"BEARER","expires_in":60,"refresh_token":"r","scope":"x y"}"#,
            r#"t Some("r") Some(55000) x+y"#,
        );
        check(200, json, r#"{"access_token":"t","expires_in":"60","scope":["x"]}"#, "t None Some(55000) x");
        check(
            200,
            json,
            r#"{"access_token":"t","expires_in":-1,"scope":"","refresh_token":""}"#,
            "t None None a",
        );
        check(200, json, r#"{"access_token":"t","expires_in":1e300}"#, "t None Some(315359971000) a");
        check(
            200,
            "application/x-www-form-urlencoded; charset=utf-8",
            "access_token=t&scope=repo%2Cgist&token_type=bearer",
            "t None None repo+gist",
        );
    }

    #[test]
    fn what_is_no_token_says_why() {
        let json = "application/json";
        check(
            400,
            json,
            r#"{"error":"invalid_grant","error_description":"used\u001b[2J"}"#,
            r#"refused invalid_grant Some("used[2J")"#,
        );
        check(200, json, r#"{"error":"bad_verification_code"}"#, "refused bad_verification_code None");
        check(503, "text/html", "<html>", "later it answered 503 Some(7000)");
        check(
            400,
            json,
            r#"{"error":"temporarily_unavailable"}"#,
            "later it answered temporarily_unavailable None",
        );
        check(200, "text/html", "<html>", "garbage its answer is no JSON object");
        check(404, "text/html", "<html>", "garbage it answered 404 without saying why");
        check(200, json, "{}", "garbage its answer has no access_token");
        check(
            200,
            json,
            r#"{"access_token":"a\r\nb: c"}"#,
            "garbage its access token holds characters that no header carries",
        );
        let long = format!(r#"{{"access_token":"{}"}}"#, "a".repeat(TOKEN_LIMIT_BYTES + 1));
        check(200, json, &long, "garbage it gives tokens of more than 24 KiB");
        check(
            200,
            json,
            r#"{"access_token":"t","token_type":"mac"}"#,
            "garbage it gives tokens of type \"mac\", and bearer tokens alone can be used",
        );
    }

    #[test]
    fn a_refusal_repeats_no_secret() {
        let refusal = Refusal::Refused {
            error: "invalid_grant".into(),
            description: Some("no such token: r3fresh (of client s3cret)".into()),
        };
        let told = Refusal::Refused {
            error: "invalid_grant".into(),
            description: Some("no such token: [redacted] (of client [redacted])".into()),
        };
        assert_eq!(refusal.without(&["r3fresh", "", "s3cret"]), told);
    }
}
