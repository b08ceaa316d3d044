//! Finds out what a URL or a document is, and where an API's description is
//! when the URL itself is none: every adapter is asked, the surest gets it.
//! What nobody takes is explained.

mod challenge;
mod looks;
mod places;
mod references;
mod repository;
mod tags;

use std::collections::BTreeSet;
use std::time::Duration;

use executor_runtime::{Detection, HostPort};
use url::Url;

use crate::detection::{AuthHint, Candidate};
use crate::document::Found;
use crate::problem::{Problem, ProblemKind};
use crate::workspace::Workspace;
use looks::Looks;
use places::Around;

/// A detection below this is a guess, not a finding.
pub(crate) const CONFIDENCE: u8 = 30;

/// How adapters begin what they say of a page.
const A_PAGE: &str = "this is an HTML page";

/// Time for looking around: several places, each of which every adapter is
/// asked about.
const LOOKING_TIMEOUT: Duration = Duration::from_secs(60);

/// Hears what is being done.
pub(crate) type Tell<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// A description, and who takes it.
pub(crate) struct Sighting {
    pub(crate) found: Found,
    /// Surest first; the first is sure enough.
    pub(crate) candidates: Vec<Candidate>,
    /// How it was found, where it was not just there.
    pub(crate) notes: Vec<String>,
}

/// What no adapter takes.
pub(crate) struct Unknown {
    pub(crate) found: Found,
    looks: Looks,
    /// What adapters made of it all the same.
    pub(crate) guesses: Vec<String>,
    /// What was seen elsewhere.
    pub(crate) notes: Vec<String>,
}

/// What discovery came to.
pub(crate) enum Discovered {
    /// A description, or an endpoint that describes itself.
    Source(Sighting),
    /// Neither.
    Unknown(Unknown),
}

impl Workspace {
    /// Finds out what was found, and looks around where that is no
    /// description.
    pub(crate) async fn discover(
        &self,
        found: Found,
        hosts: &[HostPort],
        tell: Tell<'_>,
    ) -> Result<Discovered, Problem> {
        let mut notes = Vec::new();
        notes.extend(moved(&found));
        let candidates = self.candidates(&found, hosts).await?;
        if surest(&candidates) >= CONFIDENCE {
            return Ok(Discovered::Source(Sighting { found, candidates, notes }));
        }
        let looking = tokio::time::timeout(LOOKING_TIMEOUT, self.look_around(&found, hosts, tell));
        let around = looking.await.unwrap_or_else(|_| Ok(Around::slow()))?;
        notes.extend(around.notes);
        if let Some((found, candidates)) = around.sighted {
            return Ok(Discovered::Source(Sighting { found, candidates, notes }));
        }
        let looks = looks::of(&found);
        let guesses = candidates.into_iter().flat_map(|candidate| candidate.detection.warnings);
        // That a page is one is said once.
        let guesses = guesses.filter(|guess| !(looks.is_sure && guess.starts_with(A_PAGE)));
        Ok(Discovered::Unknown(Unknown { guesses: guesses.collect(), looks, found, notes }))
    }

