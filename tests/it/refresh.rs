//! What a refresh brings: writes that nobody has seen ask a person, whatever
//! the rules allow.

use std::sync::{Arc, Mutex};

use executor_upstreams::plain::{self, Answer, Request, Upstream};
use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::wire::Wire;

const REVIEW: &str = "/v1/workspaces/default/sources/shop/review";

/// A shop whose document is what its test says.
struct Shop {
    upstream: Upstream,
    operations: Arc<Mutex<Vec<&'static str>>>,
}

impl Shop {
    /// `POST /orders` is the tool `shop.post.orders`, and so on.
    async fn start(operations: &[&'static str]) -> Self {
        let operations = Arc::new(Mutex::new(operations.to_vec()));
        let known = operations.clone();
        let answer = move |request: &Request<'_>| match request.path {
            "/openapi.json" => Answer::json(200, &document(&known.lock().unwrap())),
            _ => Answer::json(200, &json!({"made": true})),
        };
        Self { upstream: plain::start(answer).await.unwrap(), operations }
    }

    fn is(&self, operations: &[&'static str]) {
        *self.operations.lock().unwrap() = operations.to_vec();
    }

    fn add(&self, daemon: &Daemon) {
        let host = self.upstream.origin().trim_start_matches("http://");
        let url = format!("{}/openapi.json", self.upstream.origin());
        daemon.run(&["sources", "add", &url, "--name", "shop", "--allow-host", host]).ok();
    }

    fn sent(&self, method: &str, path: &str) -> usize {
        self.upstream.ledger.matching(method, path).len()
    }
}

/// Of lines `tool METHOD /path`.
fn document(operations: &[&str]) -> Value {
    let mut paths = json!({});
    for operation in operations {
        let [tool, method, path] = operation.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{operation}")
        };
        paths[path][method.to_lowercase()] = json!({
            "operationId": format!("orders/{tool}"), "tags": ["orders"], "responses": {"200": {"description": "ok"}},
        });
    }
    json!({"openapi": "3.0.3", "info": {"title": "Shop", "version": "1"}, "servers": [{"url": "/"}], "paths": paths})
}

fn call(daemon: &Daemon, tool: &str) -> (i32, Value) {
    daemon.execute(&format!("return (await tools.shop.orders.{tool}({{}})).made"))
}

