//! `/register`.

use executor_upstreams::oauth::{Authentication, Client, Emulator, Registration, Script};
use serde_json::{Map, Value, json};

use super::{REDIRECT, basic, code, exchange, refused, start, text};
use crate::client::{Call, anonymous};

/// A right request with these members laid over it.
fn register(emulator: &Emulator, changes: Value) -> Call {
    let mut metadata = json!({
        "client_name": "executor",
        "redirect_uris": [REDIRECT],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
        "scope": "items:read",
    });
    let changes: Map<String, Value> = serde_json::from_value(changes).expect("an object");
    for (name, value) in changes {
        metadata[name] = value;
    }
    anonymous(emulator.addr, "POST", "/register").json(metadata)
}

#[tokio::test]
async fn a_registered_client_signs_in() {
    let emulator = start(Script::default()).await;
    let made = register(&emulator, json!({})).expect(201).await;
    assert_eq!((made.get("client_secret"), text(&made, "client_name")), (None, "executor"));
    let id = [("client_id", text(&made, "client_id"))];
    let code = code(&emulator, &id).await;
    exchange(&emulator, &code, &id).expect(200).await;
}

#[tokio::test]
async fn a_registered_client_may_get_a_secret() {
    let emulator = start(Script::default()).await;
    let made =
        register(&emulator, json!({ "token_endpoint_auth_method": "client_secret_basic" })).expect(201).await;
    let (id, secret) = (text(&made, "client_id"), text(&made, "client_secret"));
    assert!(emulator.secrets().iter().any(|one| one == secret));
    let next = code(&emulator, &[("client_id", id)]).await;
    refused(exchange(&emulator, &next, &[("client_id", id)]), 401, "invalid_client").await;
    let header = basic(id, secret);
    let good = exchange(&emulator, &next, &[("client_id", "")]).header("authorization", &header);
    good.expect(200).await;
    emulator.change(|script| script.registration = Registration::Substituted(Authentication::SecretPost));
    let made = register(&emulator, json!({})).expect(201).await;
    assert_eq!(text(&made, "token_endpoint_auth_method"), "client_secret_post");
    assert!(made["client_secret"].is_string());
}

#[tokio::test]
async fn metadata_is_checked() {
    let emulator = start(Script::default()).await;
    let (redirect, other) = ("invalid_redirect_uri", "invalid_client_metadata");
    for (changes, error) in [
        (json!({ "redirect_uris": [] }), redirect),
        (json!({ "redirect_uris": ["http://evil.example/"] }), redirect),
        (json!({ "redirect_uris": ["http://127.0.0.1/#x"] }), redirect),
        (json!({ "redirect_uris": ["nonsense"] }), redirect),
        (json!({ "application_type": "web" }), redirect),
        (json!({ "redirect_uris": "http://127.0.0.1/" }), other),
        (json!({ "response_types": ["token"] }), other),
        (json!({ "grant_types": ["client_credentials"] }), other),
        (json!({ "token_endpoint_auth_method": "private_key_jwt" }), other),
        (json!({ "client_name": 1 }), other),
        (json!({ "scope": "items:burn" }), other),
    ] {
        refused(register(&emulator, changes), 400, error).await;
    }
    let text = anonymous(emulator.addr, "POST", "/register").header("content-type", "text/plain").body("{}");
    refused(text, 400, other).await;
    anonymous(emulator.addr, "GET", "/register").expect(405).await;
}

#[tokio::test]
async fn registration_may_be_refused() {
    let emulator = start(Script::default()).await;
    emulator
        .change(|script| script.registration = Registration::Refused("invalid_client_metadata".to_owned()));
    refused(register(&emulator, json!({})), 400, "invalid_client_metadata").await;
    emulator.change(|script| script.registration = Registration::WithToken("initial".to_owned()));
    refused(register(&emulator, json!({})), 401, "invalid_token").await;
    register(&emulator, json!({})).header("authorization", "Bearer initial").expect(201).await;
    emulator.change(|script| script.registration = Registration::Off);
    register(&emulator, json!({})).expect(404).await;
}

#[tokio::test]
async fn a_client_may_be_named_by_its_document() {
    let url = "https://executor.example/client.json";
    let emulator = start(Script::default().with(|script| {
        script.client_documents = true;
        script.clients = vec![Client::public(url).redirect("http://127.0.0.1/callback")];
    }))
    .await;
    let id = [("client_id", url)];
    let code = code(&emulator, &id).await;
    exchange(&emulator, &code, &id).expect(200).await;
}
