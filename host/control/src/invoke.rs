//! The one gate: every tool call from anywhere passes `call_tool`.
//!
//! Find the tool → validate the arguments → bind the connection → policy →
//! approval → intent → adapter → outcome and audit.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use executor_runtime::{
    AdapterContext, Asker, Call, Capture, MethodRule, Pause, RequestRecord, Resumption, Scope, Settled,
    Stopwatch, ToolCall, ToolOutcome,
};
use executor_store::{CallRow, Change, ConnectionRow, SourceRow, ToolRow, UnreviewedRow};
use executor_telemetry::Place;
use executor_telemetry::metrics::metrics;
use executor_telemetry::spans::names;
use serde_json::{Value, json};

use crate::arguments::{self, ArgumentFault};
use crate::audit::{audit_change, redacted};
use crate::caller::{Caller, Capability};
use crate::catalogue::Tool;
use crate::components::Grant;
use crate::listening::Listened;
use crate::policies::{Action, Decision, Subject};
use crate::problem::{Problem, ProblemKind};
use crate::session::{CallOptions, Session};
use crate::tool_error::{GateEnd, ToolAnswer, ToolError, encode, settled};
use crate::trust::was_taken_back;
use crate::watch::CallWatch;
use crate::workspace::Workspace;

/// A tool call that has been checked and bound.
#[derive(Clone)]
pub(crate) struct Bound {
    pub(crate) tool: Arc<Tool>,
    /// The tool's source as it was when the call was bound.
    pub(crate) source: SourceRow,
    pub(crate) arguments: Value,
    pub(crate) connection: Option<ConnectionRow>,
    pub(crate) decision: Decision,
}

impl Bound {
    /// `source/name` of the connection; `source/` where it uses none, so that
    /// a rule that was written for no connection is for no other.
    pub(crate) fn connection_key(&self) -> String {
        match &self.connection {
            Some(row) => connection_key(&self.tool, row),
            None => format!("{}/", self.tool.source),
        }
    }
}

impl Workspace {
    /// Finds a tool, checks its arguments, binds its connection and asks the
    /// policies, in this order: a call that can't be made is never asked
    /// about, and arguments are checked before anybody is bothered.
    pub(crate) fn bind_call(
        &self,
        caller: &Caller,
        path: &str,
        args: &str,
        connection: Option<&str>,
    ) -> Result<Bound, ToolError> {
        let of_problem = |problem| ToolError::of_problem(path, problem);
        caller.expect(Capability::Call).map_err(of_problem)?;
        if !caller.has_tool(path) {
            return Err(of_problem(outside_toolkit(caller, path)));
        }
        let tool = self.tool(path).map_err(of_problem)?;
        let unreviewed = self.unreviewed_version(&tool).map_err(of_problem)?;
        let visible = self.rules().decide(subject(&tool, unreviewed.as_ref()));
        if visible.action == Action::Block {
            metrics().control.policy_denied();
            return Err(of_problem(Self::blocked(path, &visible)));
        }
        let arguments = check_arguments(&tool, args)?;
        let connection = self.bind(&tool, connection).map_err(of_problem)?;
        let source = self.known_source(tool.source.as_str()).map_err(of_problem)?;
        let mut bound = Bound { tool, source, arguments, connection, decision: visible };
        let key = bound.connection_key();
        let subject = Subject { connection: Some(&key), ..subject(&bound.tool, unreviewed.as_ref()) };
        bound.decision = self.rules().decide(subject);
        if bound.decision.action == Action::Block {
            metrics().control.policy_denied();
            return Err(of_problem(Self::blocked(path, &bound.decision)));
        }
        Ok(bound)
    }

    /// Which methods a call may send. A read may POST only where the
    /// component was granted that.
    fn method_rule(&self, bound: &Bound) -> MethodRule {
        if !bound.tool.row.read_only {
            return MethodRule::Any;
        }
        let component = self.store.component(&bound.source.adapter).ok().flatten();
        let by_post = component.is_some_and(|row| Grant::of(&row).reads_by_post);
        if by_post { MethodRule::SafeOrPost } else { MethodRule::Safe }
    }

