//! OAuth and every other way to authenticate, through the binary: what went
//! over the wire is in the emulator's ledger.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use executor_upstreams::ledger::Entry;
use executor_upstreams::oauth::{
    self, CONFIDENTIAL_CLIENT, CONFIDENTIAL_SECRET, Denial, Echo, Emulator, ExpiresIn, Fault, FaultKind,
    PUBLIC_CLIENT, Poll, Registration, Script, browser,
};
use executor_upstreams::plain::{self, Answer};
use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::secrets::search;
use crate::wire::Wire;

pub(crate) const AUTHORIZATIONS: &str = "/v1/workspaces/default/authorizations";

/// A daemon with the emulator's API as the source `api`.
pub(crate) async fn start(script: Script) -> (Daemon, Emulator) {
    let (daemon, emulator) = (Daemon::start(), oauth::start(script).await.unwrap());
    add(&daemon, &emulator, "api", "openapi.json");
    (daemon, emulator)
}

fn add(daemon: &Daemon, emulator: &Emulator, name: &str, document: &str) {
    let origin = emulator.origin();
    let host = origin.trim_start_matches("http://");
    daemon
        .run(&["sources", "add", &format!("{origin}/{document}"), "--name", name, "--allow-host", host])
        .ok();
}

/// What a person does: begins, consents in a browser, and has a connection.
pub(crate) fn authorize(daemon: &Daemon, request: Value) -> Value {
    let begun = begin(daemon, request);
    let page = browser::consent(begun["url"].as_str().unwrap()).unwrap();
    assert_eq!(page.status, 200, "{page:?}");
    stands(daemon, &begun)
}

pub(crate) fn begin(daemon: &Daemon, request: Value) -> Value {
    let begun = Wire::owner(daemon).post(AUTHORIZATIONS, &request);
    assert_eq!(begun.status, 201, "{}", String::from_utf8_lossy(&begun.body));
    begun.json()
}

pub(crate) fn stands(daemon: &Daemon, begun: &Value) -> Value {
    Wire::owner(daemon).get(&format!("{AUTHORIZATIONS}/{}", begun["id"].as_str().unwrap())).json()
}

pub(crate) fn by_code() -> Value {
    json!({ "source": "api", "methods": ["oauth"], "oauth": { "client_id": PUBLIC_CLIENT } })
}

pub(crate) fn call(daemon: &Daemon, path: &str, arguments: &Value) -> crate::daemon::Answer {
    daemon.run(&["call", path, &arguments.to_string(), "--json"])
}

