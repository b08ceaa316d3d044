//! `tools` and the calls made through it.

use serde_json::json;

use super::{Host, check, check_failure, run, run_with};
use crate::bindings::Outcome;

#[track_caller]
fn check_calls(body: &str, expect: &[&str]) {
    let host = Host::echo();
    run_with(&host, body).unwrap();
    assert_eq!(host.calls(), expect, "{body}");
}

#[test]
fn any_dotted_path_is_a_call() {
    check_calls(
        "await tools.github.issues.create({ title: 'x' })",
        &[r#"tools:github.issues.create {"title":"x"}"#],
    );
    check_calls("await tools['github.issues.list']()", &["tools:github.issues.list {}"]);
    check_calls(
        "const { list } = tools.github.issues; await list({ a: 1 })",
        &[r#"tools:github.issues.list {"a":1}"#],
    );
    check_calls(
        "await tools.a.name(); await tools.a.call(); await tools.a.bind.apply()",
        &["tools:a.name {}", "tools:a.call {}", "tools:a.bind.apply {}"],
    );
    check(
        "return await tools.a.b({ x: [1, undefined] })",
        json!({ "path": "a.b", "args": { "x": [1, null] } }),
    );
}

#[test]
fn a_path_is_the_same_function_however_often_it_is_looked_up() {
    check(
        "return [tools.a.b === tools.a.b, tools.a.b === tools.a.c, tools.a === tools]",
        json!([true, false, false]),
    );
    check_calls(
        "await tools.count.tools(); await tools.count.count(); await tools.tools.count()",
        &["tools:count.tools {}", "tools:count.count {}", "tools:tools.count {}"],
    );
    let host = Host::echo();
    let body =
        "for (let i = 0; i < 600; i += 1) await tools.many[`tool${i}`](); return `${tools.many.tool599}`";
    assert_eq!(run_with(&host, body), Ok(json!("[tool many.tool599]")));
    let calls = host.calls();
    assert_eq!((calls.len(), calls[0].as_str()), (600, "tools:many.tool0 {}"));
    assert_eq!(calls[599], "tools:many.tool599 {}");
}

#[test]
fn options_travel_beside_the_arguments() {
    check_calls(
        "await tools.a.b({}, { connection: 'work', raw: true })",
        &[r#"tools:a.b {} {"connection":"work","raw":true}"#],
    );
    check_calls("await tools.a.b({}, {})", &["tools:a.b {}"]);
    check_calls("await tools.a.b(undefined, { signal: new AbortController().signal })", &["tools:a.b {}"]);
}

#[test]
fn search_and_describe_have_their_short_forms() {
    check_calls("await tools.search('issues')", &[r#"tools:search {"query":"issues"}"#]);
    check_calls("await tools.search({ query: 'a', limit: 3 })", &[r#"tools:search {"query":"a","limit":3}"#]);
    check_calls("await tools.sources.list()", &["tools:sources.list {}"]);
    let described = [r#"tools:describe {"path":"github.issues.create","type":"output","depth":2}"#];
    check_calls("await tools.describe('github.issues.create', { type: 'output', depth: 2 })", &described);
    check_calls("await tools.describe(tools.github.issues.create, { type: 'output', depth: 2 })", &described);
    check_calls("await tools.describe('a.b')", &[r#"tools:describe {"path":"a.b"}"#]);
}

#[test]
fn awaiting_or_printing_a_path_calls_nothing() {
    let host = Host::echo();
    let body = "
        await tools; await tools.x; await tools.github.issues;
        console.log(tools, tools.github.issues.create, [tools.a], `${tools.a.b}`, tools.a + '');
        return [typeof tools.x.then, typeof tools.x.toJSON, typeof tools.x.constructor,
            typeof tools.x.__proto__, typeof tools.x.prototype, JSON.stringify({ t: tools.x }),
            Object.prototype.toString.call(tools.x)]";
    let expect =
        json!(["undefined", "undefined", "undefined", "undefined", "undefined", "{}", "[object Function]"]);
    assert_eq!(run_with(&host, body), Ok(expect));
    assert_eq!(host.calls(), Vec::<String>::new());
    assert_eq!(host.lines(), ["[tools] [tool github.issues.create] [[tool a]] [tool a.b] [tool a]"]);
}

#[test]
fn listing_tools_says_how_to_find_them() {
    let hint =
        "TypeError: tools can't be listed: use tools.search({ query }) to find them, or tools.sources.list()";
    for body in ["Object.keys(tools)", "for (const x in tools.github);", "'a' in tools", "({ ...tools })"] {
        check_failure(body, "type", hint);
    }
    check_failure("tools.github = 1", "type", "TypeError: tools is read-only");
    check_failure("delete tools.github", "type", "TypeError: tools is read-only");
}

#[test]
fn wrong_arguments_are_refused_before_the_host_is_asked() {
    for (body, message) in [
        (
            "await tools.a.b('x')",
            "TypeError: tools.a.b takes one object of named arguments, not a string: tools.describe(\"a.b\") shows them",
        ),
        (
            "await tools.a.b([1])",
            "TypeError: tools.a.b takes one object of named arguments, not an array: tools.describe(\"a.b\") shows them",
        ),
        (
            "await tools.a.b({}, 'work')",
            "TypeError: the second argument of tools.a.b is an object of options (connection, raw, signal), not a string",
        ),
        (
            "await tools.a.b({}, { signal: {} })",
            "TypeError: the option \"signal\" of tools.a.b has to be an AbortSignal",
        ),
        (
            "await tools({})",
            "TypeError: tools is not a tool: call one by its path, such as tools.github.issues.list({ … }); tools.search({ query }) finds them",
        ),
        (
            "const a = {}; a.a = a; await tools.a.b(a)",
            "TypeError: the arguments of tools.a.b.a refers back to itself, which JSON can't hold",
        ),
    ] {
        let host = Host::echo();
        let failure = run_with(&host, body).unwrap_err();
        assert_eq!(failure.message, message);
        assert_eq!(host.calls(), Vec::<String>::new(), "{body}");
    }
    check("return await tools.a.b('x').catch((e) => e.name)", json!("TypeError"));
}

#[test]
fn calls_run_together_and_are_told_apart() {
    let host = Host::ordered(true, |call| Some(Outcome::Ok(format!("{:?}", call.path[0]))));
    let body = "
        const order = [];
        const note = (p) => p.then((v) => (order.push(v), v));
        const all = await Promise.all([note(tools.a()), note(tools.b()), note(tools.c())]);
        return { all, order }";
    assert_eq!(run_with(&host, body), Ok(json!({ "all": ["a", "b", "c"], "order": ["c", "b", "a"] })));
    assert_eq!(host.calls(), ["tools:a {}", "tools:b {}", "tools:c {}"]);
}

#[test]
fn the_loser_of_a_race_can_be_aborted() {
    let host = Host::new(|call| (call.path[0] == "fast").then(|| Outcome::Ok("1".into())));
    let body = "
        const abort = new AbortController();
        const slow = tools.slow({}, { signal: abort.signal }).catch((e) => [e.name, e.message]);
        const won = await Promise.race([slow, tools.fast()]);
        abort.abort();
        return [won, await slow]";
    assert_eq!(run_with(&host, body), Ok(json!([1, ["AbortError", "this operation was aborted"]])));
    assert_eq!(host.0.record.borrow().cancelled, [1]);
    assert_eq!(host.lines(), Vec::<String>::new());
}

#[test]
fn an_aborted_signal_starts_nothing() {
    let host = Host::echo();
    let failure = run_with(&host, "await tools.a.b({}, { signal: AbortSignal.abort() })").unwrap_err();
    assert_eq!(
        (failure.code.as_str(), failure.message.as_str()),
        ("aborted", "AbortError: this operation was aborted")
    );
    assert_eq!(host.calls(), Vec::<String>::new());
    let failure = run("await tools.a.b({}, { signal: AbortSignal.abort(new Error('mine')) })").unwrap_err();
    assert_eq!(failure.message, "Error: mine");
}

#[test]
fn calls_left_behind_are_cancelled_and_named() {
    let host = Host::new(|call| (call.path == ["quick"]).then(|| Outcome::Ok("1".into())));
    let body =
        "tools.github.issues.list(); tools.slow.b(); setTimeout(() => {}, 5); await tools.quick(); return 1";
    assert_eq!(run_with(&host, body), Ok(json!(1)));
    assert_eq!(host.0.record.borrow().cancelled, [1, 2, 3]);
    assert_eq!(
        host.warnings(),
        [
            "abandoned: tools.github.issues.list, tools.slow.b (not awaited when the program ended, and cancelled)"
        ]
    );
}

#[test]
fn calls_are_abandoned_when_the_program_throws_too() {
    let host = Host::silent();
    run_with(&host, "tools.a.b(); throw new Error('x')").unwrap_err();
    assert_eq!(host.0.record.borrow().cancelled, [1]);
}

#[test]
fn a_rejection_that_nobody_sees_is_told() {
    let host = Host::new(|call| {
        Some(if call.path[0] == "bad" {
            Outcome::Failed(r#"{"message":"no"}"#.into())
        } else {
            Outcome::Ok("1".into())
        })
    });
    assert_eq!(run_with(&host, "tools.bad(); await tools.good(); return 1"), Ok(json!(1)));
    assert_eq!(host.warnings(), ["a promise was rejected and nothing looked at it: ToolError: no"]);
    let host = Host::new(|_| Some(Outcome::Failed(r#"{"message":"no"}"#.into())));
    assert_eq!(run_with(&host, "try { await tools.bad() } catch {} return 1"), Ok(json!(1)));
    run_with(&host, "throw new Error('x')").unwrap_err();
    run_with(&host, "await tools.bad()").unwrap_err();
    run_with(&host, "return tools.bad()").unwrap_err();
    run_with(&host, "return { then(_, no) { no(1) } }").unwrap_err();
    assert_eq!(host.warnings(), Vec::<String>::new());
}
