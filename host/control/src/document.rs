//! Where a source's document comes from: a URL, fetched through the egress,
//! or files that the person gave.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use executor_runtime::{Document, DocumentFiles, Fetched, HostPort, Origin, Outgoing, Scope};
use executor_store::Digest;
use serde::Deserialize;
use url::Url;
use utoipa::ToSchema;

use crate::problem::{Problem, ProblemKind};
use crate::workspace::Workspace;

/// Redirects that are followed to a document, each checked like the first.
const REDIRECTS: usize = 5;

/// Redirects that are followed where a description is looked for.
const LOOKING_REDIRECTS: usize = 2;

/// Time for an answer where a description is looked for.
const LOOKING_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of an answer where a description is looked for, since several are
/// read at one time.
const LOOKING_BYTES: usize = 16 << 20;

/// What is asked for; descriptions are JSON or YAML.
const ACCEPT: &str = "application/json, application/yaml;q=0.9, text/yaml;q=0.9, */*;q=0.5";

/// Files that one document may be, and their bytes together.
const FILES: usize = 500;
const FILES_BYTES: usize = 64 * 1024 * 1024;
/// The longest path of a file.
const PATH_BYTES: usize = 1024;

/// A document that the person gave.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentInput {
    /// The file's name; where there are `files`, its path among them.
    #[serde(default)]
    pub name: Option<String>,
    /// Its bytes.
    pub content_base64: String,
    /// The files beside it that it refers to, directly or not: at most 499,
    /// and 64 MiB with the document. Given, even without any, a reference to
    /// what is not among them is warned of.
    #[serde(default)]
    pub files: Option<Vec<DocumentFile>>,
}

/// A file that a document refers to.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentFile {
    /// Its path from the directory that holds them all: `schemas/Pet.yaml`.
    pub path: String,
    /// Its bytes.
    pub content_base64: String,
}

/// A document that is several files.
#[derive(Clone)]
pub(crate) struct Several {
    /// The document's own path.
    pub(crate) own: String,
    /// The others.
    pub(crate) others: Arc<DocumentFiles>,
}

/// What is kept of a document.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) document: Option<Digest>,
    pub(crate) files: Vec<(String, Digest)>,
}

/// A document that was found.
pub(crate) struct Found {
    /// The URL that was asked for first, where it is from a URL.
    pub(crate) asked: Option<Url>,
    /// The whole URL that it was at. Adapters see it without its query, where
    /// people keep tokens.
    pub(crate) url: Option<String>,
    /// The whole URL to fetch it again from: the one that was asked for first,
    /// or where that has moved to for good. Where other redirects lead is of
    /// that moment alone, as a signed link is.
    pub(crate) lasting: Option<String>,
    pub(crate) status: Option<u16>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) document: Document,
    pub(crate) several: Option<Several>,
    name: Option<String>,
}

impl Found {
    /// Where it is from, for messages.
    pub(crate) fn place(&self) -> String {
        self.document.url.clone().or_else(|| self.name.clone()).unwrap_or_else(|| "the document".into())
    }

    /// How its text goes, for messages.
    pub(crate) fn beginning(&self) -> String {
        let body = &self.document.body;
        let head = String::from_utf8_lossy(&body[..body.len().min(60)]);
        let line: String = head.chars().filter(|character| !character.is_control()).collect();
        format!("begins with {line:?}")
    }

    /// Where it was in the end.
    pub(crate) fn at(&self) -> Option<Url> {
        Url::parse(self.url.as_deref()?).ok()
    }

    /// Whether a redirect led to it.
    pub(crate) fn was_redirected(&self) -> bool {
        self.asked.is_some() && self.asked != self.at()
    }

    /// A document that was kept.
    pub(crate) fn stored(media_type: String, body: Vec<u8>, several: Option<Several>) -> Self {
        let document = Document { url: None, media_type: Some(media_type), body };
        Self {
            asked: None,
            url: None,
            lasting: None,
            status: None,
            headers: Vec::new(),
            document,
            several,
            name: None,
        }
    }

