//! The one gate: every tool call from anywhere passes `call_tool`.
//!
//! Find the tool → validate the arguments → bind the connection → policy →
//! approval → intent → adapter → outcome and audit.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use executor_runtime::{
    AdapterContext, Call, Capture, MethodRule, RequestRecord, Scope, ToolCall, ToolOutcome,
};
use executor_store::{CallRow, Change, ConnectionRow};
use serde_json::{Value, json};

use crate::arguments::{self, ArgumentFault};
use crate::audit::{audit_change, redacted};
use crate::catalogue::Tool;
use crate::components::Grant;
use crate::policies::{Action, Decision, Subject};
use crate::session::{CallOptions, Session};
use crate::tool_error::{GateEnd, ToolAnswer, ToolError, encode, settled};
use crate::workspace::Workspace;

/// A tool call that has been checked and bound.
pub(crate) struct Bound {
    pub(crate) tool: Arc<Tool>,
    pub(crate) arguments: Value,
    pub(crate) connection: Option<ConnectionRow>,
    pub(crate) decision: Decision,
}

impl Bound {
    /// `source/name` of the connection.
    pub(crate) fn connection_key(&self) -> Option<String> {
        self.connection
            .as_ref()
            .map(|row| connection_key(&self.tool, row))
    }
}

impl Workspace {
    /// Finds a tool, checks its arguments, binds its connection and asks the
    /// policies, in this order: a call that can't be made is never asked
    /// about, and arguments are checked before anybody is bothered.
    pub(crate) fn bind_call(
        &self,
        path: &str,
        args: &str,
        connection: Option<&str>,
    ) -> Result<Bound, ToolError> {
        let of_problem = |problem| ToolError::of_problem(path, problem);
        let tool = self.tool(path).map_err(of_problem)?;
        let visible = self.rules().decide(Subject {
            connection: None,
            ..subject(&tool, None)
        });
        if visible.action == Action::Block {
            return Err(of_problem(Self::blocked(path, &visible)));
        }
        let arguments = check_arguments(&tool, args)?;
        let connection = self.bind(&tool, connection).map_err(of_problem)?;
        let key = connection.as_ref().map(|row| connection_key(&tool, row));
        let decision = self.rules().decide(subject(&tool, key.as_deref()));
        if decision.action == Action::Block {
            return Err(of_problem(Self::blocked(path, &decision)));
        }
        Ok(Bound {
            tool,
            arguments,
            connection,
            decision,
        })
    }

    /// Which methods a call may send. A read may POST only where the
    /// component was granted that.
    pub(crate) fn method_rule(&self, tool: &Tool) -> MethodRule {
        if !tool.row.read_only {
            return MethodRule::Any;
        }
        let source = self.store.source(&tool.source).ok().flatten();
        let component =
            source.and_then(|source| self.store.component(&source.adapter).ok().flatten());
        let by_post = component.is_some_and(|row| Grant::of(&row).reads_by_post);
        if by_post {
            MethodRule::SafeOrPost
        } else {
            MethodRule::Safe
        }
    }

    /// Calls the adapter, within `scope`.
    pub(crate) async fn enter_adapter(
        &self,
        bound: &Bound,
        scope: Scope,
    ) -> Result<ToolAnswer, ToolError> {
        let path = &bound.tool.path;
        let of_problem = |problem| ToolError::of_problem(path, problem);
        let source = self
            .known_source(bound.tool.source.as_str())
            .map_err(of_problem)?;
        let adapter = self.adapter(&source.adapter).await.map_err(of_problem)?;
        let connection = bound
            .connection
            .as_ref()
            .map_or("", |row| row.name.as_str());
        let context = AdapterContext {
            session: format!("{}/{connection}", scope.pool),
            scope,
            ..self.no_reach()
        };
        let call = ToolCall {
            tool: bound.tool.row.name.clone(),
            binding: bound.tool.row.binding.clone(),
            arguments: bound.arguments.to_string(),
            settings: source.settings,
        };
        match adapter.invoke(&self.share, context, call).await {
            Ok(ToolOutcome::Done(response)) if response.is_error => Err(ToolError {
                details: serde_json::from_str(&response.data).ok(),
                ..ToolError::new(
                    path,
                    "tool-failed",
                    format!("{path} answered with an error"),
                )
            }),
            Ok(ToolOutcome::Done(response)) => Ok(ToolAnswer {
                data: response.data,
                http: response.metadata,
            }),
            Ok(ToolOutcome::Paused { questions }) => Err(ToolError::new(
                path,
                "interaction-unsupported",
                format!(
                    "{path} asks {questions} questions of its own, which can't be answered yet"
                ),
            )),
            Err(error) => Err(ToolError::of_adapter(path, error)),
        }
    }
}

