//! Connections after they were authorized: what ends them, what changes them,
//! and what a document that changes does to them.

use std::sync::{Arc, Mutex};

use executor_upstreams::oauth::{Authentication, Client, ExpiresIn};
use executor_upstreams::oauth::{
    CONFIDENTIAL_CLIENT, CONFIDENTIAL_SECRET, Fault, FaultKind, Poll, Script, browser,
};
use executor_upstreams::plain::{self, Answer, Request};
use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::oauth::{AUTHORIZATIONS, authorize, begin, by_code, call, stands, start, tokens};
use crate::wire::Wire;

const CONNECTIONS: &str = "/v1/workspaces/default/connections";

fn connections(daemon: &Daemon) -> Value {
    Wire::owner(daemon).get(CONNECTIONS).json()["items"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_ends_no_token_that_has_no_end() {
    let script = Script::default().with(|script| {
        script.refresh.issued = false;
        script.tokens.expires_in = ExpiresIn::Absent;
    });
    let (daemon, emulator) = start(script).await;
    authorize(&daemon, by_code());
    emulator.fault(Fault::new("GET", "/items", FaultKind::status(401)));
    let said = call(&daemon, "api.items.list", &json!({})).fails(1);
    assert!(said.contains("401") && said.contains("executor connections authorize api default"), "{said}");
    assert_eq!(connections(&daemon)[0]["state"], "ok", "an API says 401 of what is not allowed too");
    call(&daemon, "api.items.list", &json!({})).ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_removed_while_it_is_refreshed_stays_removed() {
    let (daemon, emulator) = start(Script::default()).await;
    authorize(&daemon, json!({ "source": "api", "methods": ["openid"] }));
    emulator.revoke_access();
    emulator.fault(Fault::token(FaultKind::Held));
    let calling = daemon.run_beside(&["call", "api.auth.openid", "{}"]);
    daemon.until(|_| tokens(&emulator, "refresh_token").len() == 1);
    let removing = daemon.run_beside(&["connections", "remove", "api", "default"]);
    // It may have been heard of before it was held.
    daemon.until(|_| {
        emulator.release();
        removing.is_finished()
    });
    removing.join().unwrap();
    calling.join().unwrap();
    assert_eq!(connections(&daemon), json!([]));
    let revoked = emulator.ledger.matching("POST", "/revoke");
    let refreshed = tokens(&emulator, "refresh_token")[0].form("refresh_token");
    assert_eq!(revoked.len(), 1);
    assert_ne!(revoked[0].form("token"), refreshed, "the newest token is revoked");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_connections_of_one_name_the_first_stays() {
    let (daemon, emulator) = start(Script::default()).await;
    let begun = begin(&daemon, by_code());
    let by_token = json!({ "source": "api", "methods": ["bearer"], "variables": { "token": "a-token" } });
    assert_eq!(Wire::owner(&daemon).post(CONNECTIONS, &by_token).status, 201);
    let page = browser::consent(begun["url"].as_str().unwrap()).unwrap();
    assert_eq!(page.status, 409, "{}", page.body);
    assert_eq!(stands(&daemon, &begun)["error"]["code"], "connection-exists");
    assert_eq!(connections(&daemon)[0]["methods"], json!(["bearer"]));
    assert_eq!(emulator.ledger.matching("POST", "/token").len(), 1);
    assert_eq!(Wire::owner(&daemon).post(CONNECTIONS, &by_token).refused(409), "connection-exists");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_may_be_another_one_when_it_is_authorized_again() {
    let (daemon, emulator) = start(Script::default()).await;
    authorize(&daemon, json!({ "source": "api", "methods": ["openid"] }));
    authorize(&daemon, json!({ "source": "api", "again": true }));
    assert_eq!(emulator.ledger.matching("POST", "/register").len(), 2, "a server may have forgotten it");
    let own = json!({ "client_id": CONFIDENTIAL_CLIENT, "client_secret": CONFIDENTIAL_SECRET });
    let again = json!({ "source": "api", "again": true, "oauth": own });
    assert_eq!(authorize(&daemon, again)["client_id"], CONFIDENTIAL_CLIENT);
    emulator.revoke_access();
    call(&daemon, "api.auth.openid", &json!({})).ok();
    let other = json!({ "source": "api", "again": true, "oauth": { "flow": "device-code" } });
    assert_eq!(Wire::owner(&daemon).post(AUTHORIZATIONS, &other).refused(400), "invalid-request");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_wants_its_client_in_the_form_is_asked_so_from_then_on() {
    let client = Client::confidential("form", "form-secret-value").only(Authentication::SecretPost);
    let script = Script::default()
        .client(client)
        .with(|script| script.devices.polls = [Poll::Pending, Poll::Approved].into());
    let (daemon, emulator) = start(script).await;
    let request = json!({ "source": "api", "methods": ["device"],
        "oauth": { "client_id": "form", "client_secret": "form-secret-value" } });
    let begun = begin(&daemon, request);
    daemon.until(|daemon| stands(daemon, &begun)["status"] != "waiting");
    assert_eq!(stands(&daemon, &begun)["status"], "connected", "{begun}");
    for _ in 0..2 {
        emulator.revoke_access();
        call(&daemon, "api.auth.device", &json!({})).ok();
    }
    assert_eq!(tokens(&emulator, "refresh_token").len(), 2, "it is asked in one way, and not in two");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_alone_is_not_spent_where_its_server_names_itself() {
    let (daemon, _emulator) = start(Script::default()).await;
    let request = json!({ "source": "api", "methods": ["openid"],
        "oauth": { "redirect_uri": "http://127.0.0.1:9/callback" } });
    let begun = begin(&daemon, request);
    let address = browser::open(begun["url"].as_str().unwrap()).unwrap().location.unwrap();
    let code = address.split("code=").nth(1).unwrap().split('&').next().unwrap();
    let finish = format!("{AUTHORIZATIONS}/{}/finish", begun["id"].as_str().unwrap());
    let wire = Wire::owner(&daemon);
    assert_eq!(wire.post(&finish, &json!({ "address": code })).refused(400), "invalid-request");
    assert_eq!(wire.post(&finish, &json!({ "address": address })).json()["status"], "connected");
}

/// A document whose key is placed where its test says, and its one tool.
struct Keyed {
    upstream: plain::Upstream,
    scheme: Arc<Mutex<Value>>,
}

impl Keyed {
    async fn start(scheme: Value) -> Self {
        let scheme = Arc::new(Mutex::new(scheme));
        let shown = scheme.clone();
        let upstream = plain::start(move |request: &Request<'_>| match request.path {
            "/openapi.json" => Answer::json(200, &keyed("/", &shown.lock().unwrap())),
            _ => Answer::json(200, &json!({ "was": request.header("x-key") })),
        });
        Self { upstream: upstream.await.unwrap(), scheme }
    }
}

fn keyed(server: &str, scheme: &Value) -> Value {
    json!({
        "openapi": "3.0.3", "info": { "title": "Keyed", "version": "1" }, "servers": [{ "url": server }],
        "paths": { "/things": { "get": { "operationId": "list", "tags": ["things"], "security": [{ "key": [] }],
            "responses": { "200": { "description": "ok" } } } } },
        "components": { "securitySchemes": { "key": scheme } },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_changed_moves_no_key_to_another_place() {
    let (daemon, scheme) = (Daemon::start(), json!({ "type": "apiKey", "in": "header", "name": "X-Key" }));
    let keyed = Keyed::start(scheme).await;
    let host = keyed.upstream.origin().trim_start_matches("http://");
    let url = format!("{}/openapi.json", keyed.upstream.origin());
    daemon.run(&["sources", "add", &url, "--name", "api", "--allow-host", host]).ok();
    daemon.run(&["connections", "add", "api", "--from", "token=env:GITHUB_TOKEN"]).ok();
    call(&daemon, "api.things.list", &json!({})).ok();
    *keyed.scheme.lock().unwrap() = json!({ "type": "apiKey", "in": "query", "name": "k" });
    daemon.run(&["sources", "refresh", "api"]).ok();
    call(&daemon, "api.things.list", &json!({})).ok();
    let sent = keyed.upstream.ledger.matching("GET", "/things");
    assert_eq!(sent.len(), 2);
    for entry in &sent {
        assert!(entry.header("x-key").is_some(), "it is placed as its person saw it placed: {entry:?}");
        assert!(!entry.query.contains("k="), "{entry:?}");
    }
}

#[test]
fn a_key_does_not_travel_in_the_open() {
    let daemon = Daemon::start();
    let scheme = json!({ "type": "apiKey", "in": "header", "name": "X-Key" });
    let place = daemon.home().join("open.json");
    std::fs::write(&place, keyed("http://api.open.test", &scheme).to_string()).unwrap();
    daemon.run(&["sources", "add", place.to_str().unwrap(), "--name", "api"]).ok();
    daemon.run(&["connections", "add", "api", "--from", "token=env:GITHUB_TOKEN"]).ok();
    let said = call(&daemon, "api.things.list", &json!({})).fails(4);
    assert!(said.contains("denied-origin") && said.contains("--allow-host api.open.test:80"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_keys_of_one_connection_are_two_values() {
    let answer = |request: &Request<'_>| match request.path {
        "/openapi.json" => Answer::json(200, &two_keys()),
        _ => Answer::json(200, &json!({})),
    };
    let (daemon, upstream) = (Daemon::start(), plain::start(answer).await.unwrap());
    let host = upstream.origin().trim_start_matches("http://");
    let url = format!("{}/openapi.json", upstream.origin());
    daemon.run(&["sources", "add", &url, "--name", "dog", "--allow-host", host]).ok();
    let files = ["api", "app"].map(|name| {
        let file = daemon.home().join(name);
        std::fs::write(&file, format!("{name}-key-value")).unwrap();
        format!("{name}.token=@{}", file.display())
    });
    let both = ["connections", "add", "dog", "--auth", "api", "--auth", "app"];
    daemon.run(&[&both[..], &["--set", &files[0], "--set", &files[1]]].concat()).ok();
    call(&daemon, "dog.things.list", &json!({})).ok();
    let sent = &upstream.ledger.matching("GET", "/things")[0];
    assert_eq!(sent.header("dd-api-key"), Some("api-key-value"));
    assert_eq!(sent.parameter("application_key").as_deref(), Some("app-key-value"));
    let one =
        json!({ "source": "dog", "name": "one", "methods": ["api", "app"], "variables": { "token": "x" } });
    assert_eq!(Wire::owner(&daemon).post(CONNECTIONS, &one).refused(422), "connection-incomplete");
}

fn two_keys() -> Value {
    let mut document = keyed("/", &json!({ "type": "apiKey", "in": "header", "name": "DD-API-KEY" }));
    let schemes = &mut document["components"]["securitySchemes"];
    let api = schemes["key"].take();
    *schemes = json!({ "api": api, "app": { "type": "apiKey", "in": "query", "name": "application_key" } });
    document["paths"]["/things"]["get"]["security"] = json!([{ "api": [], "app": [] }]);
    document
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_granted_is_shown_and_what_was_not_is_told() {
    let script = Script::default().with(|script| {
        script.tokens.granted = Some(vec!["items:read".to_owned()]);
        script.refresh.issued = false;
    });
    let (daemon, emulator) = start(script).await;
    authorize(&daemon, by_code());
    let shown = connections(&daemon)[0]["oauth"].clone();
    assert_eq!(shown["scopes"], json!(["items:read"]));
    assert_eq!(shown["missing_scopes"], json!(["items:write"]));
    assert_eq!(shown["refreshable"], false);
    // The document is silent of it; the server is asked, since it is about the
    // same endpoints.
    daemon.run(&["connections", "remove", "api"]).ok();
    assert_eq!(emulator.ledger.matching("POST", "/revoke").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_set_on_a_source_changes_and_its_connections_stay() {
    let scheme = json!({ "type": "apiKey", "in": "header", "name": "X-Key" });
    let (daemon, here, there) =
        (Daemon::start(), Keyed::start(scheme.clone()).await, Keyed::start(scheme.clone()).await);
    let file = daemon.home().join("keyed.json");
    std::fs::write(&file, keyed("/", &scheme).to_string()).unwrap();
    let (here, there) = (here.upstream, there.upstream);
    let host = |upstream: &plain::Upstream| upstream.origin().trim_start_matches("http://").to_owned();
    let (base, add) = (format!("base_url={}", here.origin()), ["sources", "add", file.to_str().unwrap()]);
    let said = daemon.run(&[&add[..], &["--name", "api", "--set", "bas_url=x"]].concat()).fails(1);
    assert!(said.contains("have no setting \"bas_url\"") && said.contains("base_url"), "{said}");
    daemon.run(&[&add[..], &["--name", "api", "--set", &base, "--allow-host", &host(&here)]].concat()).ok();
    daemon.run(&["connections", "add", "api", "--from", "token=env:GITHUB_TOKEN"]).ok();
    call(&daemon, "api.things.list", &json!({})).ok();
    let base = format!("base_url={}", there.origin());
    let set = daemon.run(&["sources", "set", "api", "--set", &base, "--allow-host", &host(&there)]);
    assert!(set.stderr.contains(&format!("default stays pinned to {}", here.origin())), "{set:?}");
    set.ok();
    // It goes there, and without the key that was given for elsewhere.
    call(&daemon, "api.things.list", &json!({})).ok();
    assert_eq!(there.ledger.matching("GET", "/things")[0].header("x-key"), None);
    let shown = daemon.run(&["sources", "show", "api", "--json"]).json();
    assert_eq!(shown["origins"], json!([there.origin()]), "{shown}");
    let said = daemon.run(&["sources", "set", "api", "--set", "nothing=1"]).fails(1);
    assert!(said.contains("have no setting"), "{said}");
    daemon.run(&["sources", "set", "api"]).fails(2);
    daemon.run(&["sources", "set", "api", "--trusted"]).ok();
}
