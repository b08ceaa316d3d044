//! The API with an operation for each way to authenticate.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use executor_upstreams::oauth::{Credentials, Emulator, Script};
use serde_json::{Value, json};

use super::{encoded, start};
use crate::client::{Call, anonymous};

/// Ways to authenticate, as they are sent: headers, and pairs of the query.
#[derive(Default)]
struct Sent {
    headers: Vec<(&'static str, String)>,
    query: Vec<(&'static str, String)>,
}

fn key(value: &str) -> Sent {
    Sent { headers: vec![("X-Api-Key", value.to_owned())], ..Sent::default() }
}

fn bearer(value: &str) -> Sent {
    Sent { headers: vec![("Authorization", format!("Bearer {value}"))], ..Sent::default() }
}

fn get(emulator: &Emulator, path: &str, sent: Sent) -> Call {
    let pairs: Vec<(&str, &str)> = sent.query.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let call = anonymous(emulator.addr, "GET", &format!("{path}?{}", encoded(&pairs)));
    sent.headers.iter().fold(call, |call, (name, value)| call.header(name, value))
}

#[tokio::test]
async fn each_way_takes_its_value_and_no_other() {
    let emulator = start(Script::default()).await;
    let right = Credentials::default();
    let query = |value: &str| Sent { query: vec![("api_key", value.to_owned())], ..Sent::default() };
    let cookie = |value: &str| Sent {
        headers: vec![("Cookie", format!("a=b; session_key={value}"))],
        ..Sent::default()
    };
    let basic = |password: &str| Sent {
        headers: vec![(
            "Authorization",
            format!("Basic {}", STANDARD.encode(format!("{}:{password}", right.username))),
        )],
        ..Sent::default()
    };
    for (path, scheme, good, bad) in [
        ("/auth/key-header", "keyHeader", key(&right.header_key), key("wrong")),
        ("/auth/key-query", "keyQuery", query(&right.query_key), query("wrong")),
        ("/auth/key-cookie", "keyCookie", cookie(&right.cookie_key), cookie("wrong")),
        ("/auth/basic", "basic", basic(&right.password), basic("wrong")),
        ("/auth/bearer", "bearer", bearer(&right.bearer), bearer("wrong")),
        ("/auth/either", "keyHeader", key(&right.header_key), key("wrong")),
        ("/auth/either", "bearer", bearer(&right.bearer), bearer("wrong")),
        ("/auth/optional", "bearer", bearer(&right.bearer), bearer("wrong")),
    ] {
        let answer = get(&emulator, path, good).expect(200).await;
        assert_eq!(answer["accepted"], json!([scheme]), "{path}");
        get(&emulator, path, bad).expect(401).await;
    }
    let missing = get(&emulator, "/auth/basic", Sent::default()).send().await;
    assert_eq!(missing.status, 401);
    assert!(missing.header("www-authenticate").expect("a challenge").starts_with("Basic "));
    let twice = Sent {
        query: vec![("api_key", right.query_key.clone()), ("api_key", String::new())],
        ..Sent::default()
    };
    get(&emulator, "/auth/key-query", twice).expect(401).await;
}

#[tokio::test]
async fn two_at_once_none_and_nothing() {
    let emulator = start(Script::default()).await;
    let right = Credentials::default();
    let mut both = key(&right.header_key);
    both.headers.extend(bearer(&right.bearer).headers);
    let answer = get(&emulator, "/auth/both", both).expect(200).await;
    assert_eq!(answer["accepted"], json!(["keyHeader", "bearer"]));
    get(&emulator, "/auth/both", key(&right.header_key)).expect(401).await;
    get(&emulator, "/auth/both", bearer(&right.bearer)).expect(401).await;
    get(&emulator, "/auth/either", Sent::default()).expect(401).await;
    assert_eq!(get(&emulator, "/auth/optional", Sent::default()).expect(200).await["accepted"], json!([]));
    get(&emulator, "/auth/open", bearer("wrong")).expect(200).await;
    get(&emulator, "/auth/mutual", Sent::default()).expect(401).await;
    get(&emulator, "/auth/nowhere", Sent::default()).expect(404).await;
}

#[tokio::test]
async fn credentials_change_while_it_runs() {
    let emulator = start(Script::default()).await;
    emulator.change(|script| script.credentials.bearer = "rotated".to_owned());
    get(&emulator, "/auth/bearer", bearer("rotated")).expect(200).await;
    get(&emulator, "/auth/bearer", bearer(&Credentials::default().bearer)).expect(401).await;
}

#[tokio::test]
async fn tokens_open_what_their_scopes_say() {
    let emulator = start(Script::default()).await;
    for (path, scopes) in [
        ("/items", &["items:read"][..]),
        ("/auth/machine", &["machine:read"]),
        ("/auth/device", &["device:read"]),
        ("/auth/openid", &["openid", "profile"]),
        ("/me", &[]),
    ] {
        get(&emulator, path, bearer(&emulator.give_token(scopes))).expect(200).await;
        let less = &scopes[..scopes.len().saturating_sub(1)];
        let status = if less.len() == scopes.len() { 200 } else { 403 };
        get(&emulator, path, bearer(&emulator.give_token(less))).expect(status).await;
    }
    let fixed = get(&emulator, "/me", bearer(&Credentials::default().bearer)).expect(200).await;
    assert_eq!(fixed["accepted"], json!(["bearer"]));
}

#[tokio::test]
async fn an_echo_hides_nothing() {
    let emulator = start(Script::default()).await;
    let mut sent = bearer("canary");
    sent.query.push(("q", "can ary".to_owned()));
    let reply = get(&emulator, "/echo", sent).send().await;
    assert_eq!(reply.header("x-echo-authorization"), Some("Bearer canary"));
    assert_eq!(reply.header("x-echo-query"), Some("q=can+ary"));
    let body = reply.json();
    let headers = body["headers"].as_array().expect("a list");
    assert!(headers.contains(&json!(["authorization", "Bearer canary"])), "{body}");
    let posted = anonymous(emulator.addr, "POST", "/echo").json(json!({ "a": 1 })).expect(200).await;
    assert_eq!(posted["body"], "{\"a\":1}");
}

#[tokio::test]
async fn one_operation_is_always_asked_too_often() {
    let emulator = start(Script::default()).await;
    let reply = get(&emulator, "/limited", Sent::default()).send().await;
    assert_eq!((reply.status, reply.header("retry-after")), (429, Some("7")));
}

/// Every operation of a document is there, and is refused without credentials
/// unless the document says that none are needed.
async fn check_document(emulator: &Emulator, document: &Value, schemes: &Value) {
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let security = operation["security"].as_array().expect("alternatives");
            for (name, _) in security.iter().flat_map(|one| one.as_object().expect("an alternative")) {
                assert!(schemes.get(name).is_some(), "{name} is not defined");
            }
            let open = security.is_empty() || security.iter().any(|one| one == &json!({}));
            let open = open || path == "/echo";
            let target = path.replace("{name}", "a");
            let reply = anonymous(emulator.addr, &method.to_uppercase(), &target).send().await;
            assert_eq!(reply.status == 401, !open, "{method} {path}: {}", reply.status);
            assert_ne!(reply.status, 404, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn the_documents_say_what_is_checked() {
    let emulator = start(Script::default()).await;
    let three = anonymous(emulator.addr, "GET", "/openapi.json").expect(200).await;
    check_document(&emulator, &three, &three["components"]["securitySchemes"]).await;
    assert_eq!(three["paths"].as_object().map(serde_json::Map::len), Some(18));
    assert_eq!(three["paths"]["/auth/both"]["get"]["security"], json!([{ "keyHeader": [], "bearer": [] }]));
    assert_eq!(three["paths"]["/items"]["post"]["security"], json!([{ "oauth": ["items:write"] }]));
    let flow = &three["components"]["securitySchemes"]["oauth"]["flows"]["authorizationCode"];
    assert_eq!(flow["tokenUrl"], format!("{}/token", emulator.origin()));
    let aws = &three["components"]["securitySchemes"]["aws"];
    assert_eq!(aws["x-amazon-apigateway-authtype"], "awsSigv4");
    let two = anonymous(emulator.addr, "GET", "/swagger.json").expect(200).await;
    check_document(&emulator, &two, &two["securityDefinitions"]).await;
    assert_eq!(two["host"], emulator.addr.to_string());
    assert_eq!(two["paths"].get("/auth/key-cookie"), None);
    assert_eq!(two["securityDefinitions"]["oauth"]["flow"], "accessCode");
    emulator.change(|script| script.relative_urls = true);
    let three = anonymous(emulator.addr, "GET", "/openapi.json").expect(200).await;
    let flow = &three["components"]["securitySchemes"]["oauth"]["flows"]["authorizationCode"];
    assert_eq!(flow["tokenUrl"], "/token");
}
