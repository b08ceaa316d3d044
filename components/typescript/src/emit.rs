//! From a parsed program to JavaScript with a source map.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use oxc::allocator::Allocator;
use oxc::ast::ast::{Declaration, Program, Statement};
use oxc::codegen::{Codegen, CodegenOptions, CodegenReturn, CommentOptions};
use oxc::semantic::SemanticBuilder;
use oxc::transformer::{JsxOptions, JsxRuntime, TransformOptions, Transformer};

use crate::bindings::{Diagnostic, Module};
use crate::diagnostics::Text;
use crate::imports::{self, Policy, Taken};

/// A module, and what the others of its set need to know of it.
pub(crate) struct Compiled {
    pub(crate) module: Module,
    pub(crate) warnings: Vec<Diagnostic>,
    pub(crate) taken: Vec<Taken>,
    pub(crate) exports: Exports,
}

/// The names a module gives.
#[derive(Default)]
pub(crate) struct Exports {
    pub(crate) names: BTreeSet<String>,
    /// `export *`: there are names that are not known here.
    pub(crate) open: bool,
}

/// Checks, transforms and prints a program.
pub(crate) fn emit<'a>(
    allocator: &'a Allocator,
    text: &Text<'a>,
    mut program: Program<'a>,
    policy: &Policy<'_>,
    jsx_source: Option<&str>,
) -> Result<Compiled, Vec<Diagnostic>> {
    let refused = imports::refuse_unsupported(text, &program);
    if !refused.is_empty() {
        return Err(refused);
    }
    let warnings = transform(allocator, text, &mut program, jsx_source)?;
    let linked = imports::link(allocator, text, &mut program, policy)?;
    let exports = exports_of(&program);
    let (source, source_map) = print(text, &program);
    Ok(Compiled {
        module: Module { specifier: text.path.to_owned(), source, source_map, imports: linked.specifiers },
        warnings,
        taken: linked.taken,
        exports,
    })
}

fn transform<'a>(
    allocator: &'a Allocator,
    text: &Text<'a>,
    program: &mut Program<'a>,
    jsx_source: Option<&str>,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let semantic =
        SemanticBuilder::new_compiler().with_enum_eval(true).with_excess_capacity(2.0).build(program);
    if semantic.diagnostics.has_errors() {
        return Err(text.translate(semantic.diagnostics));
    }
    let mut warnings = text.translate(semantic.diagnostics);
    let scoping = semantic.semantic.into_scoping();
    let options = TransformOptions {
        jsx: JsxOptions {
            runtime: JsxRuntime::Automatic,
            development: false,
            import_source: jsx_source.map(str::to_owned),
            ..JsxOptions::enable()
        },
        ..TransformOptions::default()
    };
    let done =
        Transformer::new(allocator, Path::new(text.path), &options).build_with_scoping(scoping, program);
    if done.diagnostics.has_errors() {
        return Err(text.translate(done.diagnostics));
    }
    warnings.extend(text.translate(done.diagnostics));
    Ok(warnings)
}

fn print(text: &Text<'_>, program: &Program<'_>) -> (String, Option<String>) {
    let options = CodegenOptions {
        comments: CommentOptions::disabled(),
        source_map_path: Some(PathBuf::from(text.path)),
        // Indentation would make a deeply nested text quadratically longer.
        indent_width: 0,
        ..CodegenOptions::default()
    };
    let CodegenReturn { code, map, .. } = Codegen::new().with_options(options).build(program);
    // The author's text is not repeated in the map: whoever reads a position
    // has it.
    let map = map.map(|mut map| {
        map.set_source_contents(Vec::new());
        map.to_json_string()
    });
    (code, map)
}

fn exports_of(program: &Program<'_>) -> Exports {
    let mut exports = Exports::default();
    for statement in &program.body {
        match statement {
            Statement::ExportDefaultDeclaration(_) => {
                exports.names.insert("default".to_owned());
            }
            Statement::ExportDeclaration(it) => name_declared(&mut exports, &it.declaration),
            Statement::ExportNamedDeclaration(it) => {
                exports.names.extend(it.specifiers.iter().map(|it| it.exported.name().to_string()));
            }
            Statement::ExportFromDeclaration(it) => {
                exports.names.extend(it.specifiers.iter().map(|it| it.exported.name().to_string()));
            }
            Statement::ExportAllDeclaration(it) => match &it.exported {
                Some(name) => {
                    exports.names.insert(name.name().to_string());
                }
                None => exports.open = true,
            },
            _ => {}
        }
    }
    exports
}

fn name_declared(exports: &mut Exports, declaration: &Declaration<'_>) {
    match declaration {
        Declaration::VariableDeclaration(it) => {
            for declarator in &it.declarations {
                let names = declarator.id.get_binding_identifiers();
                exports.names.extend(names.iter().map(|it| it.name.to_string()));
            }
        }
        Declaration::FunctionDeclaration(it) => {
            exports.names.extend(it.id.iter().map(|id| id.name.to_string()));
        }
        Declaration::ClassDeclaration(it) => {
            exports.names.extend(it.id.iter().map(|id| id.name.to_string()));
        }
        _ => {}
    }
}
