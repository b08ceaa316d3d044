//! What an answer is that no adapter takes, in words, and what to do about it.

use serde_json::Value;
use url::Url;

use super::challenge::challenges;
use super::{repository, shown, tags};
use crate::document::Found;

/// Bytes of a page whose whole text counts.
const SMALL_PAGE_BYTES: usize = 4_096;
/// Keys of an object that are told.
const KEYS: usize = 5;

const A_DESCRIPTION: &str = "give the URL of the API's own description (often …/openapi.json), of its GraphQL or MCP endpoint, or a file that holds the description";

/// An answer in words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Looks {
    /// What follows "URL".
    pub(super) what: String,
    /// What to do.
    pub(super) hint: String,
    /// Whether this says more than what an adapter makes of it.
    pub(super) is_sure: bool,
}

impl Looks {
    fn sure(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into(), is_sure: true }
    }
}

/// Says what an answer looks like.
pub(super) fn of(found: &Found) -> Looks {
    let text = tags::text(&found.document.body);
    let status = found.status.unwrap_or(200);
    if !(200..300).contains(&status) {
        return of_status(found, status, &text);
    }
    if text.trim().is_empty() {
        return Looks::sure("is empty", A_DESCRIPTION);
    }
    if tags::is_page(&text) {
        return of_page(found, &text);
    }
    let media_type = found.document.media_type.as_deref().unwrap_or_default().to_ascii_lowercase();
    if media_type.starts_with("text/event-stream") {
        return Looks::sure(
            "is a stream of events, which an MCP server of the older kind may send",
            "if it is one, add it with --kind mcp",
        );
    }
    if media_type.starts_with("application/grpc") {
        return Looks::sure("speaks gRPC, which is not read", "look for an HTTP API of the same service");
    }
    of_text(found, &text)
}

fn of_text(found: &Found, text: &str) -> Looks {
    let what = match serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) {
        Ok(Value::Object(root)) if root.is_empty() => "is an empty JSON object".to_owned(),
        Ok(Value::Object(root)) => {
            let keys: Vec<String> = root.keys().take(KEYS).map(|key| shown(key, 40)).collect();
            let more = if root.len() > KEYS { ", …" } else { "" };
            format!("is JSON that describes no API (its keys: {}{more})", keys.join(", "))
        }
        Ok(Value::Array(_)) => "is a JSON array, which describes no API".to_owned(),
        Ok(_) => "is a JSON value, which describes no API".to_owned(),
        Err(error) if text.trim_start().starts_with(['{', '[']) && !cut(found, text) => {
            format!("is JSON that can't be read: {error}")
        }
        Err(_) => found.beginning(),
    };
    Looks { what, hint: A_DESCRIPTION.into(), is_sure: false }
}

/// Whether only the beginning of a body was looked at.
fn cut(found: &Found, text: &str) -> bool {
    text.len() < found.document.body.len()
}

fn of_status(found: &Found, status: u16, text: &str) -> Looks {
    let page = if tags::is_page(text) && is_login(found, text) { " with a login page" } else { "" };
    let what = format!("answered {status}{page}");
    match status {
        401 | 403 => of_refusal(found, status, &what),
        404 | 410 => Looks::sure(
            format!("{what}: there is nothing at this URL"),
            "check the URL; API descriptions often lie at …/openapi.json",
        ),
        405 => Looks::sure(
            format!("{what}: it takes no GET"),
            "an endpoint that takes operations alone? say what it is with --kind",
        ),
        406 => Looks::sure(
            format!("{what}: it has no form that is read here"),
            "an MCP server may answer so; say what it is with --kind",
        ),
        426 => Looks::sure(
            format!("{what}: it wants another protocol (a WebSocket?)"),
            "give the URL of its HTTP endpoint",
        ),
        429 => Looks::sure(format!("{what}: it was asked too often"), "try again later"),
        500..=599 => Looks::sure(
            format!("{what}: the server failed"),
            "try again, or download the description and add the file",
        ),
        _ => Looks::sure(what, "try again, or download the description and add the file"),
    }
}

fn of_refusal(found: &Found, status: u16, what: &str) -> Looks {
    let wants: Vec<String> =
        challenges(&found.headers).iter().map(|challenge| challenge.method().1).collect();
    let hint = "for an endpoint, say what it is with --kind, and add a connection then; a description that asks for credentials itself is downloaded, and added as a file";
    let why = match (status, wants.as_slice()) {
        (403, []) => "it may not be read, or not by programs".to_owned(),
        (_, []) => "it asks for a credential, and does not say which".to_owned(),
        (_, wants) => format!("it asks for {}", wants.join(", or ")),
    };
    Looks::sure(format!("{what}: {why}"), hint)
}

fn of_page(found: &Found, text: &str) -> Looks {
    let at = found.at();
    if let Some(file) = at.as_ref().and_then(repository::raw) {
        return Looks::sure(
            "is a page of a code repository that shows a file",
            format!("give the file itself: {file}"),
        );
    }
    let title = tags::inner(text, "title").map(|title| format!(" ({title:?})")).unwrap_or_default();
    if is_login(found, text) {
        return Looks::sure(
            format!("is an HTML page, a login{title}"),
            "sign in with a browser, download the description, and add the file; an endpoint's own URL shows no page",
        );
    }
    let lower = text.to_ascii_lowercase();
    let shows = [
        ("swagger-ui", "of Swagger UI"),
        ("<redoc", "of ReDoc"),
        ("redoc.init", "of ReDoc"),
        ("graphiql", "with a tool for GraphQL queries"),
        ("apollo sandbox", "with a tool for GraphQL queries"),
    ];
    let kind = shows.iter().find(|(mark, _)| lower.contains(mark)).map_or("", |(_, kind)| kind);
    let gap = if kind.is_empty() { "" } else { " " };
    Looks::sure(format!("is an HTML page{gap}{kind}{title}"), A_DESCRIPTION)
}

