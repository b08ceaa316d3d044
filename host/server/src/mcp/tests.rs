//! The endpoint in process: what a client gets, and what it can't.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use executor_control::{Caller, Control, Options, Settings, Surface, SystemClock};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::sync::watch;
use tower_service::Service;

use super::{McpServer, McpTransport};
use crate::http::{App, router};

pub(crate) struct Daemon {
    router: Router,
    _home: tempfile::TempDir,
    stop: watch::Sender<bool>,
}

pub(crate) async fn daemon() -> Daemon {
    let home = tempfile::tempdir().unwrap();
    let options = Options {
        home: home.path().to_owned(),
        cache: None,
        config: Settings::default(),
        clock: Arc::new(SystemClock),
        programs: None,
        keyring: Default::default(),
    };
    let control = Control::open(options).await.unwrap();
    let (stop, stopping) = watch::channel(false);
    let mcp = {
        let (control, stopping) = (control.clone(), stopping.clone());
        McpTransport::new(move || McpServer::new(control.clone(), stopping.clone()), stop.subscribe())
    };
    let app = App {
        control,
        address: String::new(),
        public: String::new(),
        sealed: false,
        stop: stop.clone(),
        tickets: Arc::default(),
        mcp,
    };
    Daemon { router: router(Arc::new(app)), _home: home, stop }
}

pub(crate) struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Daemon {
    pub(crate) async fn ask(&self, method: &str, uri: &str, headers: &[(&str, &str)], body: Body) -> Answer {
        let mut request = Request::builder().method(method).uri(uri).header("host", "localhost");
        request = request.header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.header("content-type", "application/json").body(body).unwrap();
        let caller = Caller::owner("mcp", Surface::Mcp);
        request.extensions_mut().insert(Arc::new(caller));
        let response = self.router.clone().call(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        Answer { status, headers, body: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    /// A request of the newest revision.
    async fn modern(&self, uri: &str, method: &str, mut params: Value) -> Answer {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "agent", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        if !name.is_empty() {
            headers.push(("mcp-name", name.as_str()));
        }
        self.ask("POST", uri, &headers, Body::from(body)).await
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.modern("/mcp", "tools/call", json!({ "name": tool, "arguments": arguments })).await;
        answer.json()["result"].clone()
    }
}

fn initialize() -> Body {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "agent", "version": "1" } });
    Body::from(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string())
}

#[tokio::test]
async fn the_newest_revision_is_answered_in_json_without_a_session() {
    let daemon = daemon().await;
    let answer = daemon.modern("/mcp", "tools/list", json!({})).await;
    assert_eq!((answer.status, answer.header("content-type")), (StatusCode::OK, "application/json"));
    assert_eq!(answer.header("mcp-session-id"), "");
    let json = answer.json();
    let tools = json["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 4, "{json}");
    assert_eq!(json["result"]["cacheScope"], "private", "{json}");

    let found = daemon.call("search_tools", json!({ "query": "pets" })).await;
    assert_eq!(
        (&found["isError"], &found["structuredContent"]["total"]),
        (&json!(false), &json!(0)),
        "{found}"
    );
    for (tool, arguments, expect) in [
        ("search_tools", json!({ "source": "nothing" }), "nothing"),
        ("search_tools", json!({ "limit": "many" }), "`limit`"),
        ("describe_tool", json!({ "path": "tools.pets.list" }), "pets.list"),
        ("resume", json!({ "executionId": "exe_x", "action": "decline" }), "exe_x"),
        ("resume", json!({ "executionId": "exe_x", "action": "approve" }), "approve"),
        ("execute", json!({}), "code"),
    ] {
        let refused = daemon.call(tool, arguments).await;
        let words = refused["content"][0]["text"].as_str().unwrap_or_default();
        assert!(refused["isError"] == true && words.contains(expect), "{tool}: {refused}");
    }
}

#[tokio::test]
async fn a_session_is_made_kept_and_ended() {
    let daemon = daemon().await;
    let begun = daemon.ask("POST", "/mcp/default", &[], initialize()).await;
    assert_eq!((begun.status, begun.header("content-type")), (StatusCode::OK, "text/event-stream"));
    assert!(begun.body.contains("\"protocolVersion\":\"2025-11-25\""), "{}", begun.body);
    let session = begun.header("mcp-session-id").to_owned();
    let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-11-25")];
    let list = || Body::from(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    let listed = daemon.ask("POST", "/mcp", &headers, list()).await;
    assert!(listed.body.contains("\"execute\""), "{}", listed.body);
    let stream = daemon.ask("GET", "/mcp", &headers, Body::empty());
    let ended = async {
        tokio::task::yield_now().await;
        daemon.stop.send_replace(true);
    };
    let (stream, ()) = tokio::join!(stream, ended);
    assert_eq!(stream.status, StatusCode::OK, "a stream ends with the daemon");
    assert!(daemon.ask("DELETE", "/mcp", &headers, Body::empty()).await.status.is_success());
    assert_eq!(daemon.ask("POST", "/mcp", &headers, list()).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_makes_no_sense_is_said() {
    let daemon = daemon().await;
    let nowhere = daemon.modern("/mcp/nowhere", "tools/list", json!({})).await;
    assert_eq!(
        (nowhere.status, &nowhere.json()["error"]["code"]),
        (StatusCode::NOT_FOUND, &json!("not-found"))
    );
    for uri in ["/mcp?tools=everything", "/mcp?tool=direct", "/mcp/default?workspace=default"] {
        let refused = daemon.modern(uri, "tools/list", json!({})).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{uri}: {}", refused.body);
    }
    let unknown = daemon.modern("/mcp?tools=direct:nothing", "tools/list", json!({})).await;
    assert!(unknown.body.contains("nothing"), "{}", unknown.body);
    let cursor = daemon.modern("/mcp?tools=direct", "tools/list", json!({ "cursor": "zz" })).await;
    assert_eq!(cursor.json()["error"]["code"], -32602, "{}", cursor.body);
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call")];
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    assert_eq!(daemon.ask("POST", "/mcp", &headers, Body::from(body)).await.status, StatusCode::BAD_REQUEST);
    let large = Body::from(vec![b' '; super::transport::MESSAGE_LIMIT_BYTES + 1]);
    assert_eq!(daemon.ask("POST", "/mcp", &[], large).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(daemon.ask("PUT", "/mcp", &[], Body::empty()).await.status, StatusCode::METHOD_NOT_ALLOWED);
}
