//! Where a source's document comes from: a URL, fetched through the egress,
//! or bytes that the person gave.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use executor_runtime::{Document, Fetched, HostPort, Origin, Scope};
use serde::Deserialize;
use url::Url;
use utoipa::ToSchema;

use crate::problem::{Problem, ProblemKind};
use crate::workspace::Workspace;

/// Redirects that are followed to a document, each checked like the first.
const REDIRECTS: usize = 5;

/// What is asked for; descriptions are JSON or YAML.
const ACCEPT: &str = "application/json, application/yaml;q=0.9, text/yaml;q=0.9, */*;q=0.5";

/// A document that the person gave.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentInput {
    /// The file's name.
    #[serde(default)]
    pub name: Option<String>,
    /// Its bytes.
    pub content_base64: String,
}

/// A document that was found.
pub(crate) struct Found {
    /// The whole URL, to fetch it again. Adapters see it without its query,
    /// where people keep tokens.
    pub(crate) url: Option<String>,
    pub(crate) status: Option<u16>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) document: Document,
    /// Why a URL gave no document, where it answered with an error. An
    /// endpoint that takes only operations does.
    pub(crate) refusal: Option<Problem>,
    name: Option<String>,
}

impl Found {
    /// Where it is from, for messages.
    pub(crate) fn place(&self) -> String {
        self.document.url.clone().or_else(|| self.name.clone()).unwrap_or_else(|| "the document".into())
    }

    /// What it looks like, for messages.
    pub(crate) fn beginning(&self) -> String {
        let body = &self.document.body;
        if body.is_empty() {
            return "it is empty".into();
        }
        let head = String::from_utf8_lossy(&body[..body.len().min(60)]);
        let line: String = head.chars().filter(|character| !character.is_control()).collect();
        format!("it begins with {line:?}")
    }
}

impl Workspace {
    pub(crate) async fn find_document(
        &self,
        url: Option<&str>,
        input: Option<&DocumentInput>,
        hosts: &[HostPort],
    ) -> Result<Found, Problem> {
        let limit = self.shared.settings.document_bytes();
        match (url, input) {
            (Some(url), None) => self.fetch_document(url, hosts, limit).await,
            (None, Some(input)) => given(input, limit),
            _ => Err(Problem::invalid("a source is made from a URL or from a document: give one of them")),
        }
    }

    async fn fetch_document(&self, text: &str, hosts: &[HostPort], limit: usize) -> Result<Found, Problem> {
        let mut url = Url::parse(text).map_err(|error| {
            Problem::invalid(format!("{text:?} is not a URL: {error}"))
                .hint("a URL begins with https://; a file is given by its path")
        })?;
        for _ in 0..=REDIRECTS {
            let fetched = self.fetch_once(&url, hosts, limit).await?;
            match redirect(&url, &fetched) {
                Some(next) => url = next,
                None => return Ok(found(&url, fetched)),
            }
        }
        Err(Problem::new(
            ProblemKind::Upstream,
            "too-many-redirects",
            format!("{text} redirects more than {REDIRECTS} times"),
        ))
    }

    async fn fetch_once(&self, url: &Url, hosts: &[HostPort], limit: usize) -> Result<Fetched, Problem> {
        let origin = Origin::of(url).map_err(|error| Problem::invalid(error.to_string()))?;
        let scope = Scope::new(format!("{}/", self.name), vec![origin], hosts.to_vec());
        self.shared.runtime.egress().fetch(&scope, url.as_str(), ACCEPT, limit).await.map_err(|error| {
            if error.code == "upstream-too-large" {
                return too_large(url.as_str(), limit);
            }
            let problem = Problem::from(error);
            match problem.code.as_str() {
                "denied-address" => {
                    let message =
                        problem.message.split(": add the source").next().unwrap_or_default().to_owned();
                    let host =
                        Origin::of(url).map(|origin| origin.host_port().to_string()).unwrap_or_default();
                    Problem { message, ..problem }
                        .hint(format!("if you mean that host, add --allow-host {host}"))
                }
                "connect-failed" => problem.hint("check the URL, and that the server is up"),
                _ => problem,
            }
        })
    }
}

fn too_large(place: &str, limit: usize) -> Problem {
    Problem::new(
        ProblemKind::Unprocessable,
        "document-too-large",
        format!("{place} is larger than {} MiB", limit >> 20),
    )
    .hint("limits.document_mib in config.toml raises the limit, up to 256")
}

fn given(input: &DocumentInput, limit: usize) -> Result<Found, Problem> {
    let name = input.name.clone();
    let body = BASE64
        .decode(&input.content_base64)
        .map_err(|error| Problem::invalid(format!("content_base64 is not base64: {error}")))?;
    if body.len() > limit {
        return Err(too_large(name.as_deref().unwrap_or("the document"), limit));
    }
    let document = Document { url: None, media_type: None, body };
    Ok(Found { url: None, status: None, headers: Vec::new(), document, refusal: None, name })
}

fn redirect(url: &Url, fetched: &Fetched) -> Option<Url> {
    matches!(fetched.status, 301 | 302 | 303 | 307 | 308)
        .then(|| fetched.header("location").and_then(|location| url.join(location).ok()))
        .flatten()
}

/// Why an answer is no document.
fn refusal(url: &Url, status: u16) -> Option<Problem> {
    let hint = match status {
        200..=299 => return None,
        401 | 403 => "the document itself asks for credentials: download it, and add the file",
        404 | 410 => "check the URL; API descriptions often lie at …/openapi.json",
        _ => "try again, or download the document and add the file",
    };
    let message = format!("{url} answered {status}");
    Some(Problem::new(ProblemKind::Upstream, "document-unavailable", message).hint(hint))
}

/// What was fetched, a document or not.
fn found(url: &Url, fetched: Fetched) -> Found {
    let refusal = refusal(url, fetched.status);
    let media_type = fetched.header("content-type").map(str::to_owned);
    let mut shown = url.clone();
    shown.set_query(None);
    let document = Document { url: Some(shown.to_string()), media_type, body: fetched.body };
    Found {
        url: Some(url.to_string()),
        status: Some(fetched.status),
        headers: fetched.headers,
        document,
        refusal,
        name: None,
    }
}
