//! `/token`, `/revoke`.

use executor_upstreams::oauth::{
    Authentication, CONFIDENTIAL_CLIENT, CONFIDENTIAL_SECRET, Client, Encoding, ExpiresIn, PUBLIC_CLIENT,
    Rotation, Script,
};
use serde_json::json;

use super::{basic, code, exchange, me, post, refresh, refused, signed_in, start, text, token};
use crate::client::anonymous;

#[tokio::test]
async fn a_code_becomes_tokens_once() {
    let emulator = start(Script::default()).await;
    let code = code(&emulator, &[]).await;
    let answer = exchange(&emulator, &code, &[]).send().await;
    assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")));
    let answer = answer.json();
    assert_eq!((text(&answer, "token_type"), answer["expires_in"].as_i64()), ("Bearer", Some(3600)));
    assert_eq!(text(&answer, "scope"), "items:read offline_access");
    let who = me(&emulator, text(&answer, "access_token")).await.json();
    assert_eq!((text(&who, "client"), text(&who, "grant")), (PUBLIC_CLIENT, "authorization_code"));
    // A second use gives nothing and takes back what the first gave.
    refused(exchange(&emulator, &code, &[]), 400, "invalid_grant").await;
    assert_eq!(me(&emulator, text(&answer, "access_token")).await.status, 401);
    refused(refresh(&emulator, text(&answer, "refresh_token"), &[]), 400, "invalid_grant").await;
    assert_eq!(emulator.ledger.matching("POST", "/token")[0].form("code").as_deref(), Some(code.as_str()));
}

#[tokio::test]
async fn a_code_is_bound_to_what_asked_for_it() {
    let emulator = start(Script::default().client(Client::public("other"))).await;
    for (name, other, error) in [
        ("client_id", "other", "invalid_grant"),
        ("code_verifier", "another-verifier-of-the-right-length-0123456789", "invalid_grant"),
        ("code_verifier", "short", "invalid_request"),
        ("code_verifier", "", "invalid_request"),
        ("redirect_uri", "http://127.0.0.1:9/other", "invalid_grant"),
        ("redirect_uri", "", "invalid_request"),
        ("grant_type", "password", "unsupported_grant_type"),
        ("resource", "https://other.example", "invalid_target"),
    ] {
        let code = code(&emulator, &[]).await;
        refused(exchange(&emulator, &code, &[(name, other)]), 400, error).await;
    }
    let code = code(&emulator, &[]).await;
    emulator.advance(61);
    let said = refused(exchange(&emulator, &code, &[]), 400, "invalid_grant").await;
    assert_eq!(said["error_description"], "the code has expired");
}

#[tokio::test]
async fn a_form_is_taken_and_nothing_else() {
    let emulator = start(Script::default()).await;
    let twice = [("grant_type", "refresh_token"), ("grant_type", "refresh_token")];
    refused(token(&emulator, &twice), 400, "invalid_request").await;
    let json = anonymous(emulator.addr, "POST", "/token").json(json!({ "grant_type": "refresh_token" }));
    refused(json, 400, "invalid_request").await;
    let got = anonymous(emulator.addr, "GET", "/token?grant_type=refresh_token").send().await;
    assert_eq!((got.status, got.header("allow")), (405, Some("POST")));
}

#[tokio::test]
async fn a_rotated_token_used_again_ends_its_family() {
    let emulator = start(Script::default()).await;
    let first = signed_in(&emulator).await;
    let second = refresh(&emulator, text(&first, "refresh_token"), &[]).expect(200).await;
    assert_ne!(first["refresh_token"], second["refresh_token"]);
    assert_eq!(me(&emulator, text(&first, "access_token")).await.status, 200);
    refused(refresh(&emulator, text(&first, "refresh_token"), &[]), 400, "invalid_grant").await;
    refused(refresh(&emulator, text(&second, "refresh_token"), &[]), 400, "invalid_grant").await;
    assert_eq!(me(&emulator, text(&second, "access_token")).await.status, 401);
    // Another sign-in is another family.
    let other = signed_in(&emulator).await;
    refresh(&emulator, text(&other, "refresh_token"), &[]).expect(200).await;
}

