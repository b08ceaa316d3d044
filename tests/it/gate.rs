//! One gate: whatever way there is to call a tool, a policy that blocks it
//! holds. The ways are asked of the program itself, so that a new one that is
//! not looked at here turns this red.

use executor_upstreams::github::Emulator;
use serde_json::{Value, json};

use crate::daemon::{Daemon, emulator};
use crate::mcp_client::Client;
use crate::wire::Wire;

const WRITE: &str = "github.issues.create";
const PROGRAM: &str = "return await tools.github.issues.create({owner: 'octocat', repo: 'hello-world', body: {title: 'past the gate'}})";
const ISSUES: &str = "/repos/octocat/hello-world/issues";

fn arguments() -> Value {
    json!({"owner": "octocat", "repo": "hello-world", "body": {"title": "past the gate"}})
}

async fn blocked() -> (Daemon, Emulator) {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    daemon.run(&["policies", "add", WRITE, "block"]).ok();
    (daemon, emulator)
}

#[track_caller]
fn nothing_was_sent(emulator: &Emulator, by: &str) {
    assert!(emulator.ledger.matching("POST", ISSUES).is_empty(), "{by} went past the gate");
}

/// Whether a policy kept it, as the error of a call or of a program says.
fn is_denied(answer: &Value) -> bool {
    let error = &answer["error"];
    error["code"] == "denied"
        || error["message"].as_str().unwrap_or_default().contains("is blocked by policy")
}

/// What a POST route does with tools.
enum Calls {
    /// It calls one, with this body.
    Now(Value),
    /// It goes on with an execution, which has passed the gate or meets it.
    Again,
    /// It calls none.
    None,
}

