//! Every form of value on its way out.

use serde_json::json;

use super::{check, check_failure, run};

#[test]
fn plain_values_are_their_json() {
    check("return 1 + 1", json!(2));
    check("return 'ü \\u2028 \" \\n'", json!("ü \u{2028} \" \n"));
    check("return [true, null, -0, 1.5, 1e300]", json!([true, null, 0, 1.5, 1e300]));
    check("return { a: { b: [] }, '': 1 }", json!({ "a": { "b": [] }, "": 1 }));
}

#[test]
fn whole_numbers_stay_whole() {
    assert_eq!(text("return 2 ** 31"), "2147483648");
    assert_eq!(text("return 2 ** 53 - 1"), "9007199254740991");
    assert_eq!(text("return -(2 ** 40)"), "-1099511627776");
    assert_eq!(text("return 1e21"), "1e+21");
}

fn text(body: &str) -> String {
    let source = format!("export default () => {{ {body} }}");
    let host = super::Host::silent();
    host.engine().run(&super::module("main.ts", &source), "null").unwrap()
}

#[test]
fn what_json_has_no_word_for_is_left_out() {
    check("return undefined", json!(null));
    check("", json!(null));
    check("return { a: undefined, b: () => 1, c: Symbol('x'), d: 1 }", json!({ "d": 1 }));
    check("return [undefined, () => 1, Symbol('x')]", json!([null, null, null]));
    check("return [NaN, Infinity, -Infinity]", json!([null, null, null]));
}

#[test]
fn a_big_integer_is_a_number_where_that_is_exact() {
    check("return 10n", json!(10));
    check("return -9007199254740991n", json!(-9_007_199_254_740_991_i64));
    check("return 2n ** 64n", json!("18446744073709551616"));
    check("return new BigInt64Array([1n])", json!([1]));
}

#[test]
fn maps_and_sets_keep_their_contents() {
    check("return new Map([['a', 1], ['b', new Map()]])", json!({ "a": 1, "b": {} }));
    check("return new Map([[1, 'x'], ['b', 2]])", json!([[1, "x"], ["b", 2]]));
    check("return new Set([1, 'a', new Set([2])])", json!([1, "a", [2]]));
    check("return new Map([['a', undefined], ['b', 1]])", json!({ "b": 1 }));
}

#[test]
fn dates_and_expressions_are_text() {
    check("return new Date(0)", json!("1970-01-01T00:00:00.000Z"));
    check("return { at: new Date(NaN) }", json!({ "at": null }));
    check("return /a+/gi", json!("/a+/gi"));
}

#[test]
fn bytes_are_base64() {
    check("return new Uint8Array([104, 105])", json!({ "$bytes": "aGk=" }));
    check("return new Uint8Array([1, 104, 105, 2]).subarray(1, 3)", json!({ "$bytes": "aGk=" }));
    check("return new TextEncoder().encode('hi').buffer", json!({ "$bytes": "aGk=" }));
    check("return new DataView(new Uint8Array([1, 104, 105]).buffer, 1)", json!({ "$bytes": "aGk=" }));
    check("return new Float32Array([1, 0.5])", json!([1, 0.5]));
}

#[test]
fn an_error_tells_its_name_message_and_fields() {
    check(
        "return Object.assign(new TypeError('bad', { cause: new Error('why') }), { code: 7 })",
        json!({ "name": "TypeError", "message": "bad", "cause": { "name": "Error", "message": "why" }, "code": 7 }),
    );
}

#[test]
fn to_json_is_asked() {
    check("return { toJSON() { return { a: 1 } } }", json!({ "a": 1 }));
    check("return { x: { toJSON: () => undefined }, y: 1 }", json!({ "y": 1 }));
    check("return new URL('https://a.example/x?y=1')", json!("https://a.example/x?y=1"));
    check_failure("return { toJSON() { throw new RangeError('no') } }", "range", "RangeError: no");
}

#[test]
fn what_cannot_be_json_is_refused_with_its_path() {
    check_failure(
        "const a = { list: [{}] }; a.list[0].back = a; return a",
        "cycle",
        "the result.list[0].back refers back to itself, which JSON can't hold",
    );
    check_failure("return () => 1", "function", "the result is a function, which JSON can't hold");
    check_failure("return Symbol('x')", "symbol", "the result is a symbol, which JSON can't hold");
    check_failure(
        "return { issue: tools.a.b() }",
        "promise",
        "the result.issue is a promise: await it first",
    );
    check_failure(
        "return tools.github.issues.list",
        "function",
        "the result is the tool github.issues.list itself: call it, as in tools.github.issues.list({ … })",
    );
    check("const shared = { a: 1 }; return [shared, shared]", json!([{ "a": 1 }, { "a": 1 }]));
}

#[test]
fn depth_and_size_are_bounded() {
    let failure =
        run("let a = {}; const top = a; for (let i = 0; i < 200; i++) a = a.x = {}; return top").unwrap_err();
    assert_eq!(failure.code, "too-deep");
    assert!(failure.message.contains("more than 100 levels deep"), "{}", failure.message);
    let failure = run("let a = []; for (let i = 0; i < 99; i++) a = [a]; return a");
    assert!(failure.is_ok(), "{failure:?}");
    check_failure(
        "return 'x'.repeat(9 << 20)",
        "too-large",
        "the result would be more than 8 MiB of JSON: return or pass less, or a part at a time",
    );
    let failure = run("return new Array(1e9)").unwrap_err();
    assert_eq!(failure.code, "too-large");
    let failure = run("return new Uint8Array(9 << 20)").unwrap_err();
    assert_eq!(failure.code, "too-large");
    check_failure(
        "emit('x'.repeat(9 << 20))",
        "type",
        "TypeError: the emitted value would be more than 8 MiB of JSON: return or pass less, or a part at a time",
    );
}

#[test]
fn half_a_surrogate_pair_becomes_a_replacement() {
    check("return 'a\\ud800b'", json!("a\u{fffd}b"));
    check("return { '\\udc00': 1 }", json!({ "\u{fffd}": 1 }));
}
