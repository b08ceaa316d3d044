//! What a call would send, without sending it, and the check of a connection.

use std::collections::HashSet;

use executor_runtime::Capture;
use executor_store::ConnectionRow;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::approvals::preview_view;
use crate::caller::Caller;
use crate::connections::ConnectionCheck;
use crate::executions::CallTool;
use crate::invoke::preview_scope;
use crate::oauth::{EXPIRED, Grant, of_tool};
use crate::policies::Action;
use crate::problem::{Problem, ProblemKind};
use crate::resume::WAITING;
use crate::tool_error::ToolError;
use crate::workspace::Workspace;

/// A call that was not made.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DryRunView {
    /// The tool.
    pub tool: String,
    /// What the policies say.
    pub decision: DecisionView,
    /// The connection it would use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// The request as it would be sent; none for a local program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
}

/// A policy decision.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DecisionView {
    /// The decision.
    pub action: Action,
    /// The rule that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// In words.
    pub reason: String,
}

/// Reads that a connection is tried with at most.
const PROBES: usize = 3;

impl Workspace {
    /// Says what a call would send and what the policies say of it.
    ///
    /// # Errors
    /// When the call can't be made.
    pub async fn dry_run(&self, caller: &Caller, request: CallTool) -> Result<DryRunView, Problem> {
        let args = request.args.unwrap_or_else(|| json!({})).to_string();
        let bound = self
            .bind_call(caller, &request.path, &args, request.connection.as_deref())
            .map_err(call_problem)?;
        let mut captured = None;
        if bound.source.command.is_none() {
            let scope = preview_scope(self.shown_scope(&bound)?, Capture::All);
            let result = self.enter_adapter(&bound, scope.clone(), None, None).await;
            captured = scope.captured();
            if captured.is_none()
                && let Err(error) = result
            {
                return Err(call_problem(error));
            }
        }
        Ok(DryRunView {
            tool: request.path,
            decision: DecisionView {
                action: bound.decision.action,
                rule: bound.decision.rule_id(),
                reason: bound.decision.reason(),
            },
            connection: bound.connection.as_ref().map(|row| row.name.to_string()),
            request: captured.as_ref().map(preview_view),
        })
    }

    /// Calls a read that needs no arguments, to see whether a connection works.
    ///
    /// # Errors
    /// When there is no such connection.
    pub async fn check_connection(
        &self,
        caller: &Caller,
        source: &str,
        name: &str,
    ) -> Result<ConnectionCheck, Problem> {
        let connection = self.known_connection(source, name)?;
        let mut forbidden: Option<ConnectionCheck> = None;
        for tool in self.probes(&connection)? {
            let check = self.try_tool(caller, tool, name).await?;
            let check = match (check, &forbidden) {
                // Not allowed to do this may be allowed to do other things.
                (Tried { check, forbidden: true }, before) => {
                    forbidden = before.clone().or(Some(check));
                    continue;
                }
                (Tried { check, .. }, None) => check,
                (Tried { mut check, .. }, Some(before)) => {
                    if check.status == "ok" {
                        check.message =
                            format!("{}, and it may not do all: {}", check.message, before.message);
                    }
                    check
                }
            };
            return Ok(check);
        }
        Ok(forbidden.unwrap_or_else(|| ConnectionCheck {
            status: "unchecked",
            message: format!(
                "{source} has no read without required arguments that this connection could be tried with"
            ),
            tool: None,
        }))
    }

    async fn try_tool(&self, caller: &Caller, tool: String, name: &str) -> Result<Tried, Problem> {
        let request = CallTool {
            path: tool.clone(),
            args: None,
            connection: Some(name.to_owned()),
            raw: false,
            dry_run: false,
        };
        let view = self.call_tool(caller, request, None).await?;
        if view.status == WAITING {
            self.cancel(caller, &view.id).await?;
            let message = format!("a policy asks a person before {tool}, which would have been the try");
            let check = ConnectionCheck { status: "unchecked", message, tool: Some(tool) };
            return Ok(Tried { check, forbidden: false });
        }
        let upstream = view.error.as_ref().and_then(|error| error.details.as_ref()?.get("status")?.as_u64());
        let (status, message) = match (&view.error, upstream) {
            (None, _) => ("ok", format!("{tool} answered")),
            (Some(error), Some(401 | 403)) => ("rejected", error.message.clone()),
            (Some(error), None) if error.code == EXPIRED => ("rejected", error.message.clone()),
            (Some(error), Some(_)) => {
                ("ok", format!("{tool} answered, though with an error: {}", error.message))
            }
            (Some(error), None) => ("unreachable", error.message.clone()),
        };
        let forbidden = upstream == Some(403);
        Ok(Tried { check: ConnectionCheck { status, message, tool: Some(tool) }, forbidden })
    }

    /// Reads that sign in by this connection, by scopes that it holds, and
    /// need nothing else; those that speak of the signed-in user first.
    fn probes(&self, connection: &ConnectionRow) -> Result<Vec<String>, Problem> {
        let source = &connection.source;
        let mut names = Vec::new();
        self.store.each_tool(source, &mut |tool| {
            if tool.read_only && !tool.deprecated && !tool.input_schema.contains("\"required\":[\"") {
                names.push(format!("{source}.{}", tool.name));
            }
        })?;
        let grant = Grant::read(connection.oauth.as_deref());
        let held = grant.as_ref().map(|grant| (grant, self.stored_tokens(grant).unwrap_or_default().scopes));
        let mut served = HashSet::new();
        self.store.each_tool_auth(source, &mut |name, auth, meta| {
            let serves = |methods: &Vec<String>| {
                !methods.is_empty() && methods.iter().all(|id| connection.methods.contains(id))
            };
            let lacks = held.as_ref().is_some_and(|(grant, held)| {
                of_tool(meta, &grant.method).iter().any(|scope| !held.contains(scope))
            });
            if auth.iter().any(serves) && !lacks {
                served.insert(format!("{source}.{name}"));
            }
        })?;
        let signed_in = |path: &String| served.contains(path);
        let own = |path: &String| {
            let lower = path.to_ascii_lowercase();
            ["authenticated", "whoami", ".me", "getself", "current"].iter().any(|word| lower.contains(word))
        };
        names.retain(signed_in);
        names.sort_by_key(|name| (!own(name), name.len(), name.clone()));
        names.truncate(PROBES);
        Ok(names)
    }
}

/// One try of a connection.
struct Tried {
    check: ConnectionCheck,
    /// Whether the API knows who asks, and does not let them.
    forbidden: bool,
}

fn call_problem(error: ToolError) -> Problem {
    let kind = match error.code.as_str() {
        "tool-not-found" => ProblemKind::NotFound,
        "denied" => ProblemKind::Denied,
        _ => ProblemKind::Unprocessable,
    };
    Problem { details: error.details, ..Problem::new(kind, &error.code, error.message) }
}
