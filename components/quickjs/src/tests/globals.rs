//! The global scope of a program.

use serde_json::json;

use super::{Host, check, check_failure, run, run_with};

#[test]
fn what_reaches_out_is_absent_or_says_so() {
    check(
        "return [typeof require, typeof process, typeof XMLHttpRequest, typeof WebSocket, typeof navigator, typeof std, typeof os, typeof gc, typeof print, typeof Worker]",
        json!([
            "undefined",
            "undefined",
            "undefined",
            "undefined",
            "undefined",
            "undefined",
            "undefined",
            "undefined",
            "undefined",
            "undefined"
        ]),
    );
    check_failure(
        "await fetch('https://a.example')",
        "type",
        "TypeError: fetch is not available here: call tools.<source>.<tool>(args) instead; tools.search({ query }) finds them",
    );
    check_failure(
        "setInterval(() => {}, 1)",
        "type",
        "TypeError: setInterval is not available here: loop, and wait with `await new Promise((go) => setTimeout(go, ms))`",
    );
    check_failure(
        "await import('./x.ts')",
        "type",
        "TypeError: import(\"./x.ts\") is refused: modules are fixed before a program starts; import it at the top of the file",
    );
}

#[test]
fn the_seams_of_a_program_are_fixed() {
    check_failure("tools = 1", "type", "TypeError: 'tools' is read-only");
    check("const tools = 1; return tools", json!(1));
    check(
        "Object.setPrototypeOf; try { Object.setPrototypeOf(ToolError, null) } catch (e) { return e.name }",
        json!("TypeError"),
    );
}

#[test]
fn randomness_comes_from_the_host() {
    let host = Host::echo();
    let body = "return [crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(3))], [...crypto.getRandomValues(new Uint16Array(1))]]";
    assert_eq!(
        run_with(&host, body),
        Ok(json!(["0b30557a-9fc4-490e-b358-7da2c7ec1136", [11, 48, 85], [12299]]))
    );
    check_failure(
        "crypto.getRandomValues(new Uint8Array(70000))",
        "error",
        "QuotaExceededError: crypto.getRandomValues fills at most 65,536 bytes at once",
    );
    check_failure(
        "crypto.getRandomValues([])",
        "type",
        "TypeError: crypto.getRandomValues takes an array of integers, such as a Uint8Array",
    );
}

#[test]
fn math_random_is_seeded_once_and_spreads() {
    let host = Host::echo();
    let body = "const r = Array.from({ length: 2000 }, Math.random);
        const mean = r.reduce((a, b) => a + b) / r.length;
        return [r.every((x) => x >= 0 && x < 1), new Set(r).size, Math.abs(mean - 0.5) < 0.05]";
    assert_eq!(run_with(&host, body), Ok(json!([true, 2000, true])));
    assert_eq!(host.0.record.borrow().random_calls, 1);
    let first = run("return Math.random()").unwrap();
    assert_eq!(first, run("return Math.random()").unwrap());
}

#[test]
fn performance_counts_from_its_first_use() {
    check(
        "return [performance.now(), performance.now(), performance.timeOrigin]",
        json!([0, 5, 1_700_000_000_005_u64]),
    );
}

#[test]
fn text_is_encoded_and_decoded() {
    check("return [...new TextEncoder().encode('aü€😀')].length", json!(10));
    check("return new TextDecoder().decode(new TextEncoder().encode('aü€😀'))", json!("aü€😀"));
    check("return new TextDecoder().decode(new Uint8Array([97, 255, 98]))", json!("a\u{fffd}b"));
    check("return new TextDecoder().decode(new Uint8Array([239, 187, 191, 97]).buffer)", json!("a"));
    check_failure(
        "new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255]))",
        "type",
        "TypeError: the bytes are not UTF-8",
    );
    check_failure(
        "new TextDecoder('latin1')",
        "range",
        "RangeError: TextDecoder knows utf-8 alone here, not \"latin1\"",
    );
    check_failure(
        "new TextDecoder().decode('a')",
        "type",
        "TypeError: TextDecoder.decode takes a buffer or a typed array",
    );
    check(
        "const to = new Uint8Array(4); return new TextEncoder().encodeInto('aü€', to)",
        json!({ "read": 2, "written": 3 }),
    );
    check("return [atob('aGk='), btoa('hi')]", json!(["hi", "aGk="]));
    check("try { btoa('€') } catch (e) { return true }", json!(true));
}

