//! Who asks, through what, and what they may do.

use std::sync::Arc;

use executor_store::{ExecutionRow, FIRST_ACCOUNT, SessionId, TokenId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::pattern::Pattern;
use crate::problem::{Problem, ProblemKind};
use crate::roles::Role;

/// The surface that a request came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// The command line.
    Cli,
    /// The HTTP API.
    Http,
    /// MCP.
    Mcp,
}

impl Surface {
    /// Its name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Http => "http",
            Self::Mcp => "mcp",
        }
    }

    fn parse(text: &str) -> Self {
        match text {
            "http" => Self::Http,
            "mcp" => Self::Mcp,
            _ => Self::Cli,
        }
    }
}

/// Something that one may be allowed to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Capability {
    /// See everything, secrets aside: sources, connections, policies,
    /// components, everybody's executions, the audit log.
    Read,
    /// Find tools, call them, run programs, and see and end one's own
    /// executions.
    Call,
    /// Change what there is, and so see it: sources, connections, policies,
    /// components, tokens, everybody's executions.
    Manage,
    /// Accept what an execution asks a person for.
    Approve,
}

impl Capability {
    /// Every capability there is.
    pub const ALL: [Self; 4] = [Self::Read, Self::Call, Self::Manage, Self::Approve];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Call => "call",
            Self::Manage => "manage",
            Self::Approve => "approve",
        }
    }

    /// The capability of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }
}

/// The tools that somebody may call: those that one of its patterns matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Toolkit(Vec<Pattern>);

impl Toolkit {
    pub(crate) fn parse(patterns: &[String]) -> Result<Self, Problem> {
        let parse = |pattern: &String| {
            pattern.parse::<Pattern>().map_err(|error| {
                Problem::invalid(format!("in a toolkit: {error}"))
                    .hint("for example: github.issues.create, github.*, *")
            })
        };
        Ok(Self(patterns.iter().map(parse).collect::<Result<_, _>>()?))
    }

    pub(crate) fn holds(&self, path: &str) -> bool {
        self.0.iter().any(|pattern| pattern.matches(path))
    }

    pub(crate) fn patterns(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }
}

/// Who asks.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The account.
    pub account: String,
    /// The client: `cli`, `http`, the name of a token.
    pub client: String,
    /// The surface.
    pub surface: Surface,
    /// The token that was shown; none: a person.
    pub(crate) token: Option<TokenId>,
    /// The session that was shown.
    pub(crate) session: Option<SessionId>,
    /// What it was given: a token its own, a person everything. In no order,
    /// each once. Its role is what it has of that.
    pub(crate) granted: Vec<Capability>,
    /// What its account is where it asks; outside of any organization the
    /// least that it is in one.
    pub(crate) role: Role,
    /// None: every tool.
    pub(crate) toolkit: Option<Arc<Toolkit>>,
}

impl Caller {
    /// The owner, who may do everything.
    pub fn owner(client: &str, surface: Surface) -> Self {
        Self::person(FIRST_ACCOUNT, client, surface, Role::Owner)
    }

    /// A person, who may do what their role does.
    pub(crate) fn person(account: &str, client: &str, surface: Surface, role: Role) -> Self {
        Self {
            account: account.to_owned(),
            client: client.to_owned(),
            surface,
            token: None,
            session: None,
            granted: Capability::ALL.to_vec(),
            role,
            toolkit: None,
        }
    }

    /// The daemon itself, where nobody asked.
    pub(crate) fn daemon() -> Self {
        Self { granted: Vec::new(), ..Self::owner("daemon", Surface::Cli) }
    }

    /// Whoever began an execution, as far as its record says: what it does
    /// later is done in their name, with their tools, and asks somebody else.
    pub(crate) fn of_execution(row: &ExecutionRow) -> Result<Self, Problem> {
        let toolkit = match &row.toolkit {
            None => None,
            Some(text) => {
                let damaged = |error| Problem::internal(format!("the toolkit of {}: {error}", row.id));
                let patterns: Vec<String> = serde_json::from_str(text).map_err(damaged)?;
                Some(Arc::new(Toolkit::parse(&patterns)?))
            }
        };
        Ok(Self {
            account: row.account.clone(),
            client: row.client.clone(),
            surface: Surface::parse(&row.surface),
            token: row.token.as_deref().and_then(|id| TokenId::parse(id).ok()),
            session: None,
            granted: vec![Capability::Call],
            role: Role::Member,
            toolkit,
        })
    }

    /// The same one in an organization where its account has a role.
    #[must_use]
    pub(crate) fn with_role(&self, role: Role) -> Self {
        Self { role, ..self.clone() }
    }

    /// Whether it may do something.
    pub fn may(&self, capability: Capability) -> bool {
        self.was_given(capability) && self.role.capabilities().contains(&capability)
    }

    /// Whether it was given something, whatever its role makes of that. Who
    /// changes things sees them.
    pub(crate) fn was_given(&self, capability: Capability) -> bool {
        self.granted.contains(&capability)
            || capability == Capability::Read && self.granted.contains(&Capability::Manage)
    }

    /// Whether it shows a session that can end.
    pub fn signed_in(&self) -> bool {
        self.session.is_some()
    }

    /// Whether it speaks for its account: a person, or a token that manages.
    pub(crate) fn speaks_for_account(&self) -> bool {
        self.token.is_none() || self.granted.contains(&Capability::Manage)
    }

    /// Whether a token was shown, which names the client.
    pub fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// A model that speaks through this client: whatever its client may do, it
    /// accepts nothing.
    #[must_use]
    pub fn as_model(&self, client: String) -> Self {
        let mut model = Self { client, ..self.clone() };
        model.granted.retain(|capability| *capability != Capability::Approve);
        model
    }

