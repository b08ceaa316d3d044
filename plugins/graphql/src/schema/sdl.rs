//! Reads the schema definition language.

use std::collections::HashMap;

use apollo_parser::cst::{self, CstNode as _};
use apollo_parser::{Error, Parser};

use super::{Draft, EnumValue, Field, Input, Kind, Ref, Type, Wrap};

/// Lists, selections and values may nest so deeply.
const MAX_DEPTH: usize = 200;
/// GitHub's schema, with its descriptions, has some 130,000.
const MAX_TOKENS: usize = 20_000_000;

/// Reads a document of type definitions and their extensions.
///
/// # Errors
/// In words, with line and column of the first fault, or that nothing in the
/// document defines a type.
pub(crate) fn read(text: &str) -> Result<Draft, String> {
    let tree = Parser::new(text).recursion_limit(MAX_DEPTH).token_limit(MAX_TOKENS).parse();
    if let Some(error) = tree.errors().next() {
        return Err(fault(text, error, 0));
    }
    let mut draft = Draft::default();
    let mut declares_roots = false;
    // An extension may stand before what it extends.
    let mut extensions = Vec::new();
    for definition in tree.document().definitions() {
        if definition.is_extension_definition() {
            extensions.push(definition);
        } else {
            declares_roots |= read_definition(&mut draft, definition);
        }
    }
    let mut places: Places =
        draft.types.iter().enumerate().map(|(place, ty)| (ty.name.clone(), place)).collect();
    for extension in extensions {
        declares_roots |= read_extension(&mut draft, &mut places, extension);
    }
    if draft.types.is_empty() {
        return Err("it defines no types".to_owned());
    }
    if !declares_roots {
        default_roots(&mut draft);
    }
    Ok(draft)
}

/// A parser's complaint, where it is in the text, which began `shift` bytes
/// into what was parsed.
pub(crate) fn fault(text: &str, error: &Error, shift: usize) -> String {
    let before = text.get(..error.index().saturating_sub(shift).min(text.len())).unwrap_or_default();
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let near = crate::text::line(error.data(), 40);
    let near = if near.is_empty() { String::new() } else { format!(" at {near:?}") };
    format!("line {line}, column {column}{near}: {}", crate::text::line(error.message(), 200))
}

fn default_roots(draft: &mut Draft) {
    let named = |name: &str| draft.types.iter().any(|ty| ty.name == name).then(|| name.to_owned());
    (draft.query, draft.mutation, draft.subscription) =
        (named("Query"), named("Mutation"), named("Subscription"));
}

/// Whether it says where operations begin.
fn read_definition(draft: &mut Draft, definition: cst::Definition) -> bool {
    use cst::Definition as D;
    match definition {
        D::SchemaDefinition(it) => {
            draft.description = description(it.description());
            roots(draft, it.root_operation_type_definitions());
            return true;
        }
        D::DirectiveDefinition(it) => {
            let in_selections = it.directive_locations().is_some_and(|places| {
                places.directive_locations().any(|place| place.field_token().is_some())
            });
            draft.directives.extend(name(it.name()).filter(|_| in_selections));
        }
        D::ScalarTypeDefinition(it) => add(draft, it.name(), Kind::Scalar, it.description(), |ty| {
            ty.specified_by = directive(it.directives(), "specifiedBy").and_then(|it| text_of(&it, "url"));
        }),
        D::ObjectTypeDefinition(it) => add(draft, it.name(), Kind::Object, it.description(), |ty| {
            with_fields(ty, it.implements_interfaces(), it.fields_definition());
        }),
        D::InterfaceTypeDefinition(it) => add(draft, it.name(), Kind::Interface, it.description(), |ty| {
            with_fields(ty, it.implements_interfaces(), it.fields_definition());
        }),
        D::UnionTypeDefinition(it) => add(draft, it.name(), Kind::Union, it.description(), |ty| {
            ty.members.extend(members(it.union_member_types()));
        }),
        D::EnumTypeDefinition(it) => add(draft, it.name(), Kind::Enum, it.description(), |ty| {
            ty.values.extend(values(it.enum_values_definition()));
        }),
        D::InputObjectTypeDefinition(it) => add(draft, it.name(), Kind::Input, it.description(), |ty| {
            ty.one_of = directive(it.directives(), "oneOf").is_some();
            ty.inputs.extend(
                it.input_fields_definition()
                    .map(|it| inputs(it.input_value_definitions()))
                    .unwrap_or_default(),
            );
        }),
        D::OperationDefinition(_) | D::FragmentDefinition(_) => {
            draft
                .faults
                .push("an operation or fragment in the document is left out: it is no schema".to_owned());
        }
        _ => {}
    }
    false
}

/// Where a type of that name is in the draft.
type Places = HashMap<String, usize>;

/// In a subgraph's schema an extension may stand without what it extends.
fn read_extension(draft: &mut Draft, places: &mut Places, definition: cst::Definition) -> bool {
    use cst::Definition as D;
    match definition {
        D::SchemaExtension(it) => {
            roots(draft, it.root_operation_type_definitions());
            return draft.query.is_some();
        }
        D::ObjectTypeExtension(it) => extend(draft, places, it.name(), Kind::Object, |ty| {
            with_fields(ty, it.implements_interfaces(), it.fields_definition());
        }),
        D::InterfaceTypeExtension(it) => extend(draft, places, it.name(), Kind::Interface, |ty| {
            with_fields(ty, it.implements_interfaces(), it.fields_definition());
        }),
        D::UnionTypeExtension(it) => extend(draft, places, it.name(), Kind::Union, |ty| {
            ty.members.extend(members(it.union_member_types()));
        }),
        D::EnumTypeExtension(it) => extend(draft, places, it.name(), Kind::Enum, |ty| {
            ty.values.extend(values(it.enum_values_definition()));
        }),
        D::InputObjectTypeExtension(it) => extend(draft, places, it.name(), Kind::Input, |ty| {
            ty.one_of |= directive(it.directives(), "oneOf").is_some();
            ty.inputs.extend(
                it.input_fields_definition()
                    .map(|it| inputs(it.input_value_definitions()))
                    .unwrap_or_default(),
            );
        }),
        _ => {}
    }
    false
}

