//! What one guest call may reach, and what it did reach.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use executor_telemetry::Place;
use http::Method;
use url::Url;

use super::{Credential, DocumentFiles, EgressError, HostPort, Location, Origin, Outgoing};

/// Requests that one call may make.
const REQUESTS: usize = 1_000;

/// An upstream that refuses what was renewed so recently refuses whatever it
/// is given.
const RENEWAL_APART: Duration = Duration::from_secs(30);

/// Which methods may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MethodRule {
    /// GET, HEAD and OPTIONS: the call passed as a read.
    #[default]
    Safe,
    /// Those and POST: a read of a kind that reads by POST.
    SafeOrPost,
    /// Any.
    Any,
}

/// Whether requests are shown instead of sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Capture {
    /// They are sent.
    #[default]
    Off,
    /// The first that could change something is shown: an approval's preview.
    Unsafe,
    /// The first is shown: a dry run.
    All,
}

/// A request that was not sent, as a person is shown it. Credentials are
/// named, never shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPreview {
    /// The method.
    pub method: String,
    /// The URL.
    pub url: String,
    /// Its headers; a credential's value reads `[connection NAME]`.
    pub headers: Vec<(String, String)>,
    /// Its body as text, or what it is.
    pub body: Option<String>,
}

/// A request that left.
#[derive(Debug, Clone)]
pub struct RequestRecord {
    /// The method.
    pub method: String,
    /// Where to.
    pub origin: String,
    /// The path, without query.
    pub path: String,
    /// The answer's status, if there was one.
    pub status: Option<u16>,
    /// Why there was none.
    pub error: Option<&'static str>,
    /// What a 401 or 403 says that it wants: the header `WWW-Authenticate`.
    pub challenge: Option<String>,
    /// From the first byte out to the answer's headers, in microseconds.
    pub duration_us: u64,
}

/// Hears of every request that left.
pub type Observer = Arc<dyn Fn(RequestRecord) + Send + Sync>;

/// The reach of one guest call.
#[derive(Clone, Default)]
pub struct Scope {
    /// Whose connections these are: workspace and source.
    pub pool: String,
    /// The origins that requests may go to.
    pub origins: Vec<Origin>,
    /// Hosts whose special addresses were granted.
    pub allowed_hosts: Vec<HostPort>,
    /// What the host places.
    pub credential: Option<Credential>,
    /// Which methods may leave.
    pub methods: MethodRule,
    /// Whether requests are shown instead.
    pub capture: Capture,
    /// Hears of requests.
    pub observer: Option<Observer>,
    /// What is read of the document that is indexed, where that is several
    /// files: no request leaves for them.
    pub files: Option<Arc<DocumentFiles>>,
    /// Where the spans of requests go.
    pub trace: Place,
    state: Arc<ScopeState>,
}

#[derive(Default)]
struct ScopeState {
    requests: AtomicUsize,
    captured: Mutex<Option<RequestPreview>>,
    /// What the credential was renewed to, for the requests that follow, and
    /// when.
    renewed: Mutex<Option<(Credential, Instant)>>,
}

impl Scope {
    /// What reads of these origins may reach, without a credential.
    pub fn new(pool: String, origins: Vec<Origin>, allowed_hosts: Vec<HostPort>) -> Self {
        Self { pool, origins, allowed_hosts, ..Self::default() }
    }

