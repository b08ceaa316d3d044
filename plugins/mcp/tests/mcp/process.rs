//! Local servers: lines of a process.

use std::sync::{Arc, Mutex};

use executor_mcp::seam::Reply;
use serde_json::{Value, json};

use crate::host::*;
use crate::support::*;

fn method(request: &Value) -> &str {
    request["method"].as_str().unwrap_or_default()
}

/// An older server, with these answers to calls.
fn older(mut calls: impl FnMut(&Value, &mut Output) + Send + 'static) -> Host {
    Host::running(move |request, output| match method(request) {
        "server/discover" => output.error(request, -32_601),
        "initialize" => output.result(request, initialized(LEGACY)),
        "notifications/initialized" => {}
        _ => calls(request, output),
    })
}

#[test]
fn a_process_is_greeted_once_by_whoever_comes_first() {
    let host = older(|request, output| output.result(request, text("3")));
    assert_eq!(data(invoke(&host, &call(STDIO, &json!({})))), "3");
    assert_eq!(
        host.written_methods(),
        ["server/discover", "initialize", "notifications/initialized", "tools/call"]
    );
    data(invoke(&host, &call(STDIO, &json!({}))));
    assert_eq!(host.written_methods(), ["tools/call"]);
    // Another process is another server.
    host.restart();
    data(invoke(&host, &call(STDIO, &json!({}))));
    assert_eq!(host.written_methods().len(), 4);
    let host = Host::running(|request, output| match method(request) {
        "server/discover" => {
            output.result(request, json!({"supportedVersions": [MODERN], "capabilities": {}}))
        }
        _ => {
            assert_eq!(request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], MODERN);
            output.result(request, text("3"));
        }
    });
    assert_eq!(data(invoke(&host, &call(STDIO, &json!({})))), "3");
    assert_eq!(host.written_methods(), ["server/discover", "tools/call"]);
}

#[test]
fn who_greets_a_process_is_waited_for_by_all_others() {
    use executor_mcp::seam::World;
    let host = older(|request, output| output.result(request, text("3")));
    // The other one's claim stands, and that is all that it did so far.
    let claim = json!({"greeting": {"at_ms": host.now_ms(), "by": 1}}).to_string();
    assert!(host.swap("peer:process:0", None, Some(claim.as_bytes())));
    assert_eq!(data(invoke(&host, &call(STDIO, &json!({})))), "3");
    assert!((15_000..16_000).contains(&host.elapsed_ms()), "{}", host.elapsed_ms());
    let host = older(|request, output| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        output.result(request, text("3"));
    })
    .in_real_time();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| data(invoke(&host, &call(STDIO, &json!({})))));
        }
    });
    let methods = host.written_methods();
    assert_eq!(methods.iter().filter(|method| *method == "initialize").count(), 1);
}

#[test]
fn who_takes_long_to_greet_a_process_is_not_taken_for_dead() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use executor_mcp::seam::World;
    // A program that is only being downloaded: 40 s into its greeting it has said nothing.
    let host = Host::running(|_, _| {}).ending_at(40_000);
    let invoked = || invoke(&host, &call(STDIO, &json!({}))).unwrap_err();
    assert!(catch_unwind(AssertUnwindSafe(invoked)).unwrap_err().is::<Ended>());
    let (_, held) = host.session().into_iter().find(|(key, _)| key.starts_with("peer:process:")).unwrap();
    let age = host.now_ms() - held["greeting"]["at_ms"].as_u64().unwrap();
    assert!(age <= 5_000, "{age}");
}