#[tokio::test]
async fn rotation_is_as_the_script_says() {
    let emulator = start(Script::default().with(|script| script.refresh.rotation = Rotation::Off)).await;
    let first = signed_in(&emulator).await;
    let same = text(&first, "refresh_token");
    assert_eq!(refresh(&emulator, same, &[]).expect(200).await["refresh_token"], same);
    emulator.change(|script| script.refresh.rotation = Rotation::Silent);
    assert_eq!(refresh(&emulator, same, &[]).expect(200).await.get("refresh_token"), None);
    emulator.change(|script| script.refresh.ends_access = true);
    let last = refresh(&emulator, same, &[]).expect(200).await;
    assert_eq!(me(&emulator, text(&first, "access_token")).await.status, 401);
    assert_eq!(me(&emulator, text(&last, "access_token")).await.status, 200);
    refused(refresh(&emulator, same, &[("scope", "items:write")]), 400, "invalid_scope").await;
    let less = refresh(&emulator, same, &[("scope", "items:read")]).expect(200).await;
    assert_eq!(text(&less, "scope"), "items:read");
}

#[tokio::test]
async fn refresh_tokens_are_given_where_the_script_says_so() {
    let emulator = start(Script::default().with(|script| {
        script.refresh.needs_offline_access = true;
        script.refresh.lifetime_s = Some(100);
    }))
    .await;
    let online = code(&emulator, &[("scope", "items:read")]).await;
    assert_eq!(exchange(&emulator, &online, &[]).expect(200).await.get("refresh_token"), None);
    let offline = signed_in(&emulator).await;
    emulator.advance(101);
    let said = refused(refresh(&emulator, text(&offline, "refresh_token"), &[]), 400, "invalid_grant").await;
    assert_eq!(said["error_description"], "the refresh token has expired");
    emulator.change(|script| script.refresh.issued = false);
    assert_eq!(signed_in(&emulator).await.get("refresh_token"), None);
}

#[tokio::test]
async fn clients_authenticate_as_they_were_told_to() {
    let only = Client::confidential("only post", "s:1+").only(Authentication::SecretPost).grant("password");
    let emulator = start(Script::default().client(only)).await;
    let machine = [("grant_type", "client_credentials"), ("scope", "machine:read")];
    let by_header =
        |id: &str, secret: &str| token(&emulator, &machine).header("authorization", &basic(id, secret));
    let answer = by_header(CONFIDENTIAL_CLIENT, CONFIDENTIAL_SECRET).expect(200).await;
    assert_eq!((text(&answer, "scope"), answer.get("refresh_token")), ("machine:read", None));
    let posted = |id, secret| token(&emulator, &[machine[0], ("client_id", id), ("client_secret", secret)]);
    posted(CONFIDENTIAL_CLIENT, CONFIDENTIAL_SECRET).expect(200).await;

    let wrong = by_header(CONFIDENTIAL_CLIENT, "wrong").send().await;
    assert_eq!((wrong.status, wrong.header("www-authenticate")), (401, Some("Basic realm=\"emulator\"")));
    refused(posted(CONFIDENTIAL_CLIENT, "wrong"), 401, "invalid_client").await;
    refused(posted("nobody", "wrong"), 401, "invalid_client").await;
    refused(by_header("only post", "s:1+"), 401, "invalid_client").await;
    refused(posted("only post", "s:1+"), 400, "unauthorized_client").await;
    let unnamed = token(&emulator, &[machine[0], ("client_id", CONFIDENTIAL_CLIENT)]);
    refused(unnamed, 401, "invalid_client").await;
    refused(token(&emulator, &[machine[0], ("client_id", PUBLIC_CLIENT)]), 400, "unauthorized_client").await;
    let both = posted(CONFIDENTIAL_CLIENT, CONFIDENTIAL_SECRET)
        .header("authorization", &basic(CONFIDENTIAL_CLIENT, CONFIDENTIAL_SECRET));
    refused(both, 400, "invalid_request").await;
    // Joined as they are, name and secret are not what they were.
    use base64::Engine as _;
    let pair = format!("{CONFIDENTIAL_CLIENT}:{CONFIDENTIAL_SECRET}");
    let raw = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair));
    refused(token(&emulator, &machine).header("authorization", &raw), 401, "invalid_client").await;
}