    /// The request that was shown instead of sent.
    pub fn captured(&self) -> Option<RequestPreview> {
        self.state.captured.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Where a request would go, its origin and path, if it may.
    pub(crate) fn reaches(&self, outgoing: &Outgoing) -> Result<(Origin, String), EgressError> {
        let (url, method) = outgoing.target()?;
        Ok((self.within(&url, &method)?, url.path().to_owned()))
    }

    /// Checks where a request goes and what it may do there, and counts it.
    pub(super) fn admit(&self, url: &Url, method: &Method) -> Result<Origin, EgressError> {
        let origin = self.within(url, method)?;
        if self.state.requests.fetch_add(1, Ordering::Relaxed) >= REQUESTS {
            return Err(EgressError::new(
                "too-many-requests",
                format!("one call may make {REQUESTS} requests"),
            ));
        }
        Ok(origin)
    }

    fn within(&self, url: &Url, method: &Method) -> Result<Origin, EgressError> {
        let origin =
            Origin::of(url).map_err(|error| EgressError::new("invalid-request", error.to_string()))?;
        if !self.origins.contains(&origin) {
            let known: Vec<String> = self.origins.iter().map(Origin::to_string).collect();
            return Err(EgressError::new(
                "denied-origin",
                format!(
                    "{origin} is not an origin of this source (it has: {}); `executor sources set NAME --allow-origin {origin}` would allow it",
                    if known.is_empty() { "none".into() } else { known.join(", ") }
                ),
            ));
        }
        if matches!(*method, Method::CONNECT | Method::TRACE) {
            return Err(EgressError::new("denied-method", format!("{method} is never sent")));
        }
        let reads = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        let allowed = match self.methods {
            MethodRule::Any => true,
            MethodRule::Safe => reads,
            MethodRule::SafeOrPost => reads || *method == Method::POST,
        };
        if !allowed {
            return Err(EgressError::new(
                "denied-method",
                format!("the tool says that it only reads, so {method} is refused"),
            ));
        }
        Ok(origin)
    }

    /// The credential, where it may travel to this origin.
    pub(super) fn credential_for(&self, origin: &Origin) -> Option<Credential> {
        let renewed = self.state.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        let credential = renewed.as_ref().map(|(credential, _)| credential).or(self.credential.as_ref());
        credential.cloned().filter(|credential| credential.origins.contains(origin))
    }

    /// Refuses to place a credential into a request that anybody on its way
    /// can read (RFC 6750, section 5.3), unless its host was granted.
    pub(super) fn expect_sealed(
        &self,
        origin: &Origin,
        credential: &Credential,
        named: Option<&[String]>,
    ) -> Result<(), EgressError> {
        if credential.placed(named).is_empty()
            || origin.is_https()
            || self.allowed_hosts.contains(&origin.host_port())
        {
            return Ok(());
        }
        let host = origin.host_port();
        Err(EgressError::new(
            "denied-origin",
            format!(
                "{origin} is not https, so that a credential would travel in the open; `executor sources set NAME --allow-host {host}` would allow it"
            ),
        ))
    }

    /// The credential after an upstream refused the one that was sent; none
    /// where there is no newer one, or what ages of it was not placed.
    pub(super) async fn renewed(
        &self,
        origin: &Origin,
        sent: &Credential,
        named: Option<&[String]>,
    ) -> Option<Credential> {
        let newest = self.credential_for(origin)?;
        let renewal = newest.renewal.as_ref()?;
        if !sent.placed(named).contains(&renewal.method) {
            return None;
        }
        // Another request of the call was refused before, and had it renewed.
        if newest.generation > sent.generation {
            return Some(newest);
        }
        if self.renewed_since().is_some_and(|since| since < RENEWAL_APART) {
            return None;
        }
        let renewed = (renewal.ask)().await?;
        *self.state.renewed.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((renewed.clone(), Instant::now()));
        Some(renewed).filter(|credential| credential.origins.contains(origin))
    }

    fn renewed_since(&self) -> Option<Duration> {
        let renewed = self.state.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        renewed.as_ref().map(|(_, at)| at.elapsed())
    }

    pub(super) fn captures(&self, method: &Method) -> bool {
        match self.capture {
            Capture::Off => false,
            Capture::Unsafe => !method.is_safe(),
            Capture::All => true,
        }
    }

    pub(super) fn capture(&self, outgoing: &Outgoing, method: &Method, url: &Url) -> EgressError {
        let preview = RequestPreview {
            method: method.to_string(),
            url: self.shown_url(url),
            headers: self.shown_headers(outgoing),
            body: shown_body(&outgoing.body),
        };
        let mut captured = self.state.captured.lock().unwrap_or_else(PoisonError::into_inner);
        captured.get_or_insert(preview);
        EgressError::new("captured", "the request is shown, not sent")
    }

    fn shown_url(&self, url: &Url) -> String {
        let mut url = url.clone();
        for placement in self.placements(&url, Location::Query) {
            url.query_pairs_mut().append_pair(&placement.0, &placement.1);
        }
        url.to_string()
    }

    fn shown_headers(&self, outgoing: &Outgoing) -> Vec<(String, String)> {
        let own = outgoing.headers.iter();
        let mut headers: Vec<(String, String)> = own
            .map(|(name, value)| (name.to_ascii_lowercase(), String::from_utf8_lossy(value).into_owned()))
            .collect();
        if let Ok(url) = Url::parse(&outgoing.url) {
            headers.extend(self.placements(&url, Location::Header));
            headers.extend(self.placements(&url, Location::Cookie));
        }
        headers
    }

    /// Names of what the credential would place, with the connection's name
    /// instead of the value.
    fn placements(&self, url: &Url, location: Location) -> Vec<(String, String)> {
        let credential = Origin::of(url).ok().and_then(|origin| self.credential_for(&origin));
        let Some(credential) = credential else {
            return Vec::new();
        };
        let methods =
            credential.methods.iter().filter(|method| credential.default_methods.contains(&method.id));
        methods
            .flat_map(|method| &method.placements)
            .filter(|placement| placement.location == location)
            .map(|placement| {
                (placement.name.to_ascii_lowercase(), format!("[connection {}]", credential.connection))
            })
            .collect()
    }

    pub(crate) fn observe(&self, record: RequestRecord) {
        if let Some(observer) = &self.observer {
            observer(record);
        }
    }

    pub(super) fn pool_key(&self) -> String {
        let mut hosts: Vec<String> = self.allowed_hosts.iter().map(HostPort::to_string).collect();
        hosts.sort();
        format!("{} {}", self.pool, hosts.join(" "))
    }
}

/// The longest body that a preview shows.
const SHOWN_BODY_BYTES: usize = 64 * 1024;

fn shown_body(body: &[u8]) -> Option<String> {
    match std::str::from_utf8(body) {
        Ok("") => None,
        Ok(text) if text.len() <= SHOWN_BODY_BYTES => Some(text.to_owned()),
        _ => Some(format!("[{} bytes]", body.len())),
    }
}
