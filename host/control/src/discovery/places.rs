//! Looks for a description where the URL that a person gave is none: where its
//! answer says that one is, then in the usual places of its origin. Bounded,
//! and never at another origin, which is told instead.

use executor_runtime::HostPort;
use futures::future::join_all;
use url::Url;

use super::references::{References, Referring};
use super::{CONFIDENCE, Tell, repository, surest, tags, without_query};
use crate::detection::Candidate;
use crate::document::Found;
use crate::problem::Problem;
use crate::workspace::Workspace;

/// Where descriptions usually lie, and where endpoints are; RFC 9727 has the
/// first.
const USUAL: [&str; 8] = [
    CATALOGUE,
    "/openapi.json",
    "/openapi.yaml",
    "/swagger.json",
    "/v3/api-docs",
    "/api-docs",
    "/graphql",
    "/mcp",
];
const CATALOGUE: &str = "/.well-known/api-catalog";
/// Places that are asked in words of their own, so that any answer counts.
const ENDPOINTS: [&str; 2] = ["/graphql", "/mcp"];

/// What a place that nobody named has to be taken for.
const CONFIDENCE_OF_A_PLACE: u8 = 70;

/// References that are followed from one answer.
const FOLLOWED: usize = 3;
/// How far references to references are followed.
const HOPS: usize = 2;
/// APIs and foreign places that are told.
const TOLD: usize = 10;

/// What was seen around a URL.
#[derive(Default)]
pub(super) struct Around {
    pub(super) sighted: Option<(Found, Vec<Candidate>)>,
    pub(super) notes: Vec<String>,
}

impl Workspace {
    pub(super) async fn look_around(
        &self,
        found: &Found,
        hosts: &[HostPort],
        tell: Tell<'_>,
    ) -> Result<Around, Problem> {
        let mut around = Around::default();
        let (Some(asked), Some(at)) = (&found.asked, found.at()) else {
            return Ok(around);
        };
        // A forge has many people's files, and one that is asked too often
        // would rather not be asked again.
        if found.status == Some(429) || repository::raw(&at).is_some() {
            return Ok(around);
        }
        let home = home(asked, &at);
        let mut references = References::default();
        let (headers, body) = (found.headers.as_slice(), found.document.body.as_slice());
        references.add(&Referring { at: &at, headers, body, is_hop: false });
        if self.follow(&home, references, hosts, &mut around).await? {
            return Ok(around);
        }
        tell(&format!("looking in the usual places of {}", home.origin().ascii_serialization()));
        let mut found = self.look_at_all(usual(&home), hosts).await;
        let catalogue =
            found.iter().position(|one| is_place(one, CATALOGUE)).map(|index| found.remove(index));
        if let Some(catalogue) = catalogue.filter(Found::is_success) {
            let mut references = References::default();
            refer(&catalogue, &mut references);
            if self.follow(&home, references, hosts, &mut around).await? {
                return Ok(around);
            }
        }
        found.retain(is_worth_asking);
        around.take(self.surest_of(found, hosts).await?, CONFIDENCE_OF_A_PLACE, "");
        Ok(around)
    }

    /// Follows what an answer refers to. Whether that settles it: a description
    /// was found, or there are several.
    async fn follow(
        &self,
        home: &Url,
        mut references: References,
        hosts: &[HostPort],
        around: &mut Around,
    ) -> Result<bool, Problem> {
        let is_own = |url: &Url| url.origin() == home.origin();
        let mut foreign = references.take_foreign(&is_own);
        for _ in 0..HOPS {
            let hops: Vec<Url> = references.hops.drain(..).take(FOLLOWED).collect();
            for answer in self.look_at_all(hops, hosts).await {
                refer(&answer, &mut references);
            }
            foreign.extend(references.take_foreign(&is_own));
        }
        for url in foreign.iter().take(TOLD) {
            let shown = without_query(url);
            around.notes.push(format!(
                "{shown} is named as its description, at another origin: add that URL if you mean it"
            ));
        }
        if references.apis.len() > 1 {
            let listed: Vec<String> = references.apis.iter().take(TOLD).map(without_query).collect();
            around.notes.push(format!("there are several descriptions: add one of {}", listed.join(", ")));
            return Ok(true);
        }
        let named = references.descriptions.into_iter().chain(references.apis).take(FOLLOWED).collect();
        let found = self.look_at_all(named, hosts).await;
        around.take(self.surest_of(found, hosts).await?, CONFIDENCE, ", which it names");
        Ok(around.sighted.is_some())
    }

    async fn look_at_all(&self, places: Vec<Url>, hosts: &[HostPort]) -> Vec<Found> {
        let looking = places.into_iter().map(|place| self.look_at(place, hosts));
        join_all(looking).await.into_iter().flatten().collect()
    }

