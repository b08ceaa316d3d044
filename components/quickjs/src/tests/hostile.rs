//! Programs that mean no good: to the engine's own workings.

use serde_json::json;

use super::{Host, check, run, run_with};
use crate::bindings::Outcome;

/// Replaces everything that a careless prelude would call.
const POLLUTION: &str = "
    const evil = () => { throw new Error('polluted') };
    for (const name of ['then', 'catch', 'finally']) Promise.prototype[name] = evil;
    for (const name of ['push', 'map', 'filter', 'join', 'concat', 'forEach', 'indexOf', 'slice']) Array.prototype[name] = evil;
    Object.defineProperty(Array.prototype, '0', { set: evil, get: () => 'forged', configurable: true });
    for (const name of ['get', 'set', 'has', 'delete', 'forEach']) { Map.prototype[name] = evil; Set.prototype[name] = evil; WeakMap.prototype[name] = evil; }
    for (const name of ['call', 'apply', 'bind']) Function.prototype[name] = evil;
    for (const name of ['replace', 'split', 'slice', 'toString']) String.prototype[name] = evil;
    JSON.parse = JSON.stringify = Object.keys = Object.defineProperty = Reflect.apply = Reflect.ownKeys = evil;
    Promise.resolve = Promise.all = Promise.reject = evil;
    Error.captureStackTrace = evil;
    Object.prototype.status = 1; Object.prototype.value = 'forged'; Object.prototype.timer = evil; Object.prototype.signal = undefined;
    Object.prototype.resolve = evil; Object.prototype.ok = true;
    globalThis.Promise = globalThis.Map = globalThis.Error = globalThis.Proxy = evil;
";

#[test]
fn polluted_prototypes_forge_nothing() {
    let host = Host::ordered(true, |call| Some(Outcome::Ok(format!("{:?}", call.path[0]))));
    let body = format!(
        "{POLLUTION} const a = tools.a(); const b = tools.b.c({{ x: 1 }}); return {{ b: await b, a: await a }}"
    );
    assert_eq!(run_with(&host, &body), Ok(json!({ "a": "a", "b": "b" })));
    assert_eq!(host.calls(), ["tools:a {}", r#"tools:b.c {"x":1}"#]);
}

#[test]
fn polluted_prototypes_keep_failures_and_the_log() {
    let host = Host::new(|_| Some(Outcome::Failed(r#"{"code":"denied","message":"no"}"#.into())));
    let body = format!(
        "{POLLUTION} console.log('still', {{ a: 1 }}); try {{ await tools.a() }} catch (e) {{ return e.code }}"
    );
    assert_eq!(run_with(&host, &body), Ok(json!("denied")));
    assert_eq!(host.lines(), ["still { a: 1 }"]);
    let host = Host::silent();
    let failure = run_with(&host, &format!("{POLLUTION} tools.left.behind(); await 0; throw 7")).unwrap_err();
    assert_eq!(failure.message, "7 was thrown");
    assert!(host.warnings()[0].starts_with("abandoned: tools.left.behind ("), "{:?}", host.warnings());
}

#[test]
fn a_thenable_everywhere_only_harms_its_author() {
    let failure = run("Object.prototype.then = function (go) { /* never */ }; return {}").unwrap_err();
    assert_eq!(failure.code, "never-settles");
    check("Promise.prototype.constructor = null; return 1", json!(1));
    let species = "Object.defineProperty(Promise, Symbol.species, { value: function () { throw 1 } });";
    check(&format!("{species} return (await tools.a.b()).path"), json!("a.b"));
    let failure = run(&format!("{species} return tools.a.b().then((x) => x)")).unwrap_err();
    assert_eq!(failure.message, "1 was thrown");
}

#[test]
fn hooks_into_stack_traces_stay_the_authors() {
    check(
        "Error.prepareStackTrace = () => ({ not: 'a string' }); return (await tools.a.b()).path",
        json!("a.b"),
    );
    let failure =
        run("Error.prepareStackTrace = () => { throw 1 }; Error.stackTraceLimit = 0; null.x").unwrap_err();
    assert_eq!(failure.code, "type");
    let failure = run("const e = new Error('x'); Object.defineProperty(e, 'stack', { get() { throw 1 } }); Object.defineProperty(e, 'name', { get() { throw 1 } }); throw e").unwrap_err();
    assert_eq!(failure.message, "Error: x");
    let failure = run("throw new Proxy(new Error('x'), { get() { throw new Error('trap') } })").unwrap_err();
    assert_eq!(failure.code, "thrown");
}

#[test]
fn typed_arrays_that_lie_are_read_as_they_are() {
    check(
        "const a = new Uint8Array([104, 105]); Object.defineProperty(a, 'length', { value: 'x' }); Object.defineProperty(a, 'byteLength', { value: 1e9 }); return [a, new TextDecoder().decode(a)]",
        json!([{ "$bytes": "aGk=" }, "hi"]),
    );
    check(
        "const v = new DataView(new ArrayBuffer(2)); Object.defineProperty(v, 'byteLength', { value: 1e9 }); return v",
        json!({ "$bytes": "" }),
    );
    check(
        "const b = new ArrayBuffer(4); const v = new Uint8Array(b); b.transfer(); return [v, b]",
        json!([{ "$bytes": "" }, { "$bytes": "" }]),
    );
}

#[test]
fn deep_structures_do_not_overflow() {
    let failure = run("let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a").unwrap_err();
    assert_eq!(failure.code, "too-deep");
    check("let a = []; for (let i = 0; i < 1e5; i++) a = [a]; console.log(a); return 1", json!(1));
    let failure =
        run("let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return structuredClone(a)").unwrap_err();
    assert_eq!(failure.code, "range");
    let failure = run("JSON.parse('['.repeat(1e6))").unwrap_err();
    assert!(["range", "syntax"].contains(&failure.code.as_str()), "{failure:?}");
    let failure = run("return new Function('return ' + '('.repeat(1e5) + ')'.repeat(1e5))()").unwrap_err();
    assert!(["range", "syntax"].contains(&failure.code.as_str()), "{failure:?}");
    let failure = run("return /(((((((((((((((((((((((((a)))))))))))))))))))))))))/.test('a'.repeat(10)) && new RegExp('('.repeat(1e5))").unwrap_err();
    assert_eq!(failure.code, "syntax");
    let failure = run("const o = { toJSON() { return { o: { toJSON: o.toJSON } } } }; return o").unwrap_err();
    assert!(["range", "too-deep"].contains(&failure.code.as_str()), "{failure:?}");
}

#[test]
fn proxies_in_results_are_asked_like_any_object() {
    check("return new Proxy({ a: 1 }, {})", json!({ "a": 1 }));
    let failure = run("return new Proxy({}, { ownKeys() { throw new Error('trap') } })").unwrap_err();
    assert_eq!(failure.message, "Error: trap");
    let failure = run("const p = new Proxy({}, { get: (_, key) => key === 'a' ? p : undefined, ownKeys: () => ['a'], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }) }); return p").unwrap_err();
    assert_eq!(failure.code, "cycle");
}

#[test]
fn many_calls_at_once_are_all_answered() {
    check(
        "return (await Promise.all(Array.from({ length: 3000 }, (_, i) => tools.a.b({ i })))).reduce((n, x) => n + x.args.i, 0)",
        json!(4_498_500),
    );
}
