//! The control plane: sources, connections, policies, executions and what
//! people and programs may do with them, one file a noun.
//!
//! It knows no wire format, no wasmtime and no SQL. Every tool call from
//! anywhere passes one function, `Session::call_tool` in `invoke.rs`.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test says what it needs by failing"))]

mod accounts;
mod approvals;
mod arguments;
mod asking;
mod attempts;
mod audit;
mod auth;
mod blobs;
mod caller;
mod catalogue;
mod clock;
mod commands;
mod components;
mod connections;
mod control;
mod credentials;
mod detection;
mod difference;
mod discovery;
mod doctor;
mod document;
mod drive;
mod dry_run;
mod events;
mod executions;
mod handoffs;
mod indexing;
mod inspect;
mod invitations;
mod invoke;
mod listening;
mod listing;
mod loaded;
mod local;
mod oauth;
mod once;
mod organizations;
mod outlive;
mod page;
mod passwords;
mod pattern;
mod policies;
mod problem;
mod programs;
mod questions;
mod recall;
mod refresh;
mod resume;
mod retention;
mod reviews;
mod roles;
mod running;
mod search;
mod session;
mod sessions;
mod settings;
mod signature;
mod source_settings;
mod sources;
mod tokens;
mod tool_error;
mod tools;
mod trace;
mod trust;
mod waits;
mod watch;
mod workspace;

pub use accounts::{AccountView, AddAccount, SetPassword};
pub use approvals::{Difference, InteractionView};
pub use audit::{AuditItem, AuditPage, AuditQuery, AuditVerdict};
pub use auth::{AuthMethodView, PlaceView, VariableView};
pub use blobs::{BlobContent, BlobItem, BlobName, BlobView, UPLOAD_LIMIT_BYTES, Upload};
pub use caller::{Caller, Capability, Surface};
pub use catalogue::CatalogueChanges;
pub use clock::{Clock, SystemClock};
pub use commands::{CommandInput, CommandView};
pub use components::{AddComponent, ComponentView, Grant};
pub use connections::{AddConnection, ConnectionCheck, ConnectionView, GrantView, SetConnection};
pub use control::{AddWorkspace, Control, InstallationView, Options, WorkspaceView};
pub use detection::{AuthHint, DetectionView, SourceInput};
pub use doctor::Check;
pub use document::{DocumentFile, DocumentInput};
pub use dry_run::{DecisionView, DryRunView};
pub use events::{Event, Watch, Watched};
pub use executions::{CallTool, ExecutionError, ExecutionQuery, ExecutionView, LogView, RunCode, UsageView};
pub use handoffs::{AskHandoff, Fulfilled, HandoffForm, HandoffView};
pub use indexing::{ConnectionIndex, IndexProblem};
pub use inspect::{
    AdapterView, DefinitionView, DocumentFileView, DocumentQuery, DocumentView, SourceInspection, ToolSummary,
};
pub use invitations::{Accept, AddInvitation, InvitationAdded, InvitationView, JoinedView};
pub use listing::{ToolDetail, ToolDetailPage};
pub use oauth::{
    AuthorizationError, AuthorizationView, BeginAuthorization, Callback, Endpoints, FinishAuthorization,
    Flow, FlowView, OauthChoices,
};
pub use once::Once;
pub use organizations::{AddOrganization, IdentityView, MemberView, OrganizationView, SetRole};
pub use outlive::Outliving;
pub use page::{Page, PageQuery};
pub use passwords::Password;
pub use policies::{Action, AddPolicy, LevelView, PolicyTest, PolicyView};
pub use problem::{Problem, ProblemKind};
pub use refresh::{RefreshSource, SourceRefreshed};
pub use resume::{Resume, ResumeAction};
pub use reviews::{Novelty, ReviewTools, SeenTool, ToolsReviewed, UnreviewedTool};
pub use roles::Role;
pub use sessions::{SessionView, SignIn, SignedIn};
pub use settings::{
    LimitSettings, LogSettings, SecretSettings, SettingValue, SettingView, Settings, StorageSettings,
};
pub use sources::{
    AddSource, ProgressSink, ProgressView, SourceAdded, SourceDetail, SourceView, WarningView,
};
pub use tokens::{AddToken, TokenAdded, TokenQuery, TokenView};
pub use tools::{DescribeOptions, ToolDescription, ToolItem, ToolPage, ToolPolicy, ToolQuery};
pub use trace::{CallView, SpanView, TraceView};
pub use workspace::Workspace;