    /// Calls the adapter, within `scope`; it asks a person through `asker`.
    pub(crate) async fn enter_adapter(
        &self,
        bound: &Bound,
        scope: Scope,
        resume: Option<Resumption>,
        asker: Option<Asker>,
    ) -> Result<Entered, ToolError> {
        let path = &bound.tool.path;
        let of_problem = |problem| ToolError::of_problem(path, problem);
        let adapter = self.adapter(&bound.source.adapter).await.map_err(of_problem)?;
        let connection = bound.connection.as_ref().map_or("", |row| row.name.as_str());
        let local = self.local(&bound.source, bound.connection.as_ref()).map_err(of_problem)?;
        let session = format!("{}/{connection}", scope.pool);
        let context = AdapterContext { session, scope, local, asker, ..self.no_reach() };
        let call = ToolCall {
            tool: bound.tool.row.name.clone(),
            binding: bound.tool.row.binding.clone(),
            arguments: bound.arguments.to_string(),
            settings: bound.source.settings.clone(),
            resume,
        };
        if adapter.watches() && context.scope.capture == Capture::Off {
            self.listen(Listened::of_call(bound));
        }
        match adapter.invoke(&self.share, context, call).await {
            Ok(ToolOutcome::Done(response)) if response.is_error => Err(ToolError {
                details: serde_json::from_str(&response.data).ok(),
                ..ToolError::new(path, "tool-failed", format!("{path} answered with an error"))
            }),
            Ok(ToolOutcome::Done(response)) => {
                Ok(Entered::Answered(ToolAnswer { data: response.data, http: response.metadata }))
            }
            Ok(ToolOutcome::Paused(pause)) => Ok(Entered::Paused(pause)),
            Err(error) => Err(ToolError::of_adapter(path, error)),
        }
    }
}

/// What came of an adapter's call.
pub(crate) enum Entered {
    /// An answer.
    Answered(ToolAnswer),
    /// Questions to a person.
    Paused(Pause),
}

/// What went over the wire for a call so far.
type Requests = Arc<Mutex<Vec<RequestRecord>>>;

/// A call that may leave now.
struct Admitted {
    bound: Bound,
    scope: Scope,
    requests: Requests,
    resume: Option<Resumption>,
}

impl Session {
    /// The gate. However a call ends here, its end is written down.
    pub(crate) async fn call_tool(
        &self,
        call: &Call,
        path: &str,
        options: &CallOptions,
    ) -> Result<ToolAnswer, GateEnd> {
        let watch = CallWatch::begin(self, path);
        let result = self.pass(call, path, options, &watch).await;
        watch.ended(result)
    }

    async fn pass(
        &self,
        call: &Call,
        path: &str,
        options: &CallOptions,
        watch: &CallWatch<'_>,
    ) -> Result<ToolAnswer, GateEnd> {
        let admitted = match self.admit(call, path, options, watch.place()).await {
            Ok(admitted) => admitted,
            Err(GateEnd::Waiting) => return Err(GateEnd::Waiting),
            Err(GateEnd::Failed(error)) => return Err(self.refused(call, path, options, *error)),
        };
        let Admitted { bound, scope, resume, .. } = &admitted;
        let clock = watch.clock();
        let (admitted, left) = (&admitted, clock.elapsed());
        let leaving = Leaving { session: self, call, options, admitted, clock, left, over: false };
        let (asker, questions) = Asker::new(clock.clone());
        let entered = self.workspace.enter_adapter(bound, scope.clone(), resume.clone(), Some(asker));
        match self.answering(call, bound, questions, entered).await {
            Ok(Entered::Answered(answer)) => Ok(leaving.ended(Ok(answer))?),
            Ok(Entered::Paused(pause)) => match self.adapter_asks(call, bound, &pause).await {
                Ok(()) => {
                    leaving.paused();
                    Err(GateEnd::Waiting)
                }
                Err(error) => Ok(leaving.ended(Err(error))?),
            },
            Err(error) => Ok(leaving.ended(Err(error))?),
        }
    }

