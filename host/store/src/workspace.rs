//! `workspace.db` of a workspace: what its people set up.

mod components;
mod connections;
mod kept;
mod policies;
mod reviews;
mod schema;
mod sources;
mod tools;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use components::ComponentRow;
pub use connections::ConnectionRow;
pub use policies::PolicyRow;
pub use reviews::{Unreviewed, UnreviewedRow};
pub use sources::SourceRow;
pub use tools::{AuthMethodRow, Staged, ToolDocument, ToolRow, VisitAuth, WarningRow};

use kept::Kept;
use rusqlite::Connection;

use crate::blobs::Blobs;
use crate::database::Database;
use crate::error::{Fault, Result};
use crate::executions::Executions;
use crate::files;
use crate::home::Home;
use crate::names::WorkspaceName;
use crate::once::{self, Once, OnceRow};
use crate::writer::Health;

/// An open workspace. Clones share its files; it is opened once a process.
#[derive(Debug, Clone)]
pub struct Workspace {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: WorkspaceName,
    directory: PathBuf,
    database: Arc<Database>,
    executions: Executions,
    blobs: Blobs,
    kept: Arc<Kept>,
}

impl Workspace {
    /// Opens a workspace's directory, which is made if it is missing.
    ///
    /// # Errors
    /// A file is damaged, was written by a newer executor or can't be used.
    pub fn open(home: &Home, name: &WorkspaceName, now_ms: i64) -> Result<Self> {
        let directory = home.workspace_directory(name);
        files::create_private_directory(&directory)?;
        let path = directory.join("workspace.db");
        let database = Arc::new(Database::open(home, path, &schema::PLAN)?);
        let executions = Executions::open(home, &directory)?;
        let blobs = Blobs::attach(Arc::clone(&database), directory.join("blobs"))?;
        tracing::debug!(workspace = %name, now_ms, "opened a workspace");
        let (name, kept) = (name.clone(), Arc::default());
        Ok(Self { inner: Arc::new(Inner { name, directory, database, executions, blobs, kept }) })
    }

    /// The workspace's name.
    pub fn name(&self) -> &WorkspaceName {
        &self.inner.name
    }

    /// The workspace's own directory.
    pub fn directory(&self) -> &Path {
        &self.inner.directory
    }

    /// What ran in it.
    pub fn executions(&self) -> &Executions {
        &self.inner.executions
    }

    /// The bytes that it holds.
    pub fn blobs(&self) -> Blobs {
        self.inner.blobs.clone()
    }

    /// How the writer of `workspace.db` is doing.
    pub fn health(&self) -> Health {
        self.inner.database.writer().health()
    }

    /// What was created under a key in this workspace's own file.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn once(&self, once: &Once) -> Result<Option<OnceRow>> {
        self.read("looking for an idempotency key", |connection| once::get(connection, once))
    }

    fn read<T>(
        &self,
        context: &'static str,
        work: impl FnOnce(&Connection) -> std::result::Result<T, Fault>,
    ) -> Result<T> {
        self.inner.database.read(context, work)
    }

    /// Every write goes through here, so that nothing is kept past one.
    async fn write<T, F>(&self, context: &'static str, mut work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> std::result::Result<T, Fault> + Send + 'static,
    {
        let writing = self.inner.kept.writing();
        let work = move |connection: &Connection| {
            let _until_the_job_is_dropped = &writing;
            work(connection)
        };
        self.inner.database.write(context, work).await
    }
}

#[cfg(test)]
mod tests;
