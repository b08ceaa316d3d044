//! What a program gets of a result.

use executor_mcp::seam::{Call, Failure};
use serde_json::{Value, json};

use crate::host::*;
use crate::support::*;

/// The answer that a result becomes.
fn answer(result: Value) -> (executor_mcp::seam::Answer, Host) {
    let host = modern(move |posted| posted.result(result.clone()));
    (done(invoke(&host, &call(&config(URL), &json!({})))), host)
}

fn check(result: Value, expected: Value) {
    let (answer, _) = answer(result.clone());
    let found: Value = serde_json::from_str(&answer.data).unwrap();
    assert_eq!((found, answer.is_error), (expected, false), "{result}");
}

#[test]
fn data_are_what_is_structured_else_what_is_said() {
    check(
        json!({"structuredContent": {"a": 1}, "content": [{"type": "text", "text": "{\"a\":1}"}]}),
        json!({"a": 1}),
    );
    for any in [json!([1, 2]), json!("text"), json!(7), json!(false)] {
        check(json!({"structuredContent": any, "content": []}), any);
    }
    check(text("{\"a\": [1]}"), json!({"a": [1]}));
    check(text(" [1, 2]\n"), json!([1, 2]));
    check(text("{not json"), json!("{not json"));
    // A number that is said is a text; whether it is one is not the adapter's to guess.
    check(text("42"), json!("42"));
    check(text(""), json!(""));
    check(json!({"content": []}), Value::Null);
    check(json!({}), Value::Null);
    check(json!({"_meta": {"x": 1}}), Value::Null);
    check(json!({"toolResult": {"old": true}}), json!({"toolResult": {"old": true}}));
    let blocks = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b", "new": 1}]);
    check(json!({"content": blocks}), json!({"content": blocks}));
    let link = json!([{"type": "resource_link", "uri": "ui://x/y", "name": "y", "_meta": {"ui": {}}}]);
    check(json!({"content": link}), json!({"content": link}));
    check(json!({"content": "not an array"}), json!("not an array"));
}

#[test]
fn what_is_written_goes_through_as_it_is() {
    let raw = r#"{"n":12345678901234567890123,"x":1.50,"__proto__":{"a":1}}"#;
    let host = modern(move |posted| {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"structuredContent":{raw},"isError":false}}}}"#,
            posted.body["id"]
        );
        Said::text(200, "application/json", &body)
    });
    let answer = done(invoke(&host, &call(&config(URL), &json!({}))));
    assert_eq!(answer.data, raw);
    let arguments = "{\n  \"n\": 12345678901234567890123,\n  \"__proto__\": null\n}".to_owned();
    let host = Host::running(|request, output| match request["method"].as_str().unwrap() {
        "server/discover" => output.result(request, json!({"supportedVersions": [MODERN]})),
        _ => output.result(request, text("ok")),
    });
    data(invoke(&host, &Call { arguments, ..call(STDIO, &json!({})) }));
}

#[test]
fn unknown_members_of_a_result_stand_in_the_metadata() {
    let (answer, _) = answer(json!({
        "structuredContent": 1, "content": [{"type": "text", "text": "one"}],
        "_meta": {"vendor/x": [1]}, "novelty": true, "resultType": "complete",
    }));
    let metadata: Value = serde_json::from_str(&answer.metadata.unwrap()).unwrap();
    assert_eq!(
        metadata,
        json!({"content": [{"type": "text", "text": "one"}], "_meta": {"vendor/x": [1]}, "novelty": true})
    );
}