fn post_route(path: &str) -> Option<Calls> {
    let path = path.strip_prefix("/v1/workspaces/{workspace}").unwrap_or(path);
    Some(match path {
        "/executions" => Calls::Now(json!({"code": PROGRAM})),
        "/tools/{path}/call" => Calls::Now(json!({"args": arguments()})),
        "/executions/{id}/resume" | "/executions/{id}/rerun" | "/executions/{id}/cancel" => Calls::Again,
        // A check calls a read that needs no argument, by the same call.
        "/connections/{source}/{name}/check" => Calls::Again,
        // A file is put there; a call names it.
        "/blobs"
        | "/sources"
        | "/sources/detect"
        | "/sources/{source}/refresh"
        | "/sources/{source}/review"
        | "/connections"
        | "/connections/{source}/{name}/values"
        | "/authorizations"
        | "/authorizations/{id}/finish"
        | "/policies"
        | "/policies/test"
        | "/components"
        | "/v1/tokens"
        | "/v1/workspaces"
        | "/v1/shutdown"
        | "/v1/events/tickets"
        | "/v1/accounts"
        | "/v1/accounts/{account}/password"
        | "/v1/organizations"
        | "/v1/organizations/{organization}/invitations"
        | "/v1/organizations/{organization}/members/{account}"
        | "/v1/invitations/{secret}/accept"
        | "/v1/sessions"
        | "/logout"
        | "/handoffs"
        | "/handoff/{secret}" => Calls::None,
        _ => return None,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn no_route_goes_past_it() {
    let (daemon, emulator) = blocked().await;
    let owner = Wire::owner(&daemon);
    let document = owner.get("/openapi.json").json();
    let mut called = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        if item.get("post").is_none() {
            continue;
        }
        let calls =
            post_route(path).unwrap_or_else(|| panic!("POST {path}: does it call tools? Say so here"));
        if let Calls::Now(body) = calls {
            let path = path.replace("{workspace}", "default").replace("{path}", WRITE);
            let answer = owner.post(&path, &body).json();
            assert!(is_denied(&answer), "{path}: {answer}");
            nothing_was_sent(&emulator, &path);
            called += 1;
        }
    }
    assert_eq!(called, 2, "the routes that call tools were found");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_execution_that_goes_on_goes_past_it() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let owner = Wire::owner(&daemon);
    let runs = "/v1/workspaces/default/executions";
    let waiting = owner.post(runs, &json!({"code": PROGRAM})).json();
    let id = waiting["id"].as_str().unwrap();
    daemon.run(&["policies", "add", WRITE, "block"]).ok();
    let accepted = owner.post(&format!("{runs}/{id}/resume"), &json!({"action": "accept"})).json();
    assert!(is_denied(&accepted), "what is blocked meanwhile stays blocked: {accepted}");
    let again = owner.send("POST", &format!("{runs}/{id}/rerun"), &[], None).json();
    assert!(is_denied(&again), "{again}");
    nothing_was_sent(&emulator, "a resume or a rerun");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_mcp_tool_goes_past_it() {
    let (daemon, emulator) = blocked().await;
    let mut client = Client::start(&daemon, &["--tools", "direct"]);
    client.initialize(&json!({}));
    let mut names = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let page = client.request("tools/list", &params)["result"].clone();
        names.extend(
            page["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()),
        );
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let own: Vec<&String> = names.iter().filter(|name| !name.contains("__")).collect();
    for name in &own {
        let arguments = match name.as_str() {
            "execute" => json!({"code": PROGRAM}),
            // They call no tool: one goes on with an execution, two read the catalogue.
            "resume" | "search_tools" | "describe_tool" => continue,
            // A direct tool whose name would not stand for its path otherwise.
            other if other.starts_with("github") => continue,
            other => panic!("{other}: does it call tools? Say so here"),
        };
        let answer = client.request("tools/call", &json!({"name": name, "arguments": arguments}));
        assert!(answer.to_string().contains("denied"), "{name}: {answer}");
    }
    let direct = names.iter().filter(|name| name.contains("issues") && name.contains("create")).count();
    assert!(names.len() > 1_000 && direct > 0, "the catalogue is offered");
    assert!(!names.iter().any(|name| name == "github__issues_create"), "what is blocked is not offered");
    let hidden =
        client.request("tools/call", &json!({"name": "github__issues_create", "arguments": arguments()}));
    assert!(hidden["error"].is_object() || hidden["result"]["isError"] == true, "{hidden}");
    nothing_was_sent(&emulator, "an MCP tool");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_command_goes_past_it() {
    let (daemon, emulator) = blocked().await;
    let text = arguments().to_string();
    let help = daemon.run(&["--help"]).ok();
    let commands = help.split_once("Commands:").unwrap().1.split_once("Options:").unwrap().0;
    let mut called = 0;
    for line in commands.lines() {
        let Some(command) = line.strip_prefix("  ").and_then(|line| line.split_whitespace().next()) else {
            continue;
        };
        let words: &[&str] = match command {
            "call" => &["call", WRITE, &text],
            "run" => &["run", "-e", PROGRAM],
            "serve" | "up" | "down" | "status" | "doctor" | "sources" | "connections" | "tools"
            | "resume" | "executions" | "policies" | "config" | "component" | "audit" | "completions"
            | "version" | "explain" | "tokens" | "connect" | "accounts" | "members" | "organizations"
            | "workspaces" | "secrets" | "blobs" | "help" => continue,
            // Its tools have a test of their own.
            "mcp" => continue,
            other => panic!("executor {other}: does it call tools? Say so here"),
        };
        let answer = daemon.run(words);
        assert_eq!(answer.code(), 4, "{command}: {answer:?}");
        nothing_was_sent(&emulator, command);
        called += 1;
    }
    assert_eq!(called, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_in_a_program_goes_past_it() {
    let (daemon, emulator) = blocked().await;
    let (_, found) = daemon.execute("return Object.getOwnPropertyNames(globalThis).sort().join(' ')");
    assert_eq!(found["result"], GLOBALS, "a new global: does it lead to tools? Say so here");
    for way in [
        "tools.github.issues.create(a)",
        "tools['github']['issues']['create'](a)",
        "tools.github.issues.create.call(null, a)",
        "Reflect.apply(tools.github.issues.create, null, [a])",
        "tools.github.issues.create(a, {raw: true})",
        "tools.github.issues.create(a, {connection: 'default'})",
        "(0, tools.github).issues.create(a)",
    ] {
        let program = format!(
            "const a = {}; try {{ return JSON.stringify(await {way}) }} catch (error) {{ return error.code }}",
            arguments()
        );
        let (_, done) = daemon.execute(&program);
        let got = done["result"].as_str().unwrap_or_default();
        assert!(!got.contains("past the gate"), "{way} was answered: {done}");
        nothing_was_sent(&emulator, way);
    }
}

/// All that a program can reach by name. Of these `tools` alone leads
/// out; `blobs` reads and makes files of the workspace.
const GLOBALS: &str = "AbortController AbortSignal AggregateError Array ArrayBuffer AsyncDisposableStack BigInt \
BigInt64Array BigUint64Array Boolean DOMException DataView Date DisposableStack Error EvalError \
FinalizationRegistry Float16Array Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array \
InternalError Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set \
SharedArrayBuffer String SuppressedError Symbol SyntaxError TextDecoder TextEncoder ToolError TypeError URIError \
URL URLSearchParams Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet atob blobs btoa \
clearTimeout console crypto decodeURI decodeURIComponent emit encodeURI encodeURIComponent escape eval fetch \
globalThis isFinite isNaN parseFloat parseInt performance queueMicrotask setInterval setTimeout structuredClone \
tools undefined unescape";
