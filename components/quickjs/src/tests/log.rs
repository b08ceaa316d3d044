//! How values look in the log.

use super::{Host, run_with};
use crate::bindings::Level;

#[track_caller]
fn check(items: &str, expect: &str) {
    let host = Host::echo();
    run_with(&host, &format!("console.log({items})")).unwrap();
    assert_eq!(host.lines(), [expect], "{items}");
}

#[test]
fn strings_are_raw_and_the_rest_is_literal() {
    check("'a', 1, true, null, undefined, 2n, Symbol('s')", "a 1 true null undefined 2n Symbol(s)");
    check("", "");
    check("{ a: 'x', 'b-c': [1, 'y'] }, []", "{ a: \"x\", \"b-c\": [1, \"y\"] } []");
    check(
        "{}, [[]], function f() {}, () => 1, class A {}",
        "{} [[]] [function f] [function (anonymous)] [function A]",
    );
    check("new Map([['a', 1]]), new Set([1, 2]), new Map()", "Map { \"a\" => 1 } Set [1, 2] Map {}");
    check(
        "new Date(0), new Date(NaN), /a/g, Promise.resolve(1)",
        "1970-01-01T00:00:00.000Z Invalid Date /a/g Promise {}",
    );
    check(
        "new Uint8Array(3), new ArrayBuffer(2), new WeakMap()",
        "[typed of 3 bytes] [buffer of 2 bytes] [opaque object]",
    );
}

#[test]
fn levels_are_kept() {
    let host = Host::echo();
    run_with(&host, "console.debug(1); console.info(2); console.warn(3); console.error(4)").unwrap();
    let record = host.0.record.borrow();
    let levels: Vec<_> = record.lines.iter().map(|(level, _)| *level).collect();
    assert_eq!(levels, [Level::Debug, Level::Info, Level::Warn, Level::Error]);
}

#[test]
fn an_error_shows_its_author_line_and_fields() {
    let host = Host::echo();
    run_with(&host, "\nconsole.log(Object.assign(new TypeError('bad'), { code: 3 }))").unwrap();
    let line = &host.lines()[0];
    assert!(line.starts_with("TypeError: bad\n    at main.ts:2:"), "{line}");
    assert!(line.ends_with(" { code: 3 }"), "{line}");
}

#[test]
fn cycles_depth_and_length_are_bounded() {
    check("(() => { const a = { n: 1 }; a.me = a; return a })()", "{ n: 1, me: [circular] }");
    check(
        "{ a: { b: { c: { d: { e: { f: { g: 1 } } } } } } }",
        "{ a: { b: { c: { d: { e: { f: {…} } } } } } }",
    );
    let host = Host::echo();
    run_with(&host, "console.log('x'.repeat(200000)); console.log(Array.from({ length: 1000 }, (_, i) => i)); console.log('é'.repeat(5e6))").unwrap();
    let lines = host.lines();
    assert_eq!(lines[0].len(), 64 * 1024 + "… (cut)".len());
    assert!(lines[1].ends_with("198, 199, … 800 more]"), "{}", lines[1]);
    assert_eq!(lines[2], "[a very long string]");
}

#[test]
fn a_part_that_throws_does_not_stop_the_line() {
    check("{ get a() { throw 1 }, b: 2 }", "{ a: [threw], b: 2 }");
    check("new Proxy({}, { ownKeys() { throw 1 } }), 'after'", "[opaque object] after");
}
