//! Has a person authorize a connection: shows what it is pinned to, opens the
//! page, and waits.

use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::api::{Answer, Api};
use crate::context::Context;
use crate::credentials::{self, Origin};
use crate::failure::{Exit, Failure};
use crate::output::error_text;
use crate::prompt;
use crate::text;
use crate::view::{field, joined, list, prose, scalar};

/// The code of an authorization that is not there any more.
const SPENT: &str = "authorization-spent";

/// Shorter codes than any that servers give.
const CODE_LEAST: usize = 16;

const PASTING: &str = "\
Once you have consented, the browser ends on a page that it can't show: that is right.
Copy that page's whole address, from the browser's address bar, and paste it here.";

const NO_ADDRESS: &str =
    "That is no address with `code=` in it. Copy the whole one that the browser ended at.";

/// Between two looks whether the person is done.
const INTERVAL: Duration = Duration::from_millis(400);

/// What a person may choose of OAuth.
#[derive(Debug, Default, Args)]
pub(crate) struct OauthArguments {
    /// The OAuth flow, where the source offers several
    #[arg(long, value_parser = ["authorization-code", "device-code", "client-credentials"])]
    flow: Option<String>,
    /// The id of an application that you registered with the API
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Its secret: `-` is stdin, `@FILE` a file, `env:NAME` the environment
    #[arg(long, value_name = "-|@FILE|env:NAME")]
    client_secret: Option<String>,
    /// A URL that describes executor as a client, for servers that take one
    #[arg(long, value_name = "URL")]
    client_metadata: Option<String>,
    /// A scope to ask for; repeated for several, else those that the tools name
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// Where the sign-in ends, if not at the daemon; for --paste
    #[arg(long, value_name = "URL")]
    redirect_uri: Option<String>,
    /// One more parameter of the authorization request, as `audience=…`
    #[arg(long, value_name = "NAME=VALUE")]
    parameter: Vec<String>,
    #[command(flatten)]
    page: PageArguments,
}

/// How a page is shown to a person.
#[derive(Debug, Default, Args)]
pub(crate) struct PageArguments {
    /// Print the page's address alone; open no browser
    #[arg(long)]
    no_browser: bool,
    /// Ask for the address that the browser ended at, where it runs on another
    /// machine
    #[arg(long)]
    paste: bool,
}

impl OauthArguments {
    /// Whether anything of it was said.
    pub(crate) fn is_given(&self) -> bool {
        let texts = [&self.flow, &self.client_id, &self.client_secret, &self.client_metadata];
        texts.into_iter().any(Option::is_some) || !self.scope.is_empty()
    }

    fn choices(&self, context: &Context) -> Result<Value, Failure> {
        let mut choices = Map::new();
        let texts = [
            ("flow", &self.flow),
            ("client_id", &self.client_id),
            ("client_metadata_url", &self.client_metadata),
            ("redirect_uri", &self.redirect_uri),
        ];
        for (name, value) in texts {
            if let Some(value) = value {
                choices.insert(name.into(), json!(value));
            }
        }
        if let Some(from) = &self.client_secret {
            let origin: Origin = credentials::origin("--client-secret", "client_secret", from)?;
            choices
                .insert("client_secret".into(), json!(credentials::read(context, "client_secret", &origin)?));
        }
        if !self.scope.is_empty() {
            choices.insert("scopes".into(), json!(self.scope));
        }
        let mut parameters = Map::new();
        for parameter in &self.parameter {
            let (name, value) =
                parameter.split_once('=').ok_or_else(|| Failure::usage("--parameter takes NAME=VALUE"))?;
            parameters.insert(name.to_owned(), json!(value));
        }
        choices.insert("parameters".into(), Value::Object(parameters));
        Ok(Value::Object(choices))
    }
}

/// Authorizes what `body` asks for, and gives the connection.
pub(crate) fn run(context: &Context, mut body: Value, oauth: &OauthArguments) -> Result<Answer, Failure> {
    let repeat = repeated(context, &body, oauth);
    body["oauth"] = oauth.choices(context)?;
    let api = Api::new(context);
    let begun = api.post(&context.path(&["authorizations"]), &body)?;
    context.output.say(&pinned(&begun.value));
    let ended = match begun.value["status"].as_str() {
        Some("waiting") => {
            show_page(context, &begun.value, &oauth.page);
            let ended = match is_of_device(&begun.value) {
                false if oauth.page.paste => paste(context, &begun.value),
                _ => wait(context, &begun.value),
            };
            ended.map_err(|failure| lost(failure, &repeat))?
        }
        _ => begun.value,
    };
    if ended["status"] == "connected" {
        return Ok(Answer { value: ended["connection"].clone() });
    }
    let error = &ended["error"];
    let failure = Failure::new(Exit::Failed, prose(error, "message"));
    Err(match error["code"].as_str() {
        Some(SPENT) => failure.hint(repeat),
        _ if error["hint"].is_null() => failure,
        _ => failure.hint(prose(error, "hint")),
    })
}

