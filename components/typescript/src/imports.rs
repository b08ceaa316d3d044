//! What a module imports: checked, and pointed at the module it means.

use std::collections::BTreeSet;

use oxc::allocator::Allocator;
use oxc::ast::ast::{
    AccessorProperty, Decorator, ImportDeclarationSpecifier, ImportExpression, Program, Statement,
    StringLiteral,
};
use oxc::ast_visit::{Visit, walk};
use oxc::span::Span;

use crate::bindings::Diagnostic;
use crate::diagnostics::Text;
use crate::paths;
use crate::suggest::closest;

/// What a request lets its modules import.
pub(crate) struct Policy<'a> {
    /// Specifiers, or a prefix that ends in `/*`.
    pub(crate) allowed: &'a [String],
    /// The files of the set; none where there is only one.
    pub(crate) files: BTreeSet<&'a str>,
}

/// A name that one module takes from another of the set.
pub(crate) struct Taken {
    pub(crate) from: String,
    pub(crate) name: String,
    pub(crate) span: Span,
}

/// The imports of one module.
#[derive(Default)]
pub(crate) struct Imports {
    /// What the emitted module imports, in its order.
    pub(crate) specifiers: Vec<String>,
    pub(crate) taken: Vec<Taken>,
}

/// Checks every import that the emitted module would have, and rewrites the
/// relative ones to the specifiers of the set.
pub(crate) fn link<'a>(
    allocator: &'a Allocator,
    text: &Text<'_>,
    program: &mut Program<'a>,
    policy: &Policy<'_>,
) -> Result<Imports, Vec<Diagnostic>> {
    let mut imports = Imports::default();
    let mut errors = Vec::new();
    for statement in &mut program.body {
        let Some(source) = source_of(statement) else {
            continue;
        };
        match policy.resolve(text, &source.value, source.span) {
            Ok(specifier) => {
                if specifier != source.value.as_str() {
                    source.value = allocator.alloc_str(&specifier).into();
                    source.raw = None;
                }
                if policy.files.contains(specifier.as_str()) {
                    take_names(statement, &specifier, &mut imports.taken);
                }
                if !imports.specifiers.contains(&specifier) {
                    imports.specifiers.push(specifier);
                }
            }
            Err(error) => errors.push(*error),
        }
    }
    if errors.is_empty() { Ok(imports) } else { Err(errors) }
}

fn source_of<'p, 'a>(statement: &'p mut Statement<'a>) -> Option<&'p mut StringLiteral<'a>> {
    match statement {
        Statement::ImportDeclaration(import) => Some(&mut import.source),
        Statement::ExportFromDeclaration(export) => Some(&mut export.source),
        Statement::ExportAllDeclaration(export) => Some(&mut export.source),
        _ => None,
    }
}

fn take_names(statement: &Statement<'_>, from: &str, taken: &mut Vec<Taken>) {
    let mut take = |name: &str, span: Span| {
        taken.push(Taken { from: from.to_owned(), name: name.to_owned(), span });
    };
    match statement {
        Statement::ImportDeclaration(import) => {
            for specifier in import.specifiers.iter().flatten() {
                match specifier {
                    ImportDeclarationSpecifier::ImportSpecifier(it) => {
                        take(&it.imported.name(), it.span);
                    }
                    ImportDeclarationSpecifier::ImportDefaultSpecifier(it) => {
                        take("default", it.span);
                    }
                    ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) => {}
                }
            }
        }
        Statement::ExportFromDeclaration(export) => {
            for specifier in &export.specifiers {
                take(&specifier.local.name(), specifier.span);
            }
        }
        _ => {}
    }
}

impl Policy<'_> {
    /// The specifier that the emitted module uses.
    fn resolve(&self, text: &Text<'_>, wanted: &str, span: Span) -> Result<String, Box<Diagnostic>> {
        if paths::is_relative(wanted) && !self.files.is_empty() {
            return paths::resolve(text.path, wanted, &self.files)
                .ok_or_else(|| Box::new(self.missing(text, wanted, span)));
        }
        let allows = |pattern: &String| match pattern.strip_suffix("/*") {
            Some(prefix) => wanted.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/')),
            None => pattern == wanted,
        };
        if self.allowed.iter().any(allows) {
            return Ok(wanted.to_owned());
        }
        Err(Box::new(self.not_allowed(text, wanted, span)))
    }

    fn missing(&self, text: &Text<'_>, wanted: &str, span: Span) -> Diagnostic {
        let path = paths::join(text.path, wanted);
        let stems = self.files.iter().map(|file| file.rsplit_once('.').map_or(*file, |(stem, _)| stem));
        let help = closest(&path, self.files.iter().copied().chain(stems))
            .map(|found| format!("did you mean {found}?"))
            .unwrap_or_else(|| format!("the files are {}", listed(self.files.iter().copied())));
        let message = format!("there is no file \"{path}\" for the import of \"{wanted}\"");
        text.error(span, "module-not-found", message, Some(help))
    }

    fn not_allowed(&self, text: &Text<'_>, wanted: &str, span: Span) -> Diagnostic {
        let message = format!("\"{wanted}\" can't be imported here");
        let help = if span.is_empty() && wanted.ends_with("/jsx-runtime") {
            "JSX is compiled to imports of it; it is allowed in views alone".to_owned()
        } else if self.allowed.is_empty() {
            "nothing is imported in a program: APIs are reached by tools.<source>.<tool>(args); tools.search({ query }) finds them".to_owned()
        } else {
            match closest(wanted, self.allowed.iter().map(String::as_str)) {
                Some(found) => format!("did you mean \"{found}\"?"),
                None => format!("allowed: {}", listed(self.allowed.iter().map(String::as_str))),
            }
        };
        text.error(span, "import-not-allowed", message, Some(help))
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 20;
    let names: Vec<&str> = names.collect();
    let mut text = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

/// What the sandbox has no way to run.
pub(crate) fn refuse_unsupported(text: &Text<'_>, program: &Program<'_>) -> Vec<Diagnostic> {
    let mut refusals = Refusals { text, errors: Vec::new() };
    refusals.visit_program(program);
    refusals.errors
}

struct Refusals<'t> {
    text: &'t Text<'t>,
    errors: Vec<Diagnostic>,
}

impl<'a> Visit<'a> for Refusals<'_> {
    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        self.errors.push(self.text.error(
            it.span,
            "dynamic-import",
            "import(…) is not available: modules are fixed before a program starts",
            Some("import it at the top of the file".to_owned()),
        ));
        walk::walk_import_expression(self, it);
    }

    fn visit_accessor_property(&mut self, it: &AccessorProperty<'a>) {
        self.errors.push(self.text.error(
            it.span,
            "accessor",
            "accessor fields are not supported",
            Some("write a get and a set".to_owned()),
        ));
        walk::walk_accessor_property(self, it);
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.errors.push(self.text.error(
            it.span,
            "decorators",
            "decorators are not supported",
            Some("call the function on the class instead".to_owned()),
        ));
        walk::walk_decorator(self, it);
    }
}
