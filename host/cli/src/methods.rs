//! Which of a source's auth methods a new connection is of.

use serde_json::Value;

use crate::context::Context;
use crate::credentials::{Given, Variable};
use crate::failure::Failure;
use crate::nearest::nearest;
use crate::prompt;
use crate::text;
use crate::view::{field, flag, list};

/// What a person said that tells which method is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'g> {
    /// `--auth`.
    pub(crate) named: &'g [String],
    /// The values that were given.
    pub(crate) values: &'g Given,
    /// Whether a flag of OAuth was given.
    pub(crate) oauth: bool,
}

/// The methods that are meant: those that were named, else the one that takes
/// what was given, else the one that is chosen on the terminal.
///
/// # Errors
/// None is, or several are and nobody can be asked.
pub(crate) fn chosen<'s>(
    context: &Context,
    source: &'s Value,
    said: Said<'_>,
) -> Result<Vec<&'s Value>, Failure> {
    let known = list(source, "auth_methods");
    if !said.named.is_empty() {
        return said.named.iter().map(|name| find(known, name)).collect();
    }
    let given = !said.values.is_empty() || said.oauth;
    let fitting = if given && known.len() > 1 { fitting(known, said) } else { known.iter().collect() };
    let by_default = fitting.iter().copied().find(|method| flag(method, "default"));
    match (fitting.as_slice(), by_default) {
        ([_], _) => Ok(fitting),
        ([], _) if known.is_empty() => Ok(fitting),
        ([], _) => Err(nothing_fits(known, said)),
        (_, Some(meant)) if given => Ok(vec![meant]),
        _ if prompt::can_ask(context) => choose(context, &fitting),
        (several, _) => {
            let mut by_oauth = several.iter().copied().filter(|method| flag(method, "oauth"));
            match (by_oauth.next(), by_oauth.next()) {
                // It needs no value, so that it can go on.
                (Some(only), None) if !given => Ok(vec![only]),
                _ => Err(several_fit(several)),
            }
        }
    }
}

/// Those that take what was given. A token that a person has makes no use of a
/// sign-in, so that a method without one goes first.
fn fitting<'s>(known: &'s [Value], said: Said<'_>) -> Vec<&'s Value> {
    let all = || known.iter();
    if said.oauth {
        return all().filter(|method| flag(method, "oauth")).collect();
    }
    let takes = |method: &&Value, optional: bool| said.values.fits(&variables(&[method]), optional);
    // A value without a name is for a method that has one alone, before it is
    // for one whose others may be left out.
    for optional in [true, false] {
        let fitting: Vec<&Value> = all().filter(|method| takes(method, optional)).collect();
        let plain: Vec<&Value> = fitting.iter().copied().filter(|method| !flag(method, "oauth")).collect();
        if !fitting.is_empty() {
            return if plain.is_empty() { fitting } else { plain };
        }
    }
    Vec::new()
}

fn several_fit(several: &[&Value]) -> Failure {
    let ids: Vec<String> = several.iter().map(|method| field(method, "id")).collect();
    let options: Vec<String> = ids.iter().map(|id| format!("--auth {id}")).collect();
    Failure::usage(format!("there are several ways to authenticate: {}", ids.join(", ")))
        .hint(format!("choose with one of {}", options.join(", ")))
}

fn nothing_fits(known: &[Value], said: Said<'_>) -> Failure {
    let takes = |method: &Value| {
        let names: Vec<String> = variables(&[method]).into_iter().map(|variable| variable.name).collect();
        format!("{} ({})", field(method, "id"), names.join(", "))
    };
    let all: Vec<String> = known.iter().map(takes).collect();
    let what = if said.oauth { "the flags of OAuth" } else { "the values that were given" };
    Failure::usage(format!("no auth method of the source takes {what}"))
        .hint(format!("there are: {}", all.join(", ")))
}

fn find<'s>(known: &'s [Value], name: &str) -> Result<&'s Value, Failure> {
    let ids: Vec<String> = known.iter().map(|method| field(method, "id")).collect();
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