/// Whether a person enters a code on a page, to which no browser comes back.
fn is_of_device(view: &Value) -> bool {
    !field(view, "user_code").is_empty()
}

/// How to begin again.
fn repeated(context: &Context, body: &Value, oauth: &OauthArguments) -> String {
    let (source, name) = (field(body, "source"), field(body, "name"));
    let mut command = match (body["again"] == true, name.is_empty()) {
        (true, _) => format!("connections authorize {source} {name}"),
        (false, true) => format!("connections add {source}"),
        (false, false) => format!("connections add {source} --name {name}"),
    };
    for method in list(body, "methods") {
        command.push_str(&format!(" --auth {}", scalar(method)));
    }
    let same = if oauth.is_given() { ", with the options that it was begun with" } else { "" };
    format!("begin again: `{}`{same}", context.command(&command))
}

/// An authorization is in the daemon's memory alone: with the daemon it is
/// gone, and one that was started since knows nothing of it.
fn lost(failure: Failure, repeat: &str) -> Failure {
    match (failure.exit, failure.code()) {
        (Exit::NoDaemon, _) => {
            Failure::no_daemon("the daemon has ended, and this sign-in with it").hint(repeat)
        }
        (_, Some(SPENT)) => Failure { hints: vec![repeat.to_owned()], ..failure },
        _ => failure,
    }
}

/// Where a person signs in and where the tokens may go, before any page.
fn pinned(view: &Value) -> String {
    let mut told = format!("{} will be pinned to these OAuth endpoints:", field(view, "source"));
    for (name, url) in view["endpoints"].as_object().into_iter().flatten() {
        told.push_str(&format!("\n  {name:<14} {}", scalar(url)));
    }
    let origins: Vec<String> = list(view, "origins").iter().map(scalar).collect();
    told.push_str("\nIts tokens will be sent to these origins alone:\n  ");
    told.push_str(&origins.join("\n  "));
    let scopes = joined(view, "scopes");
    told.push_str(&format!("\nScopes: {}", if scopes.is_empty() { "none" } else { &scopes }));
    told
}

fn show_page(context: &Context, view: &Value, page: &PageArguments) {
    let url = field(view, "url");
    let opened = !page.no_browser && open(context, &url);
    let how = if opened { "The browser shows this page to sign in:" } else { "Open this page to sign in:" };
    context.output.tell(&format!("{how}\n  {url}"));
    let code = field(view, "user_code");
    if !code.is_empty() {
        context.output.tell(&format!("and enter this code there: {code}"));
    }
}

/// Opens a page, where there is a screen to show it on.
fn open(context: &Context, url: &str) -> bool {
    let Some(program) = &context.environment.browser else { return false };
    let safe = url.starts_with("https://") || url.starts_with("http://");
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    safe && command.spawn().is_ok()
}

fn wait(context: &Context, view: &Value) -> Result<Value, Failure> {
    let elsewhere = match is_of_device(view) {
        true => "",
        false => " Where the browser is on another machine, use --paste.",
    };
    let left = time_left(&field(view, "expires_at"), OffsetDateTime::now_utc());
    context.output.say(&format!("Waiting for that{left}.{elsewhere}"));
    let target = context.path(&["authorizations", &field(view, "id")]);
    loop {
        let now = Api::running(context).get(&target)?.value;
        if now["status"] != "waiting" {
            return Ok(now);
        }
        std::thread::sleep(INTERVAL);
    }
}

/// ` for 15 minutes`, where the end is a time that is to come.
fn time_left(until: &str, now: OffsetDateTime) -> String {
    let left = OffsetDateTime::parse(until, &Rfc3339).map(|until| (until - now).whole_seconds());
    match left.ok().and_then(|seconds| u64::try_from(seconds).ok()) {
        Some(seconds) => format!(" for {}", text::counted(seconds.div_ceil(60), "minute")),
        None => String::new(),
    }
}

