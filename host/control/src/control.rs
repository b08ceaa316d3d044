//! One daemon's control plane: its home, its runtime, its workspaces.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use executor_runtime::{Launch, Runtime};
use executor_store::{
    Cache, FIRST_ORGANIZATION, Home, HomeError, Installation, Keyring, OrganizationName, WorkspaceName,
    WorkspaceRow, observe_commits,
};
use executor_telemetry::metrics::metrics;
use futures::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::AbortHandle;
use utoipa::ToSchema;

use crate::attempts::Attempts;
use crate::caller::{Caller, Capability};
use crate::clock::{Clock, rfc3339};
use crate::events::{Events, Watch};
use crate::handoffs::Handoffs;
use crate::loaded::Loaded;
use crate::oauth::{Pending, Refreshing};
use crate::organizations::{About, Members};
use crate::page::{Page, PageQuery};
use crate::passwords::Passwords;
use crate::problem::{Problem, ProblemKind, chain};
use crate::resume::WAITING;
use crate::sessions::Sessions;
use crate::settings::{SettingView, Settings};
use crate::tokens::Tokens;
use crate::workspace::Workspace;

/// How to open a home.
pub struct Options {
    /// The home's directory.
    pub home: PathBuf,
    /// Where compiled components are kept; the home's own cache by default.
    pub cache: Option<PathBuf>,
    /// The settings.
    pub config: Settings,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// How sources that are local programs are run; none: they are not.
    pub programs: Option<Launch>,
    /// The user's keyring, where a key of secrets may be.
    pub keyring: Keyring,
}

/// What the parts of the control plane share.
pub(crate) struct Shared {
    pub(crate) home: Home,
    pub(crate) installation: Installation,
    pub(crate) runtime: Runtime,
    pub(crate) cache: Cache,
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) loaded: Loaded,
    pub(crate) tokens: Tokens,
    pub(crate) sessions: Sessions,
    pub(crate) members: Members,
    pub(crate) passwords: Passwords,
    pub(crate) attempts: Attempts,
    /// Held while the bytes of a component are made needed or needless.
    pub(crate) component_bytes: tokio::sync::Mutex<()>,
    pub(crate) events: Events,
    pub(crate) handoffs: Handoffs,
    /// Authorizations that a person has begun.
    pub(crate) pending: Pending,
    /// Tokens that are being refreshed.
    pub(crate) refreshing: Refreshing,
    /// Those of the workspaces that are open: all of the installation's.
    stores: Mutex<Vec<executor_store::Workspace>>,
    ready: AtomicBool,
    started_ms: i64,
}

impl Shared {
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    pub(crate) fn add_store(&self, store: executor_store::Workspace) {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner).push(store);
    }

    pub(crate) fn stores(&self) -> Vec<executor_store::Workspace> {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Refuses new work where the disk is nearly full, so that what runs can
    /// still be recorded.
    pub(crate) fn check_disk(&self) -> Result<(), Problem> {
        let floor = self.settings.disk_floor_bytes();
        match self.home.free_bytes() {
            Ok(free) if free < floor => Err(Problem::new(
                ProblemKind::Unavailable,
                "disk-full",
                format!(
                    "{} MiB are free where the home lies; new work needs {} MiB",
                    free >> 20,
                    floor >> 20
                ),
            )
            .hint("free some space, or lower storage.disk_floor_mib")),
            Ok(_) => Ok(()),
            Err(error) => Err(home_problem(error)),
        }
    }
}

/// The control plane. Clones are the same one.
#[derive(Clone)]
pub struct Control {
    shared: Arc<Shared>,
    workspaces: Arc<Mutex<HashMap<String, Arc<Workspace>>>>,
    /// Ends what keeps house.
    keeping: Arc<Mutex<Option<AbortHandle>>>,
}

/// The daemon as a whole.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct InstallationView {
    /// The installation's id.
    pub id: String,
    /// The version of this binary.
    pub version: String,
    /// The home's path; for whoever runs the installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// The daemon's process.
    pub pid: u32,
    /// When it started.
    pub started_at: String,
    /// Whether the first-party components are ready.
    pub ready: bool,
    /// Its workspaces, as far as the caller may enter them.
    pub workspaces: Vec<String>,
}

/// One workspace.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WorkspaceView {
    /// Its name.
    pub name: String,
    /// The organization that it belongs to.
    pub organization: String,
}

/// A workspace to make.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddWorkspace {
    /// Its name: lower-case letters, digits, `-` and `_`.
    pub name: String,
    /// The organization that it belongs to; the first or the only one of the
    /// caller's by default.
    #[serde(default)]
    pub organization: Option<String>,
}

