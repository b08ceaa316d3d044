//! One daemon's control plane: its home, its runtime, its workspaces.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use executor_runtime::Runtime;
use executor_store::{Cache, Home, HomeError, Installation, WorkspaceName};
use futures::future::join_all;
use serde::Serialize;

use crate::clock::{Clock, rfc3339};
use crate::loaded::Loaded;
use crate::problem::{Problem, ProblemKind, chain};
use crate::settings::{SettingView, Settings};
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
    ready: AtomicBool,
    started_ms: i64,
}

impl Shared {
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
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
}

/// The daemon as a whole.
#[derive(Debug, Clone, Serialize)]
pub struct InstallationView {
    /// The installation's id.
    pub id: String,
    /// The version of this binary.
    pub version: String,
    /// The home's path.
    pub home: String,
    /// The daemon's process.
    pub pid: u32,
    /// When it started.
    pub started_at: String,
    /// Whether the first-party components are ready.
    pub ready: bool,
    /// Its workspaces.
    pub workspaces: Vec<String>,
}

impl Control {
    /// Opens a home and takes its lock. The first-party components are made
    /// ready in the background.
    ///
    /// # Errors
    /// When the home belongs to another daemon, is of a newer format, or
    /// can't be used.
    pub async fn open(options: Options) -> Result<Self, Problem> {
        let home = Home::open(&options.home).map_err(home_problem)?;
        let now_ms = options.clock.now_ms();
        let installation = Installation::open(&home, now_ms)?;
        let compiled = options.cache.unwrap_or_else(|| home.cache_directory().join("components"));
        let runtime = Runtime::new(&compiled).map_err(|error| Problem::internal(chain(&error)))?;
        let shared = Arc::new(Shared {
            cache: Cache::open(&home.cache_directory().join("sled")),
            home,
            installation,
            runtime,
            settings: options.config,
            clock: options.clock,
            loaded: Loaded::default(),
            ready: AtomicBool::new(false),
            started_ms: now_ms,
        });
        let control = Self { shared, workspaces: Arc::default() };
        for name in control.shared.installation.workspaces()? {
            control.open_workspace(&name).await?;
        }
        let warm = control.clone();
        tokio::spawn(async move { warm.ready().await });
        Ok(control)
    }

    async fn open_workspace(&self, name: &WorkspaceName) -> Result<(), Problem> {
        let workspace = Workspace::open(self.shared.clone(), name).await?;
        let mut workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        workspaces.insert(name.to_string(), workspace);
        Ok(())
    }

    /// A workspace by its name.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn workspace(&self, name: &str) -> Result<Arc<Workspace>, Problem> {
        let workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        workspaces.get(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = workspaces.keys().map(String::as_str).collect();
            Problem::not_found("workspace", name).hint(format!("there is: {}", known.join(", ")))
        })
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

    /// The daemon as a whole.
    pub fn installation(&self) -> InstallationView {
        let workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<String> = workspaces.keys().cloned().collect();
        names.sort();
        InstallationView {
            id: self.shared.installation.id(),
            version: env!("CARGO_PKG_VERSION").into(),
            home: self.shared.home.path().display().to_string(),
            pid: std::process::id(),
            started_at: rfc3339(self.shared.started_ms),
            ready: self.shared.ready.load(Ordering::Acquire),
            workspaces: names,
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

    /// Ends what runs, syncs what was recorded.
    pub async fn close(&self) {
        let workspaces: Vec<_> = {
            let workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
            workspaces.values().cloned().collect()
        };
        for workspace in workspaces {
            workspace.close().await;
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
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
