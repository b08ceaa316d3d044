//! The values of a connection: which are needed, and where each comes from.
//!
//! A value is never taken from the command line itself, where other processes
//! and the shell's history see it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::context::Context;
use crate::environment;
use crate::failure::Failure;
use crate::input;
use crate::nearest::nearest;
use crate::prompt;
use crate::text;
use crate::view::{field, flag, list};

/// A key file with its certificates is a few KiB.
const VALUE_LIMIT_BYTES: u64 = 64 * 1024;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Stdin,
    File(String),
    Environment(String),
}

/// A value that an auth method asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) label: String,
    pub(crate) secret: bool,
    pub(crate) optional: bool,
}

/// Reads `VAR=-`, `VAR=@file` and `VAR=env:NAME` of `--set`.
///
/// # Errors
/// One is none of these; a value that stands there itself is refused and not
/// repeated.
pub(crate) fn origins(given: &[String]) -> Result<BTreeMap<String, Origin>, Failure> {
    origins_of("--set", given)
}

/// The variables of a local program, as `--env` says where each comes from.
///
/// # Errors
/// As [`origins`], and where a value can't be had.
pub(crate) fn program_environment(given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let origins = origins_of("--env", given)?;
    origins.iter().map(|(name, origin)| Ok((name.clone(), read(name, origin)?))).collect()
}

fn origins_of(option: &str, given: &[String]) -> Result<BTreeMap<String, Origin>, Failure> {
    let mut origins = BTreeMap::new();
    for assignment in given {
        let (name, from) = assignment
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| Failure::usage(format!("{option} takes VAR=-, VAR=@FILE or VAR=env:NAME")))?;
        let name = text::line(name, 80);
        let origin = origin(option, &name, from)?;
        if origin == Origin::Stdin && origins.values().any(|other| *other == Origin::Stdin) {
            return Err(Failure::usage("stdin can give one value alone, and two are to be read from it"));
        }
        if origins.insert(name.clone(), origin).is_some() {
            return Err(Failure::usage(format!("{name} is set twice")));
        }
    }
    Ok(origins)
}

pub(crate) fn origin(option: &str, name: &str, from: &str) -> Result<Origin, Failure> {
    match (from, from.strip_prefix('@'), from.strip_prefix("env:")) {
        ("-", _, _) => Ok(Origin::Stdin),
        (_, Some(file), _) if !file.is_empty() => Ok(Origin::File(file.to_owned())),
        (_, _, Some(variable)) if !variable.is_empty() => Ok(Origin::Environment(variable.to_owned())),
        _ => {
            let written = |from: &str| match option {
                "--set" | "--env" => format!("{option} {name}={from}"),
                _ => format!("{option} {from}"),
            };
            let failure = Failure::usage(format!(
                "the value of {name} can't be taken from the command line: other programs and the shell's history see it"
            ))
            .hint(format!(
                "{} reads it from stdin, {} from a file, {} from the environment",
                written("-"),
                written("@FILE"),
                written("env:NAME")
            ));
            Err(match option {
                "--set" => failure.hint("without --set it is asked for on the terminal, and not shown"),
                _ => failure,
            })
        }
    }
}

/// Reads `env:NAME` and `file:PATH`, with `VAR=` before them where there are
/// several values.
///
/// # Errors
/// One is none of these, or its variable has to be named.
pub(crate) fn from(
    given: &[String],
    variables: &[Variable],
    origins: &mut BTreeMap<String, Origin>,
) -> Result<(), Failure> {
    for text in given {
        let (name, place) = match text.split_once('=') {
            Some((name, place)) if !name.contains(':') => (name.to_owned(), place),
            _ => {
                match variables.iter().filter(|variable| !variable.optional).collect::<Vec<_>>().as_slice() {
                    [only] => (only.name.clone(), text.as_str()),
                    several => {
                        let names: Vec<&str> =
                            several.iter().map(|variable| variable.name.as_str()).collect();
                        return Err(Failure::usage("--from says not which value it is for")
                            .hint(format!("write --from VAR=…; there is: {}", names.join(", "))));
                    }
                }
            }
        };
        let origin = match (place.strip_prefix("env:"), place.strip_prefix("file:")) {
            (Some(variable), _) if !variable.is_empty() => Origin::Environment(variable.to_owned()),
            (_, Some(file)) if !file.is_empty() => Origin::File(file.to_owned()),
            _ => return Err(Failure::usage("--from takes env:NAME or file:PATH")),
        };
        if origins.insert(name.clone(), origin).is_some() {
            return Err(Failure::usage(format!("{} is set twice", text::line(&name, 80))));
        }
    }
    Ok(())
}

