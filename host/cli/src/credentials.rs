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
use crate::prompt;
use crate::text;
use crate::view::field;

/// A key file with its certificates is a few KiB.
const VALUE_LIMIT_BYTES: u64 = 64 * 1024;
/// The kind of a method by user name and password.
const BASIC: &str = "http-basic";

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
    /// Whether it goes into a place that takes one line.
    pub(crate) one_line: bool,
}

/// What was given of values before any is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Given {
    named: BTreeMap<String, Origin>,
    /// `--from` without a name, for the one value that there is.
    unnamed: Option<Origin>,
}

impl Given {
    /// Reads `VAR=-`, `VAR=@FILE` and `VAR=env:NAME` of `--set`, and
    /// `[VAR=]env:NAME` and `[VAR=]file:PATH` of `--from`.
    ///
    /// # Errors
    /// One is none of these; a value that stands there itself is refused and
    /// not repeated.
    pub(crate) fn read(set: &[String], from: &[String]) -> Result<Self, Failure> {
        let mut given = Self { named: origins_of("--set", set)?, unnamed: None };
        for text in from {
            let (name, place) = match text.split_once('=') {
                Some((name, place)) if !name.contains(':') && !name.is_empty() => (Some(name), place),
                _ => (None, text.as_str()),
            };
            let origin = match (place.strip_prefix("env:"), place.strip_prefix("file:")) {
                (Some(variable), _) if !variable.is_empty() => Origin::Environment(variable.to_owned()),
                (_, Some(file)) if !file.is_empty() => Origin::File(file.to_owned()),
                _ => return Err(Failure::usage("--from takes env:NAME or file:PATH")),
            };
            let before = match name {
                Some(name) => given.named.insert(name.to_owned(), origin),
                None => given.unnamed.replace(origin),
            };
            if before.is_some() {
                return Err(match name {
                    Some(name) => Failure::usage(format!("{} is set twice", text::line(name, 80))),
                    None => Failure::usage("two of --from say not which value they are for")
                        .hint("write --from VAR=env:NAME or --from VAR=file:PATH"),
                });
            }
        }
        Ok(given)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.unnamed.is_none()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.named.contains_key(name)
    }

    /// Whether these variables take all that was given. `strictly`, a value
    /// without a name is for the only variable that is left; else for the only
    /// one that may not be left out.
    pub(crate) fn fits(&self, variables: &[Variable], strictly: bool) -> bool {
        let known = |name: &String| variables.iter().any(|variable| variable.name == *name);
        let places = self.open(variables).filter(|variable| strictly || !variable.optional).count();
        self.named.keys().all(known) && (self.unnamed.is_none() || places == 1)
    }

    fn open<'v>(&self, variables: &'v [Variable]) -> impl Iterator<Item = &'v Variable> {
        variables.iter().filter(|variable| !self.named.contains_key(&variable.name))
    }

    /// Gives the value without a name to the variable that it is for.
    ///
    /// # Errors
    /// It may be for several.
    pub(crate) fn assign(&mut self, variables: &[Variable]) -> Result<(), Failure> {
        let Some(origin) = self.unnamed.take() else { return Ok(()) };
        let open: Vec<&Variable> = self.open(variables).collect();
        let needed: Vec<&Variable> = open.iter().copied().filter(|variable| !variable.optional).collect();
        let (([only], _) | (_, [only])) = (open.as_slice(), needed.as_slice()) else {
            let names: Vec<&str> = open.iter().map(|variable| variable.name.as_str()).collect();
            let failure = Failure::usage("--from says not which value it is for");
            return Err(match names.as_slice() {
                [] => failure.hint("there is none left that it could be for"),
                names => failure.hint(format!("write --from VAR=…; there is: {}", names.join(", "))),
            });
        };
        self.named.insert(only.name.clone(), origin);
        Ok(())
    }
}

