//! A URL becomes tools, whatever of an API it is; and what is no API is
//! explained.

use std::fs;

use executor_upstreams::plain::{self, Answer, Routes, Upstream};
use serde_json::{Value, json};

use crate::components::guest;
use crate::daemon::Daemon;

/// Requests that looking around may come to: the URL, what it names, the usual
/// places, and what adapters ask of two endpoints.
const REQUESTS: u64 = 20;

fn host(upstream: &Upstream) -> &str {
    upstream.origin().trim_start_matches("http://")
}

async fn serve(routes: Routes) -> Upstream {
    plain::start(routes.handler()).await.unwrap()
}

fn page(html: &str) -> Answer {
    Answer::new(200, &[("content-type", "text/html")], format!("<!doctype html><html>{html}</html>"))
}

fn openapi(title: &str) -> Answer {
    Answer::json(
        200,
        &json!({
            "openapi": "3.1.0", "info": { "title": title, "version": "1" },
            "paths": { "/pets": { "get": { "operationId": "pets", "responses": { "200": { "description": "" } } } } },
            "components": { "securitySchemes": { "key": { "type": "apiKey", "in": "header", "name": "X-Key" } } },
        }),
    )
}

fn detect(daemon: &Daemon, upstream: &Upstream, path: &str) -> Value {
    let url = format!("{}{path}", upstream.origin());
    let answer = daemon.run(&["sources", "detect", &url, "--allow-host", host(upstream), "--json"]);
    let view: Value =
        serde_json::from_str(&answer.stdout).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
    let known = view["items"][0]["kind"] != "unknown";
    assert_eq!(answer.code(), i32::from(!known), "{answer:?}");
    view["items"][0].clone()
}