/// Which auth methods are meant: those that were named, else the only one,
/// else the one that is chosen on the terminal.
pub(crate) fn methods<'s>(
    context: &Context,
    source: &'s Value,
    named: &[String],
) -> Result<Vec<&'s Value>, Failure> {
    let known = list(source, "auth_methods");
    let ids: Vec<String> = known.iter().map(|method| field(method, "id")).collect();
    if !named.is_empty() {
        return named.iter().map(|name| find(known, &ids, name)).collect();
    }
    match known {
        [] | [_] => Ok(known.iter().collect()),
        _ if prompt::can_ask(context) => choose(context, known),
        _ => {
            let commands = ids.iter().map(|id| format!("--auth {id}")).collect::<Vec<_>>().join(", ");
            Err(Failure::usage(format!("there are several ways to authenticate: {}", ids.join(", ")))
                .hint(format!("choose with one of {commands}")))
        }
    }
}

fn find<'s>(known: &'s [Value], ids: &[String], name: &str) -> Result<&'s Value, Failure> {
    if let Some(place) = ids.iter().position(|id| id == name) {
        return Ok(&known[place]);
    }
    let failure = Failure::usage(format!("there is no auth method `{}`", text::line(name, 80)));
    Err(match nearest(name, ids.iter().map(String::as_str)) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None if ids.is_empty() => failure.hint("this source asks for no credential"),
        None => failure.hint(format!("there are: {}", ids.join(", "))),
    })
}

fn choose<'s>(context: &Context, known: &'s [Value]) -> Result<Vec<&'s Value>, Failure> {
    context.output.tell("How do you authenticate?");
    for (index, method) in known.iter().enumerate() {
        context.output.tell(&format!(
            "  {}  {} ({})",
            index + 1,
            field(method, "label"),
            field(method, "id")
        ));
    }
    loop {
        let Some(answer) = prompt::line(&format!("1 to {}: ", known.len()))? else {
            return Err(Failure::usage("no auth method was chosen"));
        };
        if let Some(method) =
            answer.parse::<usize>().ok().and_then(|number| known.get(number.wrapping_sub(1)))
        {
            return Ok(vec![method]);
        }
    }
}

/// What these methods ask for together. Where two of them ask for one of the
/// same name, they are two values, and each is called `METHOD.NAME`.
pub(crate) fn variables(methods: &[&Value]) -> Vec<Variable> {
    let asks = |method: &Value, name: &str| {
        list(method, "variables").iter().any(|variable| field(variable, "name") == name)
    };
    let mut variables = Vec::new();
    for method in methods {
        for variable in list(method, "variables") {
            let (name, label) = (field(variable, "name"), field(variable, "label"));
            let is_shared = methods.iter().filter(|other| asks(other, &name)).count() > 1;
            let (name, label) = if is_shared {
                let id = field(method, "id");
                (format!("{id}.{name}"), format!("{label} ({id})"))
            } else {
                (name, label)
            };
            let secret = variable["secret"].is_null() || flag(variable, "secret");
            variables.push(Variable { name, label, secret, optional: flag(variable, "optional") });
        }
    }
    variables
}

/// The values: each from where it was said, else asked for.
pub(crate) fn values(
    context: &Context,
    variables: &[Variable],
    origins: &BTreeMap<String, Origin>,
) -> Result<BTreeMap<String, String>, Failure> {
    if let Some(unknown) =
        origins.keys().find(|name| !variables.iter().any(|variable| variable.name == **name))
    {
        let names: Vec<&str> = variables.iter().map(|variable| variable.name.as_str()).collect();
        let failure = Failure::usage(format!("the auth method has no value named {unknown}"));
        return Err(if names.is_empty() {
            failure
        } else {
            failure.hint(format!("it asks for: {}", names.join(", ")))
        });
    }
    let needed = |variable: &&Variable| !variable.optional && !origins.contains_key(&variable.name);
    if let Some(missing) = variables.iter().find(needed)
        && !prompt::can_ask(context)
    {
        let name = &missing.name;
        return Err(Failure::usage(format!(
            "a value for {name} is needed, and there is no terminal to ask on"
        ))
        .hint(format!("give it with --set {name}=-, {name}=@FILE or {name}=env:NAME")));
    }
    let mut values = BTreeMap::new();
    for variable in variables {
        let value = match origins.get(&variable.name) {
            Some(origin) => read(&variable.name, origin)?,
            None if !prompt::can_ask(context) => continue,
            None => ask(variable)?,
        };
        if !value.is_empty() {
            values.insert(variable.name.clone(), value);
        }
    }
    Ok(values)
}

