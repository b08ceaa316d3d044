//! The OAuth and authentication emulator, as a client meets it.

mod api;
mod authorization;
mod devices;
mod discovery;
mod faults;
mod grants;
mod registration;
mod resource;
mod signing;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use executor_upstreams::oauth::{self, Emulator, PUBLIC_CLIENT, Script};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::client::{Call, Reply, anonymous};

const REDIRECT: &str = "http://127.0.0.1:9/callback";
const VERIFIER: &str = "abcdefghijklmnopqrstuvwxyz-0123456789._~ABCD";

type Pairs<'a> = [(&'a str, &'a str)];

async fn start(script: Script) -> Emulator {
    oauth::start(script).await.expect("a port is free")
}

fn challenge() -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER))
}

fn encoded(pairs: &Pairs<'_>) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// `base` with `changes` laid over it; an empty value takes a pair out.
fn laid_over<'a>(base: &Pairs<'a>, changes: &Pairs<'a>) -> Vec<(&'a str, &'a str)> {
    let kept = base.iter().filter(|(name, _)| changes.iter().all(|(other, _)| other != name));
    kept.chain(changes.iter().filter(|(_, value)| !value.is_empty())).copied().collect()
}

/// What `/authorize` answers a right request with these changes.
async fn authorize(emulator: &Emulator, changes: &Pairs<'_>) -> Reply {
    let challenge = challenge();
    let right = [
        ("response_type", "code"),
        ("client_id", PUBLIC_CLIENT),
        ("redirect_uri", REDIRECT),
        ("state", "state/1+&="),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
        ("scope", "items:read offline_access"),
    ];
    let target = format!("/authorize?{}", encoded(&laid_over(&right, changes)));
    anonymous(emulator.addr, "GET", &target).send().await
}

/// The pairs that a redirect carries.
fn carried(reply: &Reply) -> Vec<(String, String)> {
    assert_eq!(reply.status, 302, "{}", reply.text());
    let location = Url::parse(reply.header("location").expect("a redirect")).expect("a URL");
    assert!(location.as_str().starts_with(REDIRECT), "{location}");
    location.query_pairs().into_owned().collect()
}

fn value(pairs: &[(String, String)], name: &str) -> Option<String> {
    pairs.iter().find(|(have, _)| have == name).map(|(_, value)| value.clone())
}

async fn code(emulator: &Emulator, changes: &Pairs<'_>) -> String {
    value(&carried(&authorize(emulator, changes).await), "code").expect("a code")
}

fn post(emulator: &Emulator, path: &str, pairs: &Pairs<'_>) -> Call {
    anonymous(emulator.addr, "POST", path)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(encoded(pairs))
}

fn token(emulator: &Emulator, pairs: &Pairs<'_>) -> Call {
    post(emulator, "/token", pairs)
}

/// The exchange of a code, with these changes.
fn exchange(emulator: &Emulator, code: &str, changes: &Pairs<'_>) -> Call {
    let right = [
        ("grant_type", "authorization_code"),
        ("client_id", PUBLIC_CLIENT),
        ("code", code),
        ("redirect_uri", REDIRECT),
        ("code_verifier", VERIFIER),
    ];
    token(emulator, &laid_over(&right, changes))
}

fn refresh(emulator: &Emulator, token_sent: &str, changes: &Pairs<'_>) -> Call {
    let right =
        [("grant_type", "refresh_token"), ("client_id", PUBLIC_CLIENT), ("refresh_token", token_sent)];
    token(emulator, &laid_over(&right, changes))
}

/// What a whole sign-in gives.
async fn signed_in(emulator: &Emulator) -> Value {
    let code = code(emulator, &[]).await;
    exchange(emulator, &code, &[]).expect(200).await
}

fn text<'a>(answer: &'a Value, member: &str) -> &'a str {
    answer[member].as_str().unwrap_or_else(|| panic!("no {member} in {answer}"))
}

/// `Basic`, both parts form-encoded.
fn basic(id: &str, secret: &str) -> String {
    let encoded = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret))))
}

/// Calls `/me` with an access token.
async fn me(emulator: &Emulator, access: &str) -> Reply {
    anonymous(emulator.addr, "GET", "/me").header("authorization", &format!("Bearer {access}")).send().await
}

async fn refused(call: Call, status: u16, error: &str) -> Value {
    let answer = call.expect(status).await;
    assert_eq!(answer["error"], error, "{answer}");
    answer
}
