//! Servers that want to know who asks.

use serde_json::{Value, json};

use crate::host::*;
use crate::support::*;

const CHALLENGE: &str = r#"Bearer error="invalid_token", resource_metadata="https://api.example/.well-known/oauth-protected-resource/mcp", scope="mcp:tools""#;

fn locked() -> Host {
    Host::serving(|_| Said::text(401, "application/json", "{}").with("WWW-Authenticate", CHALLENGE))
}

#[test]
fn a_server_that_is_locked_becomes_a_source_without_tools() {
    let host = locked();
    let catalog = try_index(&host, &config(URL), None).unwrap();
    assert!(catalog.tools.is_empty());
    assert_eq!(catalog.codes(), ["sign-in-needed"]);
    assert_eq!(catalog.meta(), json!({"origins": ["https://api.example"], "hints": true, "sign_in": true}));
    let kinds: Vec<_> =
        catalog.methods.iter().map(|method| (method.id.as_str(), method.kind.as_str())).collect();
    assert_eq!(kinds, [("oauth2", "oauth2"), ("bearer", "http-bearer")]);
    let oauth: Value = serde_json::from_str(&catalog.methods[0].config).unwrap();
    assert_eq!(
        oauth,
        json!({
            "placements": [{"in": "header", "name": "Authorization", "template": "Bearer {token}"}],
            "variables": [{"name": "token", "label": "Access token", "secret": true}],
            "oauth": {
                "discover": "mcp",
                "resource": URL,
                "resourceMetadataUrl": "https://api.example/.well-known/oauth-protected-resource/mcp",
                "scope": "mcp:tools",
            },
        })
    );
    assert_eq!(host.methods(), ["server/discover"], "nobody is asked twice");
    // Without a challenge the host has to find out all by itself.
    let host = Host::serving(|_| Said::text(401, "text/plain", "who are you?"));
    let catalog = try_index(&host, &config(URL), None).unwrap();
    let oauth: Value = serde_json::from_str(&catalog.methods[0].config).unwrap();
    assert_eq!(
        oauth["oauth"],
        json!({"discover": "mcp", "resource": URL, "resourceMetadataUrl": null, "scope": null})
    );
}

#[test]
fn a_list_that_is_locked_while_the_greeting_is_not_counts_too() {
    let host = modern(|_| Said::text(401, "text/plain", "").with("www-authenticate", CHALLENGE));
    assert_eq!(try_index(&host, &config(URL), None).unwrap().codes(), ["sign-in-needed"]);
    let host = Host::serving(|posted| match posted.method() {
        "server/discover" => posted.error(400, -32_600, "no"),
        _ => Said::text(401, "text/plain", "").with("www-authenticate", "Bearer"),
    });
    assert_eq!(try_index(&host, &config(URL), None).unwrap().codes(), ["sign-in-needed"]);
}

#[test]
fn a_credential_that_is_refused_wipes_nothing() {
    let failure = try_index(&locked(), &config(URL), Some(r#"{"connection":"work"}"#)).err().unwrap();
    assert_eq!((failure.code.as_str(), failure.status), ("upstream-rejected", Some(401)));
    assert!(failure.message.contains("mcp:tools"), "{}", failure.message);
}

#[test]
fn tools_say_which_ways_to_sign_in_there_are() {
    let open = |_: &Posted| -> Said { unreachable!() };
    let _ = open;
    let host = || {
        modern(|posted| posted.result(json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]})))
    };
    let catalog = try_index(&host(), &config(URL), None).unwrap();
    assert_eq!(catalog.methods.len(), 1);
    assert_eq!(catalog.tool("a").auth, [vec!["bearer".to_owned()], vec![]]);
    let catalog = try_index(&host(), &config(URL), Some(r#"{"connection":"work"}"#)).unwrap();
    assert_eq!(catalog.methods.len(), 2);
    assert_eq!(catalog.tool("a").auth, [vec!["oauth2".to_owned()], vec!["bearer".to_owned()], vec![]]);
}
