//! What a document is to each adapter, and how people are told.

use executor_runtime::{Detection, HostPort, Probe};
use executor_store::ComponentRow;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::asking::{may_ask, reads_by_post};
use crate::discovery::{CONFIDENCE, Discovered, Unknown, auth_hints, name_of, shown};
use crate::document::{DocumentInput, Found};
use crate::problem::Problem;
use crate::sources::parse_hosts;
use crate::workspace::Workspace;

/// The kind of what no adapter takes.
const UNKNOWN: &str = "unknown";
/// Ways to sign in that an adapter may tell.
const AUTH_HINTS: usize = 20;
pub(crate) const HINT_CHARS: usize = 200;

/// Something that may become a source.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceInput {
    /// A URL to fetch.
    #[serde(default)]
    pub url: Option<String>,
    /// Or a document.
    #[serde(default)]
    pub document: Option<DocumentInput>,
    /// Hosts whose special addresses are granted: `localhost:4010`.
    #[serde(default)]
    pub allow_hosts: Vec<String>,
}

/// What a URL or document was found to be.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DetectionView {
    /// The kind of source it would be; `unknown` where no adapter takes it.
    pub kind: String,
    /// How sure that is, 0 to 100.
    pub confidence: u8,
    /// The name it would get.
    pub suggested_name: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where the description is, which may be elsewhere than the URL that was
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_url: Option<String>,
    /// How one probably signs in.
    pub auth: Vec<AuthHint>,
    /// How its calls go over the wire, where that is known: `http`,
    /// `streamable-http`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// The revision of the protocol that it speaks over it, where it has one
    /// and said so: of an MCP server `2026-07-28`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// More of the adapter's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// A way in which one probably signs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuthHint {
    /// The kind of auth method: `http-bearer`, `oauth2`, …
    pub kind: String,
    /// For people.
    #[serde(default)]
    pub label: String,
}

/// An adapter's finding.
pub(crate) struct Candidate {
    pub(crate) component: ComponentRow,
    pub(crate) kind: String,
    pub(crate) detection: Detection,
}

impl Workspace {
    /// Says what a URL or document is, surest first; one of the kind `unknown`
    /// where no adapter takes it.
    ///
    /// # Errors
    /// When it can't be had.
    pub async fn detect(&self, input: SourceInput) -> Result<Vec<DetectionView>, Problem> {
        let hosts = parse_hosts(&input.allow_hosts)?;
        let found = self.find_document(input.url.as_deref(), input.document.as_ref(), &hosts).await?;
        match self.discover(found, &hosts, &|_| {}).await? {
            Discovered::Unknown(unknown) => Ok(vec![unknown_view(&unknown)]),
            Discovered::Source(sighting) => {
                let sure = sighting.candidates.into_iter();
                let sure = sure.filter(|candidate| candidate.detection.confidence >= CONFIDENCE);
                let view = |candidate| detection_view(candidate, &sighting.found, &sighting.notes);
                Ok(sure.map(view).collect())
            }
        }
    }

    /// What each adapter makes of a document, surest first.
    pub(crate) async fn candidates(
        &self,
        found: &Found,
        hosts: &[HostPort],
    ) -> Result<Vec<Candidate>, Problem> {
        let mut candidates = Vec::new();
        for component in self.store.components()? {
            let Some(kind) = component.kind.clone() else { continue };
            if found.readable_by(&component).is_err() {
                continue;
            }
            match self.ask(&component, found, hosts).await {
                Ok(Some(detection)) => candidates.push(Candidate { component, kind, detection }),
                Ok(None) => {}
                Err(problem) => tracing::warn!(component = component.name, %problem, "detection failed"),
            }
        }
        candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.detection.confidence));
        Ok(candidates)
    }

    /// What one adapter makes of a document.
    pub(crate) async fn ask(
        &self,
        component: &ComponentRow,
        found: &Found,
        hosts: &[HostPort],
    ) -> Result<Option<Detection>, Problem> {
        let adapter = self.adapter(&component.name).await?;
        let probe =
            Probe { status: found.status, headers: found.headers.clone(), document: found.document.clone() };
        let mut context = self.no_reach();
        if reads_by_post(component) {
            let url = found.document.url.as_deref();
            context.scope = may_ask(component, self.index_scope(url, "{}", hosts.to_vec()));
        }
        Ok(adapter.detect(&self.share, context, probe).await?)
    }
}

fn detection_view(candidate: Candidate, found: &Found, notes: &[String]) -> DetectionView {
    let meta: Option<Value> = candidate.detection.meta.and_then(|meta| serde_json::from_str(&meta).ok());
    let text = |key: &str| meta.as_ref().and_then(|meta| meta.get(key)).and_then(Value::as_str);
    let mut auth = adapter_hints(meta.as_ref());
    let told = auth_hints(found).into_iter().filter(|hint| auth.iter().all(|known| known.kind != hint.kind));
    let told: Vec<AuthHint> = told.collect();
    auth.extend(told);
    DetectionView {
        kind: candidate.kind,
        confidence: candidate.detection.confidence,
        suggested_name: candidate.detection.suggested_name,
        title: text("title").map(str::to_owned),
        document_url: found.document.url.clone(),
        auth,
        transport: text("transport").map(|transport| shown(transport, HINT_CHARS)),
        protocol: text("protocol").map(|protocol| shown(protocol, HINT_CHARS)),
        warnings: notes.iter().cloned().chain(candidate.detection.warnings).collect(),
        meta,
    }
}

/// What an adapter says of signing in.
fn adapter_hints(meta: Option<&Value>) -> Vec<AuthHint> {
    let told = meta.and_then(|meta| meta.get("auth")).and_then(Value::as_array).into_iter().flatten();
    let cut = |text: String| shown(&text, HINT_CHARS);
    let read = |hint: &Value| serde_json::from_value::<AuthHint>(hint.clone()).ok();
    let hints = told.take(AUTH_HINTS).filter_map(read);
    hints.map(|hint| AuthHint { kind: cut(hint.kind), label: cut(hint.label) }).collect()
}

fn unknown_view(unknown: &Unknown) -> DetectionView {
    let found = &unknown.found;
    DetectionView {
        kind: UNKNOWN.into(),
        confidence: 0,
        suggested_name: name_of(found),
        title: None,
        document_url: found.document.url.clone(),
        auth: auth_hints(found),
        transport: transport(found).map(str::to_owned),
        protocol: None,
        warnings: unknown.warnings(),
        meta: None,
    }
}

/// How something that nobody takes speaks, by what it answered.
fn transport(found: &Found) -> Option<&'static str> {
    let media_type = found.document.media_type.as_deref().unwrap_or_default().to_ascii_lowercase();
    match found.status? {
        426 => Some("websocket"),
        _ if media_type.starts_with("text/event-stream") => Some("sse"),
        _ if media_type.starts_with("application/grpc") => Some("grpc"),
        _ => Some("http"),
    }
}
