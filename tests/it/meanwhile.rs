//! Questions in the middle of a call, which waits for their answer while it
//! runs: of an adapter's own, and of an MCP server of an older revision.

use std::time::Duration;

use executor_upstreams::plain::{self, Answer, Routes, Upstream};
use executor_upstreams::program;
use serde_json::{Value, json};

use crate::components::{add_plain_source, guest};
use crate::daemon::Daemon;
use crate::mcp_client::{Client, Down, meta};
use crate::wire::Wire;

const RUN: &str = "/v1/workspaces/default/executions";
const WAITING: &str = "waiting_for_interaction";

/// A daemon with a source `mine` of the adapter `plain`, whose calls need no
/// approval.
async fn plain_daemon() -> (Daemon, Upstream) {
    let daemon = Daemon::start();
    let routes = Routes::new().on("POST", "/orders", Answer::text(200, "taken"));
    let upstream = plain::start(routes.handler()).await.unwrap();
    daemon.run(&["component", "add", &guest("adapter_plain"), "--yes"]).ok();
    add_plain_source(&daemon, "default", upstream.origin());
    daemon.run(&["policies", "add", "mine.write", "allow"]).ok();
    (daemon, upstream)
}

/// A daemon with the emulator of an older MCP server as the source `seats`.
fn mcp_daemon() -> Daemon {
    let mut daemon = Daemon::stopped();
    daemon.serve();
    let emulator = program::path("mcp-emulator");
    let begin = ["sources", "add", "--json", "--kind", "mcp", "--name", "seats", "--trusted", "--"];
    daemon.run(&[&begin[..], &[emulator.to_str().unwrap()]].concat()).json();
    daemon.run(&["policies", "add", "seats.book", "allow"]).ok();
    daemon
}

/// Begins a program, which asks.
#[track_caller]
fn begin(wire: &Wire, code: &str) -> Value {
    let view = wire.post(RUN, &json!({ "code": code })).json();
    assert_eq!(view["status"], WAITING, "{view}");
    view
}

fn id(view: &Value) -> &str {
    view["id"].as_str().unwrap()
}

fn show(wire: &Wire, view: &Value) -> Value {
    wire.get(&format!("{RUN}/{}", id(view))).json()
}

