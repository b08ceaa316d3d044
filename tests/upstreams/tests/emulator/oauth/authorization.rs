//! `/authorize`.

use executor_upstreams::oauth::{Client, Denial, Echo, Script};

use super::{REDIRECT, authorize, carried, start, value};

#[tokio::test]
async fn a_right_request_carries_code_state_and_issuer_back() {
    let emulator = start(Script::default()).await;
    let pairs = carried(&authorize(&emulator, &[]).await);
    assert_eq!(value(&pairs, "state").as_deref(), Some("state/1+&="));
    assert_eq!(value(&pairs, "iss").as_deref(), Some(emulator.origin()));
    let code = value(&pairs, "code").expect("a code");
    assert!(emulator.secrets().contains(&code));
    let asked = &emulator.ledger.matching("GET", "/authorize")[0];
    assert_eq!(asked.parameter("code_challenge_method").as_deref(), Some("S256"));
}

#[tokio::test]
async fn who_is_not_trusted_is_sent_nowhere() {
    let emulator = start(Script::default().client(Client::public("one").redirect(REDIRECT))).await;
    for (name, other, said) in [
        ("client_id", "nobody", "no client"),
        ("client_id", "", "client_id is missing"),
        ("redirect_uri", "https://evil.example/", "no redirect_uri of"),
        ("redirect_uri", "", "redirect_uri is missing"),
    ] {
        let reply = authorize(&emulator, &[(name, other)]).await;
        assert_eq!((reply.status, reply.header("location")), (400, None), "{name}={other}");
        assert!(reply.text().contains(said), "{}", reply.text());
    }
    let other_path = [("client_id", "one"), ("redirect_uri", "http://127.0.0.1:9/other")];
    assert_eq!(authorize(&emulator, &other_path).await.status, 400);
    let other_port = [("client_id", "one"), ("redirect_uri", "http://127.0.0.1:10/callback")];
    assert_eq!(authorize(&emulator, &other_port).await.status, 302);
}

#[tokio::test]
async fn what_is_wrong_is_carried_back() {
    let emulator = start(Script::default()).await;
    let check = async |name: &str, other: &str, error: &str| {
        let pairs = carried(&authorize(&emulator, &[(name, other)]).await);
        assert_eq!(value(&pairs, "error").as_deref(), Some(error), "{name}={other}");
        assert_eq!((value(&pairs, "code"), value(&pairs, "iss").is_some()), (None, true));
        assert_eq!(value(&pairs, "state").is_some(), name != "state");
    };
    check("response_type", "token", "unsupported_response_type").await;
    check("response_type", "", "invalid_request").await;
    check("state", "", "invalid_request").await;
    check("code_challenge", "", "invalid_request").await;
    check("code_challenge", "short", "invalid_request").await;
    check("code_challenge_method", "plain", "invalid_request").await;
    check("code_challenge_method", "", "invalid_request").await;
    check("scope", "items:read items:burn", "invalid_scope").await;
    check("resource", "https://other.example/", "invalid_target").await;
    emulator.change(|script| script.requires_resource = true);
    check("resource", "", "invalid_target").await;
    let pairs = carried(&authorize(&emulator, &[("resource", emulator.origin())]).await);
    assert!(value(&pairs, "code").is_some());
}

#[tokio::test]
async fn answers_differ_where_the_script_says_so() {
    let emulator = start(Script::default()).await;
    let answered = async |name: &str| value(&carried(&authorize(&emulator, &[]).await), name);
    emulator.change(|script| script.authorization.state = Echo::Other("another".to_owned()));
    assert_eq!(answered("state").await.as_deref(), Some("another"));
    emulator.change(|script| script.authorization.state = Echo::Missing);
    assert_eq!(answered("state").await, None);
    emulator.change(|script| script.authorization.issuer = Echo::Other("https://evil.example".to_owned()));
    assert_eq!(answered("iss").await.as_deref(), Some("https://evil.example"));
    emulator.change(|script| script.authorization.issuer = Echo::Missing);
    assert_eq!(answered("iss").await, None);
    emulator.change(|script| script.authorization.code = Echo::Missing);
    assert_eq!(answered("code").await, None);
    emulator.change(|script| script.authorization.denied = Some(Denial::with_markup()));
    assert_eq!(answered("error").await.as_deref(), Some("access_denied"));
    assert!(answered("error_description").await.expect("a description").contains("<script>"));
}