#[test]
fn noise_on_the_output_is_skipped_and_told_when_something_is_wrong() {
    let noisy = |answers: bool| {
        older(move |request, output| {
            output.lines.push("\u{1b}[32mServer running on stdio\u{1b}[0m".to_owned());
            output.lines.push(String::new());
            output.lines.push("{\"level\":\"info\",\"msg\":\"ready\"}".to_owned());
            output.lines.push("[1] listening".to_owned());
            output.lines.push("{not json".to_owned());
            if answers {
                let body = json!({"jsonrpc": "2.0", "id": request["id"], "result": text("3")});
                output.lines.push(format!("\u{FEFF}{body}\r"));
            }
        })
    };
    assert_eq!(data(invoke(&noisy(true), &call(STDIO, &json!({})))), "3");
    let failure = invoke(&noisy(false), &repeatable(STDIO)).unwrap_err();
    assert_eq!(failure.code, "upstream-timeout");
    assert!(failure.message.contains("[32mServer running on stdio"), "{}", failure.message);
    assert!(!failure.message.contains('\u{1b}'));
    let details: Value = serde_json::from_str(&failure.details.unwrap()).unwrap();
    assert_eq!(details["output_lines"], 4);
    // An index warns, and lists all the same.
    let host = older(|request, output| {
        output.lines.push("hello".to_owned());
        output.result(request, json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}));
    });
    let catalog = try_index(&host, STDIO, None).unwrap();
    assert_eq!((catalog.names(), catalog.codes()), (vec!["a"], vec!["stdout-noise"]));
    assert_eq!(catalog.tool("a").auth, [vec!["environment".to_owned()], vec![]]);
    assert_eq!(catalog.meta()["origins"], json!([]));
}

#[test]
fn lines_of_twenty_megabytes_are_read() {
    let host = older(|request, output| {
        output.lines.push("x".repeat(20 << 20));
        output.result(request, text(&"y".repeat(10 << 20)));
    });
    let answer = done(invoke(&host, &call(STDIO, &json!({}))));
    assert_eq!(answer.data.len(), (10 << 20) + 2);
}

#[test]
fn a_thousand_calls_each_get_their_own_answer() {
    let mut held: Vec<Value> = Vec::new();
    let host = Host::running(move |request, output| match method(request) {
        "server/discover" => output.result(request, json!({"supportedVersions": [MODERN]})),
        _ => {
            held.push(request.clone());
            // Answers come in bunches, in another order.
            if held.len() == 8 {
                for request in held.drain(..).rev() {
                    output.result(&request, json!({"structuredContent": request["params"]["arguments"]}));
                }
            }
        }
    })
    .in_real_time();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let host = host.clone();
            scope.spawn(move || {
                for turn in 0..125 {
                    let arguments = json!({"thread": thread, "turn": turn});
                    assert_eq!(data(invoke(&host, &call(STDIO, &arguments))), arguments);
                }
            });
        }
    });
    let ids: std::collections::BTreeSet<String> =
        host.written().iter().map(|request| request["id"].to_string()).collect();
    assert_eq!(ids.len(), 1_001);
}

#[test]
fn a_request_of_the_server_is_answered_by_one() {
    let host = older(|request, output| {
        if method(request) == "tools/call" {
            output.say(&json!({"id": 1, "method": "elicitation/create", "params": {"message": "?"}}));
            output.say(&json!({"id": 2, "method": "ping"}));
            output.say(&json!({"id": "3", "method": "sampling/createMessage"}));
            output.result(request, text("3"));
        }
    })
    .replying(&[Reply::Declined]);
    let other = host.clone();
    assert_eq!(data(invoke(&host, &call(STDIO, &json!({})))), "3");
    let answers: Vec<Value> =
        other.written().into_iter().filter(|message| message.get("method").is_none()).collect();
    assert_eq!(answers[0]["result"], json!({"action": "decline"}));
    assert_eq!(answers[1]["result"], json!({}));
    assert_eq!((&answers[2]["id"], &answers[2]["error"]["code"]), (&json!("3"), &json!(-32601)));
    // Who has lost the claim says nothing.
    use executor_mcp::seam::World;
    let mut taken = host.attach().unwrap();
    assert!(!taken.claim("ping:2") && taken.claim("ping:99"));
}

#[test]
fn a_process_that_dies_is_no_answer() {
    let dying = || {
        older(|_, output| {
            output.lines.push("Traceback (most recent call last)".to_owned());
            output.dies = true;
        })
    };
    let failure = invoke(&dying(), &call(STDIO, &json!({}))).unwrap_err();
    assert_eq!((failure.code.as_str(), failure.retryable), ("outcome-unknown", false));
    assert!(failure.message.contains("exit status 1") && failure.message.contains("Traceback"));
    let failure = invoke(&dying(), &repeatable(STDIO)).unwrap_err();
    assert_eq!((failure.code.as_str(), failure.retryable), ("process-failed", true));
}

