//! `executor members`: who is in an organization, as what.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::api::{Api, path};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::style::Style;
use crate::table::Table;
use crate::text;
use crate::view::{field, list, time};

/// The organization that a first start makes.
const DEFAULT_ORGANIZATION: &str = "personal";

#[derive(Debug, Args)]
pub(crate) struct MembersArguments {
    /// The organization that is meant
    #[arg(long, global = true, value_name = "NAME", default_value = DEFAULT_ORGANIZATION)]
    organization: String,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List who is in the organization
    List,
    /// Invite somebody: prints a link that is good once, for seven days
    Invite(InviteArguments),
    /// List the invitations
    Invitations,
    /// Withdraw an invitation
    Withdraw {
        /// Its id
        id: String,
    },
    /// Change what a member is
    Role {
        /// The account
        account: String,
        /// The role
        role: Role,
    },
    /// Take somebody out: their sessions and tokens reach nothing of it any more
    Remove {
        /// The account
        account: String,
    },
}

#[derive(Debug, Args)]
struct InviteArguments {
    /// As what
    #[arg(long)]
    role: Role,
    /// A name or an address, so that you know the invitation again
    #[arg(long = "for", value_name = "LABEL")]
    label: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Role {
    /// Sees everything, calls nothing
    Viewer,
    /// Calls tools, accepts what their own executions ask
    Member,
    /// Does everything in the organization's workspaces
    Admin,
    /// An admin who says who owns the organization
    Owner,
}

impl Role {
    fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Member => "member",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }
}

pub(crate) fn run(context: &Context, arguments: MembersArguments) -> Result<Exit, Failure> {
    let api = Api::new(context);
    let organization = arguments.organization;
    let place = |segments: &[&str]| {
        let mut whole = vec!["organizations", organization.as_str()];
        whole.extend_from_slice(segments);
        path(&whole)
    };
    match arguments.action {
        Action::List => context.output.answer(&api.list(&place(&["members"]))?, render)?,
        Action::Invite(invite) => {
            let body = json!({ "role": invite.role.as_str(), "label": invite.label });
            let answer = api.post(&place(&["invitations"]), &body)?;
            if !context.output.json {
                let until = time(&answer.value["invitation"], "expires_at");
                context.output.say(&format!("this link is good once, until {until}; it is shown this once:"));
            }
            context.output.answer(&answer, |view, _| field(view, "url"))?;
        }
        Action::Invitations => {
            context.output.answer(&api.list(&place(&["invitations"]))?, render_invitations)?;
        }
        Action::Withdraw { id } => {
            api.delete(&place(&["invitations", &id]))?;
            context.output.say(&format!("withdrew {}", text::line(&id, 80)));
        }
        Action::Role { account, role } => {
            let answer = api.post(&place(&["members", &account]), &json!({ "role": role.as_str() }))?;
            context.output.answer(&answer, |view, _| {
                format!("{} is {} now", field(view, "account"), field(view, "role"))
            })?;
        }
        Action::Remove { account } => {
            api.delete(&place(&["members", &account]))?;
            context.output.say(&format!("removed {}", text::line(&account, 80)));
        }
    }
    Ok(Exit::Ok)
}

fn render(answer: &Value, style: Style) -> String {
    let mut table = Table::new(&["ACCOUNT", "ROLE"]);
    for item in list(answer, "items") {
        table.row([&field(item, "account"), &field(item, "role")]);
    }
    table.render(style)
}

fn render_invitations(answer: &Value, style: Style) -> String {
    let mut table = Table::new(&["ID", "FOR", "ROLE", "STATUS", "UNTIL", "BY"]);
    for item in list(answer, "items") {
        table.row([
            &field(item, "id"),
            &text::shorten(&field(item, "label"), 40),
            &field(item, "role"),
            &field(item, "status"),
            &time(item, "expires_at"),
            &field(item, "created_by"),
        ]);
    }
    table.render(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_invitations_are_shown() {
        let members = json!({ "items": [{ "account": "local", "role": "owner" }] });
        insta::assert_snapshot!(render(&members, Style::default()), @r"
        ACCOUNT  ROLE
        local    owner
        ");
        let invitations = json!({ "items": [{
            "id": "inv_1", "label": "ada", "role": "member", "status": "open",
            "expires_at": "2030-01-09T03:04:05Z", "created_by": "local via cli",
        }] });
        insta::assert_snapshot!(render_invitations(&invitations, Style::default()), @r"
        ID     FOR  ROLE    STATUS  UNTIL                BY
        inv_1  ada  member  open    2030-01-09 03:04:05  local via cli
        ");
    }
}
