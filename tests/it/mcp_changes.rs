//! Clients of ours hear when the list of tools that they were given is another
//! now, and only then.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::mcp_client::{Client, meta};

const CHANGED: &str = "notifications/tools/list_changed";

/// A description with tools of these names and this word about each.
fn described(daemon: &Daemon, names: &[&str], word: &str) -> PathBuf {
    let operation = |name: &&str| {
        let operation =
            json!({ "operationId": name, "summary": word, "responses": { "200": { "description": "" } } });
        (format!("/{name}"), json!({ "get": operation }))
    };
    let paths: serde_json::Map<String, Value> = names.iter().map(operation).collect();
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "Shop", "version": "1" },
        "servers": [{ "url": "https://shop.example.com" }], "paths": paths,
    });
    let path = daemon.home().join("shop.json");
    fs::write(&path, document.to_string()).unwrap();
    path
}

fn refresh(daemon: &Daemon, names: &[&str], word: &str) {
    let path = described(daemon, names, word);
    daemon.run(&["sources", "refresh", "shop", "--from-file", path.to_str().unwrap()]).ok();
}

/// Whether a client was told, besides what it asks for now.
fn is_told(client: &mut Client, params: &Value) -> bool {
    // What is told by the change that another client heard of is on its way.
    std::thread::sleep(Duration::from_millis(500));
    client.ok("tools/list", params);
    !client.notified(CHANGED).is_empty()
}

#[test]
fn clients_hear_that_their_list_is_another() {
    let daemon = Daemon::start();
    let modern_params = json!({ "_meta": meta("modern", &json!({})) });
    let mut older = Client::start(&daemon, &[]);
    let said = older.initialize(&json!({}));
    assert_eq!(said["capabilities"]["tools"]["listChanged"], true, "{said}");
    older.ok("tools/list", &json!({}));
    let mut direct = Client::start(&daemon, &["--tools", "direct"]);
    direct.initialize(&json!({}));
    direct.ok("tools/list", &json!({}));
    let mut modern = Client::start(&daemon, &[]);
    let wanted = json!({ "toolsListChanged": true, "promptsListChanged": true });
    let listening = modern.send(
        "subscriptions/listen",
        &json!({ "_meta": meta("modern", &json!({})), "notifications": wanted }),
    );
    let acknowledged = modern.next();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
    assert_eq!(
        acknowledged["params"]["notifications"],
        json!({ "toolsListChanged": true }),
        "{acknowledged}"
    );

    let path = described(&daemon, &["buy"], "Buys");
    daemon.run(&["sources", "add", path.to_str().unwrap(), "--name", "shop"]).ok();
    for client in [&mut older, &mut direct, &mut modern] {
        let told = client.next();
        assert_eq!(told["method"], CHANGED, "{told}");
        if told["params"]["_meta"].is_object() {
            assert_eq!(
                told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listening,
                "{told}"
            );
        }
    }

    // What a tool says of itself stands in no list but that of the catalogue's own tools.
    refresh(&daemon, &["buy"], "Buys a thing");
    assert_eq!(direct.next()["method"], CHANGED);
    assert!(
        !is_told(&mut older, &json!({})) && !is_told(&mut modern, &modern_params),
        "nothing that they saw changed"
    );

    // How many tools a source has is said of it.
    refresh(&daemon, &["buy", "sell"], "Buys a thing");
    for client in [&mut older, &mut direct, &mut modern] {
        assert_eq!(client.next()["method"], CHANGED);
    }
    older.close();
    direct.close();
}
