//! The arguments of a call against its binding.

use serde_json::{Map, Value};

use super::base::Choice;
use super::binding::{Binding, Body, BodyType, Parameter, Place, Shape};
use super::next;
use crate::seam::Failure;
use crate::text::line;

/// Arguments that fit a binding by their structure. Types in detail are the
/// host's to check, by the tool's schema.
#[derive(Debug)]
pub(crate) struct Arguments {
    values: Map<String, Value>,
}

impl Arguments {
    /// # Errors
    /// `invalid-arguments`, naming the argument and what is accepted.
    pub(crate) fn read(json: &str, binding: &Binding) -> Result<Self, Failure> {
        let mut values = match serde_json::from_str(json) {
            Ok(Value::Object(values)) => values,
            Ok(Value::Null) => Map::new(),
            Ok(_) => return Err(invalid("the arguments are not an object".to_owned())),
            Err(fault) => {
                return Err(invalid(format!("the arguments are not valid JSON: {fault}")));
            }
        };
        for parameter in &binding.parameters {
            if let Some(default) = &parameter.default
                && values.get(&parameter.argument).is_none_or(Value::is_null)
            {
                values.insert(parameter.argument.clone(), default.clone());
            }
        }
        let arguments = Self { values };
        arguments.check_names(binding)?;
        for parameter in &binding.parameters {
            check(parameter, arguments.value(&parameter.argument))?;
        }
        if let Some(body) = &binding.body {
            arguments.check_body(body)?;
        }
        Ok(arguments)
    }

    /// A value that is there and not null.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// The body as given: null is a body where JSON is sent.
    pub(crate) fn body(&self) -> Option<&Value> {
        self.values.get("body")
    }

    /// # Errors
    /// `invalid-arguments`.
    pub(crate) fn server(&self, binding: &Binding) -> Result<Choice, Failure> {
        if binding.offers_server() { Choice::read(self.value("server")) } else { Ok(Choice::default()) }
    }

    /// The link to a next page, where one is given.
    ///
    /// # Errors
    /// `invalid-arguments`, where it is no text.
    pub(crate) fn next_link(&self, binding: &Binding) -> Result<Option<&str>, Failure> {
        match self.value(next::ARGUMENT).filter(|_| binding.next) {
            None => Ok(None),
            Some(Value::String(link)) => Ok(Some(link)),
            Some(_) => Err(invalid("the argument \"nextLink\" is not a string".to_owned())),
        }
    }

    /// The media type of the body, by the argument or by default.
    ///
    /// # Errors
    /// `invalid-arguments`, where it is not one of the body's.
    pub(crate) fn body_type<'b>(&self, body: &'b Body) -> Result<&'b BodyType, Failure> {
        let damaged = || {
            Failure::new(
                "binding-invalid",
                "the stored binding has a body without a media type: refresh the source",
            )
        };
        let Some(wanted) = self.value("contentType").filter(|_| body.types.len() > 1) else {
            return body.types.first().ok_or_else(damaged);
        };
        body.types.iter().find(|each| wanted == each.media_type.as_str()).ok_or_else(|| {
            let offered: Vec<&str> = body.types.iter().map(|each| each.media_type.as_str()).collect();
            invalid(format!("the content type {wanted} is not one of {}", offered.join(", ")))
        })
    }

    fn check_names(&self, binding: &Binding) -> Result<(), Failure> {
        let mut accepted: Vec<&str> =
            binding.parameters.iter().map(|parameter| parameter.argument.as_str()).collect();
        if let Some(body) = &binding.body {
            accepted.push("body");
            accepted.extend((body.types.len() > 1).then_some("contentType"));
        }
        accepted.extend(binding.offers_server().then_some("server"));
        accepted.extend(binding.next.then_some(next::ARGUMENT));
        let Some(unknown) = self.values.keys().find(|name| !accepted.contains(&name.as_str())) else {
            return Ok(());
        };
        let near = accepted
            .iter()
            .find(|name| is_near(name, unknown))
            .map(|name| format!(" Did you mean {name:?}?"))
            .unwrap_or_default();
        let list = if accepted.is_empty() {
            "none".to_owned()
        } else {
            accepted.iter().take(40).copied().collect::<Vec<_>>().join(", ")
        };
        Err(invalid(format!("unknown argument {:?}.{near} Accepted: {list}", line(unknown, 100))))
    }

    fn check_body(&self, body: &Body) -> Result<(), Failure> {
        self.body_type(body)?;
        if body.required && self.body().is_none() {
            return Err(invalid("the argument \"body\" is required".to_owned()));
        }
        Ok(())
    }
}

fn check(parameter: &Parameter, value: Option<&Value>) -> Result<(), Failure> {
    let name = &parameter.argument;
    let Some(value) = value else {
        return if parameter.required {
            Err(invalid(format!("the {} parameter {name:?} is required", parameter.place.name())))
        } else {
            Ok(())
        };
    };
    let is_empty = match value {
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.iter().all(Value::is_null),
        Value::Object(map) => map.values().all(Value::is_null),
        _ => false,
    };
    if parameter.place == Place::Path && is_empty {
        return Err(invalid(format!("the path parameter {name:?} must not be empty")));
    }
    let is_structured = value.is_array() || value.is_object();
    if parameter.shape == Shape::Scalar && is_structured && !parameter.encoding.json {
        return Err(invalid(format!(
            "the {} parameter {name:?} takes a single value",
            parameter.place.name()
        )));
    }
    Ok(())
}

/// The same but for case and separators, or one slip of the finger away.
fn is_near(accepted: &str, given: &str) -> bool {
    let fold = |text: &str| -> Vec<char> {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(100).collect()
    };
    let (accepted, given) = (fold(accepted), fold(given));
    if accepted == given {
        return !given.is_empty();
    }
    let start = accepted.iter().zip(&given).take_while(|(a, b)| a == b).count();
    let (accepted, given) = (&accepted[start..], &given[start..]);
    let end = accepted.iter().rev().zip(given.iter().rev()).take_while(|(a, b)| a == b).count();
    let left = accepted.len().max(given.len()) - end;
    start + end >= 2 && left <= 2
}

pub(super) fn invalid(message: String) -> Failure {
    Failure::new("invalid-arguments", message)
}