    /// The answer that an adapter is surest of; of several the first.
    async fn surest_of(
        &self,
        found: Vec<Found>,
        hosts: &[HostPort],
    ) -> Result<Option<(Found, Vec<Candidate>)>, Problem> {
        let mut best: Option<(Found, Vec<Candidate>)> = None;
        for one in found {
            let candidates = self.candidates(&one, hosts).await?;
            if surest(&candidates) > best.as_ref().map_or(0, |(_, known)| surest(known)) {
                best = Some((one, candidates));
            }
        }
        Ok(best)
    }
}

impl Around {
    /// What is told where looking around took too long.
    pub(super) fn slow() -> Self {
        let told = "the usual places of its origin are too slow to be looked at";
        Self { sighted: None, notes: vec![told.to_owned()] }
    }

    /// Takes the surest answer where it is sure enough, and tells of it.
    fn take(&mut self, surest: Option<(Found, Vec<Candidate>)>, at_least: u8, why: &str) {
        let Some((found, candidates)) = surest else { return };
        let Some(first) = candidates.first() else { return };
        let (kind, confidence) = (first.kind.clone(), first.detection.confidence);
        let place = found.place();
        if confidence >= at_least {
            self.notes.push(format!("found {place}{why}"));
            self.sighted = Some((found, candidates));
        } else if confidence >= CONFIDENCE {
            self.notes.push(format!("{place} may be {kind} ({confidence}%): add that URL if you mean it"));
        }
    }
}

fn refer(answer: &Found, references: &mut References) {
    if let Some(at) = answer.at().filter(|_| answer.is_success()) {
        let (headers, body) = (answer.headers.as_slice(), answer.document.body.as_slice());
        references.add(&Referring { at: &at, headers, body, is_hop: true });
    }
}

/// The URL whose origin is looked at: the one that the person gave, or what it
/// is over TLS where it leads there.
fn home(asked: &Url, at: &Url) -> Url {
    let upgraded = asked.scheme() == "http"
        && at.scheme() == "https"
        && asked.host() == at.host()
        && asked.port().is_none()
        && at.port().is_none();
    if upgraded { at.clone() } else { asked.clone() }
}

/// The usual places of an origin, and one below the path that was given.
fn usual(home: &Url) -> Vec<Url> {
    let mut below = home.path().trim_end_matches('/').to_owned();
    if !below.is_empty() {
        below.push_str("/openapi.json");
    }
    let paths = USUAL.iter().copied().chain([below.as_str()]).filter(|path| !path.is_empty());
    let at = |path: &str| {
        let mut place = home.clone();
        place.set_path(path);
        place.set_query(None);
        place.set_fragment(None);
        place
    };
    paths.map(at).filter(|place| place.path() != home.path()).collect()
}

fn is_place(found: &Found, path: &str) -> bool {
    found.asked.as_ref().is_some_and(|asked| asked.path() == path)
}

/// Many servers answer every path with one page, and that page is no
/// description.
fn is_worth_asking(found: &Found) -> bool {
    let is_endpoint = ENDPOINTS.iter().any(|path| is_place(found, path));
    let is_missing = matches!(found.status, Some(404 | 410 | 500..=599));
    if is_endpoint {
        !is_missing
    } else {
        found.is_success() && !tags::is_page(&tags::text(&found.document.body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn the_places_are_those_of_one_origin() {
        let places = usual(&url("https://a.example:8443/api/v3/?key=secret"));
        assert_eq!(places.len(), USUAL.len() + 1);
        assert!(places.iter().all(|place| place.origin() == url("https://a.example:8443").origin()));
        assert!(places.iter().all(|place| place.query().is_none()));
        assert_eq!(places.last().unwrap().path(), "/api/v3/openapi.json");
        assert_eq!(usual(&url("https://a.example/graphql")).len(), USUAL.len(), "it was asked already");
        assert_eq!(usual(&url("https://a.example")).len(), USUAL.len());
    }

    #[test]
    fn another_origin_is_not_looked_at() {
        let check = |asked: &str, at: &str, expect: &str| {
            assert_eq!(home(&url(asked), &url(at)).as_str(), expect, "{asked}");
        };
        check("http://a.example/x", "https://a.example/y", "https://a.example/y");
        check("https://a.example/x", "https://b.example/y", "https://a.example/x");
        check("http://a.example:8080/", "https://a.example/", "http://a.example:8080/");
    }

    #[test]
    fn pages_that_answer_every_path_are_passed_over() {
        let worth = |place: &str, status: u16, body: &str| {
            is_worth_asking(&Found::answered(place, place, status, &[], body))
        };
        assert!(worth("https://a.example/openapi.json", 200, "{}"));
        assert!(!worth("https://a.example/openapi.json", 200, "<!doctype html><html>"));
        assert!(!worth("https://a.example/openapi.json", 401, "{}"));
        assert!(worth("https://a.example/graphql", 400, "{}") && worth("https://a.example/mcp", 405, ""));
        assert!(!worth("https://a.example/mcp", 404, ""));
    }
}
