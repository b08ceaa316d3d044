//! Sources that show their tools to those who have signed in.

use executor_upstreams::graphql::{self, Config, Emulator, TOKEN};
use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::wire::Wire;

async fn start() -> (Daemon, Emulator) {
    let daemon = Daemon::start().with("WRONG", "not-the-token").with("RIGHT", TOKEN);
    let locked = Config { require_token: true, on_get: Some(401), ..Config::default() };
    (daemon, graphql::start(locked).await.unwrap())
}

fn add(daemon: &Daemon, emulator: &Emulator) -> Value {
    let host = emulator.origin().trim_start_matches("http://");
    daemon
        .run(&["sources", "add", &emulator.endpoint(), "--name", "shop", "--allow-host", host, "--json"])
        .json()
}

fn tools(daemon: &Daemon) -> u64 {
    daemon.run(&["sources", "show", "shop", "--json"]).json()["tool_count"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_gets_its_tools_with_its_connection() {
    let (daemon, emulator) = start().await;
    let added = add(&daemon, &emulator);
    let source = &added["source"];
    assert_eq!(
        (&source["kind"], &source["tool_count"], &source["warnings"][0]["code"]),
        (&json!("graphql"), &json!(0), &json!("sign-in-needed")),
        "{added}"
    );
    assert_eq!(source["origins"], json!([emulator.origin()]), "where a credential will go is pinned now");
    assert_eq!(added["next"], json!(["executor connections add shop"]));
    let said = daemon.run(&["sources", "refresh", "shop", "--json"]).json();
    assert_eq!(said["source"]["tool_count"], 0, "without a connection it is as it was: {said}");

    let wrong = daemon.run(&["connections", "add", "shop", "--auth", "bearer", "--set", "token=env:WRONG"]);
    assert!(wrong.stdout.contains("added shop/default"), "the connection is there: {wrong:?}");
    assert!(wrong.stderr.contains("did not take the connection default"), "{wrong:?}");
    let set = daemon.run(&["connections", "set", "shop", "--set", "token=env:RIGHT", "--json"]).json();
    assert_eq!(set["indexed"], json!({ "tool_count": 8 }), "{set}");
    assert_eq!(tools(&daemon), 8);
    let shown = daemon.run(&["sources", "show", "shop", "--json"]).json();
    assert!(!shown["warnings"].to_string().contains("sign-in-needed"), "{shown}");
    let (code, view) = daemon.execute("return await tools.shop.query.book({ id: 1, select: 'title' })");
    assert_eq!((code, &view["result"]), (0, &json!({ "title": "Emma" })), "{view}");
    for text in [added.to_string(), shown.to_string(), format!("{wrong:?}")] {
        assert!(!text.contains("not-the-token") && !text.contains(TOKEN), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_takes_the_connection_and_gives_up_no_tools() {
    let (daemon, emulator) = start().await;
    add(&daemon, &emulator);
    let said = daemon.run(&["call", "shop.query.products", "{}"]).fails(1);
    assert!(said.contains("to those alone who sign in") && said.contains("connections add shop"), "{said}");
    let connect = |name: &str, value: &str| {
        daemon.run(&["connections", "add", "shop", "--name", name, "--auth", "bearer", "--set", value])
    };
    let work = connect("work", "token=env:RIGHT");
    assert!(work.stdout.contains("8 tools"), "{work:?}");
    // A second connection indexes nothing: the source has its tools.
    let other = connect("other", "token=env:WRONG");
    assert!(!other.stdout.contains("tools") && other.code() == 0, "{other:?}");
    emulator.ledger.clear();
    let refreshed = daemon.run(&["sources", "refresh", "shop", "--json"]).json();
    assert_eq!((&refreshed["removed"], &refreshed["changed"]), (&json!([]), &json!([])), "{refreshed}");
    let right = format!("Bearer {TOKEN}");
    let asked = emulator.ledger.matching("POST", "/graphql");
    assert!(!asked.is_empty() && asked.iter().all(|entry| entry.header("authorization") == Some(&right)));
    let fetched = emulator.ledger.matching("GET", "/graphql");
    assert!(
        fetched.iter().all(|entry| entry.header("authorization").is_none()),
        "pages are fetched by anybody"
    );

    daemon.run(&["connections", "remove", "shop", "work"]).ok();
    let said = daemon.run(&["sources", "refresh", "shop"]).fails(1);
    assert!(
        said.contains("did not take the connection other") && said.contains("connections set shop other"),
        "{said}"
    );
    daemon.run(&["connections", "remove", "shop", "other"]).ok();
    let said = daemon.run(&["sources", "refresh", "shop"]).fails(1);
    assert!(said.contains("there is no connection") && said.contains("connections add shop"), "{said}");
    assert_eq!(tools(&daemon), 8, "what it had is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_tells_what_came_of_it() {
    let (daemon, emulator) = start().await;
    add(&daemon, &emulator);
    let request = json!({ "source": "shop", "methods": ["bearer"], "variables": { "token": "no" } });
    let wire = Wire::owner(&daemon);
    let added = wire.post("/v1/workspaces/default/connections", &request);
    assert_eq!(added.status, 201, "a connection that is not taken is one all the same");
    let indexed = &added.json()["indexed"];
    assert_eq!(
        (&indexed["tool_count"], &indexed["problem"]["code"]),
        (&json!(0), &json!("sign-in-needed")),
        "{indexed}"
    );
    let values = json!({ "variables": { "token": TOKEN } });
    let set = wire.post("/v1/workspaces/default/connections/shop/default/values", &values).json();
    assert_eq!(set["indexed"], json!({ "tool_count": 8 }), "{set}");
}