#[tokio::test]
async fn answers_are_written_as_the_script_says() {
    let emulator = start(Script::default()).await;
    emulator.change(|script| {
        script.tokens.token_type = "bEARER".to_owned();
        script.tokens.expires_in = ExpiresIn::Text;
        script.tokens.granted = Some(vec!["items:read".to_owned()]);
        script.tokens.members.insert("id_token".to_owned(), json!("x.y.z"));
    });
    let answer = signed_in(&emulator).await;
    assert_eq!((text(&answer, "token_type"), text(&answer, "expires_in")), ("bEARER", "3600"));
    assert_eq!((text(&answer, "scope"), text(&answer, "id_token")), ("items:read", "x.y.z"));
    emulator.change(|script| {
        script.tokens.expires_in = ExpiresIn::Absent;
        script.tokens.says_scope = false;
        script.tokens.members.insert("token_type".to_owned(), json!(null));
    });
    let answer = signed_in(&emulator).await;
    assert_eq!((answer.get("expires_in"), answer.get("scope"), answer.get("token_type")), (None, None, None));
    emulator.change(|script| script.tokens.expires_in = ExpiresIn::Other(json!(-1)));
    assert_eq!(signed_in(&emulator).await["expires_in"], -1);
    emulator.change(|script| script.tokens.encoding = Encoding::FormUnlessAsked);
    let next = code(&emulator, &[]).await;
    let form = exchange(&emulator, &next, &[]).send().await;
    assert_eq!(form.header("content-type"), Some("application/x-www-form-urlencoded; charset=utf-8"));
    assert!(form.text().contains("access_token=access-") && form.text().contains("%2B"), "{}", form.text());
    let next = code(&emulator, &[]).await;
    let asked = exchange(&emulator, &next, &[]).header("accept", "application/json").expect(200).await;
    assert!(asked["access_token"].is_string());
    emulator.change(|script| script.tokens.encoding = Encoding::Form);
    let next = code(&emulator, &[]).await;
    let form = exchange(&emulator, &next, &[]).header("accept", "application/json").send().await;
    assert!(form.text().starts_with("access_token="));
}

#[tokio::test]
async fn tokens_are_for_the_resources_that_were_named() {
    let emulator = start(Script::default().with(|script| script.requires_resource = true)).await;
    let (items, origin) = (format!("{}/items", emulator.origin()), emulator.origin());
    let asked = [("resource", items.as_str())];
    let code = code(&emulator, &asked).await;
    refused(exchange(&emulator, &code, &[]), 400, "invalid_target").await;
    let code = super::code(&emulator, &asked).await;
    refused(exchange(&emulator, &code, &[("resource", origin)]), 400, "invalid_target").await;
    let code = super::code(&emulator, &asked).await;
    let answer = exchange(&emulator, &code, &asked).expect(200).await;
    let access = text(&answer, "access_token");
    let refused = me(&emulator, access).await;
    assert_eq!(refused.status, 401);
    assert!(refused.text().contains("another resource"));
    let bearer = format!("Bearer {access}");
    anonymous(emulator.addr, "GET", "/items").header("authorization", &bearer).expect(200).await;
}

#[tokio::test]
async fn tokens_are_taken_back() {
    let emulator = start(Script::default().client(Client::public("other"))).await;
    let answer = signed_in(&emulator).await;
    let access = text(&answer, "access_token");
    let revoke = |client, token| post(&emulator, "/revoke", &[("client_id", client), ("token", token)]);
    refused(revoke("other", access), 400, "unauthorized_client").await;
    assert_eq!(me(&emulator, access).await.status, 200);
    revoke(PUBLIC_CLIENT, access).expect(200).await;
    assert_eq!(me(&emulator, access).await.status, 401);
    let again = refresh(&emulator, text(&answer, "refresh_token"), &[]).expect(200).await;
    revoke(PUBLIC_CLIENT, text(&again, "refresh_token")).expect(200).await;
    assert_eq!(me(&emulator, text(&again, "access_token")).await.status, 401);
    refused(refresh(&emulator, text(&again, "refresh_token"), &[]), 400, "invalid_grant").await;
    revoke(PUBLIC_CLIENT, "unknown").expect(200).await;
    refused(revoke("nobody", access), 401, "invalid_client").await;
    emulator.change(|script| script.revocation = false);
    revoke(PUBLIC_CLIENT, "unknown").expect(404).await;
}
