//! A workspace: the unit of placement and isolation.

use std::future::Future;
use std::sync::{Arc, RwLock, Weak};

use executor_runtime::{Adapter, Compiler, Identity, Sandbox, Share};
use executor_store::{Digest, Executions, OrganizationName, WorkspaceName, WorkspaceRow};
use serde_json::Value;

use crate::catalogue::Catalogue;
use crate::control::{Shared, WorkspaceView};
use crate::listening::Listening;
use crate::outlive::Outliving;
use crate::policies::Policies;
use crate::problem::{Problem, ProblemKind};
use crate::programs::Programs;
use crate::running::Running;
use crate::waits::Waits;

/// One workspace of this installation.
pub struct Workspace {
    pub(crate) shared: Arc<Shared>,
    pub(crate) name: WorkspaceName,
    pub(crate) organization: OrganizationName,
    pub(crate) store: executor_store::Workspace,
    pub(crate) share: Share,
    pub(crate) catalogue: Catalogue,
    pub(crate) policies: RwLock<Arc<Policies>>,
    pub(crate) programs: Programs,
    pub(crate) running: Running,
    pub(crate) waits: Waits,
    pub(crate) listening: Listening,
    this: Weak<Self>,
}

impl Workspace {
    pub(crate) async fn open(shared: Arc<Shared>, row: &WorkspaceRow) -> Result<Arc<Self>, Problem> {
        let WorkspaceRow { name, organization } = row;
        let store = executor_store::Workspace::open(&shared.home, name, shared.now_ms())?;
        let policies = Policies::load(store.policies()?)?;
        shared.add_store(store.clone());
        let workspace = Arc::new_cyclic(|this| Self {
            shared,
            name: name.clone(),
            organization: organization.clone(),
            store,
            share: Share::default(),
            catalogue: Catalogue::default(),
            policies: RwLock::new(Arc::new(policies)),
            programs: Programs::default(),
            running: Running::default(),
            waits: Waits::default(),
            listening: Listening::default(),
            this: this.clone(),
        });
        workspace.adopt_bundled().await?;
        workspace.settle_interrupted().await?;
        Ok(workspace)
    }

    /// Itself, for what runs on after the call that began it.
    pub(crate) fn this(&self) -> Arc<Self> {
        self.this.upgrade().expect("a workspace is only reached through its Arc")
    }

    /// Work that is done to its end, whoever asked for it goes away meanwhile:
    /// a write, and what has to follow it.
    pub(crate) fn finish<F>(&self, work: impl FnOnce(Arc<Self>) -> F) -> Outliving<F>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Outliving::new(work(self.this()))
    }

    pub(crate) fn view(&self) -> WorkspaceView {
        WorkspaceView { name: self.name.to_string(), organization: self.organization.to_string() }
    }

    /// Tells whoever watches.
    pub(crate) fn tell(&self, kind: &str, about: impl FnOnce() -> Value) {
        if self.shared.events.watched() {
            self.shared.events.tell(kind, Some(self.name.as_str()), self.shared.now_ms(), about());
        }
    }

    pub(crate) fn executions(&self) -> &Executions {
        self.store.executions()
    }

    /// The JavaScript engine of this workspace.
    pub(crate) async fn sandbox(&self) -> Result<Arc<Sandbox>, Problem> {
        let (_, digest) = self.identity(executor_bundle::QUICKJS.name)?;
        self.sandbox_of(&digest).await
    }

    /// The JavaScript engine of a digest, which may be an earlier one.
    pub(crate) async fn sandbox_of(&self, digest: &Digest) -> Result<Arc<Sandbox>, Problem> {
        let name = executor_bundle::QUICKJS.name.to_owned();
        let key = (*digest, name.clone());
        let identity = Identity { name, digest: digest.hex() };
        let make =
            || async { Ok(self.shared.runtime.sandbox(identity, self.component_bytes(digest)?).await?) };
        self.shared.loaded.sandboxes.get(&key, make).await
    }

    /// The TypeScript compiler of this workspace.
    pub(crate) async fn compiler(&self) -> Result<Arc<Compiler>, Problem> {
        let (identity, digest) = self.identity(executor_bundle::TYPESCRIPT.name)?;
        let key = (digest, identity.name.clone());
        let make =
            || async { Ok(self.shared.runtime.compiler(identity, self.component_bytes(&digest)?).await?) };
        self.shared.loaded.compilers.get(&key, make).await
    }

    /// An adapter of this workspace, by its component's name.
    pub(crate) async fn adapter(&self, name: &str) -> Result<Arc<Adapter>, Problem> {
        let (identity, digest) = self.identity(name)?;
        let key = (digest, identity.name.clone());
        let make =
            || async { Ok(self.shared.runtime.adapter(identity, self.component_bytes(&digest)?).await?) };
        self.shared.loaded.adapters.get(&key, make).await
    }

    fn identity(&self, name: &str) -> Result<(Identity, Digest), Problem> {
        let row = self.store.component(name)?.ok_or_else(|| {
            Problem::new(ProblemKind::NotFound, "no-component", format!("there is no component {name}"))
                .hint("`executor component list` shows those that there are")
        })?;
        Ok((Identity { name: row.name, digest: row.digest.hex() }, row.digest))
    }

    /// Ends what runs, and waits until what was recorded is synced.
    pub(crate) async fn close(&self) {
        self.running.abort_all();
        self.listening.end_all();
        if let Err(error) = self.executions().synced().await {
            tracing::error!(%error, workspace = %self.name, "the last records were not synced");
        }
    }
}