pub(crate) fn read(name: &str, origin: &Origin) -> Result<String, Failure> {
    let value = match origin {
        Origin::Stdin => input::text("-", VALUE_LIMIT_BYTES)?,
        Origin::File(file) => input::text(file, VALUE_LIMIT_BYTES)?,
        Origin::Environment(variable) => environment::variable(variable)?,
    };
    // The line break that editors and `echo` add is no part of a value.
    let value =
        value.strip_suffix('\n').map(|value| value.strip_suffix('\r').unwrap_or(value)).unwrap_or(&value);
    if value.is_empty() {
        return Err(Failure::usage(format!("the value of {name} is empty")));
    }
    Ok(value.to_owned())
}

fn ask(variable: &Variable) -> Result<String, Failure> {
    let label = if variable.label.is_empty() { &variable.name } else { &variable.label };
    let optional = if variable.optional { ", optional" } else { "" };
    let value = if variable.secret {
        prompt::hidden(&format!("{label} (not shown{optional}): "))?
    } else {
        prompt::line(&format!("{label}{}: ", if variable.optional { " (optional)" } else { "" }))?
            .unwrap_or_default()
    };
    if value.is_empty() && !variable.optional {
        return Err(Failure::usage(format!("no value for {} was given: nothing was added", variable.name)));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Globals;
    use crate::environment::Environment;
    use serde_json::json;

    fn texts(given: &[&str]) -> Vec<String> {
        given.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_value_on_the_command_line_is_refused_and_not_repeated() {
        let failure = origins(&texts(&["token=ghp_supersecret"])).unwrap_err();
        let told = format!("{}{:?}", failure.message, failure.hints);
        assert!(!told.contains("supersecret"), "{told}");
        assert!(told.contains("token=@FILE"), "{told}");
        assert!(!origins(&texts(&["supersecret"])).unwrap_err().message.contains("supersecret"));
        for bad in [&["a="][..], &["a=@"], &["a=env:"], &["=-"], &["a=-", "b=-"], &["a=-", "a=@x"]] {
            assert!(origins(&texts(bad)).is_err(), "{bad:?}");
        }
        let good = origins(&texts(&["a=-", "b=@f", "c=env:V"])).unwrap();
        assert_eq!(good["b"], Origin::File("f".into()));
        assert_eq!(good["c"], Origin::Environment("V".into()));
        let failure = program_environment(&texts(&["TOKEN=ghp_supersecret"])).unwrap_err();
        let told = format!("{}{:?}", failure.message, failure.hints);
        assert!(!told.contains("supersecret") && told.contains("--env TOKEN=-"), "{told}");
    }

    fn context() -> Context {
        let globals = Globals { no_input: true, ..Globals::default() };
        Context::new(&globals, Environment { user_home: Some("/u".into()), ..Environment::default() })
            .unwrap()
    }

    fn source() -> Value {
        json!({ "auth_methods": [
            { "id": "bearer", "label": "Token", "variables": [{ "name": "token", "label": "Token", "secret": true }] },
            { "id": "basic", "label": "Password", "variables": [
                { "name": "user", "label": "User", "secret": false }, { "name": "token", "label": "x" }] },
        ] })
    }

    #[test]
    fn methods_are_named_or_obvious() {
        let source = source();
        let pick = |named: &[&str]| methods(&context(), &source, &texts(named));
        assert_eq!(pick(&["basic"]).unwrap().len(), 1);
        let failure = pick(&[]).unwrap_err();
        assert_eq!(failure.hints, ["choose with one of --auth bearer, --auth basic"]);
        assert_eq!(pick(&["bearr"]).unwrap_err().hints, ["did you mean `bearer`?"]);
        let names: Vec<_> =
            variables(&pick(&["bearer", "basic"]).unwrap()).into_iter().map(|v| (v.name, v.secret)).collect();
        let named = |name: &str, secret| (name.to_owned(), secret);
        let expected = [named("bearer.token", true), named("user", false), named("basic.token", true)];
        assert_eq!(names, expected, "two values of one name are two");
    }

    #[test]
    fn values_come_from_files_without_their_line_break() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        std::fs::write(&file, "secret \r\n").unwrap();
        let source = source();
        let chosen = methods(&context(), &source, &texts(&["bearer"])).unwrap();
        let variables = variables(&chosen);
        let given = origins(&[format!("token=@{}", file.display())]).unwrap();
        assert_eq!(values(&context(), &variables, &given).unwrap()["token"], "secret ");
        std::fs::write(&file, "\n").unwrap();
        assert!(values(&context(), &variables, &given).unwrap_err().message.contains("empty"));
        let failure = values(&context(), &variables, &BTreeMap::new()).unwrap_err();
        assert!(failure.hints[0].contains("--set token=-"), "{:?}", failure.hints);
        let unknown = origins(&texts(&["tokn=-"])).unwrap();
        assert_eq!(values(&context(), &variables, &unknown).unwrap_err().hints, ["it asks for: token"]);
    }
}
