//! Who asks, through what, and what they may do.

use std::sync::Arc;

use executor_store::{ExecutionRow, TokenId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::pattern::Pattern;
use crate::problem::{Problem, ProblemKind};

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
    /// Find tools, call them, run programs, and see and end one's own
    /// executions.
    Call,
    /// Change and see everything else: sources, connections, policies,
    /// components, tokens, everybody's executions, the audit log.
    Manage,
    /// Accept what an execution asks a person for.
    Approve,
}

impl Capability {
    /// Every capability there is.
    pub const ALL: [Self; 3] = [Self::Call, Self::Manage, Self::Approve];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
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
    /// The token that was shown; none: a session of the account itself.
    pub(crate) token: Option<TokenId>,
    /// In no order, each once.
    pub(crate) capabilities: Vec<Capability>,
    /// None: every tool.
    pub(crate) toolkit: Option<Arc<Toolkit>>,
}

impl Caller {
    /// The owner, who may do everything.
    pub fn owner(client: &str, surface: Surface) -> Self {
        Self {
            account: "local".into(),
            client: client.to_owned(),
            surface,
            token: None,
            capabilities: Capability::ALL.to_vec(),
            toolkit: None,
        }
    }

    /// The daemon itself, where nobody asked.
    pub(crate) fn daemon() -> Self {
        Self { capabilities: Vec::new(), ..Self::owner("daemon", Surface::Cli) }
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
            capabilities: vec![Capability::Call],
            toolkit,
        })
    }

    /// Whether it may do something.
    pub fn may(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
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
        model.capabilities.retain(|capability| *capability != Capability::Approve);
        model
    }

    /// The same one, where a client's own interface put the question to the
    /// person in front of it: what that person says is theirs, and may accept.
    #[must_use]
    pub fn answered_by_person(&self) -> Self {
        let mut person = self.clone();
        person.client = format!("{} (elicitation)", self.client);
        if !person.may(Capability::Approve) {
            person.capabilities.push(Capability::Approve);
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
        let message = format!("{} may not do this: its token lacks `{}`", self.client, capability.as_str());
        Err(Problem::new(ProblemKind::Denied, "not-allowed", message)
            .hint("use the owner's session, or a token made with `executor tokens add NAME --can …`"))
    }

    /// Whether its toolkit has a tool.
    pub(crate) fn has_tool(&self, path: &str) -> bool {
        self.toolkit.as_ref().is_none_or(|toolkit| toolkit.holds(path))
    }

    /// Whether it may see an execution: its own, or all where it manages.
    pub(crate) fn sees(&self, row: &ExecutionRow) -> bool {
        self.may(Capability::Manage)
            || self.account == row.account && self.token.as_ref().map(TokenId::as_str) == row.token.as_deref()
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
        let client = Caller { capabilities: vec![Capability::Call], ..Caller::owner("claude", Surface::Mcp) };
        assert!(client.expect(Capability::Approve).is_err());
        let person = client.answered_by_person();
        assert!(person.may(Capability::Approve) && !person.may(Capability::Manage));
        assert_eq!(person.client, "claude (elicitation)");
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
