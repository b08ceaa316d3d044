//! The wasmtime runtime: the only crate that knows wasmtime.
//!
//! It compiles components once, links each to what it was granted and to
//! nothing else, gives every call a fresh store with bounds, and carries
//! calls between guests and the host: the bridge of sandboxes, the HTTP of
//! adapters. It knows no catalogue, no policy and no database; who may do
//! what is decided above it.

mod adapter;
mod artifact;
mod asker;
mod bridge;
mod cache;
mod calls;
mod compiler;
mod component;
mod egress;
mod engine;
mod fault;
mod guest;
pub mod limits;
pub mod memory;
mod pause;
mod processes;
mod runtime;
mod sandbox;
mod seams;
mod share;
mod stopwatch;
mod wasi;

pub use adapter::{
    Adapter, AdapterContext, AdapterError, AdapterFailure, AdapterInfo, Changed, Detection, Document,
    Indexed, Probe, Progress, ToolCall, ToolOutcome, ToolResponse,
};
pub use artifact::{Artifact, ArtifactError, World, inspect};
pub use asker::{Asked, Asker};
pub use bridge::{BridgeHost, Call, History, Inputs, Output, RecordedCall, Settled, full_path};
pub use cache::CompiledCache;
pub use compiler::{CompileError, Compiler, Diagnostic};
pub use component::{Identity, LoadError};
pub use egress::{
    Capture, Credential, CredentialMethod, DocumentFiles, Egress, EgressError, Fetched, HostPort, Location,
    MethodRule, Observer, Origin, OriginError, Outgoing, Placement, Renewal, RequestPreview, RequestRecord,
    Scope, Secret, Signing,
};
pub use engine::Engines;
pub use fault::{CallError, Fault, FaultKind};
pub use guest::Usage;
pub use pause::{Answer, Pause, Question, Resumption};
pub use processes::{Ended, GuardProgram, Launch, Local, LocalProgram, ProcessError, Processes, guard};
pub use runtime::{Runtime, RuntimeError};
pub use sandbox::{Failure, Module, Run, RunEnd, RunRequest, Sandbox};
pub use share::Share;
pub use stopwatch::{Still, Stopwatch};
