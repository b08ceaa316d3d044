//! What a failure tells.

use serde_json::{Value, json};

use super::{Host, check_failure, module, run, run_with};
use crate::bindings::{Module, Outcome};

#[test]
fn an_error_keeps_its_class_message_and_line() {
    let failure = check_failure("\n\n  null.x", "type", "TypeError: cannot read property 'x' of null");
    assert_eq!(
        failure.stack.as_deref(),
        Some("TypeError: cannot read property 'x' of null\n    at main.ts:3:3")
    );
    let details: Value = serde_json::from_str(&failure.details.unwrap()).unwrap();
    assert_eq!(details, json!({ "path": "main.ts", "line": 3, "column": 3 }));
}

#[test]
fn each_class_has_its_code() {
    check_failure("throw new Error('x')", "error", "Error: x");
    check_failure("throw new RangeError('x')", "range", "RangeError: x");
    check_failure("missing()", "reference", "ReferenceError: missing is not defined");
    check_failure("new Function('}')", "syntax", "SyntaxError: Unexpected token '}'");
    check_failure("class NotFound extends Error {} throw new NotFound('x')", "error", "NotFound: x");
    check_failure("throw new Error()", "error", "Error");
}

#[test]
fn a_thrown_value_that_is_no_error_is_shown() {
    check_failure("throw 'boom'", "thrown", "boom (a string was thrown)");
    check_failure("throw null", "thrown", "null was thrown");
    check_failure("throw undefined", "thrown", "undefined was thrown");
    check_failure("throw { a: 1 }", "thrown", "{ a: 1 } was thrown");
    check_failure("throw { message: 'no' }", "thrown", "no (thrown: { message: \"no\" })");
    check_failure("return Promise.reject(7)", "thrown", "7 was thrown");
    check_failure("throw Symbol('s')", "thrown", "Symbol(s) was thrown");
}

#[test]
fn causes_follow() {
    let failure = run("throw new Error('outer', { cause: new TypeError('inner') })").unwrap_err();
    let stack = failure.stack.unwrap();
    assert!(stack.starts_with("Error: outer\n    at main.ts:1:"), "{stack}");
    assert!(stack.contains("\nCaused by: TypeError: inner\n    at main.ts:1:"), "{stack}");
    let failure = run("const e = new Error('self'); e.cause = e; throw e").unwrap_err();
    assert_eq!(failure.stack.unwrap().matches("Caused by").count(), 5);
    let failure = run("await Promise.any([Promise.reject(new Error('one'))])").unwrap_err();
    assert!(failure.stack.unwrap().contains("One of them: Error: one"));
}

#[test]
fn a_tool_error_has_the_hosts_fields_and_the_callers_line() {
    let host = Host::new(|_| {
        let failure = json!({
            "code": "upstream-http-error", "message": "Not Found", "status": 404,
            "retryable": false, "retry_after_ms": null, "details": { "a": 1 }, "tool": "github.issues.get",
        });
        Some(Outcome::Failed(failure.to_string()))
    });
    let failure = run_with(&host, "\n  await tools.github.issues.get({ number: 1 })").unwrap_err();
    assert_eq!(failure.code, "tool");
    assert_eq!(failure.message, "ToolError: Not Found");
    assert!(failure.stack.unwrap().starts_with("ToolError: Not Found\n    at main.ts:2:"));
    let details: Value = serde_json::from_str(&failure.details.unwrap()).unwrap();
    assert_eq!(details["code"], "upstream-http-error");
    assert_eq!((details["status"].clone(), details["line"].clone()), (json!(404), json!(2)));
    assert_eq!(details["details"], json!({ "a": 1 }));
    assert_eq!(details["tool"], "github.issues.get");
    assert_eq!(details.get("retryAfterMs"), None);
}

#[test]
fn a_tool_error_can_be_caught_by_its_class() {
    let host = Host::new(|_| {
        Some(Outcome::Failed(
            r#"{"code":"denied","message":"no","retryable":true,"retry_after_ms":1500}"#.into(),
        ))
    });
    let body = "try { await tools.a.b() } catch (e) {
        return [e instanceof ToolError, e instanceof Error, e.name, e.code, e.retryable, e.retryAfterMs, e.message]
    }";
    assert_eq!(run_with(&host, body), Ok(json!([true, true, "ToolError", "denied", true, 1500, "no"])));
}

#[test]
fn a_failed_answer_of_any_shape_is_an_error() {
    for (answer, message) in [
        ("null", "ToolError: the tool failed and did not say why"),
        ("7", "ToolError: the tool failed and did not say why"),
        ("not json", "ToolError: the host's answer to this call is not JSON"),
    ] {
        let host = Host::new(move |_| Some(Outcome::Failed(answer.into())));
        let failure = run_with(&host, "await tools.a.b()").unwrap_err();
        assert_eq!(failure.message, message, "{answer}");
    }
    let host = Host::new(|_| Some(Outcome::Ok("{".into())));
    let failure = run_with(&host, "await tools.a.b()").unwrap_err();
    assert_eq!(failure.message, "ToolError: the host's answer to this call is not JSON");
}

#[test]
fn a_syntax_error_has_its_line() {
    let host = Host::silent();
    let source = "export default 1;\nlet x = ;";
    let failure = host.engine().run(&module("main.ts", source), "null").unwrap_err();
    assert_eq!(failure.code, "syntax");
    let details: Value = serde_json::from_str(&failure.details.unwrap()).unwrap();
    assert_eq!((details["path"].clone(), details["line"].clone()), (json!("main.ts"), json!(2)));
    let failure = host.engine().run(&module("main.ts", "a\0b"), "null").unwrap_err();
    assert_eq!(failure.code, "syntax");
}

#[test]
fn lines_are_the_authors_where_there_is_a_map() {
    let code = Module {
        source_map: Some(r#"{"version":3,"sources":["notes.md"],"names":[],"mappings":"AAKA"}"#.into()),
        ..module("main.ts", "export default () => { throw new Error('x') }")
    };
    let failure = Host::silent().engine().run(&code, "null").unwrap_err();
    assert_eq!(failure.stack.as_deref(), Some("Error: x\n    at notes.md:6:1"));
}

#[test]
fn the_input_has_to_be_json() {
    let failure = Host::silent().engine().run(&module("main.ts", "export default 1"), "{").unwrap_err();
    assert_eq!((failure.code.as_str(), failure.message.as_str()), ("input", "the input is not JSON"));
}

#[test]
fn recursion_is_a_range_error_that_can_be_caught() {
    let failure = run("const f = () => f() + 1; return f()").unwrap_err();
    assert_eq!(failure.code, "range");
    assert_eq!(failure.message, "RangeError: Maximum call stack size exceeded");
    let body = "const f = () => f() + 1; try { f() } catch (e) { return e instanceof RangeError }";
    assert_eq!(run(body), Ok(json!(true)));
}

#[test]
fn a_huge_message_is_cut() {
    let failure = run("throw new Error('x'.repeat(1 << 20))").unwrap_err();
    assert!(failure.message.len() < 70_000);
    assert!(failure.message.ends_with("… (cut)"));
}