/// What became of an execution that goes on by itself.
#[track_caller]
fn ended(wire: &Wire, view: &Value) -> Value {
    for _ in 0..600 {
        let now = show(wire, view);
        if !matches!(now["status"].as_str(), Some("running" | WAITING)) {
            return now;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it never ends: {view}")
}

fn answer(wire: &Wire, view: &Value, body: &Value) -> Value {
    wire.post(&format!("{RUN}/{}/resume", id(view)), body).json()
}

fn accept(asked: &Value, content: &Value) -> Value {
    json!({ "action": "accept", "interaction": asked["id"], "content": content })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_asks_while_it_goes_on_and_hears_the_answer() {
    let (daemon, upstream) = plain_daemon().await;
    let wire = Wire::owner(&daemon);
    let write = "return await tools.mine.write({path: '/orders', body: {n: 1}, meanwhile: 2})";
    let waiting = begin(&wire, write);
    let form = &waiting["interactions"][0];
    assert_eq!((&form["kind"], &form["asked_by"]), (&json!("form"), &json!("plain")), "{waiting}");
    assert_eq!(form["tool"], "mine.write");
    let listed = wire.get("/v1/workspaces/default/interactions").json();
    assert_eq!(listed["items"][0]["id"], form["id"], "{listed}");
    let wrong = wire.post(&format!("{RUN}/{}/resume", id(&waiting)), &accept(form, &json!({ "title": 3 })));
    assert_eq!(wrong.refused(422), "invalid-answer");
    let more = answer(&wire, &waiting, &accept(form, &json!({ "title": "a" })));
    assert_eq!(more["status"], WAITING, "it asks once more: {more}");
    // Another answer to the first question changes nothing.
    let again = answer(&wire, &waiting, &accept(form, &json!({ "title": "late" })));
    assert_eq!(again["interactions"], more["interactions"]);
    let done = answer(&wire, &more, &json!({ "action": "decline" }));
    assert_eq!(done["result"]["answers"], json!([{ "title": "a" }, "declined"]), "{done}");
    assert_eq!(upstream.ledger.matching("POST", "/orders").len(), 1, "the call was made once");

    let said = daemon.run(&["run", "-e", "return await tools.mine.ask({meanwhile: 1})"]);
    assert_eq!(said.code(), 3, "{said:?}");
    assert!(format!("{said:?}").contains("Which title?"), "{said:?}");
    let waiting = show(&wire, &json!({ "id": crate::daemon::execution_id(&format!("{said:?}")) }));
    let resumed = daemon
        .run(&["resume", id(&waiting), "--accept", "--content", r#"{"title":"by hand"}"#, "--json"])
        .json();
    assert_eq!(resumed["result"], json!([{ "title": "by hand" }]), "{resumed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_asked_is_not_and_a_question_ends_with_its_call() {
    let (daemon, _upstream) = plain_daemon().await;
    let wire = Wire::owner(&daemon);
    let ask = |arguments: &str| format!("return await tools.mine.ask({arguments})");
    let (_, refused) = daemon.execute(&ask("{meanwhile: 1, secret: true}"));
    assert_eq!(refused["result"], json!([{ "no": "secret-asked" }]), "{refused}");
    let (_, refused) = daemon.execute(&ask("{meanwhile: 1, page: 'file:///etc/passwd'}"));
    assert_eq!(refused["result"], json!([{ "no": "question-refused" }]), "{refused}");
    let page = begin(&wire, &ask("{meanwhile: 1, page: 'https://elsewhere.test/x'}"));
    let asked = &page["interactions"][0];
    assert_eq!(
        (&asked["kind"], &asked["url"], &asked["url_is_of_source"]),
        (&json!("url"), &json!("https://elsewhere.test/x"), &json!(false))
    );
    assert_eq!(answer(&wire, &page, &json!({ "action": "accept" }))["result"], json!([null]));

    let dry = json!({ "args": { "meanwhile": 1 }, "dry_run": true });
    let dry = wire.post("/v1/workspaces/default/tools/mine.ask/call", &dry);
    assert!(dry.status < 300 && !dry.json().to_string().contains("int_"), "{dry:?}");

    let waiting = begin(&wire, &ask("{meanwhile: 1}"));
    let cancelled = answer(&wire, &waiting, &json!({ "action": "cancel" }));
    assert_eq!((&cancelled["status"], &cancelled["interactions"]), (&json!("cancelled"), &json!([])));

    // A program that loses its patience goes on, and its question is closed.
    let impatient = "const hurry = new AbortController();
        setTimeout(() => hurry.abort(), 300);
        const asked = tools.mine.ask({meanwhile: 1}, {signal: hurry.signal}).catch(error => error.name);
        return await asked";
    let gone = ended(&wire, &begin(&wire, impatient));
    assert_eq!((&gone["status"], &gone["interactions"]), (&json!("completed"), &json!([])), "{gone}");
    let left = wire.get("/v1/workspaces/default/interactions").json();
    assert_eq!(left["items"], json!([]), "{left}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_waits_beside_an_approval_and_beside_another() {
    let (daemon, upstream) = plain_daemon().await;
    let wire = Wire::owner(&daemon);
    daemon.run(&["policies", "add", "mine.fetch", "approve"]).ok();
    let both = "return await Promise.all([
        tools.mine.write({path: '/orders', body: {}, meanwhile: 1}),
        tools.mine.fetch({path: '/orders'}).catch(error => error.code)])";
    let waiting = begin(&wire, both);
    let of_kind = |view: &Value, kind: &str| -> Value {
        let asked = view["interactions"].as_array().unwrap();
        asked.iter().find(|asked| asked["kind"] == kind).cloned().unwrap_or_default()
    };
    let waiting = loop {
        let now = show(&wire, &waiting);
        if now["interactions"].as_array().unwrap().len() == 2 {
            break now;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let approval = of_kind(&waiting, "approval");
    let after = answer(&wire, &waiting, &json!({ "action": "decline", "interaction": approval["id"] }));
    assert_eq!((&after["status"], of_kind(&after, "approval")), (&json!(WAITING), Value::Null), "{after}");
    let form = of_kind(&waiting, "form");
    let done = answer(&wire, &waiting, &accept(&form, &json!({ "title": "x" })));
    assert_eq!(done["result"][0]["answers"], json!([{ "title": "x" }]), "{done}");
    assert_eq!(done["result"][1], "denied", "the program ran again with both answers: {done}");
    assert_eq!(upstream.ledger.matching("POST", "/orders").len(), 1, "the write was sent once");

    let two = "return await Promise.all([1, 2].map(n => tools.mine.ask({meanwhile: n})))";
    let waiting = begin(&wire, two);
    let mut view = waiting;
    for _ in 0..3 {
        view = loop {
            let now = show(&wire, &view);
            if now["interactions"].as_array().is_some_and(|asked| !asked.is_empty()) {
                break now;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let asked = view["interactions"][0].clone();
        view = answer(&wire, &view, &accept(&asked, &json!({ "title": "y" })));
    }
    let done = ended(&wire, &view);
    let title = json!({ "title": "y" });
    assert_eq!(done["result"], json!([[title], [title, title]]), "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_ask_at_one_time_are_bounded() {
    let (daemon, _upstream) = plain_daemon().await;
    let wire = Wire::owner(&daemon);
    let many = "const asked = Array.from({ length: 33 }, () => tools.mine.ask({meanwhile: 17}));
        return await Promise.race(asked)";
    let refused = ended(&wire, &wire.post(RUN, &json!({ "code": many })).json());
    let no = vec![json!({ "no": "question-refused" }); 17];
    assert_eq!(refused["result"], json!(no), "the 33rd is told at once: {refused}");
    assert_eq!(refused["interactions"], json!([]), "those of the others ended with the program");
    let mut view = begin(&wire, "return await tools.mine.ask({meanwhile: 17})");
    for _ in 0..16 {
        assert_eq!(view["status"], WAITING, "{view}");
        view = answer(&wire, &view, &json!({ "action": "decline" }));
    }
    assert_eq!(view["result"][15], "declined", "{view}");
    assert_eq!(view["result"][16], json!({ "no": "question-refused" }), "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed_while_a_call_waits_knows_what_it_does_not_know() {
    let (mut daemon, upstream) = plain_daemon().await;
    let wire = Wire::owner(&daemon);
    let write = begin(&wire, "return await tools.mine.write({path: '/orders', body: {}, meanwhile: 1})");
    let read = begin(&wire, "return await tools.mine.ask({meanwhile: 1})");
    let paused = begin(&wire, "return await tools.mine.ask({})");
    daemon.kill();
    daemon.serve();
    let wire = Wire::owner(&daemon);
    for (view, code) in [(&write, "outcome-unknown"), (&read, "interrupted")] {
        let now = show(&wire, view);
        assert_eq!((&now["status"], &now["error"]["code"]), (&json!("failed"), &json!(code)), "{now}");
        assert_eq!(now["interactions"], json!([]), "its question is closed");
        let late = answer(&wire, view, &accept(&view["interactions"][0], &json!({ "title": "late" })));
        assert_eq!(late["status"], "failed", "an answer that comes too late changes nothing: {late}");
    }
    assert_eq!(show(&wire, &paused)["status"], WAITING, "one that paused waits on");
    assert_eq!(upstream.ledger.matching("POST", "/orders").len(), 1, "it is not sent again");
}

#[test]
fn an_older_mcp_server_asks_in_the_middle_of_a_call() {
    let mut daemon = mcp_daemon();
    let wire = Wire::owner(&daemon);
    let ask = "return (await tools.seats.ask({name: 'Ada'})).said";
    let waiting = begin(&wire, ask);
    let form = &waiting["interactions"][0];
    assert_eq!(form["message"], "How many seats for Ada?", "{waiting}");
    assert_eq!((&form["kind"], &form["asked_by"]), (&json!("form"), &json!("mcp")));
    let done = answer(&wire, &waiting, &accept(form, &json!({ "seats": 2 })));
    assert_eq!(done["result"], json!({ "action": "accept", "content": { "seats": 2 } }), "{done}");
    let declined = answer(&wire, &begin(&wire, ask), &json!({ "action": "decline" }));
    assert_eq!(declined["result"], json!({ "action": "decline" }), "{declined}");
    let cancelled = answer(&wire, &begin(&wire, ask), &json!({ "action": "cancel" }));
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");

    // Two at one time: every call hears what the server asks, one answers it.
    let two = "return (await Promise.all(['Ada', 'Bob'].map(name => tools.seats.ask({name}))))
        .map(({ name, said }) => [name, said.content?.seats])";
    let mut view = begin(&wire, two);
    let mut answered = Vec::new();
    while answered.len() < 2 {
        let open = view["interactions"].as_array().unwrap().clone();
        let next = open.iter().find(|asked| !answered.contains(&asked["id"]));
        let Some(asked) = next else {
            std::thread::sleep(Duration::from_millis(20));
            view = show(&wire, &view);
            continue;
        };
        answered.push(asked["id"].clone());
        let seats = if asked["message"].as_str().unwrap().contains("Ada") { 2 } else { 5 };
        view = answer(&wire, &view, &accept(asked, &json!({ "seats": seats })));
    }
    assert_eq!(ended(&wire, &view)["result"], json!([["Ada", 2], ["Bob", 5]]));

    let book = "return await tools.seats.book({name: 'Eve'})";
    let booking = begin(&wire, book);
    daemon.kill();
    daemon.serve();
    let now = show(&Wire::owner(&daemon), &booking);
    assert_eq!(now["error"]["code"], "outcome-unknown", "{now}");
    let booking = begin(&Wire::owner(&daemon), book);
    assert_eq!(daemon.stop().code(), Some(0), "it does not wait for a person");
    daemon.serve();
    let now = show(&Wire::owner(&daemon), &booking);
    assert_eq!(
        (&now["status"], &now["error"]["code"]),
        (&json!("failed"), &json!("outcome-unknown")),
        "{now}"
    );
}

#[test]
fn a_client_of_ours_asks_its_user_what_the_server_asks() {
    let daemon = mcp_daemon();
    let _down = Down(&daemon);
    let code = json!({ "code": "return (await tools.seats.ask({name: 'Ada'})).said" });
    let mut client = Client::start(&daemon, &[]);
    client.initialize(&json!({ "elicitation": {} }));
    client.answers(&[json!({ "action": "accept", "content": { "seats": 4 } })]);
    let called = client.ok("tools/call", &json!({ "name": "execute", "arguments": code }));
    assert!(called.to_string().contains("seats") && called.to_string().contains('4'), "{called}");
    assert_eq!(client.asked()[0]["params"]["requestedSchema"]["required"], json!(["seats"]));

    // One of the newest revision is told what to ask, and brings the answer.
    let modern = meta("newest", &json!({ "elicitation": { "form": {} } }));
    let mut arguments = json!({ "name": "execute", "arguments": code, "_meta": modern });
    let mut client = Client::start(&daemon, &[]);
    let asked = client.ok("tools/call", &arguments);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = asked["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    arguments["requestState"] = asked["requestState"].clone();
    arguments["inputResponses"] = json!({ question: { "action": "decline" } });
    let done = client.ok("tools/call", &arguments);
    assert!(done.to_string().contains("decline"), "{done}");
}