    /// The same one, where a client's own interface put the question to the
    /// person in front of it: what that person says is theirs, and may accept.
    #[must_use]
    pub fn answered_by_person(&self) -> Self {
        let mut person = self.clone();
        person.client = format!("{} (elicitation)", self.client);
        if !person.was_given(Capability::Approve) {
            person.granted.push(Capability::Approve);
        }
        person
    }

    /// Fails where it may not.
    ///
    /// # Errors
    /// [`ProblemKind::Denied`], naming what is missing.
    pub fn expect(&self, capability: Capability) -> Result<(), Problem> {
        if self.may(capability) {
            return Ok(());
        }
        let wanted = capability.as_str();
        if !self.was_given(capability) {
            let message = format!("{} may not do this: its token lacks `{wanted}`", self.client);
            return Err(Problem::new(ProblemKind::Denied, "not-allowed", message)
                .hint("use the owner's session, or a token made with `executor tokens add NAME --can …`"));
        }
        let message =
            format!("{} may not do this: a {} may not `{wanted}`", self.account, self.role.as_str());
        Err(Problem::new(ProblemKind::Denied, "not-allowed", message)
            .hint("an admin of the organization changes roles: `executor members role ACCOUNT ROLE`"))
    }

    /// Fails for a token: it would give itself what it was not given.
    pub(crate) fn expect_person(&self) -> Result<(), Problem> {
        if self.token.is_none() {
            return Ok(());
        }
        let message = format!("{} may not do this: it is a token, and this is for a person", self.client);
        Err(Problem::new(ProblemKind::Denied, "not-allowed", message)
            .hint("use the command line on the daemon's machine, or sign in"))
    }

    /// How records name it: who, through which client.
    pub(crate) fn signature(&self) -> String {
        format!("{} via {}", self.account, self.client)
    }

    /// Whether its toolkit has a tool.
    pub(crate) fn has_tool(&self, path: &str) -> bool {
        self.toolkit.as_ref().is_none_or(|toolkit| toolkit.holds(path))
    }

    /// Whether it may see an execution: its own, or all where it reads.
    pub(crate) fn sees(&self, row: &ExecutionRow) -> bool {
        self.may(Capability::Read) || self.began(row)
    }

    /// Whether it may end or go on with an execution: its own, or all where
    /// it manages.
    pub(crate) fn handles(&self, row: &ExecutionRow) -> bool {
        self.may(Capability::Manage) || self.began(row)
    }

    /// Whether it may accept what an execution asks.
    pub(crate) fn accepts(&self, row: &ExecutionRow) -> bool {
        self.may(Capability::Approve) && (self.role.answers_for_others() || self.account == row.account)
    }

    /// A person's are those of their clients too; a token's are its own alone.
    fn began(&self, row: &ExecutionRow) -> bool {
        let ours = |token: &TokenId| row.token.as_deref() == Some(token.as_str());
        self.account == row.account && self.token.as_ref().is_none_or(ours)
    }

    /// Its own part of a key that it chose.
    pub(crate) fn key(&self, key: &str) -> String {
        format!("{}/{}/{key}", self.account, self.token.as_ref().map_or("", TokenId::as_str))
    }

    /// As the record of an execution keeps it.
    pub(crate) fn toolkit_text(&self) -> Option<String> {
        self.toolkit.as_ref().map(|toolkit| serde_json::json!(toolkit.patterns()).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_at_a_client_may_accept_and_nothing_more() {
        let client = Caller { granted: vec![Capability::Call], ..Caller::owner("claude", Surface::Mcp) };
        assert!(client.expect(Capability::Approve).is_err());
        let person = client.answered_by_person();
        assert!(person.may(Capability::Approve) && !person.may(Capability::Manage));
        assert_eq!(person.client, "claude (elicitation)");
    }

    #[test]
    fn a_role_bounds_what_was_given() {
        let person = |role| Caller::person("ada", "browser", Surface::Http, role);
        let token = |role, granted: &[Capability]| Caller { granted: granted.to_vec(), ..person(role) };
        let all = Capability::ALL;
        for (caller, expect) in [
            (person(Role::Viewer), [true, false, false, false]),
            (person(Role::Member), [true, true, false, true]),
            (person(Role::Admin), [true; 4]),
            (person(Role::Owner), [true; 4]),
            (token(Role::Owner, &[Capability::Call]), [false, true, false, false]),
            (token(Role::Viewer, &[Capability::Call]), [false; 4]),
            (token(Role::Owner, &[Capability::Manage]), [true, false, true, false]),
            (token(Role::Viewer, &[Capability::Manage]), [true, false, false, false]),
        ] {
            assert_eq!(all.map(|one| caller.may(one)), expect, "{caller:?}");
            assert_eq!(all.map(|one| caller.expect(one).is_ok()), expect, "{caller:?}");
        }
        let refused = person(Role::Viewer).expect(Capability::Call).unwrap_err().message;
        assert_eq!(refused, "ada may not do this: a viewer may not `call`");
    }

    #[test]
    fn a_toolkit_holds_what_a_pattern_matches() {
        let toolkit = Toolkit::parse(&["github.issues.*".into(), "stripe.charges.list".into()]).unwrap();
        for (path, held) in [
            ("github.issues.create", true),
            ("github.repos.list", false),
            ("stripe.charges.list", true),
            ("stripe.charges.create", false),
        ] {
            assert_eq!(toolkit.holds(path), held, "{path}");
        }
        assert!(Toolkit::parse(&["git*hub".into()]).is_err());
        assert!(!Toolkit::parse(&[]).unwrap().holds("github.issues.list"), "an empty toolkit has no tool");
    }
}
