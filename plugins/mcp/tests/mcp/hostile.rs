//! Servers that mean harm, and those that are merely broken.

use executor_mcp::seam::Failure;
use serde_json::{Value, json};

use crate::host::*;
use crate::support::*;

fn code(said: impl Fn(&Posted) -> Said + Send + 'static) -> String {
    let host = modern(move |posted| said(posted));
    let failure = invoke(&host, &repeatable(&config(URL))).unwrap_err();
    assert!(failure.message.chars().all(|c| !c.is_control()), "{:?}", failure.message);
    failure.code
}

#[test]
fn answers_that_are_none_are_named() {
    assert_eq!(code(|_| Said::text(200, "text/html", "<html>sign in</html>")), "upstream-malformed");
    assert_eq!(code(|_| Said::text(200, "application/json", "")), "upstream-malformed");
    assert_eq!(code(|_| Said::text(200, "application/json", "{\"jsonrpc\":")), "upstream-malformed");
    assert_eq!(code(|_| Said::accepted()), "upstream-malformed");
    assert_eq!(code(|_| Said::text(200, "text/plain", "\u{1b}]0;pwned\u{7}")), "upstream-malformed");
    assert_eq!(code(|posted| posted.result(json!("text"))), "upstream-malformed");
    assert_eq!(code(|posted| posted.result(json!([1, 2]))), "upstream-malformed");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(
        code(move |posted| {
            let body = format!(r#"{{"id":{},"result":{{"content":{deep}}}}}"#, posted.body["id"]);
            Said::text(200, "application/json", &body)
        }),
        "upstream-malformed"
    );
}

#[test]
fn streams_without_end_end() {
    let chatter = format!("data: {}\n\n", json!({"method": "notifications/message"}));
    assert_eq!(code(move |_| Said::events(vec![Piece::Forever(chatter.clone())])), "upstream-too-large");
    assert_eq!(code(|_| Said::events(vec![Piece::Forever(": alive\n\n".to_owned())])), "upstream-timeout");
    let half = format!("data: {}\n", "x".repeat(1 << 20));
    assert_eq!(code(move |_| Said::events(vec![Piece::Forever(half.clone())])), "upstream-too-large");
    let line = "x".repeat(1 << 20);
    assert_eq!(code(move |_| Said::events(vec![Piece::Forever(line.clone())])), "upstream-too-large");
    let body = " ".repeat(1 << 20);
    assert_eq!(
        code(move |_| Said::Http {
            status: 200,
            headers: Vec::new(),
            body: vec![Piece::Forever(body.clone())]
        }),
        "upstream-too-large"
    );
    // The same of a refusal says what it can.
    let body = "x".repeat(1 << 20);
    assert_eq!(
        code(move |_| Said::Http {
            status: 500,
            headers: Vec::new(),
            body: vec![Piece::Forever(body.clone())]
        }),
        "upstream-failed"
    );
}

#[test]
fn a_flood_of_requests_and_progress_is_bounded() {
    let host = legacy(|posted| match posted.method() {
        "tools/call" => {
            let token = &posted.body["id"];
            let mut body: Vec<Piece> = (0..5_000)
                .map(|n| event(&json!({"method": "notifications/progress", "params": {"progressToken": token, "progress": n}})))
                .collect();
            body.push(event(&json!({"method": "notifications/progress", "params": {"progressToken": token, "progress": "much"}})));
            body.push(event(&json!({"method": "notifications/progress"})));
            body.push(posted.event(text("3")));
            Said::events(body)
        }
        _ => Said::accepted(),
    });
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "3");
    assert_eq!(host.told().len(), 1_000);
}

