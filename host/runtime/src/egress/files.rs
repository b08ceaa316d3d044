//! A document that was given as several files: an adapter reads them as it
//! reads what a server has, and nothing leaves for it.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, Method};
use percent_encoding::percent_decode_str;
use url::Url;

use super::body::Body;
use super::{Answer, EgressError};

/// Where the files are: a name that no resolver may ever know (RFC 6761,
/// section 6.4).
const ORIGIN: &str = "https://document.invalid";
/// What their paths begin with, so that a reference that leads out of the tree
/// leads to none of them.
const TREE: &str = "/~/";

/// The files of one document, by path from the directory that holds them all.
#[derive(Debug, Clone, Default)]
pub struct DocumentFiles(BTreeMap<String, Bytes>);

impl DocumentFiles {
    /// From paths, as `schemas/Pet.yaml`, and what is there.
    pub fn new(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        Self(files.into_iter().map(|(path, body)| (path, body.into())).collect())
    }

    /// The origin at which they seem to be.
    pub fn origin() -> &'static str {
        ORIGIN
    }

    /// The URL at which one of them seems to be.
    pub fn url(path: &str) -> String {
        let mut url = Url::parse(ORIGIN).expect("a constant");
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.clear().extend(TREE.trim_matches('/').split('/')).extend(path.split('/'));
        }
        url.to_string()
    }

    /// Their paths and what is there.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(path, body)| (path.as_str(), body.as_ref()))
    }

    /// The answer to a request for one of them; none where it is for somebody
    /// else.
    pub(super) fn answer(&self, method: &Method, url: &Url) -> Option<Result<Answer, EgressError>> {
        (url.origin().ascii_serialization() == ORIGIN).then(|| self.read(method, url.path()))
    }

    fn read(&self, method: &Method, path: &str) -> Result<Answer, EgressError> {
        if *method != Method::GET {
            return Err(EgressError::new("denied-method", "the files of a document are read by GET alone"));
        }
        let path = percent_decode_str(path).decode_utf8_lossy();
        let Some(inside) = path.strip_prefix(TREE) else {
            let outside = path.trim_start_matches('/');
            let message = format!(
                "{outside} is not in the directory of the document: `--root DIR` names one that holds both"
            );
            return Err(EgressError::new("denied-origin", message));
        };
        let Some(body) = self.0.get(inside) else {
            return Err(EgressError::new("not-found", format!("there is no file {inside}")));
        };
        Ok(Answer { status: 200, headers: HeaderMap::new(), body: Body::of(body.clone()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_its_url_and_nothing_beside_the_tree() {
        let files = DocumentFiles::new([
            ("a b/ö+.yaml".to_owned(), b"one".to_vec()),
            ("top.json".to_owned(), b"two".to_vec()),
        ]);
        let ask = |method: Method, url: &str| {
            let url = Url::parse(url).expect("a URL");
            let answer = files.answer(&method, &url);
            answer.map(|answer| answer.map_or_else(|error| error.message, |found| found.status.to_string()))
        };
        let get = |url: &str| ask(Method::GET, url);
        assert_eq!(DocumentFiles::url("a b/ö+.yaml"), "https://document.invalid/~/a%20b/%C3%B6+.yaml");
        for found in ["a b/ö+.yaml", "a%20b/%c3%b6%2B.yaml", "a b/../top.json", "top.json?x#y"] {
            assert_eq!(
                get(&format!("https://document.invalid/~/{found}")).as_deref(),
                Some("200"),
                "{found}"
            );
        }
        let missing = get("https://document.invalid/~/top.yaml");
        assert_eq!(missing.as_deref(), Some("there is no file top.yaml"));
        let base = Url::parse("https://document.invalid/~/openapi.yaml").expect("a URL");
        for outside in ["../top.json", "../../~top.json", "..%2ftop.json/../../x", "/top.json"] {
            let url = base.join(outside).expect("a URL");
            let said = get(url.as_str()).unwrap_or_default();
            assert!(said.contains("--root DIR"), "{outside}: {said}");
        }
        let posted = ask(Method::POST, "https://document.invalid/~/top.json").unwrap_or_default();
        assert!(posted.contains("GET alone"), "{posted}");
        for other in ["http://document.invalid/~/top.json", "https://document.invalid:8443/~/top.json"] {
            assert_eq!(get(other), None, "{other} is another origin");
        }
    }
}