/// The variables of a local program, as `--env` says where each comes from.
///
/// # Errors
/// One is no `VAR=-`, `VAR=@FILE` or `VAR=env:NAME`, or its value can't be had.
pub(crate) fn program_environment(
    context: &Context,
    given: &[String],
) -> Result<BTreeMap<String, String>, Failure> {
    let origins = origins_of("--env", given)?;
    origins.iter().map(|(name, origin)| Ok((name.clone(), read(context, name, origin)?))).collect()
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

/// The values: each from where it was said, else asked for.
///
/// # Errors
/// One is unknown, missing, can't be had, or does not fit where it goes.
pub(crate) fn values(
    context: &Context,
    methods: &[&Value],
    variables: &[Variable],
    given: &Given,
) -> Result<BTreeMap<String, String>, Failure> {
    check_names(variables, given)?;
    let needed = |variable: &&Variable| !variable.optional && !given.has(&variable.name);
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
        let value = match given.named.get(&variable.name) {
            Some(origin) => read(context, &variable.name, origin)?,
            None if !prompt::can_ask(context) => continue,
            None => ask(variable)?,
        };
        if variable.one_line && value.contains(['\n', '\r']) {
            return Err(several_lines(&variable.name));
        }
        if !value.is_empty() {
            values.insert(variable.name.clone(), value);
        }
    }
    if methods.iter().any(|method| field(method, "kind") == BASIC) {
        split_basic(&mut values)?;
    }
    Ok(values)
}

/// Refuses a value that none of the variables takes.
///
/// # Errors
/// There is one.
pub(crate) fn check_names(variables: &[Variable], given: &Given) -> Result<(), Failure> {
    let is_known = |name: &&String| variables.iter().any(|variable| variable.name == **name);
    let Some(unknown) = given.named.keys().find(|name| !is_known(name)) else { return Ok(()) };
    let names: Vec<&str> = variables.iter().map(|variable| variable.name.as_str()).collect();
    let failure = Failure::usage(format!("the auth method has no value named {unknown}"));
    Err(match names.as_slice() {
        [] => failure,
        names => failure.hint(format!("it asks for: {}", names.join(", "))),
    })
}

fn several_lines(name: &str) -> Failure {
    Failure::usage(format!("the value of {name} has a line break in it, and goes where one line is taken"))
        .hint("give it the value alone; a line break at the end is left out")
}

/// A user name has no colon (RFC 7617, section 2), so that one with a colon is
/// `NAME:PASSWORD` in one, as `curl -u` takes it.
fn split_basic(values: &mut BTreeMap<String, String>) -> Result<(), Failure> {
    let Some((name, password)) = values.get("username").and_then(|given| given.split_once(':')) else {
        return Ok(());
    };
    if values.contains_key("password") {
        return Err(Failure::usage("a user name can't have a colon in it, and a password was given as well")
            .hint("give NAME:PASSWORD as the user name alone, or both without the colon"));
    }
    let (name, password) = (name.to_owned(), password.to_owned());
    values.insert("username".into(), name);
    if !password.is_empty() {
        values.insert("password".into(), password);
    }
    Ok(())
}

