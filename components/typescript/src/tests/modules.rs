//! Sets of modules.

use executor_quickjs::bindings::Program;
use executor_quickjs::engine::Engine;

use super::{NoTools, file, shown, to_engine};
use crate::bindings::{Diagnostic, Output, Request};
use crate::compile;

fn request(entries: &[&str], files: &[(&str, &str)]) -> Request {
    Request {
        files: files.iter().map(|(path, source)| file(path, source)).collect(),
        entries: entries.iter().map(|entry| (*entry).to_owned()).collect(),
        allowed_imports: vec!["executor:app".into()],
        loose: false,
        options: None,
    }
}

fn set(entries: &[&str], files: &[(&str, &str)]) -> Result<Output, Vec<Diagnostic>> {
    compile(&request(entries, files))
}

#[test]
fn a_set_links_and_runs() {
    let output = set(
        &["tools/sync.ts"],
        &[
            ("tools/sync.ts", "import { double, type Kind } from '../lib/math.js';\nimport config from '../config.json';\nimport * as all from '../lib';\nexport default (input: { n: number }): number => double(input.n) + config.add + all.one;\nexport type { Kind };"),
            ("lib/math.ts", "export type Kind = 'a';\nexport const double = (n: number) => n * 2;"),
            ("lib/index.ts", "export * from './math';\nexport const one = 1;"),
            ("config.json", "{ \"add\": 100 }"),
            ("unused.ts", "this is not code"),
        ],
    )
    .unwrap();
    let names: Vec<_> = output.modules.iter().map(|module| module.specifier.as_str()).collect();
    assert_eq!(names, ["tools/sync.ts", "lib/math.ts", "config.json", "lib/index.ts"]);
    assert_eq!(output.modules[0].imports, ["lib/math.ts", "config.json", "lib/index.ts"]);
    let engine = Engine::new(Box::new(NoTools)).unwrap();
    let program =
        Program { entry: "tools/sync.ts".into(), modules: output.modules.iter().map(to_engine).collect() };
    engine.load(&program).unwrap();
    assert_eq!(engine.invoke("default", r#"{"n":2}"#).unwrap(), "105");
    assert_eq!(engine.invoke("lib/math.ts#double", "4").unwrap(), "8");
}

#[test]
fn without_entries_all_code_is_compiled() {
    let output = set(
        &[],
        &[("a.ts", ""), ("b.js", ""), ("c.d.ts", "declare const x: 1"), ("notes.md", "#"), ("./d.json", "1")],
    )
    .unwrap();
    let names: Vec<_> = output.modules.iter().map(|module| module.specifier.as_str()).collect();
    assert_eq!(names, ["a.ts", "b.js", "d.json"]);
}

#[test]
fn errors_name_the_file_and_what_there_is() {
    for (entries, files, expect) in [
        (
            &["a.ts"][..],
            &[
                ("a.ts", "\nimport { x } from './lib/githib';\nx()"),
                ("lib/github.ts", "export const x = () => 1"),
            ][..],
            "a.ts:2:19 module-not-found: there is no file \"lib/githib\" for the import of \"./lib/githib\" (did you mean lib/github?)",
        ),
        (
            &["a.ts"],
            &[("a.ts", "import { x } from './zzz';\nx()"), ("lib/github.ts", "")],
            "a.ts:1:19 module-not-found: there is no file \"zzz\" for the import of \"./zzz\" (the files are a.ts, lib/github.ts)",
        ),
        (
            &["a.ts"],
            &[
                ("a.ts", "import { doubel } from './b';\ndoubel()"),
                ("b.ts", "export const double = 1; export default 1"),
            ],
            "a.ts:1:10 missing-export: \"b.ts\" has no export \"doubel\" (did you mean double?)",
        ),
        (
            &["a.ts"],
            &[
                ("a.ts", "import b from './b';\nb()"),
                (
                    "b.ts",
                    "export const one = 1, two = 2; export function three() {} export class Four {} export enum Five { A }",
                ),
            ],
            "a.ts:1:8 missing-export: \"b.ts\" has no export \"default\" (it exports Five, Four, one, three, two)",
        ),
        (
            &["a.ts"],
            &[("a.ts", "export { x } from './b'"), ("b.ts", "")],
            "a.ts:1:10 missing-export: \"b.ts\" has no export \"x\" (it exports nothing)",
        ),
        (
            &["a.ts"],
            &[("a.ts", "import lodash from 'lodash';\nlodash()")],
            "a.ts:1:20 import-not-allowed: \"lodash\" can't be imported here (allowed: executor:app)",
        ),
        (&["a.ts"], &[("a.ts", "import './b'"), ("b.ts", "let x = ;")], "b.ts:1:9 syntax: Unexpected token"),
        (
            &["tols/a.ts"],
            &[("tools/a.ts", "")],
            "tols/a.ts:1:1 module-not-found: there is no file \"tols/a.ts\" to compile (did you mean tools/a.ts?)",
        ),
        (&[], &[("a.ts", ""), ("./a.ts", "")], "a.ts:1:1 duplicate-file: there are two files \"a.ts\""),
        (
            &["a.css"],
            &[("a.css", "")],
            "a.css:1:1 unknown-kind: \"a.css\" is not a kind of file that can be compiled (compiled are .ts, .tsx, .mts, .js, .jsx, .mjs and .json)",
        ),
        (&["a.json"], &[("a.json", "{\n  \"a\": }")], "a.json:2:8 json: expected value at line 2 column 8"),
        (
            &["a.ts"],
            &[("a.ts", "return 1")],
            "a.ts:1:1 TS(1108): A 'return' statement can only be used within a function body.",
        ),
    ] {
        assert_eq!(shown(set(entries, files)), expect);
    }
}

#[test]
fn names_behind_a_star_are_not_missed() {
    set(
        &["a.ts"],
        &[
            ("a.ts", "import { deep } from './b';\ndeep()"),
            ("b.ts", "export * from './c'"),
            ("c.ts", "export const deep = () => 1"),
        ],
    )
    .unwrap();
    set(
        &["a.ts"],
        &[
            ("a.ts", "import { ns } from './b';\nns.deep()"),
            ("b.ts", "export * as ns from './c'"),
            ("c.ts", "export const deep = () => 1"),
        ],
    )
    .unwrap();
}

#[test]
fn cycles_link() {
    let output = set(
        &["a.ts"],
        &[
            ("a.ts", "import { b } from './b';\nexport const a = 1;\nexport default () => b()"),
            ("b.ts", "import { a } from './a';\nexport const b = () => a + 1"),
        ],
    )
    .unwrap();
    let engine = Engine::new(Box::new(NoTools)).unwrap();
    let program = Program { entry: "a.ts".into(), modules: output.modules.iter().map(to_engine).collect() };
    engine.load(&program).unwrap();
    assert_eq!(engine.invoke("default", "null").unwrap(), "2");
}

#[test]
fn jsx_takes_its_runtime_from_the_options() {
    let mut views = request(&["ui/a.tsx"], &[("ui/a.tsx", "export default () => <p class=\"x\">{1}</p>;")]);
    views.allowed_imports = vec!["executor:ui/jsx-runtime".into()];
    views.options = Some(r#"{"jsxImportSource":"executor:ui"}"#.into());
    let output = compile(&views).unwrap();
    assert_eq!(output.modules[0].imports, ["executor:ui/jsx-runtime"]);
    assert!(
        output.modules[0].source.contains("import { jsx as _jsx } from \"executor:ui/jsx-runtime\""),
        "{}",
        output.modules[0].source
    );
}

#[test]
fn each_module_has_its_own_map() {
    let output = set(&["a.ts"], &[("a.ts", "import './b'"), ("b.ts", "export const b: number = 1")]).unwrap();
    for module in &output.modules {
        let map: serde_json::Value = serde_json::from_str(module.source_map.as_deref().unwrap()).unwrap();
        assert_eq!(map["sources"][0], module.specifier.as_str());
    }
}
