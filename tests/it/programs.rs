//! What programs may do wrong.

use std::time::{Duration, Instant};

use executor_upstreams::github::{Fault, FaultKind};
use serde_json::Value;

use crate::daemon::{Daemon, emulator};

#[track_caller]
fn fails(daemon: &Daemon, code: &str, expect: &str) -> Value {
    let (exit, view) = daemon.execute(code);
    assert_eq!((exit, &view["status"]), (1, &"failed".into()), "{code}: {view}");
    let error = &view["error"];
    assert!(error.to_string().contains(expect), "{code}: {expect} is missing in {error}");
    view
}

#[test]
fn every_form_of_program_runs() {
    let daemon = Daemon::start();
    for (code, expect) in [
        ("return 1 + 1", "2"),
        ("async () => 'arrow'", "\"arrow\""),
        ("function main() { return 'named' }", "\"named\""),
        ("export default async (input: unknown) => ({ typed: true })", "{\"typed\":true}"),
        ("Here it is:\n```ts\nconst x: number = 3;\nreturn x\n```\nas you asked", "3"),
        ("enum Color { Red = 'r' }\nreturn Color.Red", "\"r\""),
        ("void 0", "null"),
    ] {
        let (exit, view) = daemon.execute(code);
        assert_eq!((exit, view["result"].to_string().as_str()), (0, expect), "{code}: {view}");
    }
}

#[test]
fn errors_say_what_and_where() {
    let daemon = Daemon::start();
    let view = fails(&daemon, "const a = 1;\nconst b = ;", "syntax");
    assert_eq!(view["error"]["line"], 2, "{view}");
    let view = fails(
        &daemon,
        "const a: number = 1;\ninterface X { y: number }\nthrow new Error('on line three')",
        "on line three",
    );
    assert_eq!(view["error"]["line"], 3, "{view}");
    fails(&daemon, "await new Promise(() => {})", "never-settles");
    fails(&daemon, "return await tools.nowhere.at.all({})", "tool-not-found");
    fails(&daemon, "import fs from 'node:fs'; return fs", "node:fs");
    fails(&daemon, "await fetch('https://example.com')", "tools");
    fails(&daemon, "return new Array(1e9).fill(0)", "out-of-memory");
    fails(&daemon, "const f = () => f(); f()", "RangeError");
    fails(&daemon, "throw null", "null");
    fails(&daemon, "", "no code");
}

#[test]
fn an_endless_loop_ends_and_holds_up_nobody() {
    let mut daemon = Daemon::stopped();
    std::fs::write(daemon.home().join("config.toml"), "[limits]\nexecute_wall_seconds = 3\n").unwrap();
    daemon.serve();
    daemon.execute("return 'warm'");
    let spin = daemon.run_beside(&["run", "--json", "-e", "while (true) {}"]);
    let begun = Instant::now();
    let mut slowest = Duration::ZERO;
    while begun.elapsed() < Duration::from_secs(2) {
        let at = Instant::now();
        let (exit, _) = daemon.execute("return 1");
        assert_eq!(exit, 0);
        slowest = slowest.max(at.elapsed());
    }
    assert!(slowest < Duration::from_secs(1), "one took {slowest:?} beside a loop");
    let output = spin.join().unwrap();
    let view: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(view["error"]["code"], "timeout", "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_upstreams_do_reaches_programs_as_typed_errors() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let call = "try { return await tools.github.users.getAuthenticated({}) }
        catch (e) { return [e.code, e.status ?? null, e.retryable, e.retryAfterMs ?? null] }";
    for (kind, expect) in [
        (FaultKind::TooManyRequests { retry_after_seconds: 7 }, r#"["upstream-rate-limited",429,true,7000]"#),
        (FaultKind::ServerError, r#"["upstream-failed",500,true,null]"#),
        (FaultKind::TruncatedBody, r#"["upstream-malformed",200,true,null]"#),
    ] {
        emulator.fault(Fault::new("GET", "/user", kind.clone()));
        let (_, view) = daemon.execute(call);
        assert_eq!(view["result"].to_string(), expect, "{kind:?}: {view}");
        emulator.clear_faults();
    }
    let (_, view) = daemon.execute(
        "const raw = await tools.github.repos.get({ owner: 'octocat', repo: 'no-such' }, { raw: true });
         return [raw.ok, raw.error.code, raw.error.status]",
    );
    assert_eq!(view["result"].to_string(), r#"[false,"upstream-not-found",404]"#, "{view}");
}
