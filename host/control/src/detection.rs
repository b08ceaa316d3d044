//! Finding out what a document is: every adapter is asked, the surest gets it.

use std::collections::BTreeSet;

use executor_runtime::{Detection, HostPort, Probe};
use executor_store::ComponentRow;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::asking::{may_ask, reads_by_post};
use crate::document::{DocumentInput, Found};
use crate::problem::{Problem, ProblemKind};
use crate::sources::parse_hosts;
use crate::workspace::Workspace;

/// A detection below this is a guess, not a finding.
const CONFIDENCE: u8 = 30;

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

/// What a document was found to be.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DetectionView {
    /// The kind of source it would be.
    pub kind: String,
    /// How sure that is, 0 to 100.
    pub confidence: u8,
    /// The name it would get.
    pub suggested_name: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// More of the adapter's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// An adapter's finding.
pub(crate) struct Candidate {
    pub(crate) component: ComponentRow,
    pub(crate) kind: String,
    pub(crate) detection: Detection,
}

impl Workspace {
    /// Says what a URL or document is.
    ///
    /// # Errors
    /// When it can't be had.
    pub async fn detect(&self, input: SourceInput) -> Result<Vec<DetectionView>, Problem> {
        let hosts = parse_hosts(&input.allow_hosts)?;
        let found = self.find_document(input.url.as_deref(), input.document.as_ref(), &hosts).await?;
        let candidates = self.candidates(&found, &hosts).await?;
        match found.refusal {
            Some(refusal) if candidates.is_empty() => Err(refusal),
            _ => Ok(candidates.into_iter().map(detection_view).collect()),
        }
    }

    /// What each adapter makes of a document, surest first.
    async fn candidates(&self, found: &Found, hosts: &[HostPort]) -> Result<Vec<Candidate>, Problem> {
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

    async fn ask(
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

    /// The adapter that a document is for: the one that the person named,
    /// whatever it makes of the document, else the surest.
    pub(crate) async fn choose(
        &self,
        found: &Found,
        kind: Option<&str>,
        hosts: &[HostPort],
    ) -> Result<Candidate, Problem> {
        if let Some(kind) = kind {
            return self.named(found, kind, hosts).await;
        }
        let mut candidates = self.candidates(found, hosts).await?;
        let warnings: Vec<String> =
            candidates.iter().flat_map(|candidate| candidate.detection.warnings.clone()).collect();
        if candidates.first().is_some_and(|first| first.detection.confidence >= CONFIDENCE) {
            return Ok(candidates.swap_remove(0));
        }
        if let Some(refusal) = &found.refusal {
            let refusal = refusal.clone();
            return Err(if warnings.is_empty() { refusal } else { refusal.hint(warnings.join("; ")) });
        }
        let said = if warnings.is_empty() { found.beginning() } else { warnings.join("; ") };
        Err(Problem::new(
            ProblemKind::Unprocessable,
            "unknown-document",
            format!("no adapter knows what {} is: {said}", found.place()),
        )
        .hint("give the URL of the API's own description (often …/openapi.json), or a file that holds it"))
    }

    async fn named(&self, found: &Found, kind: &str, hosts: &[HostPort]) -> Result<Candidate, Problem> {
        let components = self.store.components()?;
        let Some(component) = components.iter().find(|row| row.kind.as_deref() == Some(kind)) else {
            let kinds: BTreeSet<&str> = components.iter().filter_map(|row| row.kind.as_deref()).collect();
            let known = kinds.into_iter().collect::<Vec<_>>().join(", ");
            return Err(
                Problem::invalid(format!("{kind:?} is no kind of source")).hint(format!("there is: {known}"))
            );
        };
        let nothing = || Detection {
            confidence: 0,
            config: "{}".into(),
            suggested_name: kind.to_owned(),
            warnings: Vec::new(),
            meta: None,
        };
        found.readable_by(component)?;
        let detection = self.ask(component, found, hosts).await?.unwrap_or_else(nothing);
        Ok(Candidate { component: component.clone(), kind: kind.to_owned(), detection })
    }
}

fn detection_view(candidate: Candidate) -> DetectionView {
    let meta: Option<Value> = candidate.detection.meta.and_then(|meta| serde_json::from_str(&meta).ok());
    let title = meta.as_ref().and_then(|meta| meta.get("title")).and_then(Value::as_str).map(str::to_owned);
    DetectionView {
        kind: candidate.kind,
        confidence: candidate.detection.confidence,
        suggested_name: candidate.detection.suggested_name,
        title,
        warnings: candidate.detection.warnings,
        meta,
    }
}