    /// Everything that comes before a call leaves.
    async fn admit(
        &self,
        call: &Call,
        path: &str,
        options: &CallOptions,
        trace: &Place,
    ) -> Result<Admitted, GateEnd> {
        let deciding = trace.span(names::POLICY);
        let bound =
            self.workspace.bind_call(&self.caller, path, &call.args, options.connection.as_deref())?;
        drop(deciding);
        if bound.decision.action == Action::Approve {
            let asking = trace.span(names::APPROVAL);
            self.approval(call, &bound, asking.place()).await?;
        }
        let resume = self.resumption(call, &bound)?;
        let (mut scope, requests) = self.observed_scope(&bound).await?;
        scope.trace = trace.clone();
        if !bound.tool.row.read_only {
            let _syncing = trace.span(names::INTENT);
            self.intent(call, &bound).await?;
        }
        Ok(Admitted { bound, scope, requests, resume })
    }

    /// Records a call that never left, and what kept it.
    fn refused(&self, call: &Call, path: &str, options: &CallOptions, error: ToolError) -> GateEnd {
        let now_ms = self.workspace.shared.now_ms();
        let record = json!({
            "execution": self.id().to_string(), "tool": path, "outcome": error.code, "connection": options.connection,
        });
        let change = audit_change(now_ms, &self.caller, "tool.refused", record);
        let outcome = settled(Err(error.clone().into()), options.raw);
        let write = self.past.calls.get(&(call.scope, call.ordinal)).is_some_and(|row| row.write);
        let row = CallRow { write, ..self.settled_row(call, &outcome) };
        self.write_behind(vec![Change::Intent(row), change]);
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

    async fn observed_scope(&self, bound: &Bound) -> Result<(Scope, Requests), ToolError> {
        let of_problem = |problem| ToolError::of_problem(&bound.tool.path, problem);
        let mut scope = self.workspace.scope(bound).await.map_err(of_problem)?;
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        scope.observer = Some(Arc::new(move |record| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        }));
        scope.methods = self.workspace.method_rule(bound);
        Ok((scope, requests))
    }
}

/// A call that has left. How it ended is written down, with what went over
/// the wire for it; and if it is dropped before it ended, that.
struct Leaving<'a> {
    session: &'a Session,
    call: &'a Call,
    options: &'a CallOptions,
    admitted: &'a Admitted,
    clock: &'a Stopwatch,
    /// When it left, by this clock.
    left: Duration,
    over: bool,
}