impl Control {
    /// Opens a home and takes its lock. The first-party components are made
    /// ready in the background.
    ///
    /// # Errors
    /// When the home belongs to another daemon, is of a newer format, or
    /// can't be used.
    pub async fn open(options: Options) -> Result<Self, Problem> {
        observe_commits(|commit| metrics().store.committed(commit.synced, commit.changes, commit.took));
        let home = Home::open(&options.home).map_err(home_problem)?;
        let now_ms = options.clock.now_ms();
        let keyring = options.keyring.used(options.config.secrets.keyring);
        let installation = Installation::open(&home, &keyring, now_ms)?;
        let tokens = Tokens::load(installation.tokens()?)?;
        let sessions = Sessions::load(installation.sessions()?);
        let members = Members::load(installation.memberships()?)?;
        let compiled = options.cache.unwrap_or_else(|| home.cache_directory().join("components"));
        let runtime =
            Runtime::new(&compiled, options.programs).map_err(|error| Problem::internal(chain(&error)))?;
        let shared = Arc::new(Shared {
            cache: Cache::open(&home.cache_directory().join("sled")),
            home,
            installation,
            runtime,
            settings: options.config,
            clock: options.clock,
            loaded: Loaded::default(),
            tokens,
            sessions,
            members,
            passwords: Passwords::default(),
            attempts: Attempts::default(),
            component_bytes: tokio::sync::Mutex::default(),
            events: Events::default(),
            handoffs: Handoffs::default(),
            pending: Pending::default(),
            refreshing: Refreshing::default(),
            stores: Mutex::default(),
            ready: AtomicBool::new(false),
            started_ms: now_ms,
        });
        let control = Self { shared, workspaces: Arc::default(), keeping: Arc::default() };
        for row in control.shared.installation.workspaces()? {
            control.open_workspace(&row).await?;
        }
        let warm = control.clone();
        tokio::spawn(async move { warm.ready().await });
        let house = control.clone();
        let keeping = tokio::spawn(async move { house.keep_house().await });
        *control.keeping.lock().unwrap_or_else(PoisonError::into_inner) = Some(keeping.abort_handle());
        Ok(control)
    }

    async fn open_workspace(&self, row: &WorkspaceRow) -> Result<(), Problem> {
        let workspace = Workspace::open(self.shared.clone(), row).await?;
        let mut workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        workspaces.insert(row.name.to_string(), workspace);
        Ok(())
    }

    /// A workspace, whoever asks: `Control::workspace` says who may.
    pub(crate) fn any_workspace(&self, name: &str) -> Option<Arc<Workspace>> {
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// The workspaces that the caller may enter, by name.
    ///
    /// # Errors
    /// When the cursor is none of this list.
    pub fn workspaces(&self, caller: &Caller, query: &PageQuery) -> Result<Page<WorkspaceView>, Problem> {
        let found = self.workspace_names(caller).into_iter().filter_map(|name| self.any_workspace(&name));
        let views = found.map(|workspace| workspace.view()).collect();
        query.page(views, |view: &WorkspaceView| view.name.clone())
    }

    /// Makes a workspace, empty.
    ///
    /// # Errors
    /// When the name is none or taken, or the caller may not in the
    /// organization.
    pub async fn add_workspace(
        &self,
        caller: &Caller,
        request: AddWorkspace,
    ) -> Result<WorkspaceView, Problem> {
        let name =
            WorkspaceName::parse(&request.name).map_err(|error| Problem::invalid(error.to_string()))?;
        let organization = match request.organization {
            Some(name) => name,
            None => self.only_organization(caller)?,
        };
        let caller = self.caller_of(caller, &organization)?;
        caller.expect(Capability::Manage)?;
        let organization =
            OrganizationName::parse(&organization).map_err(|error| Problem::invalid(error.to_string()))?;
        let row = WorkspaceRow { name, organization };
        if !self.shared.installation.add_workspace(&row, self.now_ms()).await? {
            let message = format!("there is a workspace {} already", row.name);
            return Err(
                Problem::new(ProblemKind::Conflict, "workspace-exists", message).hint("choose another name")
            );
        }
        self.open_workspace(&row).await?;
        let what = json!({"workspace": row.name.as_str(), "organization": row.organization.as_str()});
        self.record(&caller, &About::Organization(row.organization.as_str()), "workspace.add", what).await?;
        Ok(WorkspaceView { name: row.name.into(), organization: row.organization.into() })
    }

    /// The organization that is meant where none is named: the first one of
    /// those who are in it, else the only one.
    fn only_organization(&self, caller: &Caller) -> Result<String, Problem> {
        let mut names: Vec<String> = self.shared.members.of_account(&caller.account).into_keys().collect();
        if names.iter().any(|name| name == FIRST_ORGANIZATION) {
            return Ok(FIRST_ORGANIZATION.to_owned());
        }
        match (names.pop(), names.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => {
                Err(Problem::invalid("it is not said in which organization").hint("name it: --organization"))
            }
        }
    }

    /// Resolves when the first-party components can be used. One that can't
    /// be made ready is logged; what needs it says so.
    pub async fn ready(&self) {
        let first = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner).values().next().cloned();
        let Some(workspace) = first else { return };
        let adapters = executor_bundle::ADAPTERS.map(|bundled| workspace.adapter(bundled.name));
        let (sandbox, compiler, adapters) =
            tokio::join!(workspace.sandbox(), workspace.compiler(), join_all(adapters));
        let adapters = adapters.into_iter().filter_map(Result::err);
        for problem in [sandbox.err(), compiler.err()].into_iter().flatten().chain(adapters) {
            tracing::error!(%problem, "a first-party component is not ready");
        }
        self.shared.ready.store(true, Ordering::Release);
    }

