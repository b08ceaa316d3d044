//! Components: what came with the daemon, and what people added.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use executor_bundle::Bundled;
use executor_runtime::{AdapterContext, Identity, Origin, Scope, World, inspect};
use executor_store::{ComponentRow, Digest, component_bytes, put_component, remove_component_bytes};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::clock::rfc3339;
use crate::control::Shared;
use crate::once::Once;
use crate::page::{Page, PageQuery};
use crate::problem::{Problem, ProblemKind};
use crate::workspace::Workspace;

/// A component in a workspace.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ComponentView {
    /// Its name.
    pub name: String,
    /// Its digest.
    pub digest: String,
    /// Its world.
    pub world: String,
    /// The kind of source that an adapter makes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it came with the daemon.
    pub first_party: bool,
    /// What it imports.
    pub imports: Vec<String>,
    /// What it was granted.
    pub grant: Grant,
    /// When it was added.
    pub added_at: String,
    /// The sources that it serves.
    pub used_by: Vec<String>,
}

/// A component to add.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddComponent {
    /// A name; the adapter's kind by default.
    #[serde(default)]
    pub name: Option<String>,
    /// Its bytes.
    pub content_base64: String,
    /// Origins that it may send to, beside those of its sources.
    #[serde(default)]
    pub origins: Vec<String>,
    /// Whether its reads may POST.
    #[serde(default)]
    pub reads_by_post: bool,
}

/// What a component may do beyond what every component may.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Grant {
    /// Origins that it may send to, beside those of its sources.
    #[serde(default)]
    pub origins: Vec<String>,
    /// Whether its reads may POST.
    #[serde(default)]
    pub reads_by_post: bool,
}

impl Grant {
    pub(crate) fn of(row: &ComponentRow) -> Self {
        serde_json::from_str(&row.grant).unwrap_or_default()
    }
}

impl Workspace {
    /// The components of this workspace.
    ///
    /// # Errors
    /// When they can't be read.
    pub fn components(&self, query: &PageQuery) -> Result<Page<ComponentView>, Problem> {
        let sources = self.store.sources()?;
        let view = |row: ComponentRow| {
            let uses = sources.iter().filter(|source| source.adapter == row.name);
            let used_by = uses.map(|source| source.name.to_string()).collect();
            component_view(row, used_by)
        };
        let views = self.store.components()?.into_iter().map(view).collect();
        query.page(views, |view: &ComponentView| view.name.clone())
    }

    /// Adds a component: checks it, compiles it, and asks an adapter its kind.
    ///
    /// # Errors
    /// Says what the file is instead, what it wants that can't be granted, or
    /// how it breaks.
    pub async fn add_component(
        &self,
        caller: &Caller,
        request: AddComponent,
        once: Option<Once>,
    ) -> Result<ComponentView, Problem> {
        if let Some(name) = Once::earlier(once.as_ref(), |once| self.store.once(once))? {
            let row = self.store.component(&name)?;
            let row = row.ok_or_else(|| Problem::not_found("component", &name))?;
            return Ok(component_view(row, Vec::new()));
        }
        let grant = Grant { origins: request.origins, reads_by_post: request.reads_by_post };
        for origin in &grant.origins {
            Origin::parse(origin).map_err(|error| Problem::invalid(error.to_string()))?;
        }
        let bytes = BASE64
            .decode(&request.content_base64)
            .map_err(|error| Problem::invalid(format!("content_base64 is not base64: {error}")))?;
        let artifact = inspect(&bytes).map_err(executor_runtime::LoadError::from)?;
        let digest = Digest::of(&bytes);
        let bytes: Arc<[u8]> = bytes.into();
        let proposed = request.name.clone().unwrap_or_else(|| digest.hex()[..12].to_owned());
        let kind = self.try_component(&proposed, &digest, artifact.world, bytes.clone()).await?;
        let name = request.name.clone().or_else(|| kind.clone()).unwrap_or(proposed);
        self.check_component_name(&name)?;
        // Nobody removes the bytes between their storing and their pinning.
        let _needed = self.shared.component_bytes.lock().await;
        put_component(&self.shared.home, &bytes)?;
        let row = ComponentRow {
            name: name.clone(),
            digest,
            world: artifact.world.as_str().into(),
            kind,
            size: bytes.len() as u64,
            first_party: false,
            imports: artifact.imports,
            grant: json!(grant).to_string(),
            added_ms: self.shared.now_ms(),
        };
        self.store.put_component(row.clone(), once.map(Once::into_store)).await?;
        self.record(caller, "component.add", json!({"component": name, "digest": row.digest.to_string()}))
            .await?;
        Ok(component_view(row, Vec::new()))
    }

    /// Makes a component ready, so that one that can't be is never added.
    async fn try_component(
        &self,
        name: &str,
        digest: &Digest,
        world: World,
        bytes: Arc<[u8]>,
    ) -> Result<Option<String>, Problem> {
        let identity = Identity { name: name.to_owned(), digest: digest.hex() };
        let runtime = &self.shared.runtime;
        match world {
            World::Sandbox => runtime.sandbox(identity, bytes).await.map(|_| None).map_err(Problem::from),
            World::Compiler => runtime.compiler(identity, bytes).await.map(|_| None).map_err(Problem::from),
            World::SourceAdapter => {
                let adapter = runtime.adapter(identity, bytes).await?;
                let info = adapter.describe(&self.share, self.no_reach()).await?;
                Ok(Some(info.kind))
            }
        }
    }