#[tokio::test(flavor = "multi_thread")]
async fn new_and_changed_writes_ask_until_somebody_has_seen_them() {
    let daemon = Daemon::start();
    let shop = Shop::start(&["create POST /orders", "list GET /orders", "keep PUT /orders"]).await;
    shop.add(&daemon);
    daemon.run(&["policies", "add", "shop.*", "allow"]).ok();
    for tool in ["create", "list", "keep"] {
        assert_eq!(call(&daemon, tool).0, 0, "{tool}: whoever added the source saw it");
    }

    shop.is(&[
        "create POST /v2/orders",
        "list GET /v2/orders",
        "keep PUT /orders",
        "drop DELETE /orders",
        "recent GET /recent",
    ]);
    let refreshed = daemon.run(&["sources", "refresh", "shop"]);
    let said = refreshed.stderr.clone();
    assert!(said.contains("2 writes of shop ask until"), "{refreshed:?}");
    assert!(said.contains("+ shop.orders.drop  DELETE /orders"), "{said}");
    assert!(said.contains("~ shop.orders.create  POST /v2/orders (was POST /orders)"), "{said}");
    assert!(said.contains("executor sources review shop"), "{said}");
    for tool in ["list", "recent", "keep"] {
        assert_eq!(call(&daemon, tool).0, 0, "{tool} is no write, or was not touched");
    }

    let tested = daemon.run(&["policies", "test", "shop.orders.drop", "--json"]).json();
    assert_eq!(
        (&tested["action"], &tested["rule"]["action"]),
        (&json!("approve"), &json!("allow")),
        "{tested}"
    );
    assert!(tested["reason"].as_str().unwrap().contains("is new since the last refresh"), "{tested}");
    assert!(tested["unreviewed_since"].is_string(), "{tested}");
    let dry = daemon.run(&["call", "shop.orders.create", "--dry-run", "--json"]).json();
    assert_eq!(dry["decision"]["action"], "approve", "{dry}");
    assert!(dry["decision"]["reason"].as_str().unwrap().contains("has changed since"), "{dry}");
    let described = daemon.run(&["tools", "describe", "shop.orders.drop", "--json"]).json();
    assert_eq!(described["requires_approval"], true, "{described}");
    let found = daemon.run(&["tools", "search", "--json", "--source", "shop", "drop"]).json();
    assert_eq!(found["items"][0]["requires_approval"], true, "{found}");

    let (code, waiting) = call(&daemon, "drop");
    assert_eq!(code, 3, "{waiting}");
    let message = waiting["interactions"][0]["message"].as_str().unwrap();
    assert!(message.contains("it is new since the last refresh"), "{message}");
    let id = waiting["id"].as_str().unwrap();
    assert_eq!(shop.sent("DELETE", "/orders"), 0, "nothing left");
    daemon.run(&["resume", id, "--decline"]).fails(4);
    let (code, waiting) = call(&daemon, "drop");
    assert_eq!(code, 3, "a no is not a look: {waiting}");
    daemon.run(&["resume", waiting["id"].as_str().unwrap(), "--accept", "--yes"]).ok();
    assert_eq!(call(&daemon, "drop").0, 0, "an accepted approval is one");
    assert_eq!(shop.sent("DELETE", "/orders"), 2);

    assert_eq!(call(&daemon, "create").0, 3, "the other one was not seen by that");
    let shown = daemon.run(&["sources", "review", "shop"]).ok();
    assert!(shown.contains("~ shop.orders.create  POST /v2/orders (was POST /orders)"), "{shown}");
    assert!(shown.contains("a rule allows it") && !shown.contains("drop"), "{shown}");
    assert_eq!(call(&daemon, "create").0, 3, "without a terminal and a --yes nothing is marked");
    daemon.run(&["sources", "review", "shop", "--yes"]).ok();
    assert_eq!(call(&daemon, "create").0, 0);
    let log = daemon.run(&["audit", "search", "--what", "source.review", "--json"]).json();
    let log = log["items"].as_array().unwrap();
    assert_eq!(log.len(), 2, "{log:?}");
    assert_eq!(daemon.run(&["sources", "review", "shop", "--json"]).json()["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_is_a_persons_and_of_the_version_that_they_saw() {
    let mut daemon = Daemon::start();
    let shop = Shop::start(&["list GET /orders"]).await;
    shop.add(&daemon);
    daemon.run(&["policies", "add", "shop.*", "allow"]).ok();
    shop.is(&["list GET /orders", "create POST /orders"]);
    daemon.run(&["sources", "refresh", "shop"]).ok();
    let owner = Wire::owner(&daemon);
    let listed = owner.get(REVIEW).json();
    let tool = &listed["items"][0];
    assert_eq!((&tool["path"], &tool["then"]), (&json!("shop.orders.create"), &json!("allow")), "{listed}");
    let seen = json!({"tools": [{"path": tool["path"], "digest": tool["digest"]}]});

    for can in [json!(["call"]), json!(["call", "approve"]), json!(["call", "manage"])] {
        let named = can.as_array().unwrap().iter().filter_map(Value::as_str).collect::<Vec<_>>().join("-");
        let added = owner.post("/v1/tokens", &json!({"name": named, "capabilities": can})).json();
        let agent = Wire::with(&daemon, added["secret"].as_str());
        assert_eq!(agent.post(REVIEW, &seen).refused(403), "not-allowed", "{can}");
    }
    for wrong in [
        json!({"tools": [{"path": "github.orders.create", "digest": tool["digest"]}]}),
        json!({"tools": [{"path": "shopping.create", "digest": tool["digest"]}]}),
        json!({"tools": [{"path": tool["path"], "digest": "new"}]}),
    ] {
        owner.post(REVIEW, &wrong).refused(400);
    }

    shop.is(&["list GET /orders", "create POST /orders/and/pay"]);
    daemon.run(&["sources", "refresh", "shop"]).ok();
    let reviewed = owner.post(REVIEW, &seen).json();
    assert_eq!(reviewed, json!({"reviewed": [], "unreviewed": 1}), "what they saw is not what there is");
    daemon.kill();
    daemon.serve();
    assert_eq!(call(&daemon, "create").0, 3, "over a restart");
    daemon.run(&["policies", "add", "shop.orders.create", "block"]).ok();
    let refused = daemon.run(&["call", "shop.orders.create", "{}"]);
    assert_eq!(refused.code(), 4, "a block blocks, above the broader rule that was there: {refused:?}");
    assert_eq!(shop.sent("POST", "/orders/and/pay"), 0);
}