/// One value from where it was said: on a terminal `-` asks for it, and does
/// not show it.
///
/// # Errors
/// It can't be had, or is empty.
pub(crate) fn read(context: &Context, name: &str, origin: &Origin) -> Result<String, Failure> {
    let value = match origin {
        Origin::Stdin => prompt::secret(context, name, VALUE_LIMIT_BYTES)?,
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
        return Err(Failure::usage(format!("no value for {} was given: nothing was done", variable.name)));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Globals;
    use crate::environment::Environment;
    use crate::methods::variables;
    use serde_json::json;

    fn texts(given: &[&str]) -> Vec<String> {
        given.iter().map(ToString::to_string).collect()
    }

    fn set(given: &[&str]) -> Result<Given, Failure> {
        Given::read(&texts(given), &[])
    }

    #[test]
    fn a_value_on_the_command_line_is_refused_and_not_repeated() {
        let failure = set(&["token=ghp_supersecret"]).unwrap_err();
        let told = format!("{}{:?}", failure.message, failure.hints);
        assert!(!told.contains("supersecret"), "{told}");
        assert!(told.contains("token=@FILE"), "{told}");
        assert!(!set(&["supersecret"]).unwrap_err().message.contains("supersecret"));
        for bad in [&["a="][..], &["a=@"], &["a=env:"], &["=-"], &["a=-", "b=-"], &["a=-", "a=@x"]] {
            assert!(set(bad).is_err(), "{bad:?}");
        }
        let good = set(&["a=-", "b=@f", "c=env:V"]).unwrap();
        assert_eq!(good.named["b"], Origin::File("f".into()));
        assert_eq!(good.named["c"], Origin::Environment("V".into()));
        let failure = program_environment(&context(), &texts(&["TOKEN=ghp_supersecret"])).unwrap_err();
        let told = format!("{}{:?}", failure.message, failure.hints);
        assert!(!told.contains("supersecret") && told.contains("--env TOKEN=-"), "{told}");
    }

    fn context() -> Context {
        let globals = Globals { no_input: true, ..Globals::default() };
        Context::new(&globals, Environment { user_home: Some("/u".into()), ..Environment::default() })
            .unwrap()
    }

    fn bearer() -> Value {
        json!({ "id": "bearer", "kind": "http-bearer", "places": [{ "in": "header", "name": "Authorization" }],
            "variables": [{ "name": "token", "label": "Token", "secret": true }] })
    }

    fn basic() -> Value {
        json!({ "id": "basic", "kind": "http-basic", "places": [{ "in": "header", "name": "Authorization" }],
            "variables": [{ "name": "username", "secret": false }, { "name": "password", "optional": true }] })
    }

    /// The values of a method, with a file for `FILE`.
    fn taken(method: &Value, content: &str, from: &[&str]) -> Result<BTreeMap<String, String>, Failure> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("value");
        std::fs::write(&file, content).unwrap();
        let from: Vec<String> =
            from.iter().map(|text| text.replace("FILE", &file.display().to_string())).collect();
        let mut given = Given::read(&[], &from)?;
        let variables = variables(&[method]);
        given.assign(&variables)?;
        values(&context(), &[method], &variables, &given)
    }

    #[test]
    fn values_come_from_files_without_their_line_break() {
        assert_eq!(taken(&bearer(), "secret \r\n", &["file:FILE"]).unwrap()["token"], "secret ");
        assert!(taken(&bearer(), "\n", &["file:FILE"]).unwrap_err().message.contains("empty"));
        let failure = taken(&bearer(), "", &[]).unwrap_err();
        assert!(failure.hints[0].contains("--set token=-"), "{:?}", failure.hints);
        let failure = taken(&bearer(), "x", &["tokn=file:FILE"]).unwrap_err();
        assert_eq!(failure.hints, ["it asks for: token"]);
        let failure = taken(&bearer(), "x", &["file:FILE", "file:FILE"]).unwrap_err();
        assert!(failure.hints[0].contains("VAR=file:PATH"), "{failure:?}");
        let failure = taken(&bearer(), "x", &["token=file:FILE", "file:FILE"]).unwrap_err();
        assert_eq!(failure.hints, ["there is none left that it could be for"]);
    }

    #[test]
    fn a_line_break_is_refused_where_one_line_is_taken() {
        for broken in ["one\ntwo\n", "one\r\ntwo", "one\rtwo"] {
            let failure = taken(&bearer(), broken, &["file:FILE"]).unwrap_err();
            assert!(failure.message.contains("token has a line break"), "{failure:?}");
            assert!(!failure.message.contains("two"), "{failure:?}");
        }
        let environment =
            json!({ "id": "environment", "kind": "environment", "variables": [{ "name": "PEM" }] });
        assert_eq!(taken(&environment, "one\ntwo\n", &["file:FILE"]).unwrap()["PEM"], "one\ntwo");
    }

    #[test]
    fn a_name_and_its_password_may_be_one_value() {
        let values = taken(&basic(), "ada:love:lace\n", &["file:FILE"]).unwrap();
        assert_eq!((values["username"].as_str(), values["password"].as_str()), ("ada", "love:lace"));
        let key = taken(&basic(), "sk_test:", &["file:FILE"]).unwrap();
        assert_eq!((key["username"].as_str(), key.get("password")), ("sk_test", None));
        let alone = taken(&basic(), "love:lace", &["password=file:FILE"]).unwrap_err();
        assert!(alone.message.contains("a value for username is needed"), "{alone:?}");
        let both = taken(&basic(), "a:b", &["username=file:FILE", "password=file:FILE"]).unwrap_err();
        assert!(both.message.contains("colon"), "{both:?}");
        assert_eq!(taken(&bearer(), "a:b", &["file:FILE"]).unwrap()["token"], "a:b");
    }
}
