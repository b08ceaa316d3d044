//! What was asked of the control plane, and what came of it.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::bounded::Bounded;
use super::histogram::SLOW_SECONDS;
use super::labels::{Execution, Kind, Outcome, ToolCall};
use super::{Histogram, Histograms, histograms, one_of};

/// Sources that have series of their own.
const SOURCES: usize = 128;

const KINDS: [&str; 2] = ["code", "call"];
const SURFACES: [&str; 3] = ["cli", "http", "mcp"];
const STATUSES: [&str; 4] = ["completed", "failed", "cancelled", "waiting"];

/// Ends of a tool call that are told apart. The codes of upstreams and
/// adapters are theirs to choose: what is not here is `failed`.
const OUTCOMES: [&str; 13] = [
    "ok",
    "waiting",
    "denied",
    "cancelled",
    "timeout",
    "trap",
    "out-of-fuel",
    "out-of-memory",
    "outcome-unknown",
    "invalid-arguments",
    "tool-not-found",
    "tool-failed",
    "failed",
];

/// Metrics of the control plane.
pub struct Control {
    executions: Family<Execution, Counter>,
    duration: [Histogram; KINDS.len()],
    /// Executions that run now. Set when the page is read.
    pub running: Gauge,
    /// Executions that wait for a person. Set when the page is read.
    pub waiting: Gauge,
    sources: Bounded<SourceMetrics>,
    calls: Family<ToolCall, Counter>,
    call_duration: Histogram,
    approvals: [Counter; 4],
    policy_denials: Counter,
    programs_cached: Counter,
    programs_compiled: Counter,
    program_compile: Histogram,
}

struct SourceMetrics([Counter; OUTCOMES.len()]);

/// What happened to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalEvent {
    /// It was put to a person.
    Asked,
    /// They agreed.
    Accepted,
    /// They did not.
    Declined,
    /// It was withdrawn: its execution ended.
    Withdrawn,
}

impl Control {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let executions = Family::default();
        registry.register(
            "executions",
            "Executions by what they are, the way they came, and how they ended or that they wait",
            executions.clone(),
        );
        let duration: Histograms<Kind> = histograms(&SLOW_SECONDS);
        registry.register(
            "execution_seconds",
            "Time of a run of an execution, from taken on to recorded, without human time",
            duration.clone(),
        );
        let (running, waiting) = (Gauge::default(), Gauge::default());
        registry.register("executions_running", "Executions that run now", running.clone());
        registry.register("executions_waiting", "Executions that wait for a person", waiting.clone());
        let calls = Family::default();
        registry.register("tool_calls", "Tool calls by source and outcome", calls.clone());
        let call_duration = Histogram::new(&SLOW_SECONDS);
        registry.register(
            "tool_call_seconds",
            "Time of a tool call, from the gate to its outcome",
            call_duration.clone(),
        );
        let approvals: Family<Outcome, Counter> = Family::default();
        registry.register("approvals", "Questions to people, and their answers", approvals.clone());
        let policy_denials = Counter::default();
        registry.register("policy_denials", "Tool calls that a policy blocked", policy_denials.clone());
        let programs: Family<Outcome, Counter> = Family::default();
        registry.register("programs", "Programs by whether they were compiled before", programs.clone());
        let program_compile = Histogram::new(&SLOW_SECONDS);
        registry.register(
            "program_compile_seconds",
            "Time to compile a program that was not kept",
            program_compile.clone(),
        );
        let outcome = |outcome| Outcome { outcome };
        Self {
            executions,
            duration: KINDS.map(|kind| duration.get_or_create_owned(&Kind { kind })),
            running,
            waiting,
            sources: Bounded::new(SOURCES),
            calls,
            call_duration,
            approvals: ["asked", "accepted", "declined", "withdrawn"]
                .map(|word| approvals.get_or_create_owned(&outcome(word))),
            policy_denials,
            programs_cached: programs.get_or_create_owned(&outcome("kept")),
            programs_compiled: programs.get_or_create_owned(&outcome("compiled")),
            program_compile,
        }
    }

    /// An execution ended, or began to wait (`waiting`).
    pub fn executed(&self, kind: &str, surface: &str, status: &str) {
        let label = Execution {
            kind: one_of(kind, &KINDS),
            surface: one_of(surface, &SURFACES),
            status: one_of(status, &STATUSES),
        };
        self.executions.get_or_create(&label).inc();
    }

    /// How long a run of an execution took.
    pub fn execution_took(&self, kind: &str, duration: Duration) {
        if let Some(index) = KINDS.iter().position(|known| *known == kind) {
            self.duration[index].observe(duration);
        }
    }

    /// A tool call passed the gate and ended, with this code.
    pub fn tool_called(&self, source: &str, code: &str, took: Duration) {
        let source_metrics = self.sources.get(source, |source| {
            let source: Arc<str> = source.into();
            let label = |outcome| ToolCall { source: source.clone(), outcome };
            SourceMetrics(OUTCOMES.map(|outcome| self.calls.get_or_create_owned(&label(outcome))))
        });
        let outcome = OUTCOMES.iter().position(|known| *known == code).unwrap_or(OUTCOMES.len() - 1);
        source_metrics.0[outcome].inc();
        self.call_duration.observe(took);
    }

    /// Something happened to a question.
    pub fn approval(&self, event: ApprovalEvent) {
        self.approvals[event as usize].inc();
    }

    /// A policy blocked a call.
    pub fn policy_denied(&self) {
        self.policy_denials.inc();
    }

    /// A program was found compiled.
    pub fn program_kept(&self) {
        self.programs_cached.inc();
    }

    /// A program was compiled.
    pub fn program_compiled(&self, took: Duration) {
        self.programs_compiled.inc();
        self.program_compile.observe(took);
    }
}