impl Session {
    /// The gate.
    pub(crate) async fn call_tool(
        &self,
        call: &Call,
        path: &str,
        options: &CallOptions,
    ) -> Result<ToolAnswer, GateEnd> {
        let bound = self
            .workspace
            .bind_call(path, &call.args, options.connection.as_deref());
        let bound = match bound {
            Ok(bound) => bound,
            Err(error) => return Err(self.refused(call, path, options, error)),
        };
        if bound.decision.action == Action::Approve
            && let Err(end) = self.approval(call, options, &bound).await
        {
            return Err(end);
        }
        if !bound.tool.row.read_only {
            self.intent(call, &bound).await?;
        }
        let begun = Instant::now();
        let (scope, requests) = self.observed_scope(&bound)?;
        let result = self.workspace.enter_adapter(&bound, scope).await;
        let requests =
            std::mem::take(&mut *requests.lock().unwrap_or_else(PoisonError::into_inner));
        self.outcome(call, options, &bound, &result, begun, &requests);
        Ok(result?)
    }

    /// Records a call that never left, and what kept it.
    fn refused(&self, call: &Call, path: &str, options: &CallOptions, error: ToolError) -> GateEnd {
        let now_ms = self.workspace.shared.now_ms();
        let record = json!({
            "execution": self.id().to_string(), "tool": path, "outcome": error.code, "connection": options.connection,
        });
        let change = audit_change(now_ms, &self.caller, "tool.refused", record);
        let outcome = settled(Err(error.clone().into()), options.raw);
        self.write_behind(vec![
            Change::Intent(self.settled_row(call, &outcome)),
            change,
        ]);
        error.into()
    }

    /// Writes down that a call is about to leave, and syncs that. One that
    /// an earlier process had written down so may have left: it is not sent
    /// again, unless sending twice is the same as sending once.
    async fn intent(&self, call: &Call, bound: &Bound) -> Result<(), GateEnd> {
        self.mark_written();
        let past = self.past.calls.get(&(call.scope, call.ordinal));
        let may_have_left = past.is_some_and(|row| row.intent_ms > 0 && row.outcome.is_none());
        if may_have_left && !bound.tool.row.idempotent {
            return Err(ToolError::unknown(&bound.tool.path).into());
        }
        let row = CallRow {
            write: true,
            idempotent: bound.tool.row.idempotent,
            intent_ms: self.workspace.shared.now_ms().max(1),
            ..self.call_row(call)
        };
        let written = self.write_synced(vec![Change::Intent(row)]).await;
        written.map_err(|problem| ToolError::of_problem(&bound.tool.path, problem).into())
    }

    fn observed_scope(
        &self,
        bound: &Bound,
    ) -> Result<(Scope, Arc<Mutex<Vec<RequestRecord>>>), ToolError> {
        let of_problem = |problem| ToolError::of_problem(&bound.tool.path, problem);
        let mut scope = self
            .workspace
            .scope(&bound.tool, bound.connection.as_ref())
            .map_err(of_problem)?;
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        scope.observer = Some(Arc::new(move |record| {
            seen.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(record);
        }));
        scope.methods = self.workspace.method_rule(&bound.tool);
        Ok((scope, requests))
    }