    /// The daemon as a whole, as far as the caller has business with it.
    pub fn installation(&self, caller: &Caller) -> InstallationView {
        let runs_it = self.expect_runs_installation(caller).is_ok();
        InstallationView {
            id: self.shared.installation.id(),
            version: env!("CARGO_PKG_VERSION").into(),
            home: runs_it.then(|| self.shared.home.path().display().to_string()),
            pid: std::process::id(),
            started_at: rfc3339(self.shared.started_ms),
            ready: self.shared.ready.load(Ordering::Acquire),
            workspaces: self.workspace_names(caller),
        }
    }

    /// Whether a presented token is the owner's. Takes the same time for any
    /// text of the same length.
    pub fn token_matches(&self, presented: &str) -> bool {
        let (expected, presented) = (self.shared.home.token().as_bytes(), presented.as_bytes());
        let difference = expected.iter().zip(presented).fold(0, |sum, (a, b)| sum | (a ^ b));
        expected.len() == presented.len() && difference == 0
    }

    /// The home's directory.
    pub fn home(&self) -> &Path {
        self.shared.home.path()
    }

    /// Where the CLI's socket goes.
    pub fn socket(&self) -> PathBuf {
        self.shared.home.socket()
    }

    /// Leaves a hint for people in the home; nothing trusts it.
    pub fn write_status(&self, json: &str) {
        if let Err(error) = self.shared.home.write_status(json) {
            tracing::warn!(%error, "daemon.json was not written");
        }
    }

    /// Every setting and where it is from.
    pub fn settings(&self) -> Vec<SettingView> {
        self.shared.settings.views()
    }

    /// The most that a document may take that becomes a source.
    pub fn document_bytes(&self) -> usize {
        self.shared.settings.document_bytes()
    }

    /// Counts what is counted when somebody looks: what runs, what waits for
    /// people, and what waits for the disk.
    pub fn count(&self) {
        let (mut running, mut waiting, mut pending, mut failed) = (0, 0, 0, 0);
        for workspace in self.all_workspaces() {
            running += workspace.running.count();
            // What can't be counted is not there; who needs it is told why.
            waiting += workspace.executions().count(WAITING).unwrap_or(0);
            let health = workspace.executions().health();
            pending += health.pending;
            failed += health.failed;
        }
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        metrics().control.running.set(signed(running as u64));
        metrics().control.waiting.set(signed(waiting));
        metrics().store.pending.set(signed(pending as u64));
        metrics().store.failed.set(signed(failed));
    }

    /// Ends what runs, syncs what was recorded.
    pub async fn close(&self) {
        if let Some(keeping) = self.keeping.lock().unwrap_or_else(PoisonError::into_inner).take() {
            keeping.abort();
        }
        let workspaces: Vec<_> = {
            let workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
            workspaces.values().cloned().collect()
        };
        for workspace in workspaces {
            workspace.close().await;
        }
        self.shared.runtime.processes().close().await;
    }

    /// What happens from now on, in every workspace.
    pub fn watch(&self) -> Watch {
        self.shared.events.watch()
    }

    /// The time, in milliseconds since the epoch, as everything here sees it.
    pub fn now_ms(&self) -> i64 {
        self.shared.now_ms()
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(crate) fn shared_arc(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn all_workspaces(&self) -> Vec<Arc<Workspace>> {
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

pub(crate) fn home_problem(error: HomeError) -> Problem {
    let message = chain(&error);
    match error {
        HomeError::Locked { pid, .. } => {
            let hint = match pid {
                Some(pid) => {
                    format!("process {pid} owns this home: use it, or end it with `executor down`")
                }
                None => "another process owns this home; `executor doctor` looks for it".into(),
            };
            Problem::new(ProblemKind::Conflict, "home-locked", message).hint(hint)
        }
        HomeError::Newer { .. } => Problem::new(ProblemKind::Conflict, "home-newer", message)
            .hint("use the executor that wrote it, or another home by --home"),
        _ => Problem::new(ProblemKind::Unavailable, "home-unusable", message)
            .hint("`executor doctor` says how to mend it; --home chooses another"),
    }
}
