//! What agents write, as one module with a default export.
//!
//! The author's statements are moved within the syntax tree and never within
//! the text, so every position stays theirs.

use oxc::allocator::{Allocator, ArenaVec, TakeIn};
use oxc::ast::ast::{
    ArrowFunctionBody, BindingPattern, Declaration, ExportDefaultDeclarationKind, Expression,
    FormalParameter, FormalParameterKind, FormalParameters, FunctionBody, Program, Statement,
};
use oxc::ast::builder::AstBuilder;
use oxc::parser::{ParseOptions, Parser};
use oxc::span::{GetSpan, SPAN, SourceType, Span};

use crate::bindings::Diagnostic;
use crate::diagnostics::Text;

/// Parses a text in any of the loose forms and gives it a default export.
///
/// | form | the default export |
/// |---|---|
/// | `export default …` | that |
/// | one expression, a function among them | it |
/// | one function, or one constant that is a function; several with a `main` | that function |
/// | statements | an async function of `input` around them |
pub(crate) fn parse<'a>(
    allocator: &'a Allocator,
    text: &Text<'a>,
    jsx: bool,
) -> Result<Program<'a>, Vec<Diagnostic>> {
    let kind = SourceType::ts().with_module(true).with_jsx(jsx);
    if starts_with_function(text.source) {
        return parse_function(allocator, text, kind);
    }
    let parsed = parse_statements(allocator, text, kind, true)?;
    let form = classify(&parsed, text)?;
    if form == Form::Module {
        // A module's own top level may not return.
        return parse_statements(allocator, text, kind, false);
    }
    Ok(reshape(allocator, parsed, form))
}

fn parse_statements<'a>(
    allocator: &'a Allocator,
    text: &Text<'a>,
    kind: SourceType,
    may_return: bool,
) -> Result<Program<'a>, Vec<Diagnostic>> {
    let options = ParseOptions {
        parse_regular_expression: true,
        allow_return_outside_function: may_return,
        ..ParseOptions::default()
    };
    let parsed = Parser::new(allocator, text.source, kind).with_options(options).parse();
    if parsed.panicked || parsed.diagnostics.has_errors() {
        return Err(text.translate(parsed.diagnostics));
    }
    Ok(parsed.program)
}

/// A function without a name is an expression, and no statement; nothing may
/// follow it.
fn parse_function<'a>(
    allocator: &'a Allocator,
    text: &Text<'a>,
    kind: SourceType,
) -> Result<Program<'a>, Vec<Diagnostic>> {
    let source = text.source.trim_end().trim_end_matches(';');
    let parsed = Parser::new(allocator, source, kind).parse_expression();
    let expression = parsed.map_err(|found| text.translate(found))?;
    let builder = AstBuilder::new(allocator);
    let export = Statement::new_export_default_declaration(SPAN, expression.into(), &builder);
    let whole = Span::new(0, u32::try_from(text.source.len()).unwrap_or(u32::MAX));
    Ok(Program::new(whole, kind, text.source, [], None, [], [export], &builder))
}

fn starts_with_function(source: &str) -> bool {
    let mut rest = source.trim_start();
    loop {
        let comment = match rest.get(..2) {
            Some("//") => rest.find('\n').map(|end| end + 1),
            Some("/*") => rest.find("*/").map(|end| end + 2),
            _ => break,
        };
        match comment {
            Some(end) => rest = rest[end..].trim_start(),
            None => return false,
        }
    }
    let rest = rest.strip_prefix("async").map_or(rest, str::trim_start);
    rest.strip_prefix("function").is_some_and(|rest| rest.trim_start().starts_with(['(', '*', '<']))
}

#[derive(Debug, PartialEq)]
enum Form {
    Module,
    Expression,
    /// The function's name.
    Function(String),
    Body,
}

fn classify(program: &Program<'_>, text: &Text<'_>) -> Result<Form, Vec<Diagnostic>> {
    if let Some(form) = exports(program, text)? {
        return Ok(form);
    }
    let own = program.body.iter().filter(|it| !is_outside(it) && !is_type(it));
    let own: Vec<&Statement<'_>> = own.collect();
    if let [Statement::ExpressionStatement(_)] = own[..] {
        return Ok(Form::Expression);
    }
    let names: Vec<Option<&str>> = own.iter().map(|it| function_name(it)).collect();
    let functions: Vec<&str> = names.iter().copied().flatten().collect();
    if functions.is_empty() || functions.len() < names.len() {
        return Ok(Form::Body);
    }
    // Overloads declare one function several times.
    let mut distinct = functions.clone();
    distinct.dedup();
    match distinct[..] {
        [only] => Ok(Form::Function(only.to_owned())),
        _ if distinct.contains(&"main") => Ok(Form::Function("main".to_owned())),
        _ => {
            let last = own.last().map_or(SPAN, |it| it.span());
            Err(vec![text.error(
                last,
                "no-entry",
                format!("the functions {} are declared and none is called", distinct.join(", ")),
                Some("call one and return its result, name one main, or export default one".to_owned()),
            )])
        }
    }
}