    /// Writes down how a call ended, and what went over the wire for it.
    fn outcome(
        &self,
        call: &Call,
        options: &CallOptions,
        bound: &Bound,
        result: &Result<ToolAnswer, ToolError>,
        begun: Instant,
        requests: &[RequestRecord],
    ) {
        let now_ms = self.workspace.shared.now_ms();
        let outcome = match result {
            Ok(answer) => settled(
                Ok(ToolAnswer {
                    data: answer.data.clone(),
                    http: answer.http.clone(),
                }),
                options.raw,
            ),
            Err(error) => settled(Err(error.clone().into()), options.raw),
        };
        let change = if bound.tool.row.read_only {
            Change::Intent(self.settled_row(call, &outcome))
        } else {
            Change::Outcome {
                id: self.id().clone(),
                scope: call.scope,
                ordinal: call.ordinal,
                outcome: encode(&outcome).unwrap_or_default(),
                at_ms: now_ms,
            }
        };
        let code = result
            .as_ref()
            .err()
            .map_or("ok", |error| error.code.as_str());
        let record = json!({
            "execution": self.id().to_string(),
            "tool": bound.tool.path,
            "tool_digest": bound.tool.row.digest.to_string(),
            "connection": bound.connection_key(),
            "arguments": redacted(&bound.arguments),
            "decision": bound.decision.action,
            "rule": bound.decision.rule_id(),
            "outcome": code,
            "duration_us": u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
            "requests": requests.iter().map(request_view).collect::<Vec<_>>(),
        });
        self.write_behind(vec![
            change,
            audit_change(now_ms, &self.caller, "tool.call", record),
        ]);
    }
}

/// A capture-mode scope for a call: what would be sent, without sending it.
pub(crate) fn preview_scope(mut scope: Scope, capture: Capture) -> Scope {
    scope.capture = capture;
    scope.methods = MethodRule::Any;
    scope
}

fn request_view(record: &RequestRecord) -> Value {
    json!({
        "method": record.method, "origin": record.origin, "path": record.path,
        "status": record.status, "error": record.error, "duration_us": record.duration_us,
    })
}

fn connection_key(tool: &Tool, row: &ConnectionRow) -> String {
    format!("{}/{}", tool.source, row.name)
}

fn subject<'a>(tool: &'a Tool, connection: Option<&'a str>) -> Subject<'a> {
    Subject {
        path: &tool.path,
        digest: Some(&tool.row.digest),
        connection,
        read_only: tool.row.read_only,
    }
}

/// The arguments as JSON, checked against the tool's schema.
fn check_arguments(tool: &Tool, args: &str) -> Result<Value, ToolError> {
    let args = if args == "null" || args.is_empty() {
        "{}"
    } else {
        args
    };
    let invalid = |message: String| ToolError::new(&tool.path, "invalid-arguments", message);
    let arguments: Value = serde_json::from_str(args)
        .map_err(|error| invalid(format!("the arguments are not JSON: {error}")))?;
    if !arguments.is_object() {
        return Err(invalid(format!(
            "{} takes one object of named arguments",
            tool.path
        )));
    }
    let checked = match &tool.validator {
        Some(validator) => validator.check(&arguments),
        None => arguments::structural(&tool.input_schema, &arguments),
    };
    checked.map_err(|fault| argument_error(tool, fault))?;
    Ok(arguments)
}

fn argument_error(tool: &Tool, fault: ArgumentFault) -> ToolError {
    let issues = fault
        .issues
        .iter()
        .map(|issue| json!({ "pointer": issue.pointer, "message": issue.message }));
    let suggestions = fault
        .suggestions
        .iter()
        .map(|one| json!({ "given": one.given, "meant": one.meant }));
    let details = json!({
        "issues": issues.collect::<Vec<_>>(),
        "suggestions": suggestions.collect::<Vec<_>>(),
        "accepted": fault.accepted,
    });
    ToolError {
        details: Some(details),
        ..ToolError::new(&tool.path, "invalid-arguments", fault.message)
    }
}