#[test]
fn an_error_of_a_tool_says_what_it_said() {
    let (found, _) = answer(json!({"isError": true, "content": [{"type": "text", "text": "no such row"}]}));
    assert_eq!((found.data.as_str(), found.is_error), ("\"no such row\"", true));
    let (found, _) = answer(
        json!({"isError": true, "structuredContent": {"a": 1}, "content": [{"type": "text", "text": "x"}]}),
    );
    let found: Value = serde_json::from_str(&found.data).unwrap();
    let said = json!([{"type": "text", "text": "x"}]);
    assert_eq!(found, json!({"content": said, "structuredContent": {"a": 1}}), "nothing of it is lost");
    let (found, _) = answer(json!({"isError": true, "structuredContent": {"a": 1}}));
    assert_eq!((found.data.as_str(), found.is_error), (r#"{"a":1}"#, true));
    let (found, _) = answer(json!({"isError": true}));
    assert_eq!((found.data.as_str(), found.is_error), ("null", true));
}

#[test]
fn large_images_become_files_and_small_ones_stay() {
    use base64::Engine as _;
    let image = |bytes: usize| {
        let data = base64::engine::general_purpose::STANDARD.encode(vec![7_u8; bytes]);
        json!({"type": "image", "data": data, "mimeType": "image/png", "annotations": {"priority": 1}})
    };
    let small = image(100);
    let (found, host) = answer(json!({"content": [small, image(60_000)]}));
    let found: Value = serde_json::from_str(&found.data).unwrap();
    assert_eq!(found["content"][0], small);
    assert_eq!(found["content"][1]["data"], json!({"$file": "blob:1"}));
    assert_eq!(found["content"][1]["annotations"], json!({"priority": 1}));
    assert_eq!(host.files(), [(Some("image/png".to_owned()), vec![7_u8; 60_000])]);
    // What calls itself an image and is no base64 stays what it is.
    let odd = json!({"type": "image", "data": "!".repeat(70_000), "mimeType": "image/png"});
    let (found, host) = answer(json!({"content": [odd]}));
    assert_eq!(serde_json::from_str::<Value>(&found.data).unwrap(), json!({"content": [odd]}));
    assert!(host.files().is_empty());
}

#[test]
fn what_is_larger_than_a_program_takes_becomes_a_file() {
    let (found, host) = answer(text(&"x".repeat(17 << 20)));
    let found: Value = serde_json::from_str(&found.data).unwrap();
    assert_eq!(found, json!({"$file": "blob:1", "mediaType": "text/plain", "size": 17 << 20}));
    assert_eq!(host.files()[0].1.len(), 17 << 20);
}

#[test]
fn prompts_and_resources_are_reached_as_tools() {
    let host = modern(|posted| match posted.method() {
        "prompts/get" => {
            assert_eq!(posted.header("mcp-name"), Some("=?base64?Z3LDvMOfZQ==?="));
            posted.result(json!({"description": "d", "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "_meta": {}}))
        }
        "resources/list" => {
            assert_eq!(posted.body["params"]["cursor"], "c1");
            posted.result(
                json!({"resources": [{"uri": "ui://a", "name": "a"}], "nextCursor": "c2", "ttlMs": 5}),
            )
        }
        "resources/read" => {
            assert_eq!(posted.header("mcp-name"), Some("ui://a"));
            posted.result(json!({"contents": [{"uri": "ui://a", "mimeType": "text/html;profile=mcp-app", "text": "<p>", "_meta": {"ui": {"csp": {}}}}]}))
        }
        other => panic!("{other}"),
    });
    let run = |what: Value, arguments: Value| {
        let call = Call { binding: binding(&config(URL), &what, true), ..call(&config(URL), &arguments) };
        data(invoke(&host, &call))
    };
    let prompt = run(json!({"what": "prompt", "name": "grüße"}), json!({"who": "you"}));
    assert_eq!(prompt["messages"][0]["content"]["text"], "hi");
    assert!(prompt.get("_meta").is_none());
    let resources = run(json!({"what": "resources"}), json!({"cursor": "c1"}));
    assert_eq!(resources, json!({"resources": [{"uri": "ui://a", "name": "a"}], "nextCursor": "c2"}));
    let read = run(json!({"what": "read"}), json!({"uri": "ui://a"}));
    assert_eq!(read["contents"][0]["_meta"]["ui"], json!({"csp": {}}));
}

#[test]
fn arguments_that_can_not_be_sent_are_refused() {
    let host = Host::serving(|posted| panic!("{posted:?}"));
    let check = |what: Value, arguments: &str| {
        let call = Call {
            binding: binding(&config(URL), &what, true),
            arguments: arguments.to_owned(),
            ..Call::default()
        };
        let failure = invoke(&host, &call).unwrap_err();
        assert_eq!(failure.code, "invalid-arguments", "{arguments}");
        assert_eq!(executor_mcp::source::validate(&call), Err(failure));
    };
    check(json!({"what": "tool", "name": "a"}), "[]");
    check(json!({"what": "tool", "name": "a"}), "{\"a\":");
    check(json!({"what": "read"}), "{}");
    check(json!({"what": "read"}), "{\"uri\":7}");
    check(json!({"what": "resources"}), "{\"cursor\":{}}");
    let odd = Call { binding: b"{}".to_vec(), arguments: "{}".to_owned(), ..Call::default() };
    assert_eq!(invoke(&host, &odd).unwrap_err().code, "binding-invalid");
}

#[test]
fn errors_of_the_protocol_have_codes() {
    let check = |status: u16, code: i64, expected: &str| {
        let host = modern(move |posted| posted.error(status, code, "it said"));
        let failure = invoke(&host, &call(&config(URL), &json!({}))).unwrap_err();
        assert_eq!(failure.code, expected, "{code}");
        assert!(failure.message.contains("it said") && !failure.retryable);
        let details: Value = serde_json::from_str(&failure.details.unwrap()).unwrap();
        assert_eq!(details["code"], code);
    };
    check(200, -32_602, "upstream-invalid");
    check(404, -32_601, "upstream-not-found");
    check(200, -32_603, "upstream-failed");
    check(200, -32_002, "upstream-not-found");
    check(400, -32_020, "upstream-error");
    check(200, 1234, "upstream-error");
}

#[test]
fn refusals_of_http_have_codes() {
    let check = |said: Said, expected: (&str, u16, bool)| {
        let host = modern(move |_| said.clone());
        let failure = invoke(&host, &call(&config(URL), &json!({}))).unwrap_err();
        assert_eq!((failure.code.as_str(), failure.status.unwrap(), failure.retryable), expected);
        failure
    };
    let page = |status| Said::text(status, "text/html", "<title>\u{1b}]0;x\u{7}no</title>");
    let scope = r#"Bearer error="insufficient_scope", scope="files:write""#;
    let failure = check(page(403).with("www-authenticate", scope), ("upstream-rejected", 403, false));
    assert!(failure.message.contains("files:write"), "{}", failure.message);
    check(page(401), ("upstream-rejected", 401, false));
    check(page(410), ("upstream-not-found", 410, false));
    check(page(500), ("upstream-failed", 500, false));
    check(page(418), ("upstream-error", 418, false));
    let failure = check(page(429).with("retry-after", "3"), ("upstream-rate-limited", 429, true));
    assert_eq!(failure.retry_after_ms, Some(3_000));
    assert!(!failure.details.unwrap().contains("\\u001b"));
    let denied = Failure::new("denied-origin", "not pinned");
    let host = Host::serving(move |_| Said::Failed(denied.clone()));
    assert_eq!(invoke(&host, &call(&config(URL), &json!({}))).unwrap_err().code, "denied-origin");
}