    fn check_component_name(&self, name: &str) -> Result<(), Problem> {
        let sound = !name.is_empty()
            && name.len() <= 63
            && name.chars().all(|character| {
                character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-'
            })
            && !name.starts_with('-');
        if !sound {
            return Err(Problem::invalid(format!("{name:?} is no name of a component"))
                .hint("lower-case letters, digits and -, at most 63: --name chooses another"));
        }
        match self.store.component(name)? {
            Some(_) => Err(Problem::new(
                ProblemKind::Conflict,
                "component-exists",
                format!("there is a component {name} already"),
            )
            .hint(format!(
                "remove it first with `executor component remove {name}`, or choose another --name"
            ))),
            None => Ok(()),
        }
    }

    /// Removes a component that no source needs.
    ///
    /// # Errors
    /// When it came with the daemon, or sources need it.
    pub async fn remove_component(&self, caller: &Caller, name: &str) -> Result<(), Problem> {
        let row = self.store.component(name)?.ok_or_else(|| Problem::not_found("component", name))?;
        let used: Vec<String> = self
            .store
            .sources()?
            .into_iter()
            .filter(|source| source.adapter == name)
            .map(|source| source.name.to_string())
            .collect();
        if row.first_party || !used.is_empty() {
            let reason = if row.first_party {
                format!("{name} comes with the daemon")
            } else {
                format!("{name} serves the sources {}", used.join(", "))
            };
            return Err(Problem::new(ProblemKind::Conflict, "component-in-use", reason));
        }
        let needed = self.shared.component_bytes.lock().await;
        self.store.remove_component(name).await?;
        self.shared.forget_component(&row.digest)?;
        drop(needed);
        self.record(caller, "component.remove", json!({"component": name})).await
    }

    /// Pins the components that came with this binary.
    pub(crate) async fn adopt_bundled(&self) -> Result<(), Problem> {
        for bundled in executor_bundle::ALL {
            let known = self.store.component(bundled.name)?;
            let size = bundled.bytes.len() as u64;
            if known.as_ref().is_some_and(|row| row.size == size && row.digest == Digest::of(bundled.bytes)) {
                continue;
            }
            let artifact = inspect(bundled.bytes).map_err(executor_runtime::LoadError::from)?;
            let row = ComponentRow {
                name: bundled.name.into(),
                digest: Digest::of(bundled.bytes),
                world: artifact.world.as_str().into(),
                kind: (artifact.world == World::SourceAdapter).then(|| bundled.name.into()),
                size,
                first_party: true,
                imports: artifact.imports,
                grant: json!(Grant { reads_by_post: bundled.reads_by_post, ..Grant::default() }).to_string(),
                added_ms: self.shared.now_ms(),
            };
            self.store.put_component(row, None).await?;
        }
        Ok(())
    }

    pub(crate) fn component_bytes(&self, digest: &Digest) -> Result<Arc<[u8]>, Problem> {
        let bundled =
            executor_bundle::ALL.iter().find(|bundled: &&Bundled| Digest::of(bundled.bytes) == *digest);
        if let Some(bundled) = bundled {
            return Ok(bundled.bytes.into());
        }
        component_bytes(&self.shared.home, digest)?.map(Into::into).ok_or_else(|| {
            Problem::new(
                ProblemKind::Unavailable,
                "component-missing",
                format!("the bytes of component {digest} are not in the home any more"),
            )
            .hint("add it again with `executor component add`")
        })
    }

    /// The context of an adapter that may send nothing.
    pub(crate) fn no_reach(&self) -> AdapterContext {
        AdapterContext {
            scope: Scope::default(),
            blobs: self.store.blobs(),
            cache: self.shared.cache.clone(),
            session: format!("{}/", self.name),
            local: None,
            progress: None,
            changed: None,
            asker: None,
            limits: None,
        }
    }
}

impl Shared {
    /// Forgets a component, with its bytes, unless any workspace has it pinned
    /// (another one's component is not this one's to remove) or an execution
    /// that has not ended began with it. Whether it was stored and is gone.
    /// [`Shared::component_bytes`] is held.
    pub(crate) fn forget_component(&self, digest: &Digest) -> Result<bool, Problem> {
        for store in self.stores() {
            let pinned = store.components()?.iter().any(|pinned| pinned.digest == *digest);
            if pinned || store.executions().unsettled_engines()?.contains(digest) {
                return Ok(false);
            }
        }
        self.loaded.forget(digest);
        self.runtime.forget(&digest.hex());
        Ok(remove_component_bytes(&self.home, digest)?)
    }
}

fn component_view(row: ComponentRow, used_by: Vec<String>) -> ComponentView {
    ComponentView {
        grant: Grant::of(&row),
        name: row.name,
        digest: row.digest.to_string(),
        world: row.world,
        kind: row.kind,
        size: row.size,
        first_party: row.first_party,
        imports: row.imports,
        added_at: rfc3339(row.added_ms),
        used_by,
    }
}
