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
        let Some(tool) = self.probe(&connection)? else {
            return Ok(ConnectionCheck {
                status: "unchecked",
                message: format!(
                    "{source} has no read without required arguments that this connection could be tried with"
                ),
                tool: None,
            });
        };
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
            return Ok(ConnectionCheck { status: "unchecked", message, tool: Some(tool) });
        }
        let status = view.error.as_ref().and_then(|error| error.details.as_ref()?.get("status")?.as_u64());
        let (status, message) = match (&view.error, status) {
            (None, _) => ("ok", format!("{tool} answered")),
            (Some(error), Some(401 | 403)) => ("rejected", error.message.clone()),
            (Some(error), None) if error.code == EXPIRED => ("rejected", error.message.clone()),
            (Some(error), Some(_)) => {
                ("ok", format!("{tool} answered, though with an error: {}", error.message))
            }
            (Some(error), None) => ("unreachable", error.message.clone()),
        };
        Ok(ConnectionCheck { status, message, tool: Some(tool) })
    }

    /// A read that signs in by this connection, by scopes that it holds, and
    /// needs nothing else; one that speaks of the signed-in user first.
    fn probe(&self, connection: &ConnectionRow) -> Result<Option<String>, Problem> {
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
        let own = |path: &&String| {
            let lower = path.to_ascii_lowercase();
            ["authenticated", "whoami", ".me", "getself", "current"].iter().any(|word| lower.contains(word))
        };
        names.sort_by_key(|name| (name.len(), name.clone()));
        let own = names.iter().find(|name| own(name) && signed_in(name));
        Ok(own.or_else(|| names.iter().find(|name| signed_in(name))).cloned())
    }
}

fn call_problem(error: ToolError) -> Problem {
    let kind = match error.code.as_str() {
        "tool-not-found" => ProblemKind::NotFound,
        "denied" => ProblemKind::Denied,
        _ => ProblemKind::Unprocessable,
    };
    Problem { details: error.details, ..Problem::new(kind, &error.code, error.message) }
}
