//! Arguments are checked before anybody is asked and before anything is sent.
//!
//! First the names at the top: unknown ones, all at once and with what may have
//! been meant, then the ones that are missing. Then the values, by the tool's
//! JSON Schema (2020-12). The check helps a caller; it protects nobody. Where a
//! schema is too odd or too expensive for a part of it to be checked, that part
//! passes: an API knows best what it accepts.
//!
//! No deadline is needed. A schema is copied into a bounded form before it is
//! compiled: definitions, nodes and patterns are counted, references resolve
//! within it or not at all, and patterns run on a linear engine. Checking
//! counts steps and stack at every schema that has others within ([`meter`]),
//! so that neither branching through shared definitions nor deep nesting can
//! make more of it than that.

mod attach;
mod closest;
mod explain;
mod meter;
mod pattern;
mod shape;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use jsonschema::{Draft, PatternOptions, Retrieve, Uri, ValidationError};
use serde_json::{Map, Value};

use attach::Attached;
pub(crate) use closest::closest;
use shape::Shape;

/// Looks a definition up by the NAME of `#/$defs/NAME`.
pub(crate) type Definitions<'a> = dyn Fn(&str) -> Option<Cow<'a, Value>> + 'a;

/// Approximate bytes of one compiled pattern, and of its lazy automaton.
const PATTERN_BYTES: usize = 256 * 1024;

/// Arguments that a tool does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ArgumentFault {
    /// One line that names what is wrong and where.
    pub(crate) message: String,
    /// The same, one by one, at most [`MAX_ISSUES`].
    pub(crate) issues: Vec<Issue>,
    /// For unknown names of arguments, what may have been meant.
    pub(crate) suggestions: Vec<Suggestion>,
    /// The names that the tool takes at the top, in the order of its schema.
    pub(crate) accepted: Vec<String>,
}

/// Issues that are reported at once.
pub(crate) const MAX_ISSUES: usize = 12;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issue {
    /// JSON pointer (RFC 6901) into the arguments; empty for all of them.
    pub(crate) pointer: String,
    /// What is wrong there, in one line.
    pub(crate) message: String,
}

/// An unknown name and what it may stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suggestion {
    /// The name that was given.
    pub(crate) given: String,
    /// Names that the tool takes, the likeliest first; `body.title` is within
    /// an argument.
    pub(crate) meant: Vec<String>,
}

/// A schema that can't be compiled. Use [`structural`] for its tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaFault {
    /// It is no schema, or contradicts itself.
    #[error("the argument schema can't be used: {reason}")]
    Invalid {
        /// What the compiler said, in one line.
        reason: String,
    },
    /// Its references nest deeper than is followed.
    #[error("the argument schema nests too deeply")]
    TooDeep,
}

/// A tool's argument schema, compiled.
pub(crate) struct Validator {
    inner: jsonschema::Validator,
    /// What `inner` was compiled from: the bounded copy.
    schema: Value,
    shape: Shape,
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validator").field("shape", &self.shape).finish_non_exhaustive()
    }
}

impl Validator {
    /// Compiles a schema with the definitions that it reaches.
    ///
    /// # Errors
    ///
    /// When nothing can be made of it. Keywords that can't be kept are left
    /// out rather than refused.
    pub(crate) fn compile(schema: &Value, definitions: &Definitions<'_>) -> Result<Self, SchemaFault> {
        let mut attached = attach::attach(schema, definitions, &pattern::Verdicts::default());
        let inner = match compile(&attached) {
            Err(SchemaFault::Invalid { .. }) if !attached.patterns.is_empty() => {
                let verdicts = pattern::judge(&attached.patterns);
                attached = attach::attach(schema, definitions, &verdicts);
                compile(&attached)?
            }
            compiled => compiled?,
        };
        let shape = Shape::of(schema, Some(definitions));
        Ok(Self { inner, schema: attached.schema, shape })
    }

    /// Whether the tool takes `arguments`. `null` counts as no arguments.
    ///
    /// # Errors
    ///
    /// Unknown and missing names if there are any, else what is wrong with
    /// the values.
    pub(crate) fn check(&self, arguments: &Value) -> Result<(), ArgumentFault> {
        self.shape.check(arguments)?;
        let none = Value::Object(Map::new());
        let arguments = if arguments.is_null() { &none } else { arguments };
        // What is too expensive to check passes, as the module says.
        let valid = meter::metered(meter::CHECK_STEPS, || self.inner.is_valid(arguments));
        if valid.unwrap_or(true) {
            return Ok(());
        }
        let issues = meter::metered(meter::EXPLAIN_STEPS, || {
            explain::issues(&self.schema, self.inner.iter_errors(arguments))
        });
        let issues = issues.unwrap_or_else(|| {
            let message = "do not match the tool's schema".to_owned();
            vec![Issue { pointer: String::new(), message }]
        });
        Err(self.shape.fault(issues, Vec::new()))
    }
}

/// Checks names alone: for tools whose schema does not compile.
///
/// # Errors
///
/// As [`Validator::check`], of unknown and missing names.
pub(crate) fn structural(schema: &Value, arguments: &Value) -> Result<(), ArgumentFault> {
    Shape::of(schema, None).check(arguments)
}

/// Nothing outside the schema is fetched, whatever it refers to.
struct Refuse;

impl Retrieve for Refuse {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("references to other documents are not followed: {uri}").into())
    }
}

fn compile(attached: &Attached) -> Result<jsonschema::Validator, SchemaFault> {
    meter::roomy(attached.definitions, || {
        let options = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(false)
            .with_retriever(Refuse)
            .with_pattern_options(pattern_options())
            .with_keyword(meter::KEYWORD, meter::keyword);
        options.build(&attached.schema).map_err(|error| fault(&error))
    })
}

fn pattern_options() -> PatternOptions<jsonschema::Regex> {
    PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES)
}

fn fault(error: &ValidationError<'_>) -> SchemaFault {
    let reason = error.to_string();
    if reason.contains(meter::TOO_DEEP) {
        return SchemaFault::TooDeep;
    }
    SchemaFault::Invalid { reason: explain::shown(&reason, 300) }
}