/// Whether a page asks who one is: it has a place for a password, a redirect
/// led to it by such a name, or it says so.
fn is_login(found: &Found, text: &str) -> bool {
    let asks = |tag: &tags::Tag| tag.name == "input" && tag.has("type", "password");
    let led = found.was_redirected() && found.at().is_some_and(|at| is_login_path(&at));
    let title = tags::inner(text, "title").unwrap_or_default().to_ascii_lowercase();
    let small = text.len() <= SMALL_PAGE_BYTES && says_login(&text.to_ascii_lowercase());
    led || says_login(&title) || small || tags::tags(text).iter().any(asks)
}

fn says_login(text: &str) -> bool {
    ["log in", "login", "sign in", "sign-in", "signin"].iter().any(|words| text.contains(words))
}

/// Whether a path leads to where one signs in.
fn is_login_path(url: &Url) -> bool {
    const WORDS: [&str; 12] = [
        "login",
        "log-in",
        "log_in",
        "signin",
        "sign-in",
        "sign_in",
        "sso",
        "saml",
        "oauth",
        "oauth2",
        "authorize",
        "auth",
    ];
    let mut segments = url.path_segments().into_iter().flatten();
    segments.any(|segment| {
        let stem = segment.split('.').next().unwrap_or_default();
        WORDS.iter().any(|word| stem.eq_ignore_ascii_case(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(found: &Found, what: &str) {
        assert_eq!(of(found).what, what);
    }

    fn page(url: &str, body: &str) -> Found {
        Found::answered(url, url, 200, &[("content-type", "text/html")], body)
    }

    fn at(status: u16, headers: &[(&str, &str)], body: &str) -> Found {
        Found::answered("https://a.example/x", "https://a.example/x", status, headers, body)
    }

    #[test]
    fn logins_are_named() {
        let login = "is an HTML page, a login";
        check(&page("https://a.example/", "<html><form><input name=p type=PASSWORD>"), login);
        check(&page("https://a.example/", "<html><p>Please sign in"), login);
        let long = format!("<html><title>Log in to A</title>{}", "x".repeat(SMALL_PAGE_BYTES));
        check(&page("https://a.example/", &long), "is an HTML page, a login (\"Log in to A\")");
        let long = format!("<html>{}login", "x".repeat(SMALL_PAGE_BYTES));
        check(&page("https://a.example/", &long), "is an HTML page");
        let led = Found::answered(
            "https://a.example/api",
            "https://a.example/users/sign_in?next=%2Fapi",
            200,
            &[],
            &long,
        );
        check(&led, login);
        check(&page("https://a.example/login", &long), "is an HTML page");
    }

    #[test]
    fn pages_are_told_apart() {
        check(
            &page("https://github.com/o/r/blob/main/openapi.yaml", "<html><title>r</title>"),
            "is a page of a code repository that shows a file",
        );
        let github = of(&page("https://github.com/o/r/blob/main/openapi.yaml", "<html>"));
        assert!(github.hint.contains("https://raw.githubusercontent.com/o/r/main/openapi.yaml"));
        check(
            &page("https://a.example/", "<html><title>Docs</title><div id=swagger-ui>"),
            "is an HTML page of Swagger UI (\"Docs\")",
        );
        check(&page("https://a.example/", "<html><title>Hi</title>"), "is an HTML page (\"Hi\")");
    }

    #[test]
    fn statuses_are_explained() {
        check(&at(404, &[], "no"), "answered 404: there is nothing at this URL");
        check(&at(401, &[], ""), "answered 401: it asks for a credential, and does not say which");
        check(
            &at(401, &[("www-authenticate", "Basic realm=\"x\"")], ""),
            "answered 401: it asks for user name and password for \"x\"",
        );
        check(
            &at(403, &[], "<html><input type=password>"),
            "answered 403 with a login page: it may not be read, or not by programs",
        );
        check(&at(405, &[], ""), "answered 405: it takes no GET");
        check(&at(503, &[], ""), "answered 503: the server failed");
        check(&at(302, &[], ""), "answered 302");
    }

    #[test]
    fn other_bodies_are_described() {
        check(&at(200, &[], " \n"), "is empty");
        check(
            &at(200, &[], r#"{"a\u001b[2J":2,"b":1}"#),
            "is JSON that describes no API (its keys: a[2J, b)",
        );
        check(&at(200, &[], "[1]"), "is a JSON array, which describes no API");
        check(
            &at(200, &[], "{\"a\":"),
            "is JSON that can't be read: EOF while parsing a value at line 1 column 5",
        );
        check(
            &at(200, &[("content-type", "text/event-stream")], "event: endpoint\n"),
            "is a stream of events, which an MCP server of the older kind may send",
        );
        check(&at(200, &[], "hello"), "begins with \"hello\"");
    }
}
