//! The control plane: sources, connections, policies, executions and what
//! people and programs may do with them, one file a noun.
//!
//! It knows no wire format, no wasmtime and no SQL. Every tool call from
//! anywhere passes one function, `Session::call_tool` in `invoke.rs`.

mod approvals;
mod arguments;
mod asking;
mod audit;
mod auth;
mod caller;
mod catalogue;
mod clock;
mod components;
mod connections;
mod control;
mod doctor;
mod document;
mod drive;
mod dry_run;
mod executions;
mod invoke;
mod loaded;
mod pattern;
mod policies;
mod problem;
mod programs;
mod recall;
mod resume;
mod running;
mod search;
mod session;
mod settings;
mod signature;
mod sources;
mod tool_error;
mod tools;
mod trace;
mod workspace;

pub use approvals::InteractionView;
pub use audit::{AuditItem, AuditPage};
pub use auth::{AuthMethodView, VariableView};
pub use caller::{Caller, Surface};
pub use clock::{Clock, SystemClock};
pub use components::{AddComponent, ComponentView, Grant};
pub use connections::{AddConnection, ConnectionCheck, ConnectionView};
pub use control::{Control, InstallationView, Options};
pub use doctor::Check;
pub use document::DocumentInput;
pub use dry_run::{DecisionView, DryRunView};
pub use executions::{CallTool, ExecutionError, ExecutionPage, ExecutionView, LogView, RunCode, UsageView};
pub use policies::{Action, AddPolicy, LevelView, PolicyTest, PolicyView};
pub use problem::{Problem, ProblemKind};
pub use resume::{Resume, ResumeAction};
pub use settings::{LimitSettings, SettingView, Settings, StorageSettings};
pub use sources::{
    AddSource, DetectionView, ProgressSink, ProgressView, SourceAdded, SourceDetail, SourceInput,
    SourceRefreshed, SourceView, WarningView,
};
pub use tools::{DescribeOptions, ToolDescription, ToolItem, ToolPage, ToolPolicy, ToolQuery};
pub use trace::{CallView, TraceView};
pub use workspace::Workspace;