pub(crate) fn tokens(emulator: &Emulator, grant: &str) -> Vec<Entry> {
    let asked = emulator.ledger.matching("POST", "/token").into_iter();
    asked.filter(|entry| entry.form("grant_type").as_deref() == Some(grant)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_way_to_authenticate_arrives_as_it_should() {
    let (daemon, emulator) = start(Script::default()).await;
    let right = oauth::Credentials::default();
    let aws = json!({ "access_key_id": right.aws.access_key, "secret_access_key": right.aws.secret_key,
        "region": right.aws.region, "service": right.aws.service });
    let ways = [
        (vec!["keyHeader"], json!({ "token": right.header_key }), "keyHeader"),
        (vec!["keyQuery"], json!({ "token": right.query_key }), "keyQuery"),
        (vec!["keyCookie"], json!({ "token": right.cookie_key }), "keyCookie"),
        (vec!["basic"], json!({ "username": right.username, "password": right.password }), "basic"),
        (vec!["bearer"], json!({ "token": right.bearer }), "bearer"),
        (vec!["bearer"], json!({ "token": right.bearer }), "either"),
        (vec!["keyHeader"], json!({ "token": right.header_key }), "either"),
        (vec!["bearer"], json!({ "token": right.bearer }), "optional"),
        (vec!["keyHeader"], json!({ "token": right.header_key }), "open"),
        (vec!["aws"], aws, "signed"),
    ];
    let wire = Wire::owner(&daemon);
    for (number, (methods, variables, tool)) in ways.into_iter().enumerate() {
        let name = format!("c{number}");
        let request = json!({ "source": "api", "name": name, "methods": methods, "variables": variables });
        let added = wire.post("/v1/workspaces/default/connections", &request);
        assert_eq!(added.status, 201, "{methods:?}: {}", String::from_utf8_lossy(&added.body));
        let arguments = if tool == "signed" { json!({ "name": "a b/c~é" }) } else { json!({}) };
        let path = format!("api.auth.{tool}");
        let answer =
            daemon.run(&["call", &path, &arguments.to_string(), "--connection", &name, "--json"]).json();
        let accepted = answer["result"]["accepted"].as_array().cloned().unwrap_or_default();
        let expected = if tool == "open" { vec![] } else { vec![json!(methods[0])] };
        assert_eq!(accepted, expected, "{tool}: {answer}");
    }
    assert_eq!(emulator.ledger.matching("GET", "/auth/**").len(), 10);
    // Of several, the only one that serves is meant; two are not guessed from.
    call(&daemon, "api.auth.basic", &json!({})).ok();
    call(&daemon, "api.auth.open", &json!({})).ok();
    let said = call(&daemon, "api.auth.bearer", &json!({})).fails(1);
    assert!(said.contains("several connections"), "{said}");
    // Nothing was there for it, so nothing is sent; and it works all the same.
    let (other, emulator) = start(Script::default()).await;
    call(&other, "api.auth.optional", &json!({})).ok();
    assert_eq!(emulator.ledger.matching("GET", "/auth/optional")[0].header("authorization"), None);
    let said = call(&other, "api.auth.bearer", &json!({})).fails(1);
    assert!(said.contains("needs a connection"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_signed_as_it_is_sent() {
    let script = Script::default().with(|script| {
        script.credentials.aws.session_token = Some("session-token/+=".to_owned());
    });
    let aws = script.credentials.aws.clone();
    let (daemon, emulator) = start(script).await;
    let variables = json!({ "access_key_id": aws.access_key, "secret_access_key": aws.secret_key,
        "session_token": aws.session_token, "region": aws.region, "service": aws.service });
    let request = json!({ "source": "api", "methods": ["aws"], "variables": variables });
    Wire::owner(&daemon).post("/v1/workspaces/default/connections", &request);
    daemon.run(&["policies", "add", "api.*", "allow"]).ok();
    let arguments = json!({ "name": "x", "q": "a b&c=d", "body": { "name": "ä" } });
    call(&daemon, "api.auth.signedWrite", &arguments).ok();
    let sent = &emulator.ledger.matching("POST", "/auth/signed/x")[0];
    assert_eq!(sent.header("x-amz-security-token"), aws.session_token.as_deref());
    daemon.run(&["connections", "set", "api", "--from", "secret_access_key=env:GITHUB_TOKEN"]).ok();
    let said = call(&daemon, "api.auth.signedWrite", &arguments).fails(1);
    assert!(said.contains("403") || said.contains("401"), "another key signs otherwise: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_by_the_command_line() {
    let (daemon, emulator) = start(Script::default()).await;
    let mut adding = daemon
        .command(&[
            "connections",
            "add",
            "api",
            "--auth",
            "oauth",
            "--client-id",
            PUBLIC_CLIENT,
            "--no-browser",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(adding.stderr.take().unwrap());
    let mut before = String::new();
    let url = loop {
        let mut line = String::new();
        assert!(told.read_line(&mut line).unwrap() > 0, "no page was shown: {before}");
        if line.trim_start().starts_with("http") && line.contains("code_challenge") {
            break line.trim().to_owned();
        }
        before.push_str(&line);
    };
    for shown in [emulator.origin(), "/authorize", "/token", "items:read, items:write"] {
        assert!(before.contains(shown), "{shown} is not in {before}");
    }
    let page = browser::consent(&url).unwrap();
    assert!(page.body.contains("is connected as"), "{}", page.body);
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    let output = adding.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && printed.contains("added api/default: oauth"), "{printed}{rest}");

    let exchange = &tokens(&emulator, "authorization_code")[0];
    assert!(exchange.form("code_verifier").is_some_and(|verifier| verifier.len() >= 43));
    assert_eq!(exchange.header("authorization"), None, "a public client has nothing to show");
    call(&daemon, "api.items.list", &json!({})).ok();
    let checked = daemon.run(&["connections", "check", "api"]).ok();
    assert_eq!(checked.trim(), "ok: api.probe.me answered");
    let again = browser::open(&url).unwrap();
    let spent = browser::open(again.location.as_deref().unwrap()).unwrap();
    assert_eq!(spent.status, 404, "a state is good once: {}", spent.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_refreshed_once_and_survive_a_kill() {
    let (mut daemon, emulator) = start(Script::default()).await;
    assert_eq!(authorize(&daemon, by_code())["status"], "connected");
    emulator.revoke_access();
    let (_, view) = daemon.execute(
        "return (await Promise.all(Array.from({ length: 12 }, () => tools.api.items.list({})))).length",
    );
    assert_eq!(view["result"], 12, "{view}");
    assert_eq!(tokens(&emulator, "refresh_token").len(), 1, "one refresh serves all");
    let first = tokens(&emulator, "refresh_token")[0].form("refresh_token");
    daemon.kill();
    daemon.serve();
    emulator.revoke_access();
    call(&daemon, "api.items.list", &json!({})).ok();
    let second = tokens(&emulator, "refresh_token")[1].form("refresh_token");
    assert_ne!(first, second, "what was rotated was kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_replaced_before_it_expires() {
    let script = Script::default().with(|script| script.tokens.expires_in = ExpiresIn::Other(json!(0.001)));
    let (daemon, emulator) = start(script).await;
    authorize(&daemon, by_code());
    call(&daemon, "api.items.list", &json!({})).ok();
    assert_eq!(tokens(&emulator, "refresh_token").len(), 1);
    let listed = emulator.ledger.matching("GET", "/items");
    assert_eq!(listed.len(), 1, "no request went out with the old one");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_was_refused_is_sent_once_more_and_no_oftener() {
    let (daemon, emulator) = start(Script::default()).await;
    authorize(&daemon, by_code());
    daemon.run(&["policies", "add", "api.*", "allow"]).ok();
    emulator.revoke_access();
    call(&daemon, "api.items.create", &json!({ "body": { "name": "one" } })).ok();
    assert_eq!(emulator.items(), ["one"]);
    assert_eq!(emulator.ledger.matching("POST", "/items").len(), 2);
    emulator.fault(Fault::new("POST", "/items", FaultKind::status(401)).always());
    call(&daemon, "api.items.create", &json!({ "body": { "name": "two" } })).fails(1);
    assert_eq!(emulator.ledger.matching("POST", "/items").len(), 4, "no loop");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_lost_ends_the_authorization_and_asks_no_oftener() {
    let (daemon, emulator) = start(Script::default()).await;
    authorize(&daemon, by_code());
    emulator.revoke_access();
    emulator.fault(Fault::token(FaultKind::Lost));
    call(&daemon, "api.items.list", &json!({})).fails(1);
    // The server has rotated the token, and will not take the old one.
    call(&daemon, "api.items.list", &json!({})).fails(1);
    let asked = tokens(&emulator, "refresh_token").len();
    let said = call(&daemon, "api.items.list", &json!({})).fails(1);
    assert!(said.contains("executor connections authorize api default"), "{said}");
    assert_eq!(tokens(&emulator, "refresh_token").len(), asked, "nobody is asked again");
    let listed = daemon.run(&["connections", "list"]).ok();
    assert!(listed.contains("authorization-expired"), "{listed}");
    let checked = daemon.run(&["connections", "check", "api"]);
    assert!(checked.code() == 1 && checked.stdout.contains("rejected"), "{checked:?}");
    let again = json!({ "source": "api", "again": true });
    assert_eq!(authorize(&daemon, again)["status"], "connected");
    call(&daemon, "api.items.list", &json!({})).ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_in_the_middle_of_a_refresh_is_told_once_and_asks_no_oftener() {
    let (mut daemon, emulator) = start(Script::default()).await;
    authorize(&daemon, by_code());
    emulator.revoke_access();
    emulator.fault(Fault::token(FaultKind::Held));
    let calling = daemon.run_beside(&["call", "api.items.list", "{}"]);
    daemon.until(|_| tokens(&emulator, "refresh_token").len() == 1);
    // The server has rotated the token, and nobody hears of it.
    daemon.kill();
    calling.join().unwrap();
    emulator.release();
    daemon.serve();
    for _ in 0..3 {
        let said = call(&daemon, "api.items.list", &json!({})).fails(1);
        assert!(said.contains("401") || said.contains("has to be authorized again"), "{said}");
    }
    assert_eq!(tokens(&emulator, "refresh_token").len(), 2, "the old token was tried once");
    assert_eq!(authorize(&daemon, json!({ "source": "api", "again": true }))["status"], "connected");
    call(&daemon, "api.items.list", &json!({})).ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_down_costs_no_token() {
    let (daemon, emulator) = start(Script::default()).await;
    authorize(&daemon, by_code());
    for kind in [FaultKind::retry_after(503, 7), FaultKind::page(502), FaultKind::reset()] {
        emulator.revoke_access();
        emulator.fault(Fault::token(kind));
        call(&daemon, "api.items.list", &json!({})).fails(1);
        call(&daemon, "api.items.list", &json!({})).ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_can_be_its_own_owner() {
    let (daemon, emulator) = start(Script::default()).await;
    let request = json!({ "source": "api", "methods": ["machine"],
        "oauth": { "client_id": CONFIDENTIAL_CLIENT, "client_secret": CONFIDENTIAL_SECRET } });
    assert_eq!(begin(&daemon, request)["status"], "connected");
    call(&daemon, "api.auth.machine", &json!({})).ok();
    emulator.revoke_access();
    call(&daemon, "api.auth.machine", &json!({})).ok();
    assert_eq!(tokens(&emulator, "client_credentials").len(), 2, "it asks anew: there is nothing to refresh");
    let request = json!({ "source": "api", "name": "other", "methods": ["machine"],
        "oauth": { "client_id": CONFIDENTIAL_CLIENT, "client_secret": "wrong" } });
    let refused = Wire::owner(&daemon).post(AUTHORIZATIONS, &request);
    assert_eq!(refused.refused(422), "authorization-refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_waits_until_somebody_enters_its_code() {
    let script =
        Script::default().with(|script| script.devices.polls = [Poll::Pending, Poll::Approved].into());
    let (daemon, emulator) = start(script).await;
    let request = json!({ "source": "api", "methods": ["device"], "oauth": { "client_id": PUBLIC_CLIENT } });
    let begun = begin(&daemon, request);
    assert!(begun["user_code"].as_str().is_some_and(|code| !code.is_empty()), "{begun}");
    daemon.until(|daemon| stands(daemon, &begun)["status"] == "connected");
    call(&daemon, "api.auth.device", &json!({})).ok();
    emulator.change(|script| script.devices.polls = [Poll::Denied].into());
    let request = json!({ "source": "api", "name": "no", "methods": ["device"],
        "oauth": { "client_id": PUBLIC_CLIENT } });
    let begun = begin(&daemon, request);
    daemon.until(|daemon| stands(daemon, &begun)["status"] == "failed");
    assert_eq!(stands(&daemon, &begun)["error"]["code"], "authorization-refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_openid_provider_is_discovered_and_registers_executor() {
    let (daemon, emulator) = start(Script::default()).await;
    let connected = authorize(&daemon, json!({ "source": "api", "methods": ["openid"] }));
    assert_eq!(connected["status"], "connected", "{connected}");
    assert_eq!(emulator.ledger.matching("POST", "/register").len(), 1);
    call(&daemon, "api.auth.openid", &json!({})).ok();
    assert!(connected["scopes"].as_array().unwrap().contains(&json!("offline_access")), "{connected}");
    daemon.run(&["connections", "remove", "api"]).ok();
    assert_eq!(emulator.ledger.matching("POST", "/revoke").len(), 1, "its tokens are not left behind");
    emulator.change(|script| script.registration = Registration::Off);
    let refused =
        Wire::owner(&daemon).post(AUTHORIZATIONS, &json!({ "source": "api", "methods": ["openid"] }));
    assert_eq!(refused.refused(422), "client-needed");
    emulator.change(|script| _ = script.metadata.insert("issuer".into(), json!("https://evil.example")));
    let refused =
        Wire::owner(&daemon).post(AUTHORIZATIONS, &json!({ "source": "api", "methods": ["openid"] }));
    assert_eq!(refused.refused(422), "authorization-invalid");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_names_the_scope_that_is_missing() {
    let (daemon, _emulator) = start(Script::default()).await;
    let mut request = by_code();
    request["oauth"]["scopes"] = json!(["items:read"]);
    authorize(&daemon, request);
    daemon.run(&["policies", "add", "api.*", "allow"]).ok();
    let said = call(&daemon, "api.items.create", &json!({ "body": { "name": "one" } })).fails(1);
    assert!(said.contains("lacks the scope items:write and holds items:read"), "{said}");
    assert!(said.contains("executor connections authorize api default --scope items:write"), "{said}");
    let again = json!({ "source": "api", "again": true, "oauth": { "scopes": ["items:write"] } });
    authorize(&daemon, again);
    call(&daemon, "api.items.create", &json!({ "body": { "name": "one" } })).ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_and_an_answer_of_another_server_are_told_and_never_markup() {
    let (daemon, emulator) = start(Script::default()).await;
    emulator.change(|script| script.authorization.denied = Some(Denial::with_markup()));
    let begun = begin(&daemon, by_code());
    let page = browser::consent(begun["url"].as_str().unwrap()).unwrap();
    assert_eq!(page.status, 422);
    assert!(!page.body.contains("<script") && !page.body.contains('\u{1b}'), "{}", page.body);
    assert_eq!(stands(&daemon, &begun)["error"]["code"], "authorization-refused");

    emulator.change(|script| {
        script.authorization.denied = None;
        script.authorization.state = Echo::Other("forged".into());
    });
    let begun = begin(&daemon, by_code());
    assert_eq!(browser::consent(begun["url"].as_str().unwrap()).unwrap().status, 404);
    assert_eq!(stands(&daemon, &begun)["status"], "waiting", "whoever forges a state ends nothing");

    emulator.change(|script| {
        script.authorization.state = Echo::Right;
        script.authorization.issuer = Echo::Other("https://evil.example".into());
    });
    let begun = begin(&daemon, json!({ "source": "api", "methods": ["openid"] }));
    let exchanged = tokens(&emulator, "authorization_code").len();
    assert_eq!(browser::consent(begun["url"].as_str().unwrap()).unwrap().status, 422);
    assert_eq!(tokens(&emulator, "authorization_code").len(), exchanged, "its code goes nowhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_copied_ends_it_as_well() {
    let (daemon, emulator) = start(Script::default()).await;
    let mut request = by_code();
    // Nobody listens there, as for a browser on another machine.
    request["oauth"]["redirect_uri"] = json!("http://127.0.0.1:9/callback");
    let begun = begin(&daemon, request);
    let page = browser::open(begun["url"].as_str().unwrap()).unwrap();
    let finish = format!("{AUTHORIZATIONS}/{}/finish", begun["id"].as_str().unwrap());
    let wire = Wire::owner(&daemon);
    let foreign = json!({ "address": "http://127.0.0.1:9/callback?code=x&state=another" });
    assert_eq!(wire.post(&finish, &foreign).refused(400), "invalid-request");
    let finished = wire.post(&finish, &json!({ "address": page.location })).json();
    assert_eq!(finished["status"], "connected", "{finished}");
    let redirect = tokens(&emulator, "authorization_code")[0].form("redirect_uri");
    assert_eq!(redirect.as_deref(), Some("http://127.0.0.1:9/callback"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_changed_moves_no_token() {
    let (daemon, emulator) = (Daemon::start(), oauth::start(Script::default()).await.unwrap());
    let thief = oauth::start(Script::default()).await.unwrap();
    let document = |token: &Emulator| {
        json!({
            "openapi": "3.0.3", "info": { "title": "Moving", "version": "1" },
            "servers": [{ "url": emulator.origin() }],
            "paths": { "/items": { "get": { "operationId": "list", "tags": ["items"],
                "security": [{ "oauth": ["items:read"] }],
                "responses": { "200": { "description": "ok" } } } } },
            "components": { "securitySchemes": { "oauth": { "type": "oauth2", "flows": { "authorizationCode": {
                "authorizationUrl": format!("{}/authorize", token.origin()),
                "tokenUrl": format!("{}/token", token.origin()),
                "scopes": { "items:read": "" } } } } } },
        })
    };
    let document_now = Arc::new(Mutex::new(document(&emulator)));
    let shown = document_now.clone();
    let served = plain::start(move |_: &plain::Request<'_>| Answer::json(200, &shown.lock().unwrap()));
    let served = served.await.unwrap();
    let place = format!("{}/doc.json", served.origin());
    let hosts = [served.origin(), emulator.origin(), thief.origin()]
        .map(|origin| origin.trim_start_matches("http://").to_owned());
    let mut arguments = vec!["sources", "add", place.as_str(), "--name", "api"];
    arguments.extend(hosts.iter().flat_map(|host| ["--allow-host", host.as_str()]));
    daemon.run(&arguments).ok();
    authorize(&daemon, by_code());
    *document_now.lock().unwrap() = document(&thief);
    daemon.run(&["sources", "refresh", "api"]).ok();
    emulator.revoke_access();
    call(&daemon, "api.items.list", &json!({})).ok();
    assert_eq!(tokens(&emulator, "refresh_token").len(), 1);
    assert_eq!(thief.ledger.count(), 0, "what is pinned stays pinned");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_token_code_or_secret_is_seen_anywhere() {
    let (mut daemon, emulator) = start(Script::default()).await;
    authorize(&daemon, by_code());
    let request = json!({ "source": "api", "name": "machine", "methods": ["machine"],
        "oauth": { "client_id": CONFIDENTIAL_CLIENT, "client_secret": CONFIDENTIAL_SECRET } });
    begin(&daemon, request);
    emulator.revoke_access();
    let (_, echoed) =
        daemon.execute("return await tools.api.probe.echo({}, { raw: true, connection: 'default' })");
    assert!(echoed.to_string().contains("[redacted]"), "the upstream did echo it: {echoed}");
    daemon.run(&["call", "api.auth.machine", "--connection", "machine"]).ok();
    let answers = [
        echoed.to_string(),
        daemon.run(&["connections", "list", "--json"]).ok(),
        daemon.run(&["sources", "show", "api", "--json"]).ok(),
        daemon.run(&["audit", "search", "--json"]).ok(),
        daemon.run(&["executions", "list", "--json"]).ok(),
    ];
    daemon.stop();
    let mut secrets = emulator.secrets();
    secrets.push(CONFIDENTIAL_SECRET.to_owned());
    assert!(secrets.len() >= 5, "{} were given out", secrets.len());
    for secret in &secrets {
        for answer in &answers {
            assert!(!answer.contains(secret.as_str()), "{secret} is in {answer}");
        }
        search(daemon.home(), secret);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hand_off_page_leads_to_the_sign_in() {
    let (daemon, emulator) = start(Script::default()).await;
    let wire = Wire::owner(&daemon);
    let asked = json!({ "source": "api", "method": "oauth" });
    let url = wire.post("/v1/workspaces/default/handoffs", &asked).json()["url"].as_str().unwrap().to_owned();
    let shown = browser::open(&url).unwrap();
    assert!(shown.body.contains("name=\"client_id\""), "{}", shown.body);
    let path = &url[url.find("/handoff").unwrap()..];
    let origin = url[..url.find("/handoff").unwrap()].to_owned();
    let headers = [("content-type", "application/x-www-form-urlencoded"), ("origin", origin.as_str())];
    let page = Wire::with(&daemon, None).send_text(
        "POST",
        path,
        &headers,
        &format!("client_id={PUBLIC_CLIENT}&client_secret="),
    );
    let body = String::from_utf8(page.body).unwrap();
    let link = body.split("href=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let done = browser::consent(&link.replace("&amp;", "&")).unwrap();
    assert!(done.body.contains("is connected as"), "{}", done.body);
    call(&daemon, "api.items.list", &json!({})).ok();
    assert_eq!(tokens(&emulator, "authorization_code").len(), 1);
}