impl Leaving<'_> {
    fn ended(mut self, result: Result<ToolAnswer, ToolError>) -> Result<ToolAnswer, ToolError> {
        self.over = true;
        let requests = self.requests();
        let bound = &self.admitted.bound;
        let explained = |error| self.session.workspace.explain_refusal(bound, &requests, error);
        let result = result.map_err(|error| explained(unless_unknown(&bound.tool.row, error, &requests)));
        let outcome = match &result {
            Ok(answer) => {
                let answer = ToolAnswer { data: answer.data.clone(), http: answer.http.clone() };
                settled(Ok(answer), self.options.raw)
            }
            Err(error) => settled(Err(error.clone().into()), self.options.raw),
        };
        let code = result.as_ref().err().map_or("ok", |error| error.code.as_str());
        self.write(Some(&outcome), code, &requests);
        result
    }

    /// The call goes on later: what went over the wire for it so far is on
    /// record, and its outcome is not.
    fn paused(mut self) {
        self.over = true;
        let requests = self.requests();
        self.write(None, "paused", &requests);
    }

    fn requests(&self) -> Vec<RequestRecord> {
        std::mem::take(&mut *self.admitted.requests.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self, outcome: Option<&Settled>, code: &str, requests: &[RequestRecord]) {
        let (session, bound) = (self.session, &self.admitted.bound);
        let now_ms = session.workspace.shared.now_ms();
        let change = outcome.map(|outcome| {
            if bound.tool.row.read_only {
                return Change::Intent(session.settled_row(self.call, outcome));
            }
            Change::Outcome {
                id: session.id().clone(),
                scope: self.call.scope,
                ordinal: self.call.ordinal,
                outcome: encode(outcome).unwrap_or_default(),
                at_ms: now_ms,
            }
        });
        let record = json!({
            "execution": session.id().to_string(),
            "tool": bound.tool.path,
            "tool_digest": bound.tool.row.digest.to_string(),
            "connection": bound.connection.as_ref().map(|row| connection_key(&bound.tool, row)),
            "arguments": redacted(&bound.arguments),
            "decision": bound.decision.action,
            "rule": bound.decision.rule_id(),
            "outcome": code,
            "duration_us": u64::try_from(self.clock.elapsed().saturating_sub(self.left).as_micros()).unwrap_or(u64::MAX),
            "requests": requests.iter().map(request_view).collect::<Vec<_>>(),
        });
        let mut changes = Vec::from_iter(change);
        changes.push(audit_change(now_ms, &session.caller, "tool.call", record));
        session.write_behind(changes);
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let path = &self.admitted.bound.tool.path;
        let error = if self.admitted.bound.tool.row.read_only {
            ToolError::new(
                path,
                "cancelled",
                "the program ended, or cancelled the call, before its answer came",
            )
        } else {
            ToolError {
                message: "the program ended, or cancelled the call, while it was under way; whether it took effect is unknown"
                    .into(),
                ..ToolError::unknown(path)
            }
        };
        let (code, requests) = (error.code.clone(), self.requests());
        self.write(Some(&settled(Err(error.into()), self.options.raw)), &code, &requests);
    }
}

