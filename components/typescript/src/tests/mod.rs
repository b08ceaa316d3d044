//! Compiled programs, most of them run in the engine that they are for.

mod diagnostics;
mod forms;
mod language;
mod modules;
mod positions;

use executor_quickjs::bindings as engine;
use executor_quickjs::bridge::Bridge;
use executor_quickjs::engine::Engine;
use serde_json::Value;

use crate::bindings::{Diagnostic, File, Module, Output, Request};
use crate::compile;

/// A host without tools.
struct NoTools;

impl Bridge for NoTools {
    fn start(&self, _call: &engine::Call) -> u32 {
        1
    }
    fn next(&self) -> Option<(u32, engine::Outcome)> {
        None
    }
    fn cancel(&self, _id: u32) {}
    fn log(&self, _level: engine::Level, _message: &str) {}
    fn emit(&self, _content: &str) {}
    fn now(&self) -> u64 {
        0
    }
    fn random(&self, len: u32) -> Vec<u8> {
        vec![0; len as usize]
    }
}

fn file(path: &str, source: &str) -> File {
    File { path: path.to_owned(), source: source.to_owned() }
}

fn loose(source: &str) -> Request {
    Request {
        files: vec![file("main.ts", source)],
        entries: Vec::new(),
        allowed_imports: Vec::new(),
        loose: true,
        options: None,
    }
}

fn compile_one(source: &str) -> Result<Module, Vec<Diagnostic>> {
    let mut output = compile(&loose(source))?;
    assert_eq!(output.modules.len(), 1);
    Ok(output.modules.remove(0))
}

fn to_engine(module: &Module) -> engine::Module {
    engine::Module {
        specifier: module.specifier.clone(),
        source: module.source.clone(),
        source_map: module.source_map.clone(),
    }
}

/// Compiles and runs a loose program with the input `{"n": 7}`.
fn run(source: &str) -> Result<Value, engine::Failure> {
    let module = compile_one(source).unwrap_or_else(|found| panic!("{source}: {found:#?}"));
    let engine = Engine::new(Box::new(NoTools)).unwrap();
    let result = engine.run(&to_engine(&module), r#"{"n":7}"#);
    result.map(|text| serde_json::from_str(&text).unwrap())
}

#[track_caller]
fn check(source: &str, expect: Value) {
    match run(source) {
        Ok(value) => assert_eq!(value, expect, "{source}"),
        Err(failure) => panic!("{source}: {failure:?}\n{}", compile_one(source).unwrap().source),
    }
}

/// The first diagnostic, as `path:line:column code: message (help)`.
#[track_caller]
fn shown(found: Result<Output, Vec<Diagnostic>>) -> String {
    let found = found.expect_err("diagnostics");
    let first = &found[0];
    let help = first.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
    format!(
        "{}:{}:{} {}: {}{help}",
        first.path, first.start.line, first.start.column, first.code, first.message
    )
}

#[track_caller]
fn check_error(source: &str, expect: &str) {
    assert_eq!(shown(compile(&loose(source))), expect, "{source}");
}