/// What a program's exports make of it; None where it has none.
fn exports(program: &Program<'_>, text: &Text<'_>) -> Result<Option<Form>, Vec<Diagnostic>> {
    let mut other = None;
    for statement in &program.body {
        match statement {
            Statement::ExportDefaultDeclaration(_) | Statement::TSExportAssignment(_) => {
                return Ok(Some(Form::Module));
            }
            Statement::ExportNamedDeclaration(named) => {
                if named.specifiers.iter().any(|it| it.exported.name() == "default") {
                    return Ok(Some(Form::Module));
                }
                // `export {}` only marks a file as a module.
                if !named.specifiers.is_empty() {
                    other = Some(named.span);
                }
            }
            Statement::ExportFromDeclaration(from) => {
                if from.specifiers.iter().any(|it| it.exported.name() == "default") {
                    return Ok(Some(Form::Module));
                }
                other = Some(from.span);
            }
            Statement::ExportDeclaration(export) => other = Some(export.span),
            Statement::ExportAllDeclaration(all) => other = Some(all.span),
            _ => {}
        }
    }
    match other {
        None => Ok(None),
        Some(span) => Err(vec![text.error(
            span,
            "no-default-export",
            "the program exports names and has no default export to run",
            Some("write export default async (input) => { … }, or drop the exports".to_owned()),
        )]),
    }
}

/// What has to stay at a module's top level.
fn is_outside(statement: &Statement<'_>) -> bool {
    matches!(
        statement,
        Statement::ImportDeclaration(_)
            | Statement::ExportNamedDeclaration(_)
            | Statement::TSImportEqualsDeclaration(_)
            | Statement::TSExternalModuleDeclaration(_)
            | Statement::TSNamespaceDeclaration(_)
            | Statement::TSGlobalDeclaration(_)
    )
}

fn is_type(statement: &Statement<'_>) -> bool {
    matches!(
        statement,
        Statement::TSTypeAliasDeclaration(_)
            | Statement::TSInterfaceDeclaration(_)
            | Statement::EmptyStatement(_)
    )
}

/// The name of a function that a statement declares, by either spelling.
fn function_name<'s>(statement: &'s Statement<'_>) -> Option<&'s str> {
    match statement {
        Statement::FunctionDeclaration(function) => function.name().map(|name| name.as_str()),
        Statement::VariableDeclaration(variable) => {
            let [only] = &variable.declarations[..] else {
                return None;
            };
            let BindingPattern::BindingIdentifier(name) = &only.id else {
                return None;
            };
            let value = only.init.as_ref()?.get_inner_expression();
            value.is_function().then_some(name.name.as_str())
        }
        _ => None,
    }
}

fn reshape<'a>(allocator: &'a Allocator, mut program: Program<'a>, form: Form) -> Program<'a> {
    let builder = AstBuilder::new(allocator);
    let statements = program.body.take_in(&builder);
    let mut outside = ArenaVec::new_in(&builder);
    let mut inside = ArenaVec::new_in(&builder);
    let takes_input = !declares_input(&statements);
    for statement in statements {
        match (&form, statement) {
            (Form::Expression, Statement::ExpressionStatement(it)) => {
                outside.push(export(it.unbox().expression.into(), &builder));
            }
            (Form::Body, it) if !is_outside(&it) => inside.push(it),
            (_, it) => outside.push(it),
        }
    }
    match form {
        Form::Body => outside.push(export(wrapper(inside, takes_input, &builder), &builder)),
        Form::Function(name) => {
            let name = builder_str(allocator, &name);
            let reference = Expression::new_identifier(SPAN, name, &builder);
            outside.push(export(reference.into(), &builder));
        }
        Form::Module | Form::Expression => {}
    }
    program.directives.clear();
    program.body = outside;
    program
}

fn builder_str<'a>(allocator: &'a Allocator, name: &str) -> &'a str {
    allocator.alloc_str(name)
}

fn export<'a>(kind: ExportDefaultDeclarationKind<'a>, builder: &AstBuilder<'a>) -> Statement<'a> {
    Statement::new_export_default_declaration(SPAN, kind, builder)
}

/// `async (input) => { … }`.
fn wrapper<'a>(
    body: ArenaVec<'a, Statement<'a>>,
    takes_input: bool,
    builder: &AstBuilder<'a>,
) -> ExportDefaultDeclarationKind<'a> {
    let mut items = ArenaVec::new_in(builder);
    if takes_input {
        let name = BindingPattern::new_binding_identifier(SPAN, "input", builder);
        items.push(FormalParameter::new_plain(SPAN, name, builder));
    }
    let kind = FormalParameterKind::ArrowFormalParameters;
    let parameters = FormalParameters::boxed(SPAN, kind, items, None, builder);
    let body = FunctionBody::boxed(SPAN, [], body, builder);
    Expression::new_arrow_function_expression(
        SPAN,
        true,
        None,
        parameters,
        None,
        ArrowFunctionBody::FunctionBody(body),
        builder,
    )
    .into()
}

/// Whether the author's own `input` would clash with the parameter.
fn declares_input(statements: &[Statement<'_>]) -> bool {
    let names_input =
        |pattern: &BindingPattern<'_>| pattern.get_binding_identifiers().iter().any(|it| it.name == "input");
    statements.iter().any(|statement| match statement {
        Statement::ImportDeclaration(import) => {
            import.specifiers.iter().flatten().any(|it| it.local().name == "input")
        }
        _ => match statement.as_declaration() {
            Some(Declaration::VariableDeclaration(variable)) => {
                variable.declarations.iter().any(|it| names_input(&it.id))
            }
            Some(Declaration::FunctionDeclaration(it)) => it.id.as_ref().is_some_and(|id| id.name == "input"),
            Some(Declaration::ClassDeclaration(it)) => it.id.as_ref().is_some_and(|id| id.name == "input"),
            Some(Declaration::TSEnumDeclaration(it)) => it.id.name == "input",
            _ => false,
        },
    })
}
