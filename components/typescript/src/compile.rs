//! The export `executor:compiler/compiler.compile`.

use std::collections::BTreeSet;

use oxc::allocator::Allocator;
use oxc::span::Span;

use crate::bindings::{Diagnostic, File, Output, Request};
use crate::diagnostics::{Text, general};
use crate::emit::{Compiled, emit};
use crate::imports::Policy;
use crate::limits::{FILE_BYTES, FILES, TOTAL_BYTES};
use crate::markdown::{self, Extracted};
use crate::{loose, modules, nesting};

/// Compiles one program in any of the forms that agents write (`loose`), or a
/// set of modules, to ES modules with source maps. Types are removed and not
/// checked. `options` is a JSON object; `jsxImportSource` is the only key.
///
/// # Errors
/// What is wrong with the files, each with its place; at most
/// [`crate::limits::DIAGNOSTICS`].
pub fn compile(request: &Request) -> Result<Output, Vec<Diagnostic>> {
    check_limits(&request.files)?;
    let jsx_source = jsx_import_source(request.options.as_deref())?;
    if !request.loose {
        for file in &request.files {
            check_nesting(&Text { path: &file.path, source: &file.source })?;
        }
        return modules::compile(request, jsx_source.as_deref());
    }
    let [file] = &request.files[..] else {
        let message = format!("a loose program is one file, not {}", request.files.len());
        return Err(vec![general("", "request", message, None)]);
    };
    let done = loose_program(file, &request.allowed_imports, jsx_source.as_deref())?;
    Ok(Output { modules: vec![done.module], warnings: done.warnings })
}

fn check_limits(files: &[File]) -> Result<(), Vec<Diagnostic>> {
    let refuse = |path: &str, message: String| Err(vec![general(path, "too-large", message, None)]);
    if files.len() > FILES {
        return refuse("", format!("{} files are more than the {FILES} of one request", files.len()));
    }
    let mut total = 0;
    for file in files {
        total += file.source.len();
        if file.source.len() > FILE_BYTES {
            let message = format!("the file has {} bytes, more than {FILE_BYTES}", file.source.len());
            return refuse(&file.path, message);
        }
    }
    if total > TOTAL_BYTES {
        return refuse("", format!("the files have {total} bytes in all, more than {TOTAL_BYTES}"));
    }
    Ok(())
}

fn check_nesting(text: &Text<'_>) -> Result<(), Vec<Diagnostic>> {
    let Some(offset) = nesting::too_deep(text.source) else {
        return Ok(());
    };
    let message = format!("nested too deeply: more than {} brackets are open here", crate::limits::NESTING);
    Err(vec![text.error(Span::new(offset, offset + 1), "nested-too-deeply", message, None)])
}

fn jsx_import_source(options: Option<&str>) -> Result<Option<String>, Vec<Diagnostic>> {
    let refuse = |message: String| Err(vec![general("", "request", message, None)]);
    let Some(options) = options else {
        return Ok(None);
    };
    let fields = match serde_json::from_str(options) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => return refuse("the options are not a JSON object".to_owned()),
    };
    let mut source = None;
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("jsxImportSource", serde_json::Value::String(text)) => source = Some(text),
            (key, _) => return refuse(format!("there is no option \"{key}\" of this kind")),
        }
    }
    Ok(source)
}

fn loose_program(
    file: &File,
    allowed: &[String],
    jsx_source: Option<&str>,
) -> Result<Compiled, Vec<Diagnostic>> {
    let extracted = match markdown::extract(&file.source) {
        Extracted::Plain => None,
        Extracted::Fenced(code) => Some(code),
        Extracted::NoCode(languages) => return Err(vec![no_code(&file.path, &languages)]),
    };
    let text = Text { path: &file.path, source: extracted.as_deref().unwrap_or(&file.source) };
    if text.source.trim().is_empty() {
        return Err(vec![general(&file.path, "no-code", "there is no code to run", None)]);
    }
    check_nesting(&text)?;
    let policy = Policy { allowed, files: BTreeSet::new() };
    let allocator = Allocator::default();
    let program = match loose::parse(&allocator, &text, prefers_jsx(&file.path)) {
        Ok(program) => program,
        // JSX and TypeScript's own angle brackets exclude each other, so the
        // other reading is tried where there are any.
        Err(found) if text.source.contains('<') => {
            loose::parse(&allocator, &text, !prefers_jsx(&file.path)).map_err(|other| later(found, other))?
        }
        Err(found) => return Err(found),
    };
    emit(&allocator, &text, program, &policy, jsx_source)
}

fn prefers_jsx(path: &str) -> bool {
    path.ends_with(".tsx") || path.ends_with(".jsx")
}

/// Of two readings, the errors of the one that came further.
fn later(one: Vec<Diagnostic>, other: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let place = |found: &[Diagnostic]| found.first().map(|first| (first.start.line, first.start.column));
    if place(&other) > place(&one) { other } else { one }
}

fn no_code(path: &str, languages: &[String]) -> Diagnostic {
    general(
        path,
        "no-code",
        format!("the document has no TypeScript: its blocks are {}", languages.join(", ")),
        Some("mark the block to run with ```ts".to_owned()),
    )
}