#[test]
fn names_and_texts_of_a_list_do_no_harm() {
    let tools = json!([
        {"name": "a\u{1b}[31m\r\nX-Evil: 1", "description": "\u{202E}evil\u{0}", "inputSchema": {"type": "object"}, "title": "\u{7}"},
        {"name": "../../etc", "inputSchema": {"type": "object"}},
        {"name": "x".repeat(100_000), "description": "y".repeat(100_000), "inputSchema": {"type": "object"}},
        {"name": "constructor", "inputSchema": {"type": "object"}},
        {"name": "toJSON", "inputSchema": {"type": "object"}},
        {"name": "a.b", "inputSchema": {"type": "object"}},
        {"name": "a/b", "inputSchema": {"type": "object"}, "icons": [{"src": "data:,".to_owned() + &"x".repeat(1 << 20)}], "_meta": {"k": 1}},
    ]);
    let host = modern(move |posted| posted.result(json!({"tools": tools})));
    let catalog = index(&host);
    assert_eq!(catalog.tools.len(), 7);
    for tool in &catalog.tools {
        assert!(tool.name.chars().all(|c| c.is_alphanumeric() || "_-$".contains(c)), "{:?}", tool.name);
        assert!(
            tool.description.chars().all(|c| !c.is_control() && c != '\u{202E}'),
            "{:?}",
            tool.description
        );
        assert!(tool.description.chars().count() <= 8_000);
        assert!(!["constructor", "toJSON", "then", "__proto__"].contains(&tool.name.as_str()));
    }
    let meta = catalog.tools[6].annotations.meta.as_deref().unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(meta).unwrap(),
        json!({"_meta": {"k": 1}}),
        "an icon of a megabyte goes alone"
    );
    // The name on the wire can't break out of its header.
    let call = executor_mcp::seam::Call {
        binding: catalog.tools[0].binding.clone(),
        arguments: "{}".to_owned(),
        ..Default::default()
    };
    let host = modern(|posted| {
        assert!(posted.header("mcp-name").unwrap().starts_with("=?base64?"));
        posted.result(text("3"))
    });
    assert_eq!(data(invoke(&host, &call)), "3");
}

#[test]
fn warnings_are_bounded() {
    let tools: Vec<Value> = (0..1_000).map(|n| json!({"name": format!("t{n}")})).collect();
    let host = modern(move |posted| posted.result(json!({"tools": tools})));
    let catalog = index(&host);
    assert_eq!(catalog.tools.len(), 1_000);
    assert_eq!(catalog.warnings.len(), 201);
    assert_eq!(catalog.codes().last(), Some(&"more-warnings"));
}

#[test]
fn a_session_id_that_can_not_be_sent_back_is_no_session() {
    let host = Host::serving(|posted| match posted.method() {
        "server/discover" => posted.error(400, -32_601, "no"),
        "initialize" => posted.result(initialized(LEGACY)).with("mcp-session-id", "a\r\nx-evil: 1"),
        "notifications/initialized" => Said::accepted(),
        _ => {
            assert_eq!(posted.header("mcp-session-id"), None);
            posted.result(text("3"))
        }
    });
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "3");
}

#[test]
fn failures_of_the_host_keep_their_words() {
    for word in ["denied-origin", "denied-address", "denied-method", "connect-failed", "too-many-requests"] {
        let host = Host::serving(move |_| Said::Failed(Failure::new(word, "it says why")));
        let failure = invoke(&host, &call(&config(URL), &json!({}))).unwrap_err();
        assert_eq!((failure.code.as_str(), failure.message.as_str()), (word, "it says why"));
        assert_eq!(host.methods().len(), 1);
    }
}

#[test]
fn a_list_with_a_sign_of_life_and_no_end_is_cut() {
    let mut page = 0;
    let host = modern(move |posted| {
        page += 1;
        let tools: Vec<Value> = (0..1_000)
            .map(|n| json!({"name": format!("p{page}t{n}"), "inputSchema": {"type": "object"}}))
            .collect();
        posted.result(json!({"tools": tools, "nextCursor": page.to_string()}))
    });
    let request = executor_mcp::seam::IndexRequest {
        config: config(URL),
        settings: "{}".to_owned(),
        ..Default::default()
    };
    let mut sink = Count::default();
    executor_mcp::source::index(&request, &mut sink, &host).unwrap();
    assert_eq!(sink.tools, 50_000);
    assert!(sink.warned.unwrap().contains("50000"));
    assert_eq!(host.methods().len(), 1 + 51);
}

#[derive(Default)]
struct Count {
    tools: usize,
    warned: Option<String>,
}

impl executor_mcp::seam::Sink for Count {
    fn put_tools(&mut self, batch: Vec<executor_mcp::seam::Tool>) -> Result<Vec<(u32, String)>, Failure> {
        assert!(batch.len() <= 500);
        self.tools += batch.len();
        Ok(Vec::new())
    }

    fn put_auth_methods(&mut self, _: Vec<executor_mcp::seam::AuthMethod>) -> Result<(), Failure> {
        Ok(())
    }

    fn warn(&mut self, warning: executor_mcp::seam::Warning) {
        self.warned = Some(warning.message);
    }

    fn progress(&mut self, _: u64, _: Option<u64>, _: &str) {}
}
