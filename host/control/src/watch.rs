//! What is seen of an execution from outside: its spans, and what is counted
//! of it and of its calls.

use std::sync::atomic::{AtomicBool, Ordering};

use executor_runtime::Stopwatch;
use executor_store::{Change, ExecutionRow, WorkspaceName};
use executor_telemetry::metrics::metrics;
use executor_telemetry::spans::names;
use executor_telemetry::{Place, Root, Span};

use crate::session::Session;
use crate::tool_error::{GateEnd, ToolAnswer};

/// The spans of one run of an execution.
pub(crate) struct Watch {
    root: Root,
    /// The run's clock, which stands still while it waits for a person.
    clock: Stopwatch,
    over: AtomicBool,
}

impl Watch {
    pub(crate) fn new(root: Root, row: &ExecutionRow, workspace: &WorkspaceName) -> Self {
        let span = root.span();
        span.set("executor.execution.id", row.id.as_str());
        span.set("executor.execution.kind", row.kind.as_str());
        span.set("executor.surface", row.surface.as_str());
        span.set("executor.workspace", workspace.as_str());
        Self { root, clock: Stopwatch::default(), over: AtomicBool::new(false) }
    }

    pub(crate) fn place(&self) -> &Place {
        self.root.place()
    }

    pub(crate) fn clock(&self) -> &Stopwatch {
        &self.clock
    }

    /// Ends it, with the status that the execution has now; gives the spans
    /// as the record keeps them.
    pub(crate) fn over(&self, row: &ExecutionRow, status: &str, code: Option<&str>) -> String {
        self.over.store(true, Ordering::Relaxed);
        if let Some(code) = code {
            self.root.span().fail(code);
        }
        let control = &metrics().control;
        control.executed(&row.kind, &row.surface, status);
        control.execution_took(&row.kind, self.clock.elapsed());
        self.root.finish(row.spans.as_deref())
    }
}

/// What ends without having been recorded was cancelled: by a person, or by
/// the end of the daemon. Whoever ended it settles the record.
impl Drop for Session {
    fn drop(&mut self) {
        if self.watch.over.load(Ordering::Relaxed) {
            return;
        }
        let spans = self.watch.over(&self.row, "cancelled", Some("cancelled"));
        if self.is_recorded() {
            let id = self.id().clone();
            if let Err(error) = self.workspace.executions().commit_behind(vec![Change::Spans { id, spans }]) {
                tracing::debug!(%error, execution = %self.id(), "its spans were not kept");
            }
        }
    }
}

/// One tool call on its way through the gate.
pub(crate) struct CallWatch<'a> {
    session: &'a Session,
    path: &'a str,
    span: Span,
    clock: Stopwatch,
    over: bool,
}

impl<'a> CallWatch<'a> {
    pub(crate) fn begin(session: &'a Session, path: &'a str) -> Self {
        let span = session.watch.place().span(names::TOOL_CALL);
        Self { session, path, span, clock: Stopwatch::default(), over: false }
    }

    pub(crate) fn place(&self) -> &Place {
        self.span.place()
    }

    /// The call's clock, which stands still while it waits for a person.
    pub(crate) fn clock(&self) -> &Stopwatch {
        &self.clock
    }

    pub(crate) fn ended(mut self, result: Result<ToolAnswer, GateEnd>) -> Result<ToolAnswer, GateEnd> {
        self.count(match &result {
            Ok(_) => "ok",
            Err(GateEnd::Waiting) => "waiting",
            Err(GateEnd::Failed(error)) => &error.code,
        });
        result
    }

    /// The path is told only where it is a tool's: a program can make up any.
    fn count(&mut self, code: &str) {
        self.over = true;
        let went_well = matches!(code, "ok" | "waiting");
        let known = went_well || self.session.workspace.tool(self.path).is_ok();
        let source = if known { self.path.split('.').next().unwrap_or_default() } else { "none" };
        if known {
            self.span.set("gen_ai.tool.name", self.path);
            self.span.set("executor.source", source);
        }
        if !went_well {
            self.span.fail(code);
        }
        metrics().control.tool_called(source, code, self.clock.elapsed());
    }
}

impl Drop for CallWatch<'_> {
    fn drop(&mut self) {
        if !self.over {
            self.count("cancelled");
        }
    }
}