#[test]
fn a_server_that_ends_at_the_first_question_is_asked_another_way() {
    let mut killed = 0;
    let host = Host::running(move |request, output| match method(request) {
        "server/discover" => {
            killed += 1;
            assert_eq!(killed, 1, "it is asked that once");
            output.dies = true;
        }
        "initialize" => output.result(request, initialized("2024-11-05")),
        "notifications/initialized" => {}
        _ => output.result(request, text("3")),
    });
    assert_eq!(data(invoke(&host, &call(STDIO, &json!({})))), "3");
    assert_eq!(data(invoke(&host, &call(STDIO, &json!({})))), "3");
    let methods = host.written_methods();
    assert_eq!(methods.iter().filter(|method| *method == "initialize").count(), 1);
    host.restart();
    assert_eq!(data(invoke(&host, &call(STDIO, &json!({})))), "3");
}

/// What was left with the host while a call was under way, and after it.
fn left(host: impl FnOnce(Watched) -> Host, config: &str) -> (Option<Value>, Value, Option<Value>) {
    let watched = Watched::default();
    let host = host(watched.clone());
    *watched.0.lock().unwrap() = Some(host.clone());
    assert_eq!(data(invoke(&host, &call(config, &json!({})))), "3");
    let (during, asked) = watched.1.lock().unwrap().clone();
    (during, asked, host.farewell().0)
}

/// A host that a server looks at while it is asked.
#[derive(Clone, Default)]
struct Watched(Arc<Mutex<Option<Host>>>, Arc<Mutex<(Option<Value>, Value)>>);

impl Watched {
    fn look(&self, asked: &Value) {
        let host = self.0.lock().unwrap().clone().unwrap();
        *self.1.lock().unwrap() = (host.farewell().0, asked["id"].clone());
    }
}

#[test]
fn who_is_cut_off_has_left_word_with_the_host_and_who_answers_has_taken_it_back() {
    let process = |modern: bool| {
        move |watched: Watched| {
            Host::running(move |request, output| match method(request) {
                "server/discover" if modern => {
                    output.result(request, json!({"supportedVersions": [MODERN], "capabilities": {}}))
                }
                "server/discover" => output.error(request, -32_601),
                "initialize" => {
                    watched.look(request);
                    assert!(watched.1.lock().unwrap().0.is_none(), "a greeting is not cancelled");
                    output.result(request, initialized(LEGACY));
                }
                "notifications/initialized" => {}
                _ => {
                    watched.look(request);
                    output.result(request, text("3"));
                }
            })
        }
    };
    let answer = |watched: Watched| {
        move |posted: &Posted| {
            watched.look(&posted.body);
            posted.result(text("3"))
        }
    };
    let http = config(URL);
    for (during, asked, after) in [
        left(process(false), STDIO),
        left(process(true), STDIO),
        left(|watched| legacy(answer(watched)), &http),
    ] {
        let during = during.unwrap();
        assert_eq!((method(&during), &during["params"]["requestId"]), ("notifications/cancelled", &asked));
        assert_eq!(after, None);
    }
    let (during, ..) = left(|watched| modern(answer(watched)), &http);
    assert_eq!(during, None, "a closed stream says it");
}

#[test]
fn a_silent_server_is_told_that_nobody_waits_any_more() {
    let host = older(|_, _| {});
    let failure = invoke(&host, &call(STDIO, &json!({}))).unwrap_err();
    assert_eq!(failure.code, "outcome-unknown");
    let written = host.written();
    let asked = written.iter().find(|message| method(message) == "tools/call").unwrap();
    let last = written.last().unwrap();
    assert_eq!((method(last), &last["params"]["requestId"]), ("notifications/cancelled", &asked["id"]));
    // One that says nothing at all is given up after the greeting.
    let host = Host::running(|_, _| {});
    let failure = invoke(&host, &call(STDIO, &json!({}))).unwrap_err();
    assert_eq!((failure.code.as_str(), failure.retryable), ("upstream-timeout", true));
    assert_eq!(host.elapsed_ms(), 70_000);
}
