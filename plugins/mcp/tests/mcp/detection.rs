//! Whether an MCP server is behind a URL.

use executor_mcp::seam::{Detection, Document, Failure, Probe};
use executor_mcp::source;
use serde_json::{Value, json};

use crate::host::*;
use crate::support::*;

fn probe(url: &str, status: u16, media_type: &str, body: &str) -> Probe {
    Probe {
        url: Some(url.to_owned()),
        status: Some(status),
        headers: vec![("content-type".to_owned(), media_type.to_owned())],
        document: Document {
            url: Some(url.to_owned()),
            media_type: Some(media_type.to_owned()),
            body: body.as_bytes().to_vec(),
        },
    }
}

fn detect(host: &Host, probe: &Probe) -> Option<Detection> {
    let found = source::detect(probe, host);
    let posted = host.posted();
    let locked = found.as_ref().is_some_and(|found| found.confidence < 90);
    assert!(posted.len() <= if locked { 4 } else { 2 }, "{posted:?}");
    found
}

fn config_of(detection: &Detection) -> Value {
    serde_json::from_str(&detection.config).unwrap()
}

fn meta_of(detection: &Detection) -> Value {
    serde_json::from_str(detection.meta.as_deref().unwrap()).unwrap()
}

fn refused() -> Probe {
    probe(URL, 405, "text/plain", "Method Not Allowed")
}