fn add(daemon: &Daemon, upstream: &Upstream, path: &str, more: &[&str]) -> crate::daemon::Answer {
    let url = format!("{}{path}", upstream.origin());
    daemon.run(&[&["sources", "add", &url, "--allow-host", host(upstream)][..], more].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_usual_places_of_an_origin_are_looked_at() {
    let daemon = Daemon::start();
    let upstream =
        serve(Routes::new().on("GET", "/", page("Welcome")).on("GET", "/openapi.json", openapi("Pets")))
            .await;
    let said = add(&daemon, &upstream, "/?token=secret", &["--kind", "openapi"]).fails(1);
    assert!(said.contains("HTML"), "{said}");
    assert_eq!(upstream.ledger.count(), 1, "a kind that was named is for exactly that URL");
    upstream.ledger.clear();

    let found = detect(&daemon, &upstream, "/?token=secret");
    let place = format!("{}/openapi.json", upstream.origin());
    assert_eq!(
        (&found["kind"], &found["document_url"], &found["transport"], &found["auth"][0]["kind"]),
        (&json!("openapi"), &json!(place), &json!("http"), &json!("api-key")),
        "{found}"
    );
    assert!(found["warnings"][0].as_str().unwrap().contains("found"), "{found}");
    assert!(upstream.ledger.count() <= REQUESTS, "{}", upstream.ledger.count());
    let elsewhere = upstream.ledger.matching("GET", "/openapi.json");
    assert_eq!(elsewhere[0].query, "", "what a person wrote behind one path goes to no other");

    let added = add(&daemon, &upstream, "", &["--json"]).json();
    assert_eq!((&added["source"]["name"], &added["source"]["document_url"]), (&json!("pets"), &json!(place)));
    assert_eq!(added["notes"], json!([format!("found {place}")]), "{added}");
    let said = add(&daemon, &upstream, "/", &["--name", "again"]).fails(0);
    assert!(said.contains(&format!("found {place}")), "{said}");
    daemon.run(&["sources", "refresh", "pets"]).ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_page_names_is_read() {
    let daemon = Daemon::start();
    let initializer = "window.ui = SwaggerUIBundle({ configUrl: '/docs/config', dom_id: '#swagger-ui' })";
    let upstream = serve(
        Routes::new()
            .on("GET", "/linked", page("<link rel=service-desc href='api/described.json'>"))
            .on("GET", "/api/described.json", openapi("Described"))
            .on("GET", "/swagger", page("<div id=swagger-ui></div><script src='docs/swagger-initializer.js'></script>"))
            .on("GET", "/docs/swagger-initializer.js", Answer::text(200, initializer))
            .on("GET", "/docs/config", Answer::json(200, &json!({ "url": "/docs/v3.json" })))
            .on("GET", "/docs/v3.json", openapi("Hopped"))
            .on("GET", "/redoc", page("<redoc spec-url='/docs/v3.json'></redoc>"))
            .on("GET", "/header", Answer::new(200, &[("link", "</api/described.json>; rel=\"service-desc\"")], "hi"))
            .on(
                "GET",
                "/several",
                page("<div id=swagger-ui></div><script>ui({ urls: [{ url: '/docs/v3.json', name: 'A' }, { url: '/api/described.json' }] })</script>"),
            ),
    )
    .await;
    for (path, title) in
        [("/linked", "Described"), ("/swagger", "Hopped"), ("/redoc", "Hopped"), ("/header", "Described")]
    {
        let found = detect(&daemon, &upstream, path);
        assert_eq!((&found["kind"], &found["title"]), (&json!("openapi"), &json!(title)), "{path}: {found}");
        assert!(found["warnings"].to_string().contains("which it names"), "{path}: {found}");
    }
    let said = add(&daemon, &upstream, "/several", &[]).fails(1);
    assert!(
        said.contains("add one of") && said.contains("/docs/v3.json") && said.contains("/api/described.json"),
        "one of several is not taken by chance: {said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalogue_of_apis_is_read() {
    let daemon = Daemon::start();
    let linkset = |targets: &[&str]| {
        let sets: Vec<Value> =
            targets.iter().map(|target| json!({ "service-desc": [{ "href": target }] })).collect();
        Answer::json(200, &json!({ "linkset": sets }))
    };
    let one = serve(Routes::new().on("GET", "/.well-known/api-catalog", linkset(&["/hidden/pets.json"])).on(
        "GET",
        "/hidden/pets.json",
        openapi("Hidden"),
    ))
    .await;
    assert_eq!(detect(&daemon, &one, "/nowhere")["title"], "Hidden");
    let two =
        serve(Routes::new().on("GET", "/.well-known/api-catalog", linkset(&["/a.json", "/b.json"])).on(
            "GET",
            "/a.json",
            openapi("A"),
        ))
        .await;
    let found = detect(&daemon, &two, "/");
    assert!(found["kind"] == "unknown" && found["warnings"].to_string().contains("/b.json"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_origin_is_told_and_not_asked() {
    let daemon = Daemon::start();
    let other = serve(Routes::new().on("GET", "/openapi.json", openapi("Other"))).await;
    let link = format!("<link rel=service-desc href='{}/openapi.json?key=secret'>", other.origin());
    let upstream = serve(
        Routes::new()
            .on("GET", "/page", page(&link))
            .on("GET", "/openapi.json", Answer::redirect(302, &format!("{}/openapi.json", other.origin())))
            .on("GET", "/moved", Answer::redirect(301, &format!("{}/openapi.json", other.origin()))),
    )
    .await;
    let allow = ["--allow-host", host(&other)];
    let said = add(&daemon, &upstream, "/page", &allow).fails(1);
    assert!(said.contains("at another origin") && said.contains(other.origin()), "{said}");
    assert!(!said.contains("secret"), "{said}");
    assert_eq!(other.ledger.count(), 0);
    // A redirect of what a person gave is followed, and told.
    let said = add(&daemon, &upstream, "/moved", &allow).fails(0);
    assert!(said.contains("redirects to another origin"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_api_is_explained() {
    let daemon = Daemon::start();
    let json_of = |value: Value| Answer::json(200, &value);
    let upstream = serve(
        Routes::new()
            .on("GET", "/login", page("<title>Welcome</title><form><input type=password name=p></form>"))
            .on("GET", "/private", Answer::redirect(302, "/login"))
            .on("GET", "/basic", Answer::new(401, &[("www-authenticate", "Basic realm=\"Pets\"")], ""))
            .on(
                "GET",
                "/oauth",
                Answer::new(401, &[("www-authenticate", "Bearer resource_metadata=\"/x\"")], ""),
            )
            .on("GET", "/forbidden", Answer::text(403, "no"))
            .on("GET", "/broken", Answer::text(503, "no"))
            .on("GET", "/g/p/-/blob/main/openapi.yaml", page("a file"))
            .on("GET", "/empty", Answer::text(200, ""))
            .on("GET", "/json", json_of(json!({ "status": "ok", "\u{1b}[2J": 1 })))
            .on("GET", "/postman", json_of(json!({ "info": { "_postman_id": "1" }, "item": [] })))
            .on("GET", "/asyncapi", json_of(json!({ "asyncapi": "2.0.0" })))
            .on("GET", "/google", json_of(json!({ "kind": "discovery#restDescription" })))
            .on("GET", "/raml", Answer::text(200, "#%RAML 1.0\ntitle: x"))
            .on(
                "GET",
                "/wsdl",
                Answer::text(
                    200,
                    "<?xml version='1.0'?><definitions xmlns='http://schemas.xmlsoap.org/wsdl/'/>",
                ),
            )
            .on(
                "GET",
                "/events",
                Answer::staying_open(&[("content-type", "text/event-stream")], "event: endpoint\n\n"),
            ),
    )
    .await;
    for (path, expect) in [
        ("/login", "a login (\\\"Welcome\\\")"),
        ("/private", "a login"),
        ("/basic", "user name and password for \\\"Pets\\\""),
        ("/oauth", "a token by OAuth"),
        ("/forbidden", "answered 403"),
        ("/broken", "the server failed"),
        ("/none", "there is nothing at this URL"),
        ("/g/p/-/blob/main/openapi.yaml", "/g/p/-/raw/main/openapi.yaml"),
        ("/empty", "is empty"),
        ("/json", "its keys"),
        ("/postman", "Postman"),
        ("/asyncapi", "AsyncAPI"),
        ("/google", "Google"),
        ("/raml", "RAML"),
        ("/wsdl", "WSDL"),
        ("/events", "a stream of events"),
    ] {
        let found = detect(&daemon, &upstream, path);
        assert_eq!((&found["kind"], &found["confidence"]), (&json!("unknown"), &json!(0)), "{path}: {found}");
        assert!(found["warnings"].to_string().contains(expect), "{path}: {expect} is missing in {found}");
        let said = add(&daemon, &upstream, path, &[]).fails(1);
        assert!(said.contains(&expect.replace("\\\"", "\"")) && said.contains("hint:"), "{path}: {said}");
        assert!(!said.contains('\u{1b}'), "{said:?}");
    }
    let kind = |path: &str| detect(&daemon, &upstream, path)["auth"][0]["kind"].clone();
    assert_eq!(
        [kind("/basic"), kind("/oauth"), kind("/none")],
        [json!("http-basic"), json!("oauth2"), Value::Null]
    );
    assert_eq!(detect(&daemon, &upstream, "/events")["transport"], "sse");
    let text = daemon.run(&[
        "sources",
        "detect",
        &format!("{}/basic", upstream.origin()),
        "--allow-host",
        host(&upstream),
    ]);
    for word in ["kind", "unknown", "0%", "http-basic", "/basic", "warning:"] {
        assert!(text.stdout.contains(word), "{word} is missing in {}", text.stdout);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_everything_or_nothing_ends() {
    let daemon = Daemon::start();
    let everything = serve(Routes::new().on("*", "/**", page("<title>App</title>"))).await;
    let said = add(&daemon, &everything, "/app", &[]).fails(1);
    assert!(said.contains("HTML page (\"App\")"), "{said}");
    assert!(everything.ledger.count() <= REQUESTS, "{}", everything.ledger.count());
    let locked = serve(Routes::new().on("*", "/**", Answer::text(401, "{}"))).await;
    let said = add(&daemon, &locked, "/app", &[]).fails(1);
    assert!(
        said.contains("401") && said.contains("/graphql may be graphql"),
        "a guess is told, not taken: {said}"
    );
    let silent =
        serve(Routes::new().on("*", "/app", page("hi")).on("GET", "/openapi.json", openapi("Pets")).on(
            "*",
            "/**",
            Answer::silence(),
        ))
        .await;
    assert_eq!(detect(&daemon, &silent, "/app")["title"], "Pets", "what is silent holds up nothing else");
}

#[tokio::test(flavor = "multi_thread")]
async fn adapters_of_strangers_take_part() {
    let daemon = Daemon::start();
    let marked = json!({ "openapi": "3.1.0", "x-plain": true, "info": { "title": "Both", "version": "1" },
        "paths": { "/a": { "get": { "responses": { "200": { "description": "" } } } } } });
    let upstream = serve(
        Routes::new()
            .on("GET", "/api", page("<link rel=service-desc href=/described>"))
            .on("GET", "/described", Answer::text(200, "plain http of 2030"))
            .on("GET", "/both", Answer::json(200, &marked)),
    )
    .await;
    assert_eq!(detect(&daemon, &upstream, "/api")["kind"], "unknown");
    assert_eq!(detect(&daemon, &upstream, "/both")["kind"], "openapi");
    let file = daemon.home().join("plain.txt");
    fs::write(&file, "plain http").unwrap();

    daemon.run(&["component", "add", &guest("adapter_plain"), "--yes"]).ok();
    let found = detect(&daemon, &upstream, "/api");
    assert_eq!(
        (&found["kind"], &found["confidence"], &found["auth"], &found["title"]),
        (
            &json!("plain"),
            &json!(99),
            &json!([{ "kind": "http-bearer", "label": "API token" }]),
            &json!("Plain HTTP")
        ),
        "{found}"
    );
    let url = format!("{}/both", upstream.origin());
    let all = daemon.run(&["sources", "detect", &url, "--allow-host", host(&upstream), "--json"]).json();
    let kinds: Vec<&Value> = all["items"].as_array().unwrap().iter().map(|item| &item["kind"]).collect();
    assert_eq!(kinds, ["plain", "openapi"], "the surest is first");
    let added = add(&daemon, &upstream, "/api", &["--json"]).json();
    assert_eq!((&added["source"]["kind"], &added["source"]["tool_count"]), (&json!("plain"), &json!(5)));
    let added = daemon.run(&["sources", "add", file.to_str().unwrap(), "--name", "filed", "--json"]).json();
    assert_eq!(added["source"]["kind"], "plain");
    let ours = add(&daemon, &upstream, "/both", &["--kind", "openapi", "--json"]).json();
    assert_eq!(ours["source"]["kind"], "openapi", "a kind that was named is taken");
}
