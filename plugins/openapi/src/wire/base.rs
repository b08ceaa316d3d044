//! The base URL that a call goes to.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::binding::{Server, Variable};
use super::style::text;
use crate::address;
use crate::seam::Failure;
use crate::settings::Settings;

/// A choice that a call makes by its `server` argument.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    url: Option<String>,
    variables: BTreeMap<String, String>,
}

impl Choice {
    /// # Errors
    /// `invalid-arguments`, where it is neither a URL nor an object of the two.
    pub(crate) fn read(argument: Option<&Value>) -> Result<Self, Failure> {
        match argument {
            None | Some(Value::Null) => Ok(Self::default()),
            Some(Value::String(url)) => Ok(Self { url: Some(url.clone()), ..Self::default() }),
            Some(Value::Object(map)) => Self::of_object(map),
            Some(_) => Err(invalid("`server` is neither a URL nor an object with `url` and `variables`")),
        }
    }

    fn of_object(map: &Map<String, Value>) -> Result<Self, Failure> {
        let url = match map.get("url") {
            None | Some(Value::Null) => None,
            Some(Value::String(url)) => Some(url.clone()),
            Some(_) => return Err(invalid("`server.url` is not a string")),
        };
        let variables = match map.get("variables") {
            None | Some(Value::Null) => BTreeMap::new(),
            Some(Value::Object(values)) => {
                values.iter().map(|(name, value)| (name.clone(), text(value))).collect()
            }
            Some(_) => return Err(invalid("`server.variables` is not an object")),
        };
        Ok(Self { url, variables })
    }
}

/// The base URL of a call without a choice.
///
/// # Errors
/// As [`choose`].
pub(crate) fn default(servers: &[Server], settings: &Settings) -> Result<String, Failure> {
    choose(servers, settings, &Choice::default())
}

/// The base URL of a call: the source's own, else the chosen server, else the
/// first.
///
/// # Errors
/// `invalid-arguments` for a server or value that is not offered,
/// `settings-invalid` where the document gives no usable server.
pub(crate) fn choose(servers: &[Server], settings: &Settings, choice: &Choice) -> Result<String, Failure> {
    if let Some(base) = &settings.base_url {
        return Ok(base.clone());
    }
    let server = match &choice.url {
        None => servers.first(),
        Some(url) => Some(
            servers.iter().find(|server| server.template == *url).ok_or_else(|| not_offered(url, servers))?,
        ),
    };
    let server = server.ok_or_else(|| {
        Failure::new(
            "settings-invalid",
            "the document names no server with an absolute URL: `executor sources set NAME --set base_url=…` gives one",
        )
    })?;
    let mut url = server.template.clone();
    for variable in &server.variables {
        let value = value_of(variable, settings, choice)?;
        url = url.replace(&format!("{{{}}}", variable.name), value);
    }
    if let Some(unknown) =
        choice.variables.keys().find(|name| !server.variables.iter().any(|each| each.name == **name))
    {
        return Err(invalid(&format!("the server {} has no variable {unknown:?}", server.template)));
    }
    address::as_base(&url).map_err(|fault| {
        Failure::new(
            "settings-invalid",
            format!("{fault}: `executor sources set NAME --set base_url=…` or `--set server_variables.VARIABLE=…` mends it"),
        )
    })
}

/// A variable's value: the call's, else the source's, else the document's.
fn value_of<'v>(
    variable: &'v Variable,
    settings: &'v Settings,
    choice: &'v Choice,
) -> Result<&'v str, Failure> {
    let Variable { name, default, choices } = variable;
    let chosen = choice.variables.get(name);
    let value = chosen.or_else(|| settings.server_variables.get(name)).unwrap_or(default);
    if !choices.is_empty() && !choices.contains(value) && value != default {
        let offered = choices.join(", ");
        return Err(invalid(&format!(
            "the server variable {name} can't be {value:?}: it is one of {offered}"
        )));
    }
    if chosen.is_some() && choices.is_empty() && !is_label(value) {
        return Err(invalid(&format!(
            "the server variable {name} can't be {value:?}: only letters, digits, and . _ ~ - are taken from a call"
        )));
    }
    Ok(value)
}

fn is_label(value: &str) -> bool {
    !value.is_empty()
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte))
        && !super::encode::is_dots(value)
}

fn not_offered(url: &str, servers: &[Server]) -> Failure {
    let offered: Vec<&str> = servers.iter().map(|server| server.template.as_str()).take(10).collect();
    invalid(&format!(
        "the server {:?} is not offered; these are: {}",
        crate::text::line(url, 200),
        offered.join(", ")
    ))
}

fn invalid(message: &str) -> Failure {
    Failure::new("invalid-arguments", message)
}