/// Asks which. Enter takes the one that is meant by default, or the sign-in.
fn choose<'s>(context: &Context, several: &[&'s Value]) -> Result<Vec<&'s Value>, Failure> {
    context.output.tell("How do you authenticate?");
    for (index, method) in several.iter().enumerate() {
        let (label, id) = (field(method, "label"), field(method, "id"));
        context.output.tell(&format!("  {}  {label} ({id})", index + 1));
    }
    let meant = several.iter().position(|method| flag(method, "default"));
    let meant = meant.or_else(|| several.iter().position(|method| flag(method, "oauth")));
    let usual = meant.map_or_else(String::new, |place| format!(" [{}]", place + 1));
    loop {
        let Some(answer) = prompt::line(&format!("1 to {}{usual}: ", several.len()))? else {
            return Err(Failure::usage("no auth method was chosen"));
        };
        let place = match answer.as_str() {
            "" => meant,
            number => number.parse::<usize>().ok().and_then(|number| number.checked_sub(1)),
        };
        if let Some(method) = place.and_then(|place| several.get(place)) {
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
    let mut variables: Vec<Variable> = Vec::new();
    for method in methods {
        let in_line = |place: &Value| matches!(place["in"].as_str(), Some("header" | "cookie"));
        let one_line = list(method, "places").iter().any(in_line);
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
            let optional = flag(variable, "optional");
            variables.push(Variable { label, secret, optional, one_line, name });
        }
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Globals;
    use crate::credentials::Given;
    use crate::environment::Environment;
    use serde_json::json;

    fn texts(given: &[&str]) -> Vec<String> {
        given.iter().map(ToString::to_string).collect()
    }

    /// Without a terminal.
    fn context() -> Context {
        let globals = Globals { no_input: true, ..Globals::default() };
        Context::new(&globals, Environment { user_home: Some("/u".into()), ..Environment::default() })
            .unwrap()
    }

    fn method(id: &str, variables: &[(&str, bool)]) -> Value {
        let variables: Vec<Value> =
            variables.iter().map(|(name, optional)| json!({ "name": name, "optional": optional })).collect();
        json!({ "id": id, "label": id, "variables": variables, "oauth": id == "oauth2" })
    }

    fn bearer() -> Value {
        method("bearer", &[("token", false)])
    }

    fn basic() -> Value {
        method("basic", &[("username", false), ("password", true)])
    }

    fn oauth() -> Value {
        method("oauth2", &[("token", false)])
    }

    /// Which is chosen of `methods` by `--auth`, `--set` and `--from`.
    fn pick(methods: &[Value], named: &[&str], set: &[&str], from: &[&str]) -> Result<String, Failure> {
        let source = json!({ "auth_methods": methods });
        let values = Given::read(&texts(set), &texts(from))?;
        let said = Said { named: &texts(named), values: &values, oauth: false };
        let ids =
            chosen(&context(), &source, said)?.iter().map(|method| field(method, "id")).collect::<Vec<_>>();
        Ok(ids.join(" "))
    }

    #[track_caller]
    fn check(methods: &[Value], set: &[&str], from: &[&str], expect: &str) {
        let found = pick(methods, &[], set, from).unwrap_or_else(|failure| failure.message);
        assert_eq!(found, expect, "{set:?} {from:?}");
    }

    #[test]
    fn the_values_say_which_method_is_meant() {
        let api = [basic(), bearer()];
        check(&api, &["token=-"], &[], "bearer");
        check(&api, &["username=-"], &[], "basic");
        check(&api, &["password=-"], &[], "basic");
        check(&api, &[], &["env:K"], "bearer");
        check(&api, &[], &["token=env:K"], "bearer");
        check(&api, &["other=-"], &[], "no auth method of the source takes the values that were given");
        check(&api, &[], &[], "there are several ways to authenticate: basic, bearer");
        check(&[basic(), method("aws", &[("a", false), ("b", false)])], &[], &["env:K"], "basic");
        // A sign-in needs no value, and a token no sign-in.
        check(&[oauth(), bearer()], &[], &[], "oauth2");
        check(&[oauth(), bearer()], &["token=-"], &[], "bearer");
        check(&[oauth(), basic()], &["token=-"], &[], "oauth2");
        check(&[], &[], &[], "");
    }

    #[test]
    fn of_several_that_fit_the_default_is_meant() {
        let mut key = method("header", &[("key", false)]);
        let mut api = vec![key.clone(), bearer(), basic()];
        check(&api, &[], &["env:K"], "there are several ways to authenticate: header, bearer");
        key["default"] = json!(true);
        api[0] = key;
        check(&api, &[], &["env:K"], "header");
        check(&api, &["token=-"], &[], "bearer");
        check(&api, &[], &[], "there are several ways to authenticate: header, bearer, basic");
    }

    #[test]
    fn flags_of_oauth_mean_a_sign_in() {
        let source = json!({ "auth_methods": [bearer(), oauth()] });
        let values = Given::default();
        let said = Said { named: &[], values: &values, oauth: true };
        assert_eq!(chosen(&context(), &source, said).unwrap()[0]["id"], "oauth2");
        let source = json!({ "auth_methods": [bearer(), basic()] });
        assert!(chosen(&context(), &source, said).unwrap_err().message.contains("the flags of OAuth"));
    }

    #[test]
    fn a_method_that_is_named_is_meant() {
        let api = [bearer(), basic()];
        assert_eq!(pick(&api, &["basic"], &["token=-"], &[]).unwrap(), "basic");
        assert_eq!(pick(&api, &["basic", "bearer"], &[], &[]).unwrap(), "basic bearer");
        assert_eq!(pick(&api, &["bearr"], &[], &[]).unwrap_err().hints, ["did you mean `bearer`?"]);
        let failure = pick(&api, &[], &[], &[]).unwrap_err();
        assert_eq!(failure.hints, ["choose with one of --auth bearer, --auth basic"]);
    }

    #[test]
    fn values_of_one_name_are_two() {
        let mut first = bearer();
        first["places"] = json!([{ "in": "query", "name": "key" }]);
        let mut second = method("header", &[("token", false), ("user", false)]);
        second["places"] = json!([{ "in": "header", "name": "X" }]);
        let found: Vec<_> =
            variables(&[&first, &second]).into_iter().map(|one| (one.name, one.one_line)).collect();
        let named = |name: &str, one_line| (name.to_owned(), one_line);
        assert_eq!(found, [named("bearer.token", false), named("header.token", true), named("user", true)]);
    }
}