    /// The description to add, and the adapter that it is for: the one that
    /// the person named, whatever it makes of exactly what they gave, else the
    /// surest.
    pub(crate) async fn choose(
        &self,
        found: Found,
        kind: Option<&str>,
        hosts: &[HostPort],
        tell: Tell<'_>,
    ) -> Result<(Found, Candidate, Vec<String>), Problem> {
        if let Some(kind) = kind {
            let candidate = self.named(&found, kind, hosts).await?;
            let notes = moved(&found).into_iter().collect();
            return Ok((found, candidate, notes));
        }
        match self.discover(found, hosts, tell).await? {
            Discovered::Source(Sighting { found, mut candidates, notes }) => {
                Ok((found, candidates.swap_remove(0), notes))
            }
            Discovered::Unknown(unknown) => Err(unknown.problem()),
        }
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

/// How sure the surest is.
fn surest(candidates: &[Candidate]) -> u8 {
    candidates.first().map_or(0, |first| first.detection.confidence)
}

/// Tells of a redirect that led to another origin.
fn moved(found: &Found) -> Option<String> {
    let (asked, at) = (found.asked.as_ref()?, found.at()?);
    let told = || format!("{} redirects to another origin: {}", without_query(asked), without_query(&at));
    (asked.origin() != at.origin()).then(told)
}

/// A URL as people are shown it: queries are where they keep tokens.
fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    shown(url.as_str(), 300)
}

/// A stranger's word, as far as it is shown.
pub(crate) fn shown(text: &str, limit: usize) -> String {
    text.chars().filter(|character| !character.is_control()).take(limit).collect()
}

/// Why what a URL answered is no description.
pub(crate) fn refusal(found: &Found) -> Problem {
    let Looks { what, hint, .. } = looks::of(found);
    let message = format!("{} {what}", found.place());
    Problem::new(ProblemKind::Upstream, "document-unavailable", message).hint(hint)
}

/// How one probably signs in, by what an answer says.
pub(crate) fn auth_hints(found: &Found) -> Vec<AuthHint> {
    let told = challenge::challenges(&found.headers);
    told.iter().map(challenge::Challenge::method).map(|(kind, label)| AuthHint { kind, label }).collect()
}

/// Second labels under which names are registered, as in `example.co.uk`.
/// First-party adapters, which share no code with the host, go by the same.
const SHARED_LABELS: [&str; 7] = ["co", "com", "net", "org", "gov", "ac", "edu"];

/// A name for what nobody names: the label that its host registered.
pub(crate) fn name_of(found: &Found) -> String {
    let host = found.at().and_then(|at| at.domain().map(str::to_owned)).unwrap_or_default();
    let mut labels: Vec<&str> = host.split('.').collect();
    let country = labels.len() > 1 && labels.pop().is_some_and(|last| last.len() == 2);
    if country && labels.len() > 1 && labels.last().is_some_and(|label| SHARED_LABELS.contains(label)) {
        labels.pop();
    }
    let telling = labels.pop().filter(|label| !matches!(*label, "" | "www" | "api"));
    telling.unwrap_or("api").to_owned()
}

impl Unknown {
    /// Why it is no source, in a sentence, and what to do.
    pub(crate) fn problem(self) -> Problem {
        let Self { found, looks, guesses, notes } = self;
        let place = found.place();
        if !found.is_success() {
            let told: Vec<String> = [looks.hint].into_iter().chain(guesses).chain(notes).collect();
            let message = format!("{place} {}", looks.what);
            return Problem::new(ProblemKind::Upstream, "document-unavailable", message)
                .hint(told.join("; "));
        }
        let what = match guesses.as_slice() {
            [] => format!("it {}", looks.what),
            guesses if !looks.is_sure => guesses.join("; "),
            guesses => format!("it {}; {}", looks.what, guesses.join("; ")),
        };
        let told: Vec<String> = [looks.hint].into_iter().chain(notes).collect();
        let message = format!("no adapter knows what {place} is: {what}");
        Problem::new(ProblemKind::Unprocessable, "unknown-document", message).hint(told.join("; "))
    }

    /// The same in sentences of their own.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let own = (self.looks.is_sure || self.guesses.is_empty())
            .then(|| format!("{} {}", self.found.place(), self.looks.what));
        let told = own.into_iter().chain(self.guesses.iter().cloned()).chain(self.notes.iter().cloned());
        told.chain([self.looks.hint.clone()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_the_host_is_called() {
        let check = |url: &str, expect: &str| {
            assert_eq!(name_of(&Found::answered(url, url, 200, &[], "")), expect, "{url}");
        };
        check("https://api.github.com/x", "github");
        check("https://www.example.com/", "example");
        check("http://localhost:1/", "localhost");
        check("http://127.0.0.1:1/", "api");
        check("https://api.example.co.uk/x", "example");
        check("https://www.example.com.au/", "example");
        check("https://co.uk/", "co");
        check("https://api.com/", "api");
    }
}