#[test]
fn servers_of_both_eras_are_found() {
    let found = detect(&modern(|_| panic!("it is asked once")), &refused()).unwrap();
    assert_eq!((found.confidence, found.suggested_name.as_str()), (95, "calc"));
    assert_eq!(config_of(&found), json!({"transport": "http", "url": URL, "era": "modern"}));
    assert_eq!(
        meta_of(&found),
        json!({"title": "Calculator", "transport": "streamable-http", "protocol": MODERN, "auth": []})
    );
    let found = detect(&legacy(|_| panic!("it is asked twice")), &refused()).unwrap();
    assert_eq!((found.confidence, found.suggested_name.as_str()), (95, "old"));
    assert_eq!(config_of(&found)["era"], "legacy");
    assert_eq!(meta_of(&found)["protocol"], LEGACY);
    for (status, media_type, body) in [
        (406, "application/json", r#"{"jsonrpc":"2.0","error":{"code":-32000}}"#),
        (200, "application/json", r#"{"jsonrpc":"2.0","id":null,"error":{}}"#),
        (200, "text/event-stream", ": hello\n\n"),
        (200, "text/html", "<h1>This is an MCP server</h1>"),
        (404, "text/plain", "Not Found"),
        (200, "text/plain", ""),
    ] {
        let found = detect(&modern(|_| panic!()), &probe(URL, status, media_type, body));
        assert_eq!(found.unwrap().confidence, 95, "{status} {media_type}");
    }
}

#[test]
fn the_stream_of_the_oldest_transport_is_known_by_its_first_event() {
    let host = Host::serving(|posted| panic!("{posted:?}"));
    let found =
        detect(&host, &probe(URL, 200, "text/event-stream", "event: endpoint\r\ndata: /m?s=1\r\n\r\n"))
            .unwrap();
    assert_eq!(found.confidence, 90);
    assert_eq!(config_of(&found), json!({"transport": "http", "url": URL, "sse": true, "era": "legacy"}));
    assert_eq!(meta_of(&found), json!({"transport": "sse", "auth": []}));
}

#[test]
fn documents_and_pages_are_asked_nothing() {
    let host = Host::serving(|posted| panic!("{posted:?}"));
    for (url, status, media_type, body) in [
        ("https://api.example/openapi.json", 200, "application/json", r#"{"openapi":"3.1.0"}"#),
        ("https://api.example/mcp/openapi.yaml", 200, "application/yaml", "openapi: 3.1.0"),
        ("https://api.example/schema.graphql", 200, "text/plain", "type Query { a: Int }"),
        ("https://api.example/", 200, "text/html", "<html>hello</html>"),
        ("https://api.example/nothing", 404, "text/html", "<html>404</html>"),
        ("https://api.example/", 403, "text/html", "<html>no</html>"),
        ("https://api.example/", 503, "text/html", ""),
        ("file:///mcp", 200, "text/plain", ""),
    ] {
        assert_eq!(detect(&host, &probe(url, status, media_type, body)), None, "{url}");
    }
    let mut file = refused();
    (file.url, file.status, file.document.url) = (None, None, None);
    assert_eq!(detect(&host, &file), None);
}

#[test]
fn servers_that_want_a_sign_in_are_likely() {
    let challenge =
        r#"Bearer resource_metadata="https://api.example/.well-known/oauth-protected-resource", scope="a b""#;
    let locked =
        move |_: &Posted| Said::text(401, "application/json", "{}").with("www-authenticate", challenge);
    let host = Host::serving(locked);
    let found = detect(&host, &probe("https://api.example/v2", 401, "application/json", "{}")).unwrap();
    assert_eq!(found.confidence, 60);
    assert!(found.warnings[0].contains("sign-in"));
    assert_eq!(
        config_of(&found),
        json!({
            "transport": "http", "url": "https://api.example/v2",
            "challenge": {"resourceMetadataUrl": "https://api.example/.well-known/oauth-protected-resource", "scope": "a b"},
        })
    );
    // Any API answers 401; where MCP stands in the URL it is a good guess.
    let host = || Host::serving(|_| Said::text(401, "text/plain", ""));
    assert_eq!(detect(&host(), &probe("https://api.example/v2", 401, "text/plain", "")), None);
    let found = detect(&host(), &probe("https://mcp.linear.app/sse", 401, "text/plain", "")).unwrap();
    assert_eq!((found.confidence, found.suggested_name.as_str()), (45, "linear"));
}

#[test]
fn how_to_sign_in_is_told_by_the_challenge_and_the_resource() {
    // The metadata lie where the answers say, and nowhere else.
    let ways = |url: &str, challenge: &'static str, place: &'static str, metadata: Value| {
        let host = Host::serving(move |posted| match posted.verb.as_str() {
            "GET" if posted.url == place => Said::json(200, &metadata),
            "GET" => Said::text(404, "text/plain", ""),
            _ => Said::text(401, "text/plain", "").with("www-authenticate", challenge),
        });
        let found = source::detect(&probe(url, 401, "text/plain", ""), &host).unwrap();
        let asked: Vec<String> = host
            .posted()
            .into_iter()
            .filter(|posted| posted.verb == "GET")
            .map(|posted| posted.url)
            .collect();
        (found.confidence, meta_of(&found)["auth"].clone(), asked)
    };
    let bearer = json!({"kind": "http-bearer", "label": "Bearer token"});
    let oauth = |label: &str| json!([{"kind": "oauth2", "label": label}, bearer]);
    let inserted = "https://api.example/.well-known/oauth-protected-resource/mcp";
    let root = "https://api.example/.well-known/oauth-protected-resource";
    let servers = || json!({"authorization_servers": ["https://login.example\u{1b}[2J"], "scopes_supported": ["a", "b"]});
    assert_eq!(
        ways(URL, r#"Bearer scope="x""#, inserted, servers()),
        (60, oauth("Sign in (OAuth) at https://login.example[2J, for x"), vec![inserted.to_owned()])
    );
    assert_eq!(
        ways(URL, "Bearer", root, servers()),
        (
            60,
            oauth("Sign in (OAuth) at https://login.example[2J, for a b"),
            vec![inserted.to_owned(), root.to_owned()]
        )
    );
    // One that names other places is not followed there, and is believed.
    let (confidence, told, asked) = ways(
        URL,
        r#"Bearer resource_metadata="https://evil.example/m""#,
        "https://evil.example/m",
        servers(),
    );
    assert_eq!((confidence, told, asked.len()), (60, oauth("Sign in (OAuth)"), 0));
    // What is no metadata tells nothing.
    for garbage in
        [json!({}), json!([1]), json!({"authorization_servers": "x"}), json!({"authorization_servers": []})]
    {
        assert_eq!(ways(URL, "Bearer", root, garbage).1, json!([bearer]));
    }
    assert_eq!(ways(URL, "Bearer", "https://api.example/none", json!({})).0, 45);
}

#[test]
fn who_may_not_ask_guesses() {
    let denied = || Host::serving(|_| Said::Failed(Failure::new("denied-origin", "not granted")));
    assert_eq!(detect(&denied(), &refused()).unwrap().confidence, 35);
    assert_eq!(detect(&denied(), &probe("https://api.example/x", 405, "text/plain", "")), None);
    let mut locked = probe("https://api.example/x", 401, "text/plain", "");
    locked.headers.push((
        "www-authenticate".to_owned(),
        r#"Bearer resource_metadata="https://api.example/m""#.to_owned(),
    ));
    assert_eq!(detect(&denied(), &locked).unwrap().confidence, 60);
}

#[test]
fn what_is_no_mcp_server_is_none() {
    for said in [
        || Said::text(405, "text/html", "<h1>no</h1>"),
        || {
            Said::text(
                200,
                "application/json",
                r#"{"data":null,"errors":[{"message":"Must provide query string."}]}"#,
            )
        },
        || Said::text(500, "text/plain", "boom"),
        || Said::Hangs,
        || Said::Failed(Failure::new("connect-failed", "gone")),
    ] {
        assert_eq!(detect(&Host::serving(move |_| said()), &refused()), None);
    }
}
