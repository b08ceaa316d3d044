//! `load` and `invoke`.

use serde_json::{Value, json};

use super::{Host, module};
use crate::bindings::{Failure, Program};
use crate::engine::Engine;

fn program(entry: &str, modules: &[(&str, &str)]) -> Program {
    Program {
        entry: entry.to_owned(),
        modules: modules.iter().map(|(name, source)| module(name, source)).collect(),
    }
}

fn load(host: &Host, entry: &str, modules: &[(&str, &str)]) -> Result<(Engine, Value), Failure> {
    let engine = host.engine();
    let text = engine.load(&program(entry, modules))?;
    Ok((engine, serde_json::from_str(&text).unwrap()))
}

#[test]
fn an_empty_program_asks_the_host_for_nothing() {
    let host = Host::echo();
    let (engine, said) = load(&host, "", &[]).unwrap();
    assert_eq!(said, json!({ "modules": [], "exports": [], "logs": [] }));
    let record = host.0.record.borrow();
    assert_eq!((record.calls.len(), record.random_calls, record.now_ms), (0, 0, 0));
    drop(record);
    assert_eq!(engine.run(&module("main.ts", "export default 1 + 1"), "null").unwrap(), "2");
}

#[test]
fn modules_import_each_other() {
    let host = Host::echo();
    let (engine, said) = load(
        &host,
        "app.ts",
        &[
            ("lib/b.ts", "import { two } from './c.ts'; export const four = () => two() * 2; export const name = 'b'"),
            ("lib/c.ts", "import { name } from './b.ts'; export const two = () => name.length * 2"),
            ("app.ts", "import { four } from './lib/b.ts'; console.log('loaded'); export const main = (input) => four() + input.n; export const other = 1"),
        ],
    )
    .unwrap();
    assert_eq!(
        said,
        json!({ "modules": ["app.ts", "lib/b.ts", "lib/c.ts"], "exports": ["main", "other"], "logs": [["info", "loaded"]] })
    );
    assert_eq!(engine.invoke("main", r#"{"n":1}"#).unwrap(), "5");
    assert_eq!(engine.invoke("lib/b.ts#four", "null").unwrap(), "4");
}

#[test]
fn handlers_use_the_bridge_and_modules_do_not() {
    let host = Host::echo();
    let (engine, _) = load(
        &host,
        "a.ts",
        &[("a.ts", "export default async () => (await tools.x.y({ a: Math.random() < 1 })).args")],
    )
    .unwrap();
    assert_eq!(engine.invoke("default", "{}").unwrap(), r#"{"a":true}"#);
    for source in [
        "await tools.a.b()",
        "Math.random()",
        "emit(1)",
        "setTimeout(() => {}, 1)",
        "crypto.randomUUID()",
        "performance.now()",
    ] {
        let failure = load(&Host::echo(), "a.ts", &[("a.ts", source)]).map(|_| ()).unwrap_err();
        assert_eq!(failure.code, "type", "{source}");
        assert!(failure.message.contains("is not available while modules are loaded"), "{}", failure.message);
    }
}

#[test]
fn each_module_is_evaluated_once() {
    let host = Host::echo();
    let modules = [
        ("a.ts", "import './b.ts'; export const n = globalThis.n"),
        ("b.ts", "globalThis.n = (globalThis.n ?? 0) + 1; export const n = () => globalThis.n"),
    ];
    let (engine, _) = load(&host, "a.ts", &modules).unwrap();
    assert_eq!(engine.invoke("b.ts#n", "null").unwrap(), "1");
}

#[test]
fn unknown_handlers_and_modules_name_what_there_is() {
    let host = Host::echo();
    let (engine, _) =
        load(&host, "a.ts", &[("a.ts", "export const one = () => 1; export const two = 2")]).unwrap();
    for (handler, message) in [
        ("three", "there is no function \"three\" to call; exported: one, two"),
        ("two", "there is no function \"two\" to call; exported: one, two"),
        ("b.ts#one", "there is no module \"b.ts\" to take \"one\" from; loaded: a.ts"),
    ] {
        let failure = engine.invoke(handler, "null").unwrap_err();
        assert_eq!((failure.code.as_str(), failure.message.as_str()), ("not-found", message));
    }
    let failure = host.engine().invoke("x", "null").unwrap_err();
    assert_eq!(failure.message, "there is no module \"\" to take \"x\" from; loaded: nothing");
}

#[test]
fn programs_that_do_not_hold_together_are_refused() {
    for (entry, modules, code, message) in [
        ("x.ts", &[("a.ts", "")][..], "program", "the entry \"x.ts\" is not among the modules"),
        ("a.ts", &[("a.ts", ""), ("a.ts", "")], "program", "two modules are called \"a.ts\""),
        (
            "a.ts",
            &[("a.ts", "import './b.ts'")],
            "type",
            "TypeError: there is no module \"./b.ts\" to import into a.ts; the program has a.ts",
        ),
        (
            "a.ts",
            &[("a.ts", "await new Promise(() => {})")],
            "never-settles",
            "a module waits, at its top level, for a promise that nothing will settle",
        ),
        ("a.ts", &[("a.ts", "throw new Error('top')")], "error", "Error: top"),
    ] {
        let failure = load(&Host::echo(), entry, modules).map(|_| ()).unwrap_err();
        assert_eq!((failure.code.as_str(), failure.message.as_str()), (code, message));
    }
    let failure =
        load(&Host::echo(), "a.ts", &[("a.ts", "import { x } from 'b'"), ("b", "export const y = 1")])
            .map(|_| ())
            .unwrap_err();
    assert_eq!(failure.code, "syntax");
}

#[test]
fn a_program_without_modules_imports_nothing() {
    let failure = Host::echo().engine().run(&module("main.ts", "import 'fs'"), "null").unwrap_err();
    assert_eq!(
        failure.message,
        "TypeError: there is no module \"fs\" to import: this program has none; APIs are reached by tools.<source>.<tool>(args)"
    );
}