    /// What a URL answered in a test.
    #[cfg(test)]
    pub(crate) fn answered(asked: &str, at: &str, status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let fetched = Fetched { status, headers, body: body.as_bytes().to_vec() };
        let asked = Url::parse(asked).unwrap();
        let lasting = asked.clone();
        found(asked, &lasting, &Url::parse(at).unwrap(), fetched)
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

    /// Keeps a document, and the files that it is, by their content.
    pub(crate) async fn keep_document(&self, found: &Found) -> Result<Kept, Problem> {
        let media_type = found.document.media_type.as_deref();
        let document = self.keep_bytes("document", media_type, &found.document.body).await?;
        let mut files = Vec::new();
        if let Some(several) = &found.several {
            files.push((several.own.clone(), document));
            for (path, body) in several.others.iter() {
                files.push((path.to_owned(), self.keep_bytes(path, None, body).await?));
            }
        }
        Ok(Kept { document: Some(document), files })
    }

    async fn keep_bytes(&self, name: &str, media_type: Option<&str>, body: &[u8]) -> Result<Digest, Problem> {
        let mut writer = self.store.blobs().create(Some(name), media_type)?;
        writer.append(body)?;
        Ok(writer.finish(self.shared.now_ms()).await?.digest)
    }

    async fn fetch_document(&self, text: &str, hosts: &[HostPort], limit: usize) -> Result<Found, Problem> {
        let mut url = Url::parse(text).map_err(|error| {
            Problem::invalid(format!("{text:?} is not a URL: {error}"))
                .hint("a URL begins with https://; a file is given by its path")
        })?;
        let (asked, mut lasting) = (url.clone(), url.clone());
        for _ in 0..=REDIRECTS {
            let fetched = self.fetch_once(&url, hosts, limit).await.map_err(|problem| {
                if url == asked {
                    return problem;
                }
                let (from, to) = (shown_url(text), shown_url(url.as_str()));
                Problem { message: format!("{from} redirects to {to}: {}", problem.message), ..problem }
            })?;
            match redirect(&url, &fetched) {
                Some(next) => {
                    lasting = moved_for_good(lasting, &url, &fetched, &next);
                    url = next;
                }
                None => return Ok(found(asked, &lasting, &url, fetched)),
            }
        }
        Err(Problem::new(
            ProblemKind::Upstream,
            "too-many-redirects",
            format!("{} redirects more than {REDIRECTS} times", shown_url(text)),
        ))
    }

    async fn fetch_once(&self, url: &Url, hosts: &[HostPort], limit: usize) -> Result<Fetched, Problem> {
        let origin = Origin::of(url).map_err(|error| Problem::invalid(error.to_string()))?;
        let scope = Scope::new(format!("{}/", self.name), vec![origin], hosts.to_vec());
        self.shared.runtime.egress().fetch(&scope, url.as_str(), ACCEPT, limit).await.map_err(|error| {
            if error.code == "upstream-too-large" {
                return too_large(&shown_url(url.as_str()), limit);
            }
            let problem = Problem::from(error);
            match problem.code.as_str() {
                "denied-address" => {
                    let message = problem
                        .message
                        .split(": `executor sources set")
                        .next()
                        .unwrap_or_default()
                        .to_owned();
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

    /// What is at a place where a description may be, asked shortly, and
    /// nowhere but at that place's origin. None: nothing that answered.
    pub(crate) async fn look_at(&self, place: Url, hosts: &[HostPort]) -> Option<Found> {
        let origin = Origin::of(&place).ok()?;
        let scope = Scope::new(format!("{}/", self.name), vec![origin], hosts.to_vec());
        let limit = LOOKING_BYTES.min(self.shared.settings.document_bytes());
        let (mut url, mut lasting) = (place.clone(), place.clone());
        for _ in 0..=LOOKING_REDIRECTS {
            let egress = self.shared.runtime.egress();
            let asked = egress.ask(&scope, asking(url.as_str()), limit, LOOKING_TIMEOUT).await;
            let fetched = asked.inspect_err(|error| {
                tracing::debug!(url = shown_url(url.as_str()), %error, "nothing was found");
            });
            let fetched = fetched.ok()?;
            match redirect(&url, &fetched) {
                Some(next) => {
                    lasting = moved_for_good(lasting, &url, &fetched, &next);
                    url = next;
                }
                None => return Some(found(place, &lasting, &url, fetched)),
            }
        }
        None
    }
}

fn asking(url: &str) -> Outgoing {
    Outgoing {
        method: "GET".into(),
        url: url.to_owned(),
        headers: vec![("accept".into(), ACCEPT.into()), ("user-agent".into(), b"executor".to_vec())],
        ..Outgoing::default()
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
    let body = decoded(&input.content_base64)?;
    if body.len() > limit {
        return Err(too_large(name.as_deref().unwrap_or("the document"), limit));
    }
    let document = Document { url: None, media_type: None, body };
    let several = input.files.as_ref().map(|files| several(name.as_deref(), &document.body, files));
    let several = several.transpose()?;
    Ok(Found {
        asked: None,
        url: None,
        lasting: None,
        status: None,
        headers: Vec::new(),
        document,
        several,
        name,
    })
}

fn decoded(content: &str) -> Result<Vec<u8>, Problem> {
    let body = BASE64.decode(content);
    body.map_err(|error| Problem::invalid(format!("content_base64 is not base64: {error}")))
}

/// The files of a document, where each is somewhere below one directory.
fn several(name: Option<&str>, document: &[u8], files: &[DocumentFile]) -> Result<Several, Problem> {
    let own = name.unwrap_or("document").to_owned();
    check_path(&own)?;
    if files.len() >= FILES {
        let message = format!("a document is at most {FILES} files, and these are {}", files.len() + 1);
        return Err(Problem::new(ProblemKind::Unprocessable, "document-too-large", message)
            .hint("bundle them into one file"));
    }
    let mut others = BTreeMap::new();
    let mut bytes = document.len();
    for file in files {
        check_path(&file.path)?;
        let body = decoded(&file.content_base64)?;
        bytes += body.len();
        if bytes > FILES_BYTES {
            let message = format!("the document with its files is larger than {} MiB", FILES_BYTES >> 20);
            return Err(Problem::new(ProblemKind::Unprocessable, "document-too-large", message)
                .hint("take the part of the API that is needed"));
        }
        if file.path == own || others.insert(file.path.clone(), body).is_some() {
            return Err(Problem::invalid(format!("the file {:?} is given twice", file.path)));
        }
    }
    Ok(Several { own, others: Arc::new(DocumentFiles::new(others)) })
}

fn check_path(path: &str) -> Result<(), Problem> {
    let fine = |name: &str| {
        !matches!(name, "" | "." | "..") && !name.contains(|c: char| c.is_control() || c == '\\')
    };
    if path.len() <= PATH_BYTES && path.split('/').all(fine) {
        return Ok(());
    }
    let shown: String = path.chars().take(80).collect();
    Err(Problem::invalid(format!("{shown:?} is no path of a file below the document's directory"))
        .hint("for example: schemas/Pet.yaml"))
}

fn redirect(url: &Url, fetched: &Fetched) -> Option<Url> {
    matches!(fetched.status, 301 | 302 | 303 | 307 | 308)
        .then(|| fetched.header("location").and_then(|location| url.join(location).ok()))
        .flatten()
}

/// Where to ask the next time, after a redirect: a chain that was for good so
/// far goes on where this one is (RFC 9110, section 15.4).
fn moved_for_good(lasting: Url, at: &Url, fetched: &Fetched, next: &Url) -> Url {
    if lasting == *at && matches!(fetched.status, 301 | 308) { next.clone() } else { lasting }
}

/// A URL as people and agents are shown it: that it has a query, and not what
/// is in it, where people keep keys.
pub(crate) fn shown_url(url: &str) -> String {
    match url.split_once('?') {
        Some((place, _)) => format!("{place}?…"),
        None => url.to_owned(),
    }
}

/// What was fetched, a document or not.
fn found(asked: Url, lasting: &Url, url: &Url, fetched: Fetched) -> Found {
    let media_type = fetched.header("content-type").map(str::to_owned);
    let mut shown = url.clone();
    shown.set_query(None);
    let document = Document { url: Some(shown.to_string()), media_type, body: fetched.body };
    Found {
        asked: Some(asked),
        url: Some(url.to_string()),
        lasting: Some(lasting.to_string()),
        status: Some(fetched.status),
        headers: fetched.headers,
        document,
        several: None,
        name: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_asked_for_again_where_it_is_for_good() {
        let check = |chain: &[(u16, &str)], expect: &str| {
            let mut at = Url::parse("https://a.example/0").unwrap();
            let mut lasting = at.clone();
            for (status, to) in chain {
                let headers = vec![("location".to_owned(), (*to).to_owned())];
                let fetched = Fetched { status: *status, headers, body: Vec::new() };
                let next = redirect(&at, &fetched).unwrap();
                lasting = moved_for_good(lasting, &at, &fetched, &next);
                at = next;
            }
            assert_eq!(lasting.path(), expect, "{chain:?}");
        };
        check(&[], "/0");
        check(&[(301, "/1"), (308, "/2")], "/2");
        check(&[(302, "/1?signature=x")], "/0");
        check(&[(301, "/1"), (303, "/2"), (301, "/3")], "/1");
        check(&[(307, "/1"), (308, "/0"), (301, "/2")], "/2");
    }

    #[test]
    fn a_query_is_shown_without_what_is_in_it() {
        assert_eq!(shown_url("https://a.example/x.json?key=s"), "https://a.example/x.json?…");
        assert_eq!(shown_url("https://a.example/x.json"), "https://a.example/x.json");
    }
}
