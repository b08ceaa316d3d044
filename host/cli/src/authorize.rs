//! Has a person authorize a connection: shows what it is pinned to, opens the
//! page, and waits.

use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::api::{Answer, Api};
use crate::context::Context;
use crate::credentials::{self, Origin};
use crate::failure::{Exit, Failure};
use crate::prompt;
use crate::text;
use crate::view::{field, joined, list, prose, scalar};

/// Between two looks whether the person is done.
const INTERVAL: Duration = Duration::from_millis(400);

/// What a person may choose of OAuth.
#[derive(Debug, Args)]
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
#[derive(Debug, Args)]
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
        self.flow.is_some()
            || self.client_id.is_some()
            || self.client_metadata.is_some()
            || !self.scope.is_empty()
    }

    fn choices(&self) -> Result<Value, Failure> {
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
            choices.insert("client_secret".into(), json!(credentials::read("client_secret", &origin)?));
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
    body["oauth"] = oauth.choices()?;
    let api = Api::new(context);
    let begun = api.post(&context.path(&["authorizations"]), &body)?;
    context.output.say(&pinned(&begun.value));
    let ended = match begun.value["status"].as_str() {
        Some("waiting") => {
            show_page(context, &begun.value, &oauth.page);
            if oauth.page.paste { paste(context, &begun.value)? } else { wait(context, &begun.value)? }
        }
        _ => begun.value,
    };
    if ended["status"] == "connected" {
        return Ok(Answer { value: ended["connection"].clone() });
    }
    let error = &ended["error"];
    let failure = Failure::new(Exit::Failed, prose(error, "message"));
    Err(if error["hint"].is_null() { failure } else { failure.hint(prose(error, "hint")) })
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
    let until = field(view, "expires_at");
    context.output.say(&format!(
        "Waiting for that until {until}. Where the browser is on another machine, use --paste."
    ));
    let target = context.path(&["authorizations", &field(view, "id")]);
    loop {
        let now = Api::running(context).get(&target)?.value;
        if now["status"] != "waiting" {
            return Ok(now);
        }
        std::thread::sleep(INTERVAL);
    }
}

fn paste(context: &Context, view: &Value) -> Result<Value, Failure> {
    let pasted = prompt::line("The address that the browser ended at: ")?.unwrap_or_default();
    if text::line(&pasted, 10).is_empty() {
        return Err(Failure::usage("no address was given: nothing was added"));
    }
    let target = context.path(&["authorizations", &field(view, "id"), "finish"]);
    Ok(Api::running(context).post(&target, &json!({ "address": pasted }))?.value)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