/// A write whose adapter broke after its request had left did something that
/// nobody can tell; and so did one that its adapter lost the answer of, which
/// may think that it can be sent twice by a word that does not count.
fn unless_unknown(tool: &ToolRow, error: ToolError, requests: &[RequestRecord]) -> ToolError {
    let unknown = match error.code.as_str() {
        "timeout" | "trap" | "out-of-fuel" | "out-of-memory" => true,
        "connection-lost" | "upstream-timeout" => !tool.read_only && !tool.idempotent,
        // What a program that ends before it was greeted says is worth more.
        "process-failed" => was_taken_back(tool),
        _ => false,
    };
    let left = |request: &RequestRecord| {
        !matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS")
            && !matches!(request.error, Some("connect-failed" | "process-failed"))
    };
    if !unknown || error.status.is_some() || !requests.iter().any(left) {
        return error;
    }
    ToolError {
        code: "outcome-unknown".into(),
        message: format!("{}; its request had left, so whether it took effect is unknown", error.message),
        retryable: false,
        retry_after_ms: None,
        ..error
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

fn outside_toolkit(caller: &Caller, path: &str) -> Problem {
    let message = format!("{path} is not in the toolkit of {}", caller.client);
    Problem::new(ProblemKind::Denied, "denied", message)
        .hint("`executor tokens list` shows what each token may call")
}

fn connection_key(tool: &Tool, row: &ConnectionRow) -> String {
    format!("{}/{}", tool.source, row.name)
}

/// A tool, through no connection in particular.
pub(crate) fn subject<'a>(tool: &'a Tool, unreviewed: Option<&'a UnreviewedRow>) -> Subject<'a> {
    Subject {
        path: &tool.path,
        digest: Some(&tool.row.digest),
        connection: None,
        read_only: tool.row.read_only,
        unreviewed,
    }
}

/// The arguments as JSON, checked against the tool's schema.
fn check_arguments(tool: &Tool, args: &str) -> Result<Value, ToolError> {
    let args = if args == "null" || args.is_empty() { "{}" } else { args };
    let invalid = |message: String| ToolError::new(&tool.path, "invalid-arguments", message);
    let arguments: Value = serde_json::from_str(args)
        .map_err(|error| invalid(format!("the arguments are not JSON: {error}")))?;
    if !arguments.is_object() {
        return Err(invalid(format!("{} takes one object of named arguments", tool.path)));
    }
    let checked = match &tool.validator {
        Some(validator) => validator.check(&arguments),
        None => arguments::structural(&tool.input_schema, &arguments),
    };
    checked.map_err(|fault| argument_error(tool, fault))?;
    Ok(arguments)
}

fn argument_error(tool: &Tool, fault: ArgumentFault) -> ToolError {
    let issues =
        fault.issues.iter().map(|issue| json!({ "pointer": issue.pointer, "message": issue.message }));
    let suggestions = fault.suggestions.iter().map(|one| json!({ "given": one.given, "meant": one.meant }));
    let details = json!({
        "issues": issues.collect::<Vec<_>>(),
        "suggestions": suggestions.collect::<Vec<_>>(),
        "accepted": fault.accepted,
    });
    ToolError { details: Some(details), ..ToolError::new(&tool.path, "invalid-arguments", fault.message) }
}

#[cfg(test)]
mod tests {
    use executor_store::Digest;

    use super::*;

    fn tool(idempotent: bool, meta: Option<&str>) -> ToolRow {
        ToolRow {
            name: "delete".into(),
            description: String::new(),
            title: None,
            summary: String::new(),
            request: None,
            input_schema: "{}".into(),
            output_schema: None,
            read_only: false,
            destructive: true,
            idempotent,
            deprecated: false,
            requires_approval: true,
            auth: Vec::new(),
            binding: Vec::new(),
            annotations_meta: None,
            meta: meta.map(str::to_owned),
            digest: Digest::of(b"delete"),
        }
    }

    fn request(method: &str, error: Option<&'static str>) -> RequestRecord {
        RequestRecord {
            method: method.into(),
            origin: String::new(),
            path: String::new(),
            status: None,
            error,
            challenge: None,
            duration_us: 1,
        }
    }

    #[test]
    fn a_write_whose_answer_was_lost_is_unknown_whatever_its_adapter_was_told() {
        let check = |tool: &ToolRow, code: &str, requests: Vec<RequestRecord>, unknown: bool| {
            let details = Some(json!({"stderr": "oh"}));
            let lost =
                ToolError { retryable: true, details, ..ToolError::new("x.delete", code, "it was lost") };
            let error = unless_unknown(tool, lost, &requests);
            assert_eq!(error.details, Some(json!({"stderr": "oh"})), "{code}");
            let expect = if unknown { ("outcome-unknown", false) } else { (code, true) };
            assert_eq!((error.code.as_str(), error.retryable), expect, "{requests:?}");
        };
        let (write, repeatable) = (tool(false, None), tool(true, None));
        let (post, get, line) = (request("POST", None), request("GET", None), request("WRITE", None));
        for code in ["connection-lost", "upstream-timeout"] {
            check(&write, code, vec![get.clone(), post.clone()], true);
            check(&write, code, vec![line.clone()], true);
            check(&write, code, vec![get.clone()], false);
            check(&write, code, vec![request("POST", Some("connect-failed"))], false);
            check(&repeatable, code, vec![post.clone()], false);
        }
        check(&repeatable, "trap", vec![post.clone()], true);
        check(&write, "upstream-failed", vec![post], false);
        let taken_back = tool(false, Some(r#"{"taken_back":true}"#));
        check(&taken_back, "process-failed", vec![line.clone()], true);
        check(&taken_back, "process-failed", vec![request("WRITE", Some("process-failed"))], false);
        check(&write, "process-failed", vec![line], false);
    }

    #[test]
    fn an_answer_with_a_status_is_one() {
        let lost = ToolError { status: Some(504), ..ToolError::new("x.delete", "upstream-timeout", "no") };
        let error = unless_unknown(&tool(false, None), lost, &[request("POST", None)]);
        assert_eq!(error.code, "upstream-timeout");
    }
}
