//! Metadata.

use executor_upstreams::oauth::{Discovery, Registration, Script};
use serde_json::json;

use super::start;
use crate::client::anonymous;

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";
const RESOURCE: &str = "/.well-known/oauth-protected-resource";

#[tokio::test]
async fn a_server_says_where_everything_is() {
    let emulator = start(Script::default()).await;
    let said = anonymous(emulator.addr, "GET", OAUTH).expect(200).await;
    assert_eq!(said["issuer"], emulator.origin());
    for (member, path) in [
        ("authorization_endpoint", "/authorize"),
        ("token_endpoint", "/token"),
        ("device_authorization_endpoint", "/device_authorization"),
        ("revocation_endpoint", "/revoke"),
        ("registration_endpoint", "/register"),
    ] {
        assert_eq!(said[member], format!("{}{path}", emulator.origin()));
    }
    assert_eq!(said["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(said["authorization_response_iss_parameter_supported"], true);
    assert_eq!(said.get("client_id_metadata_document_supported"), None);
    assert_eq!(anonymous(emulator.addr, "GET", OPENID).expect(200).await, said);
    emulator.change(|script| {
        script.registration = Registration::Off;
        script.revocation = false;
        script.client_documents = true;
        script.metadata.insert("issuer".to_owned(), json!("https://evil.example"));
        script.metadata.insert("code_challenge_methods_supported".to_owned(), json!(null));
    });
    let said = anonymous(emulator.addr, "GET", OAUTH).expect(200).await;
    assert_eq!((said.get("registration_endpoint"), said.get("revocation_endpoint")), (None, None));
    assert_eq!(said.get("code_challenge_methods_supported"), None);
    assert_eq!(said["client_id_metadata_document_supported"], true);
    assert_eq!(said["issuer"], "https://evil.example");
}

#[tokio::test]
async fn an_issuer_with_a_path_is_found_in_three_places() {
    let path = "/tenant/one";
    let emulator = start(Script::default().with(|script| script.issuer_path = path.to_owned())).await;
    assert_eq!(emulator.issuer(), format!("{}/tenant/one", emulator.origin()));
    let places = [
        (Discovery::OAuth, format!("{OAUTH}{path}")),
        (Discovery::OpenIdBefore, format!("{OPENID}{path}")),
        (Discovery::OpenIdAfter, format!("{path}{OPENID}")),
    ];
    for (_, place) in &places {
        let said = anonymous(emulator.addr, "GET", place).expect(200).await;
        assert_eq!(said["issuer"], emulator.issuer());
    }
    for nowhere in [OAUTH, OPENID, "/tenant/one/.well-known/oauth-authorization-server"] {
        anonymous(emulator.addr, "GET", nowhere).expect(404).await;
    }
    for (only, _) in &places {
        emulator.change(|script| script.discovery = vec![*only]);
        for (form, place) in &places {
            let status = if form == only { 200 } else { 404 };
            anonymous(emulator.addr, "GET", place).expect(status).await;
        }
    }
}

#[tokio::test]
async fn a_resource_says_who_issues_its_tokens() {
    let emulator = start(Script::default()).await;
    let said = anonymous(emulator.addr, "GET", RESOURCE).expect(200).await;
    assert_eq!(said["resource"], emulator.origin());
    assert_eq!(said["authorization_servers"], json!([emulator.issuer()]));
    anonymous(emulator.addr, "GET", &format!("{RESOURCE}/items")).expect(404).await;
    emulator.change(|script| {
        script.protected.by_path = true;
        script.protected.metadata.insert("authorization_servers".to_owned(), json!(["https://a.example"]));
    });
    let said = anonymous(emulator.addr, "GET", &format!("{RESOURCE}/items")).expect(200).await;
    assert_eq!(said["resource"], format!("{}/items", emulator.origin()));
    assert_eq!(said["authorization_servers"], json!(["https://a.example"]));
    anonymous(emulator.addr, "GET", RESOURCE).expect(404).await;
    emulator.change(|script| script.protected.metadata_served = false);
    anonymous(emulator.addr, "GET", &format!("{RESOURCE}/items")).expect(404).await;
}
