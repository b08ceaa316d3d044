//! What happened can be seen: metrics, spans at a collector, the waterfall of
//! an execution, the daemon's log.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use executor_upstreams::plain::{self, Answer, Routes};
use serde_json::Value;

use crate::daemon::{Daemon, TOKEN, emulator, execution_id};

/// Bytes that a program works on, and that no telemetry may hold.
const ARGUMENT: &str = "canary-argument-77d1";

/// Status line, head and body of the answer to a GET over TCP.
fn get(daemon: &Daemon, path: &str, headers: &[(&str, &str)]) -> String {
    request(daemon, "GET", path, headers, "")
}

fn request(daemon: &Daemon, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let note: Value = serde_json::from_slice(&fs::read(daemon.home().join("daemon.json")).unwrap()).unwrap();
    let address = note["address"].as_str().unwrap().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n");
    write!(stream, "{head}connection: close\r\n{more}\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn token(daemon: &Daemon) -> String {
    format!("Bearer {}", fs::read_to_string(daemon.home().join("token")).unwrap().trim())
}

/// The sum of a metric's series whose labels hold all of `labels`.
fn metric(daemon: &Daemon, name: &str, labels: &[&str]) -> f64 {
    let page = get(daemon, "/metrics", &[("authorization", &token(daemon))]);
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    page.lines()
        .filter(|line| line.split(['{', ' ']).next() == Some(name))
        .filter(|line| labels.iter().all(|label| line.contains(label)))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_what_happens() {
    let (mut daemon, emulator) = (Daemon::stopped(), emulator().await);
    daemon.run(&["config", "set", "limits.execute_cpu_seconds", "1"]).ok();
    daemon.serve();
    assert!(get(&daemon, "/metrics", &[]).starts_with("HTTP/1.1 401"));
    let page = get(&daemon, "/metrics", &[("authorization", &token(&daemon))]);
    assert!(page.contains("content-type: text/plain; version=0.0.4"), "{page}");
    let open = [("authorization", token(&daemon)), ("accept", "application/openmetrics-text".to_owned())];
    let open = get(&daemon, "/metrics", &open.each_ref().map(|(name, value)| (*name, value.as_str())));
    assert!(open.contains("openmetrics-text") && open.trim_end().ends_with("# EOF"), "{open}");

    daemon.add_github(&emulator);
    daemon.execute("return 1");
    daemon.execute("return await tools.github.users.getAuthenticated({})");
    let (code, failed) = daemon.execute("while (true) {} // canary");
    assert_eq!((code, &failed["error"]["code"]), (1, &"out-of-fuel".into()), "{failed}");
    daemon.run(&["policies", "add", "github.issues.*", "block"]).ok();
    daemon.execute("return await tools.github.issues.listForRepo({ owner: 'a', repo: 'b' })");
    daemon.execute("return await tools.nonsense.at.all({})");

    let executed = |status: &str| metric(&daemon, "executor_executions_total", &["kind=\"code\"", status]);
    assert_eq!((executed("completed"), executed("failed")), (2.0, 3.0));
    let calls = |outcome: &str| metric(&daemon, "executor_tool_calls_total", &["source=\"github\"", outcome]);
    assert_eq!((calls("\"ok\""), calls("\"denied\"")), (1.0, 1.0));
    assert_eq!(metric(&daemon, "executor_tool_calls_total", &["source=\"none\"", "tool-not-found"]), 1.0);
    assert_eq!(metric(&daemon, "executor_policy_denials_total", &[]), 1.0);
    let ends = |end: &str| metric(&daemon, "executor_guest_ends_total", &["component=\"quickjs\"", end]);
    assert_eq!((ends("\"ok\""), ends("\"out-of-fuel\"")), (4.0, 1.0));
    assert_eq!(metric(&daemon, "executor_guest_instances", &[]), 0.0);
    assert!(metric(&daemon, "executor_guest_fuel_total", &["quickjs"]) > 1e9);
    assert!(metric(&daemon, "executor_guest_memory_high_water_bytes", &["quickjs"]) > 1e6);
    assert!(metric(&daemon, "executor_guest_instantiate_seconds_count", &["quickjs"]) >= 5.0);
    assert!(metric(&daemon, "executor_component_loads_total", &[]) >= 3.0);
    let origin = emulator_origin(&daemon);
    let sent = |status: &str| metric(&daemon, "executor_egress_requests_total", &[&origin, "read", status]);
    assert!(sent("\"2xx\"") >= 1.0);
    assert!(metric(&daemon, "executor_egress_received_bytes_total", &[&origin]) > 0.0);
    assert!(metric(&daemon, "executor_store_changes_total", &[]) > 0.0);
    let route = "route=\"/v1/workspaces/{workspace}/executions\"";
    assert!(metric(&daemon, "executor_http_requests_total", &[route, "POST"]) >= 5.0);
    assert_eq!(metric(&daemon, "executor_http_requests_total", &["none", "401"]), 1.0);
    let page = get(&daemon, "/metrics", &[("authorization", &token(&daemon))]);
    assert!(!page.contains(TOKEN) && !page.contains("canary"), "{page}");
}

fn emulator_origin(daemon: &Daemon) -> String {
    let sources = daemon.run(&["sources", "show", "github", "--json"]).json();
    let text = sources.to_string();
    let start = text.find("http://127.0.0.1:").unwrap();
    text[start..].split(['"', '/']).find(|part| part.starts_with("127.0.0.1:")).unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_execution_is_counted_while_it_waits_and_its_waterfall_goes_on() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let (_, waiting) = daemon.execute(&format!(
        "return (await tools.github.issues.create({{ owner: 'octocat', repo: 'hello-world', body: {{ title: '{ARGUMENT}' }} }})).title"
    ));
    let id = execution_id(waiting["id"].as_str().unwrap());
    assert_eq!(metric(&daemon, "executor_executions_waiting", &[]), 1.0);
    daemon.run(&["resume", &id, "--accept", "--yes"]).ok();
    assert_eq!(metric(&daemon, "executor_executions_waiting", &[]), 0.0);
    let approvals = |outcome: &str| metric(&daemon, "executor_approvals_total", &[outcome]);
    assert_eq!((approvals("asked"), approvals("accepted"), approvals("declined")), (1.0, 1.0, 0.0));

    let trace = daemon.run(&["executions", "trace", &id, "--json"]).json();
    let names: Vec<&str> =
        trace["spans"].as_array().unwrap().iter().map(|span| span["name"].as_str().unwrap()).collect();
    let count = |name: &str| names.iter().filter(|found| **found == name).count();
    assert_eq!((count("execution"), count("executor:sandbox/engine.run")), (2, 2), "{names:?}");
    assert_eq!((count("approval"), count("intent"), count("tool.call")), (2, 1, 2), "{names:?}");
    assert!(!trace["spans"].to_string().contains(ARGUMENT), "{trace}");
    let shown = daemon.run(&["executions", "show", &id]).ok();
    assert!(shown.contains("executor:adapter/http.send POST 127") && shown.contains('█'), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_reach_a_collector_under_the_span_that_asked() {
    let collector = plain::start(Routes::new().on("POST", "/v1/traces", Answer::text(200, "")).handler());
    let (collector, emulator) = (collector.await.unwrap(), emulator().await);
    let mut daemon = Daemon::stopped()
        .with("OTEL_EXPORTER_OTLP_ENDPOINT", collector.origin())
        .with("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue%20one")
        .with("OTEL_SERVICE_NAME", "executor-under-test");
    daemon.serve();
    daemon.add_github(&emulator);
    daemon.execute(&format!("return await tools.github.users.getAuthenticated({{}}) && '{ARGUMENT}'"));
    let parent = format!("00-{}-{}-01", "c7".repeat(16), "b3".repeat(8));
    let headers = [("authorization", token(&daemon)), ("traceparent", parent)];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let path = "/v1/workspaces/default/executions";
    let answer = request(&daemon, "POST", path, &headers, r#"{"code":"return 1"}"#);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    daemon.stop();

    let posted = collector.ledger.matching("POST", "/v1/traces");
    assert!(!posted.is_empty(), "they are sent at the end at the latest");
    let mut all = Vec::new();
    for entry in &posted {
        assert_eq!(entry.header("content-type"), Some("application/x-protobuf"));
        assert_eq!(entry.header("x-team"), Some("blue one"));
        all.extend_from_slice(&entry.body);
    }
    let holds = |text: &str| all.windows(text.len()).any(|window| window == text.as_bytes());
    for expect in [
        "executor-under-test",
        "execution",
        "tool.call",
        "policy",
        "executor:compiler/compiler.compile",
        "executor:sandbox/engine.run",
        "executor:adapter/source.index",
        "executor:adapter/source.invoke",
        "executor:adapter/http.send",
        "http.request.method",
        "server.address",
        "github.users.getAuthenticated",
    ] {
        assert!(holds(expect), "{expect} is not there");
    }
    let ids = |bytes: &[u8]| all.windows(bytes.len()).filter(|window| *window == bytes).count();
    assert!(ids(&[0xc7; 16]) >= 3, "the execution and its parts are of the trace that asked");
    assert_eq!(ids(&[0xb3; 8]), 1, "the execution is a part of the span that asked");
    for secret in [TOKEN, ARGUMENT, "getAuthenticated({"] {
        assert!(!holds(secret), "{secret} was exported");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_gone_or_cannot_be_spoken_to_changes_nothing() {
    let mut daemon = Daemon::stopped().with("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    daemon.serve();
    let (code, view) = daemon.execute("return 1");
    assert_eq!(code, 0, "{view}");
    assert!(daemon.stop().success());
    let mut daemon = Daemon::stopped().with("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317");
    daemon.serve();
    daemon.execute("return 1");
    assert!(daemon.stop().success());
    let log = fs::read_to_string(daemon.home().join("logs/daemon.log")).unwrap();
    assert!(log.contains("no spans are exported") && log.contains("OTEL_EXPORTER_OTLP_ENDPOINT"), "{log}");
}

#[test]
fn the_log_is_lines_of_json_for_its_owner_alone() {
    let mut daemon = Daemon::start();
    daemon.execute("return 1");
    assert!(daemon.stop().success());
    let path = daemon.home().join("logs/daemon.log");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.lines().count() >= 2, "it says that it began and that it ended: {text}");
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["at"].is_string() && line["level"].is_string() && line["message"].is_string(), "{line}");
    }
    daemon.run(&["config", "set", "logs.files", "0"]).fails(2);
    daemon.run(&["config", "set", "logs.files", "2"]).ok();
    daemon.run(&["up", "--port", "auto"]).ok();
    assert_eq!(daemon.run(&["run", "-e", "return 7"]).ok().trim(), "7");
    daemon.run(&["down"]).ok();
}

#[test]
fn what_a_program_said_can_be_read_later() {
    let daemon = Daemon::start();
    let (_, done) = daemon.execute("console.log('one'); console.warn('two'); return 3");
    let id = execution_id(done["id"].as_str().unwrap());
    let logs = daemon.run(&["executions", "logs", &id, "--json"]).json();
    assert_eq!(logs["logs"][1], serde_json::json!({ "level": "warn", "text": "two" }), "{logs}");
    let trace = daemon.run(&["executions", "trace", &id, "--json"]).json();
    let names: Vec<&str> =
        trace["spans"].as_array().unwrap().iter().filter_map(|span| span["name"].as_str()).collect();
    assert!(names.starts_with(&["execution"]) && names.contains(&"executor:sandbox/engine.run"), "{names:?}");
}
