//! `executor accounts`: who can sign in.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::api::{Api, path};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::prompt;
use crate::style::Style;
use crate::table::Table;
use crate::text;
use crate::view::{field, joined, list, time};

/// A password has 256 characters at most.
const PASSWORD_LIMIT_BYTES: u64 = 4 * 1024;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List the accounts
    List,
    /// Make an account, in no organization yet; `members invite` does it in one step
    Add(AddArguments),
    /// Remove an account with its memberships, sessions and tokens
    Remove {
        /// Its name
        account: String,
    },
    /// Set a password, and end the account's sessions
    Password(PasswordArguments),
}

#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// Its name: lower-case letters, digits, `-` and `_`
    name: String,
    /// Read the password from stdin
    #[arg(long, conflicts_with = "without_password")]
    stdin: bool,
    /// Give it none: nobody signs in
    #[arg(long)]
    without_password: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PasswordArguments {
    /// The account
    #[arg(default_value = "local")]
    account: String,
    /// Read the password from stdin
    #[arg(long)]
    stdin: bool,
}

pub(crate) fn run(context: &Context, action: Action) -> Result<Exit, Failure> {
    let api = Api::new(context);
    match action {
        Action::List => context.output.answer(&api.list(ACCOUNTS)?, render)?,
        Action::Add(arguments) => {
            let mut body = json!({ "name": arguments.name });
            if !arguments.without_password {
                body["password"] = json!(password(context, &arguments.name, arguments.stdin)?);
            }
            let answer = api.post(ACCOUNTS, &body)?;
            context.output.answer(&answer, |view, _| format!("added {}", field(view, "name")))?;
        }
        Action::Remove { account } => {
            api.delete(&path(&["accounts", &account]))?;
            context.output.say(&format!("removed {}", text::line(&account, 80)));
        }
        Action::Password(arguments) => {
            let password = password(context, &arguments.account, arguments.stdin)?;
            let target = path(&["accounts", &arguments.account, "password"]);
            api.post(&target, &json!({ "password": password }))?;
            let account = text::line(&arguments.account, 80);
            context.output.say(&format!("{account} has a new password; its other sessions have ended"));
        }
    }
    Ok(Exit::Ok)
}

const ACCOUNTS: &str = "/v1/accounts";

/// A password from stdin, or typed twice. It never stands on a command line,
/// where other processes see it.
fn password(context: &Context, account: &str, stdin: bool) -> Result<String, Failure> {
    if stdin {
        let text = prompt::secret(context, "New password", PASSWORD_LIMIT_BYTES)?;
        let line = text.strip_suffix('\n').unwrap_or(&text);
        return Ok(line.strip_suffix('\r').unwrap_or(line).to_owned());
    }
    if !prompt::can_ask(context) {
        return Err(
            Failure::usage("the password can't be asked for here").hint("--stdin reads it from stdin")
        );
    }
    let account = text::line(account, 80);
    let first = prompt::hidden(&format!("New password of {account} (10 characters or more): "))?;
    let second = prompt::hidden("The same again: ")?;
    if first == second {
        Ok(first)
    } else {
        Err(Failure::usage("the two are not the same: nothing was done"))
    }
}

fn render(answer: &Value, style: Style) -> String {
    let mut table = Table::new(&["ACCOUNT", "ORGANIZATIONS", "PASSWORD", "MADE"]);
    for item in list(answer, "items") {
        table.row([
            &field(item, "name"),
            &joined(item, "organizations"),
            &field(item, "has_password"),
            &time(item, "created_at"),
        ]);
    }
    table.render(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_shown_with_where_they_are() {
        let items = json!({ "items": [
            { "name": "local", "organizations": ["personal"], "has_password": false,
              "created_at": "2030-01-02T03:04:05Z" },
            { "name": "ada", "organizations": ["personal", "team"], "has_password": true,
              "created_at": "2030-01-02T03:04:05Z" },
        ] });
        insta::assert_snapshot!(render(&items, Style::default()), @r"
        ACCOUNT  ORGANIZATIONS   PASSWORD  MADE
        local    personal        no        2030-01-02 03:04:05
        ada      personal, team  yes       2030-01-02 03:04:05
        ");
    }
}
