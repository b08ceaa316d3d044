//! A set of modules that import each other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use oxc::allocator::Allocator;
use oxc::parser::{ParseOptions, Parser};
use oxc::span::{SourceType, Span};

use crate::bindings::{Diagnostic, File, Module, Output, Request};
use crate::diagnostics::{Text, general};
use crate::emit::{Compiled, Exports, emit};
use crate::imports::Policy;
use crate::limits::DIAGNOSTICS;
use crate::suggest::closest;

/// Compiles the entries and what they import, in the order in which they are
/// found; every file of code where no entry is named.
pub(crate) fn compile(request: &Request, jsx_source: Option<&str>) -> Result<Output, Vec<Diagnostic>> {
    let files = by_path(&request.files)?;
    let policy = Policy { allowed: &request.allowed_imports, files: files.keys().copied().collect() };
    let mut queue: VecDeque<&str> = entries(request, &files)?.into();
    let mut seen: BTreeSet<&str> = queue.iter().copied().collect();
    let mut compiled = BTreeMap::new();
    let mut order = Vec::new();
    let mut errors = Vec::new();
    while let Some(path) = queue.pop_front() {
        match one(files[path], &policy, jsx_source) {
            Ok(done) => {
                for specifier in &done.module.imports {
                    if let Some((known, _)) = files.get_key_value(specifier.as_str())
                        && seen.insert(known)
                    {
                        queue.push_back(known);
                    }
                }
                order.push(path);
                compiled.insert(path, done);
            }
            Err(found) => errors.extend(found),
        }
    }
    errors.extend(missing_exports(&files, &compiled));
    if !errors.is_empty() {
        errors.truncate(DIAGNOSTICS);
        return Err(errors);
    }
    Ok(output(order, compiled))
}

fn by_path(files: &[File]) -> Result<BTreeMap<&str, &File>, Vec<Diagnostic>> {
    let mut known = BTreeMap::new();
    for file in files {
        let path = file.path.trim_start_matches("./");
        if known.insert(path, file).is_some() {
            let message = format!("there are two files \"{path}\"");
            return Err(vec![general(path, "duplicate-file", message, None)]);
        }
    }
    Ok(known)
}

fn entries<'a>(
    request: &'a Request,
    files: &BTreeMap<&'a str, &'a File>,
) -> Result<Vec<&'a str>, Vec<Diagnostic>> {
    if request.entries.is_empty() {
        return Ok(files.keys().copied().filter(|path| is_code(path)).collect());
    }
    let mut found = Vec::new();
    for entry in &request.entries {
        let path = entry.trim_start_matches("./");
        if !files.contains_key(path) {
            let help = closest(path, files.keys().copied());
            let help = help.map(|name| format!("did you mean {name}?"));
            let message = format!("there is no file \"{path}\" to compile");
            return Err(vec![general(path, "module-not-found", message, help)]);
        }
        if !found.contains(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

fn is_code(path: &str) -> bool {
    !path.ends_with(".d.ts") && (path.ends_with(".json") || SourceType::from_path(path).is_ok())
}

fn one(file: &File, policy: &Policy<'_>, jsx_source: Option<&str>) -> Result<Compiled, Vec<Diagnostic>> {
    let path = file.path.trim_start_matches("./");
    let text = Text { path, source: &file.source };
    if path.ends_with(".json") {
        return json(&text);
    }
    let Ok(kind) = SourceType::from_path(path) else {
        let message = format!("\"{path}\" is not a kind of file that can be compiled");
        let help = "compiled are .ts, .tsx, .mts, .js, .jsx, .mjs and .json".to_owned();
        return Err(vec![general(path, "unknown-kind", message, Some(help))]);
    };
    let kind = kind.with_module(true).with_jsx(kind.is_javascript() || kind.is_jsx());
    let allocator = Allocator::default();
    let options = ParseOptions { parse_regular_expression: true, ..ParseOptions::default() };
    let parsed = Parser::new(&allocator, text.source, kind).with_options(options).parse();
    if parsed.panicked || parsed.diagnostics.has_errors() {
        return Err(text.translate(parsed.diagnostics));
    }
    emit(&allocator, &text, parsed.program, policy, jsx_source)
}

/// JSON as a module whose default export it is.
fn json(text: &Text<'_>) -> Result<Compiled, Vec<Diagnostic>> {
    let parsed: Result<serde_json::Value, _> = serde_json::from_str(text.source);
    let value = parsed.map_err(|error| {
        let line_start: usize =
            text.source.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let offset = u32::try_from(line_start + error.column().saturating_sub(1)).unwrap_or(u32::MAX);
        vec![text.error(Span::new(offset, offset), "json", error.to_string(), None)]
    })?;
    Ok(Compiled {
        module: Module {
            specifier: text.path.to_owned(),
            source: format!("export default {value};\n"),
            source_map: None,
            imports: Vec::new(),
        },
        warnings: Vec::new(),
        taken: Vec::new(),
        exports: Exports { names: BTreeSet::from(["default".to_owned()]), open: false },
    })
}

/// Names that a module of the set takes and no module of it gives: the engine
/// would say so without a position.
fn missing_exports(files: &BTreeMap<&str, &File>, compiled: &BTreeMap<&str, Compiled>) -> Vec<Diagnostic> {
    let mut missing = Vec::new();
    for (path, module) in compiled {
        for taken in &module.taken {
            let Some(from) = compiled.get(taken.from.as_str()) else {
                continue;
            };
            if from.exports.open || from.exports.names.contains(&taken.name) {
                continue;
            }
            let text = Text { path, source: &files[path].source };
            let names = from.exports.names.iter().map(String::as_str);
            let help = match closest(&taken.name, names.clone()) {
                Some(found) => format!("did you mean {found}?"),
                None if from.exports.names.is_empty() => "it exports nothing".to_owned(),
                None => format!("it exports {}", names.collect::<Vec<_>>().join(", ")),
            };
            let message = format!("\"{}\" has no export \"{}\"", taken.from, taken.name);
            missing.push(text.error(taken.span, "missing-export", message, Some(help)));
        }
    }
    missing
}

fn output(order: Vec<&str>, mut compiled: BTreeMap<&str, Compiled>) -> Output {
    let mut output = Output { modules: Vec::new(), warnings: Vec::new() };
    for path in order {
        if let Some(done) = compiled.remove(path) {
            output.modules.push(done.module);
            output.warnings.extend(done.warnings);
        }
    }
    output.warnings.truncate(DIAGNOSTICS);
    output
}