fn roots(draft: &mut Draft, definitions: cst::CstChildren<cst::RootOperationTypeDefinition>) {
    for definition in definitions {
        let (Some(operation), Some(name)) = (definition.operation_type(), named(definition.named_type()))
        else {
            continue;
        };
        let place = if operation.query_token().is_some() {
            &mut draft.query
        } else if operation.mutation_token().is_some() {
            &mut draft.mutation
        } else {
            &mut draft.subscription
        };
        *place = Some(name);
    }
}

fn add(
    draft: &mut Draft,
    called: Option<cst::Name>,
    kind: Kind,
    described: Option<cst::Description>,
    fill: impl FnOnce(&mut Type),
) {
    let Some(called) = name(called) else { return };
    let mut ty = Type::new(called, kind);
    ty.description = description(described);
    fill(&mut ty);
    draft.types.push(ty);
}

fn extend(
    draft: &mut Draft,
    places: &mut Places,
    called: Option<cst::Name>,
    kind: Kind,
    fill: impl FnOnce(&mut Type),
) {
    let Some(called) = name(called) else { return };
    let place = *places.entry(called.clone()).or_insert_with(|| {
        draft.types.push(Type::new(called, kind));
        draft.types.len() - 1
    });
    fill(&mut draft.types[place]);
}

fn with_fields(
    ty: &mut Type,
    interfaces: Option<cst::ImplementsInterfaces>,
    fields: Option<cst::FieldsDefinition>,
) {
    if let Some(list) = interfaces {
        ty.interfaces.extend(list.named_types().filter_map(|it| named(Some(it))));
    }
    for field in fields.into_iter().flat_map(|list| list.field_definitions()) {
        let Some(called) = name(field.name()) else { continue };
        ty.fields.push(Field {
            name: called,
            description: description(field.description()),
            arguments: field
                .arguments_definition()
                .map(|list| inputs(list.input_value_definitions()))
                .unwrap_or_default(),
            ty: reference(field.ty()),
            deprecated: deprecated(field.directives()),
        });
    }
}

fn inputs(list: cst::CstChildren<cst::InputValueDefinition>) -> Vec<Input> {
    let read = |input: cst::InputValueDefinition| {
        Some(Input {
            name: name(input.name())?,
            description: description(input.description()),
            ty: reference(input.ty()),
            default: input
                .default_value()
                .and_then(|it| it.value())
                .map(|value| value.syntax().text().to_string().trim().to_owned()),
            deprecated: deprecated(input.directives()),
        })
    };
    list.filter_map(read).collect()
}

fn members(types: Option<cst::UnionMemberTypes>) -> Vec<String> {
    types.into_iter().flat_map(|list| list.named_types()).filter_map(|it| named(Some(it))).collect()
}

fn values(list: Option<cst::EnumValuesDefinition>) -> Vec<EnumValue> {
    let read = |value: cst::EnumValueDefinition| {
        let called = name(value.enum_value()?.name())?;
        Some(EnumValue { name: called, deprecated: deprecated(value.directives()).is_some() })
    };
    list.into_iter().flat_map(|list| list.enum_value_definitions()).filter_map(read).collect()
}

/// A type with what is around it; the empty name where it nests too deeply.
fn reference(ty: Option<cst::Type>) -> Ref {
    let mut wraps = Vec::new();
    let mut rest = ty;
    while let Some(ty) = rest.take() {
        if wraps.len() > super::MAX_WRAPS {
            break;
        }
        match ty {
            cst::Type::NamedType(it) => return Ref { name: named(Some(it)).unwrap_or_default(), wraps },
            cst::Type::ListType(it) => {
                wraps.push(Wrap::List);
                rest = it.ty();
            }
            cst::Type::NonNullType(it) => {
                wraps.push(Wrap::NonNull);
                rest = it
                    .named_type()
                    .map(cst::Type::NamedType)
                    .or_else(|| it.list_type().map(cst::Type::ListType));
            }
        }
    }
    Ref { name: String::new(), wraps }
}

fn name(name: Option<cst::Name>) -> Option<String> {
    name.map(|name| name.text().to_string())
}

fn named(ty: Option<cst::NamedType>) -> Option<String> {
    name(ty?.name())
}

fn description(description: Option<cst::Description>) -> String {
    description.and_then(|it| it.string_value()).map(String::from).unwrap_or_default()
}

fn directive(directives: Option<cst::Directives>, called: &str) -> Option<cst::Directive> {
    directives?.directives().find(|it| name(it.name()).as_deref() == Some(called))
}

fn text_of(directive: &cst::Directive, argument: &str) -> Option<String> {
    let mut arguments = directive.arguments()?.arguments();
    match arguments.find(|it| name(it.name()).as_deref() == Some(argument))?.value()? {
        cst::Value::StringValue(text) => Some(String::from(text)),
        _ => None,
    }
}

fn deprecated(directives: Option<cst::Directives>) -> Option<String> {
    let directive = directive(directives, "deprecated")?;
    Some(text_of(&directive, "reason").unwrap_or_default())
}
