//! Servers that ask people.

use executor_mcp::seam::{Outcome, Pause, Question, Reply};
use serde_json::{Value, json};

use crate::support::*;

fn paused(outcome: Result<Outcome, executor_mcp::seam::Failure>) -> Pause {
    match outcome {
        Ok(Outcome::Paused(pause)) => pause,
        other => panic!("{other:?}"),
    }
}

fn form() -> Value {
    json!({"method": "elicitation/create", "params": {
        "message": "Which one?\u{7}", "requestedSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
    }})
}

fn page() -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "url", "message": "Look", "url": "https://x.example/p"}})
}

#[test]
fn what_a_modern_server_needs_is_asked_and_given_back() {
    // The state is a text that nobody may look at, with what JSON can have in it.
    let state = "st\u{e9} \"x\"\\u0041/é\n==";
    let host = modern(move |posted| {
        let params = &posted.body["params"];
        let Some(responses) = params.get("inputResponses") else {
            assert!(params.get("requestState").is_none());
            return posted.result(json!({
                "resultType": "input_required", "requestState": state,
                "inputRequests": {"which": form(), "page": page(), "roots": {"method": "roots/list"}},
            }));
        };
        assert_eq!(params["requestState"], state);
        assert_eq!(params["arguments"], json!({"a": 1}));
        assert_eq!(
            *responses,
            json!({
                "which": {"action": "accept", "content": {"n": 7}},
                "page": {"action": "accept"},
                "roots": {"roots": []},
            })
        );
        posted.result(text("done"))
    });
    let first = call(&config(URL), &json!({"a": 1}));
    let pause = paused(invoke(&host, &first));
    let expected = [
        Question {
            kind: "elicitation".to_owned(),
            message: "Which one?".to_owned(),
            schema: Some(r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#.to_owned()),
            url: None,
        },
        Question {
            kind: "elicitation".to_owned(),
            message: "Look".to_owned(),
            schema: None,
            url: Some("https://x.example/p".to_owned()),
        },
    ];
    assert_eq!(pause.questions, expected);
    // Days later, in another instance, with nothing but the state.
    host.lose_session();
    let answers = [Reply::Accepted(r#"{"n":7}"#.to_owned()), Reply::Accepted("true".to_owned())];
    assert_eq!(data(invoke(&host, &resumed(&first, &pause.state, &answers))), "done");
    let ids: Vec<Value> = host.posted().iter().map(|posted| posted.body["id"].clone()).collect();
    assert_eq!(ids.iter().map(Value::to_string).collect::<std::collections::BTreeSet<_>>().len(), ids.len());
}

#[test]
fn no_and_never_mind_are_answers() {
    let host = modern(|posted| match posted.body["params"].get("inputResponses") {
        None => posted
            .result(json!({"resultType": "input_required", "inputRequests": {"a": form(), "b": form()}})),
        Some(responses) => {
            assert!(posted.body["params"].get("requestState").is_none());
            posted.result(json!({"structuredContent": responses}))
        }
    });
    let first = call(&config(URL), &json!({}));
    let pause = paused(invoke(&host, &first));
    let answers = [Reply::Declined, Reply::Cancelled];
    let said = data(invoke(&host, &resumed(&first, &pause.state, &answers)));
    assert_eq!(said, json!({"a": {"action": "decline"}, "b": {"action": "cancel"}}));
}

#[test]
fn a_server_may_ask_again() {
    let host = modern(|posted| {
        let state = posted.body["params"]["requestState"].as_str().unwrap_or("0");
        match state {
            "2" => posted.result(text("done")),
            held => {
                let next = (held.parse::<u32>().unwrap() + 1).to_string();
                posted.result(json!({"resultType": "input_required", "inputRequests": {"q": form()}, "requestState": next}))
            }
        }
    });
    let first = call(&config(URL), &json!({}));
    let one = paused(invoke(&host, &first));
    let yes = [Reply::Accepted("{}".to_owned())];
    let two = paused(invoke(&host, &resumed(&first, &one.state, &yes)));
    assert_eq!(data(invoke(&host, &resumed(&first, &two.state, &yes))), "done");
}

#[test]
fn what_needs_no_person_goes_on_at_once_and_not_for_ever() {
    let host = modern(|posted| match posted.body["params"].get("requestState") {
        None => posted.result(json!({"resultType": "input_required", "requestState": "s"})),
        Some(_) => posted.result(text("done")),
    });
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "done");
    let host = modern(|posted| posted.result(json!({"resultType": "input_required", "requestState": "s"})));
    assert_eq!(invoke(&host, &call(&config(URL), &json!({}))).unwrap_err().code, "upstream-error");
    assert_eq!(host.methods().len(), 1 + 8);
}

#[test]
fn questions_that_can_not_be_asked_end_the_call() {
    let check = |result: Value, code: &str, part: &str| {
        let host = modern(move |posted| posted.result(result.clone()));
        let failure = invoke(&host, &call(&config(URL), &json!({}))).unwrap_err();
        assert_eq!(failure.code, code, "{}", failure.message);
        assert!(failure.message.contains(part), "{}", failure.message);
    };
    let asking = |requests: Value| json!({"resultType": "input_required", "inputRequests": requests});
    check(
        asking(json!({"a": {"method": "sampling/createMessage"}})),
        "question-refused",
        "sampling/createMessage",
    );
    check(
        asking(json!({"a": {"method": "elicitation/create", "params": {"mode": "url"}}})),
        "question-refused",
        "\"a\"",
    );
    check(asking(json!({})), "question-refused", "asks nothing");
    let many: serde_json::Map<String, Value> = (0..17).map(|n| (n.to_string(), form())).collect();
    check(asking(Value::Object(many)), "question-refused", "17");
    let huge = json!({"resultType": "input_required", "inputRequests": {"a": form()}, "requestState": "x".repeat(2 << 20)});
    check(huge, "question-refused", "1 MiB");
    check(json!({"resultType": "task", "taskId": "1"}), "upstream-malformed", "task");
}

#[test]
fn a_state_of_somebody_else_is_refused_before_anything_is_sent() {
    let host = modern(|posted| panic!("{posted:?}"));
    let first = call(&config(URL), &json!({}));
    let check = |state: &[u8], answers: &[Reply]| {
        let failure = invoke(&host, &resumed(&first, state, answers)).unwrap_err();
        assert_eq!(failure.code, "resumption-invalid");
    };
    check(b"", &[]);
    check(b"[]", &[]);
    check(br#"{"asked":[["a",true]],"known":{},"request_state":null,"sends":true}"#, &[]);
    assert!(host.posted().is_empty());
}

#[test]
fn a_page_that_an_older_server_wants_visited_is_shown_first() {
    let host = legacy(|posted| {
        let error = json!({"code": -32042, "message": "sign in there", "data": {"elicitations": [
            {"mode": "url", "elicitationId": "1", "url": "https://x.example/p", "message": "Look"}
        ]}});
        Said::json(200, &json!({"jsonrpc": "2.0", "id": posted.body["id"], "error": error}))
    });
    let first = call(&config(URL), &json!({}));
    let pause = paused(invoke(&host, &first));
    assert_eq!(pause.questions[0].url.as_deref(), Some("https://x.example/p"));
    let failure = invoke(&host, &resumed(&first, &pause.state, &[Reply::Declined])).unwrap_err();
    assert_eq!(failure.code, "declined");
    host.posted();
    let _ = paused(invoke(&host, &resumed(&first, &pause.state, &[Reply::Accepted("true".to_owned())])));
    let last = host.posted().pop().unwrap();
    assert!(last.body["params"].get("inputResponses").is_none());
}

#[test]
fn an_older_server_asks_while_the_call_goes_on() {
    let question =
        json!({"jsonrpc": "2.0", "id": "q-1", "method": "elicitation/create", "params": form()["params"]});
    let sampling = json!({"jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": {}});
    let ping = json!({"jsonrpc": "2.0", "id": 8, "method": "ping"});
    let roots = json!({"jsonrpc": "2.0", "id": 9, "method": "roots/list"});
    let host = legacy(move |posted| match posted.method() {
        "tools/call" => Said::events(vec![
            event(&question),
            event(&sampling),
            event(&ping),
            event(&roots),
            posted.event(text("done")),
        ]),
        _ => Said::accepted(),
    })
    .replying(&[Reply::Accepted(r#"{"n":1}"#.to_owned())]);
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "done");
    assert_eq!(host.asked().len(), 1);
    let answers: Vec<Value> = host
        .posted()
        .iter()
        .filter(|posted| posted.method().is_empty())
        .inspect(|posted| assert_eq!(posted.header("mcp-session-id"), Some("s1")))
        .map(|posted| posted.body.clone())
        .collect();
    assert_eq!(answers[0]["id"], "q-1");
    assert_eq!(answers[0]["result"], json!({"action": "accept", "content": {"n": 1}}));
    assert_eq!((&answers[1]["id"], &answers[1]["error"]["code"]), (&json!(7), &json!(-32601)));
    assert_eq!((&answers[2]["id"], &answers[2]["result"]), (&json!(8), &json!({})));
    assert_eq!(answers[3]["result"], json!({"roots": []}));
}

#[test]
fn who_can_not_be_asked_is_told_so_and_a_flood_of_questions_ends() {
    let host = legacy(move |posted| match posted.method() {
        "tools/call" => {
            let mut body: Vec<Piece> = (0..50)
                .map(|n| event(&json!({"id": n, "method": "elicitation/create", "params": form()["params"]})))
                .collect();
            body.push(posted.event(text("done")));
            Said::events(body)
        }
        _ => Said::accepted(),
    });
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "done");
    assert_eq!(host.asked().len(), 20);
    let cancelled = host.posted().iter().filter(|posted| posted.body["result"]["action"] == "cancel").count();
    assert_eq!(cancelled, 50);
}