#[test]
fn structured_clone_is_deep() {
    check(
        "const a = { d: new Date(5), m: new Map([[1, { x: new Set([2]) }]]), r: /x/g, b: new Uint8Array([1, 2]), e: new TypeError('t'), l: [1, , 3] };
         a.self = a;
         const c = structuredClone(a);
         return [c !== a, c.self === c, c.d.getTime(), [...c.m.get(1).x], String(c.r), [...c.b], c.e.name, c.e.message, c.l.length, 1 in c.l, c.b !== a.b]",
        json!([true, true, 5, [2], "/x/g", [1, 2], "TypeError", "t", 3, false, true]),
    );
    check(
        "class A { x = 1 } const c = structuredClone(new A()); return [c.x, c.constructor === Object]",
        json!([1, true]),
    );
    for (body, message) in [
        ("structuredClone(() => 1)", "DataCloneError: a function can't be cloned"),
        ("structuredClone({ a: Symbol() })", "DataCloneError: a symbol can't be cloned"),
        (
            "structuredClone(Promise.resolve())",
            "DataCloneError: a promise, weak collection or proxy can't be cloned",
        ),
        ("structuredClone(tools.a)", "DataCloneError: a function can't be cloned"),
    ] {
        check_failure(body, "error", message);
    }
}

#[test]
fn urls_follow_the_standard() {
    check(
        "const u = new URL('../b?x=1&y=a%20b#f', 'HTTPS://user:p@Example.com:443/a/c/d');
         return [u.href, u.origin, u.protocol, u.username, u.password, u.host, u.port, u.pathname, u.search, u.hash, u.searchParams.get('y'), `${u}`]",
        json!([
            "https://user:p@example.com/a/b?x=1&y=a%20b#f", "https://example.com", "https:", "user", "p",
            "example.com", "", "/a/b", "?x=1&y=a%20b", "#f", "a b", "https://user:p@example.com/a/b?x=1&y=a%20b#f"
        ]),
    );
    check(
        "const u = new URL('http://a.example'); u.pathname = '/x y'; u.port = '8080'; u.hash = 'z'; return u.href",
        json!("http://a.example:8080/x%20y#z"),
    );
    check(
        "const u = new URL('http://a.example'); u.port = 'x'; u.protocol = 'nonsense:'; return u.href",
        json!("http://a.example/"),
    );
    check(
        "return [URL.canParse('nope'), URL.canParse('/x', 'http://a.example'), URL.parse('nope')]",
        json!([false, true, null]),
    );
    check_failure("new URL('nope')", "type", "TypeError: Invalid URL: \"nope\"");
    check_failure("new URL('x', 'y')", "type", "TypeError: Invalid URL: \"x\" against \"y\"");
    check_failure(
        "const u = new URL('http://a.example'); u.href = ''",
        "type",
        "TypeError: Invalid URL: \"\"",
    );
}

#[test]
fn search_params_and_their_url_stay_together() {
    check(
        "const u = new URL('http://a.example/?a=1&b=2&a=3');
         u.searchParams.set('a', 'x y'); u.searchParams.append('ü', '&'); u.searchParams.delete('b');
         return [u.href, [...u.searchParams], u.searchParams.size]",
        json!(["http://a.example/?a=x+y&%C3%BC=%26", [["a", "x y"], ["ü", "&"]], 2]),
    );
    check(
        "const u = new URL('http://a.example/?a=1'); const q = u.searchParams; u.search = '?z=9'; return [q.get('a'), q.get('z')]",
        json!([null, "9"]),
    );
    check(
        "const q = new URLSearchParams({ b: 2, a: 1 }); q.sort();
         return [`${q}`, new URLSearchParams([['x', '1']]).toString(), new URLSearchParams('?q=a+b').get('q'), q.has('a', '1'), q.has('a', '2'), q.getAll('b'), [...q.keys()], [...q.values()]]",
        json!(["a=1&b=2", "x=1", "a b", true, false, ["2"], ["a", "b"], ["1", "2"]]),
    );
}

#[test]
fn abort_signals_tell_their_listeners() {
    check(
        "const c = new AbortController(); const seen = [];
         c.signal.addEventListener('abort', (e) => seen.push(e.type));
         const gone = () => seen.push('gone'); c.signal.addEventListener('abort', gone); c.signal.removeEventListener('abort', gone);
         c.signal.onabort = () => seen.push('on');
         const any = AbortSignal.any([c.signal, new AbortController().signal]);
         c.abort('why'); c.abort('again');
         let thrown; try { c.signal.throwIfAborted() } catch (e) { thrown = e }
         return [seen, c.signal.aborted, c.signal.reason, thrown, any.reason]",
        json!([["abort", "on"], true, "why", "why", "why"]),
    );
    check_failure(
        "await Promise.race([new Promise((_, no) => { const s = AbortSignal.timeout(5); s.addEventListener('abort', () => no(s.reason)) })])",
        "aborted",
        "TimeoutError: no answer within 5 ms",
    );
    check_failure(
        "new AbortSignal()",
        "type",
        "TypeError: AbortSignal has no constructor: use new AbortController().signal",
    );
}

#[test]
fn emitted_values_are_json() {
    let host = Host::echo();
    run_with(&host, "emit({ a: 1n }); emit(undefined); emit('x')").unwrap();
    assert_eq!(host.0.record.borrow().emitted, [json!({ "a": 1 }), json!(null), json!("x")]);
    check_failure(
        "emit(() => 1)",
        "type",
        "TypeError: the emitted value is a function, which JSON can't hold",
    );
}
