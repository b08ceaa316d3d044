//! What executor keeps: the only crate that knows SQL and where files lie.
//!
//! A [`Home`] is one directory of one user, and owned by one process. In it an
//! [`Installation`] says who and which workspaces there are and seals their
//! secrets; each [`Workspace`] has a directory with what was set up, what ran
//! ([`Executions`]) and its [`Blobs`]; a [`Cache`] holds what can be made again.
//!
//! Reads are short and blocking; none of them waits for a write. Writes of a
//! file go through its one writer and are answered when they are as durable as
//! was asked for.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test says what it needs by failing"))]

mod accounts;
mod blobs;
mod cache;
mod components;
mod database;
mod digest;
mod error;
mod executions;
mod files;
mod home;
mod identifiers;
mod installation;
mod key_move;
mod key_place;
mod keyring;
mod names;
mod once;
mod organizations;
mod recovery;
mod secret_key;
mod secrets;
mod sessions;
mod sql;
#[cfg(test)]
mod testing;
mod tokens;
mod workspace;
mod writer;

pub use accounts::AccountRow;
pub use blobs::{
    BLOB_LIMIT_BYTES, BLOB_READ_LIMIT_BYTES, BlobReader, BlobRow, BlobTotal, BlobWriter, Blobs,
    blob_reference, parse_blob_reference,
};
pub use cache::{CACHE_ENTRY_LIMIT_BYTES, Cache};
pub use components::{
    component_bytes, component_is_stored, put_component, remove_component_bytes, stored_components,
};
pub use digest::{Digest, DigestError};
pub use error::{Result, StoreError};
pub use executions::{
    AuditFault, AuditRecord, AuditRow, CallRow, Change, ExecutionRow, Executions, InteractionRow, OutputRow,
};
pub use home::{Home, HomeError, lock_owner};
pub use identifiers::{
    ExecutionId, IdentifierError, InteractionId, InvitationId, PolicyId, SecretId, SessionId, TokenId,
};
pub use installation::{FIRST_ACCOUNT, FIRST_ORGANIZATION, Installation, WorkspaceRow};
pub use key_move::{Moved, move_key};
pub use key_place::{KeyPlace, KeyTarget, find_key};
pub use keyring::{Keyring, KeyringError, KeyringUse};
pub use names::{AccountName, ConnectionName, NameError, OrganizationName, SourceName, WorkspaceName};
pub use once::{Once, OnceRow};
pub use organizations::{Accepted, InvitationRow, Kept, MembershipRow};
pub use recovery::{RecoveryError, RestoreError, recovery_code, restore_key};
pub use secret_key::SecretValue;
pub use secrets::SecretLabel;
pub use sessions::SessionRow;
pub use tokens::TokenRow;
pub use workspace::{
    AuthMethodRow, ComponentRow, ConnectionRow, PolicyRow, SourceRow, Staged, ToolDocument, ToolRow,
    Unreviewed, UnreviewedRow, VisitAuth, WarningRow, Workspace,
};
pub use writer::{Commit, Durability, Health, observe_commits};