/// Asks for the address until one is taken.
fn paste(context: &Context, view: &Value) -> Result<Value, Failure> {
    context.output.tell(PASTING);
    let target = context.path(&["authorizations", &field(view, "id"), "finish"]);
    loop {
        let Some(pasted) = prompt::line("The address that the browser ended at: ")? else {
            return Err(Failure::usage("no address was given: nothing was done"));
        };
        if !is_answer(&pasted) {
            context.output.tell(NO_ADDRESS);
            continue;
        }
        match Api::running(context).post(&target, &json!({ "address": pasted })) {
            Ok(answer) => return Ok(answer.value),
            // What was pasted is of no use, and what was begun is still there.
            Err(failure) if failure.exit == Exit::Usage => {
                context.output.tell(&error_text(&failure.message, &failure.hints, context.output.talk));
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// Whether something may be what an authorization server answered: an address
/// or a query with a code or an error in it, or a code itself, which is long
/// since nobody may guess it (RFC 6749, section 10.10).
fn is_answer(pasted: &str) -> bool {
    let names = |name: &str| pasted.split(['?', '&', '#']).any(|part| part.starts_with(name));
    let is_code = pasted.len() >= CODE_LEAST && pasted.bytes().all(|byte| byte.is_ascii_graphic());
    names("code=") || names("error=") || (is_code && !pasted.contains("://"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Globals;
    use crate::environment::Environment;

    #[test]
    fn what_it_is_pinned_to_is_shown_first() {
        let view = json!({ "source": "github", "origins": ["https://api.github.com"], "scopes": ["repo", "gist"],
            "endpoints": { "authorization": "https://github.com/login", "token": "https://x\u{1b}[2J/t" } });
        insta::assert_snapshot!(pinned(&view), @r"
        github will be pinned to these OAuth endpoints:
          authorization  https://github.com/login
          token          https://x/t
        Its tokens will be sent to these origins alone:
          https://api.github.com
        Scopes: repo, gist
        ");
    }

    #[track_caller]
    fn check_answer(pasted: &str, expect: bool) {
        assert_eq!(is_answer(pasted), expect, "{pasted}");
    }

    #[test]
    fn what_is_pasted_looks_like_an_answer() {
        check_answer("http://127.0.0.1:4788/oauth/callback?code=c&state=s", true);
        check_answer("?error=access_denied&state=s", true);
        check_answer("code=c&state=s", true);
        check_answer("4/0AbCD-efgh_ijklmnop", true);
        check_answer("hello", false);
        check_answer("", false);
        check_answer("this is what it said to me", false);
        check_answer("https://login.example.com/authorize?client_id=x", false);
    }

    #[test]
    fn the_time_that_is_left_is_in_minutes() {
        let now = OffsetDateTime::parse("2030-01-01T00:00:00Z", &Rfc3339).unwrap();
        assert_eq!(time_left("2030-01-01T00:14:59.123Z", now), " for 15 minutes");
        assert_eq!(time_left("2030-01-01T00:00:30Z", now), " for 1 minute");
        assert_eq!(time_left("2029-01-01T00:00:00Z", now), "");
        assert_eq!(time_left("soon", now), "");
    }

    #[test]
    fn what_was_lost_can_be_begun_again() {
        let environment = Environment { user_home: Some("/u".into()), ..Environment::default() };
        let context = Context::new(&Globals::default(), environment).unwrap();
        let none = OauthArguments::default();
        let adding = json!({ "source": "om", "name": "work", "methods": ["oauth2"] });
        let repeat = repeated(&context, &adding, &none);
        assert_eq!(repeat, "begin again: `executor connections add om --name work --auth oauth2`");
        let again = json!({ "source": "om", "name": "default", "again": true });
        assert!(repeated(&context, &again, &none).contains("authorize om default`"));
        let client = OauthArguments { client_id: Some("id".into()), ..OauthArguments::default() };
        assert!(repeated(&context, &again, &client).ends_with("with the options that it was begun with"));
        let ended = lost(Failure::no_daemon("no daemon runs").hint("start it"), &repeat);
        assert_eq!((ended.hints, ended.exit), (vec![repeat.clone()], Exit::NoDaemon));
        let answer = json!({ "error": { "code": SPENT, "message": "over", "hint": "add SOURCE" } });
        assert_eq!(lost(Failure::from_answer(404, answer), &repeat).hints, [repeat.as_str()]);
        assert_eq!(lost(Failure::failed("else"), &repeat).message, "else");
    }
}
