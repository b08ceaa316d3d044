//! The one way out: every request of every guest leaves through here.
//!
//! Canonicalise → pinned or granted origin → safe method where a read was
//! promised → credential placed → name resolved once, special addresses
//! refused → pooled client → bounded, decompressed, redacted, recorded.
//! Redirects are never followed. A 401 to a credential that ages has it renewed
//! and the request sent once more.

mod address;
mod body;
mod connect;
mod credential;
mod files;
mod origin;
mod place;
mod redact;
mod scope;
mod sign;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use executor_telemetry::Span;
use executor_telemetry::metrics::{OriginMetrics, metrics};
use executor_telemetry::spans::names;
use http::header::{
    ACCEPT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, SET_COOKIE, WWW_AUTHENTICATE,
};
use http::{Method, Request, Uri};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use url::Url;

pub(crate) use body::{Body, BodyError, IDLE_TIMEOUT};
use connect::{ConnectError, Connector};
pub use credential::{Credential, CredentialMethod, Location, Placement, Renewal, Secret};
pub use files::DocumentFiles;
pub use origin::{HostPort, Origin, OriginError};
use place::Sealing;
use redact::Redactor;
pub use scope::{Capture, MethodRule, Observer, RequestPreview, RequestRecord, Scope};
pub use sign::Signing;

/// Time that an upstream has to begin its answer.
const HEADERS_TIMEOUT: Duration = Duration::from_secs(110);

/// Time for a whole document.
const FETCH_TIMEOUT: Duration = Duration::from_secs(180);

/// Time for the first bytes of a stream of events.
const STREAM_WAIT: Duration = Duration::from_secs(1);

/// Bytes of a URL, before a credential is placed into it.
const URL_BYTES: usize = 32 * 1024;

/// Characters of a challenge that are kept.
const CHALLENGE_CHARS: usize = 1_000;

/// Connections that stay open to one origin.
const IDLE_CONNECTIONS: usize = 32;

/// Headers that a guest may not set: they belong to the connection, or to
/// the credential. `cookie` is not among them, since APIs take parameters by
/// it; a credential's cookies replace a guest's of the same name.
pub(crate) const HOST_HEADERS: [&str; 12] = [
    "authorization",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A request as a guest makes it.
#[derive(Debug, Clone, Default)]
pub struct Outgoing {
    /// GET, POST, …
    pub method: String,
    /// An absolute URL.
    pub url: String,
    /// Its headers.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Its body.
    pub body: Vec<u8>,
    /// Auth methods to place; none: those of the running tool.
    pub auth: Option<Vec<String>>,
}

impl Outgoing {
    /// Where it goes, without a fragment, and its method.
    fn target(&self) -> Result<(Url, Method), EgressError> {
        if self.url.len() > URL_BYTES {
            let message = format!("the URL has {} bytes; at most {URL_BYTES} are sent", self.url.len());
            return Err(EgressError::new("invalid-request", message));
        }
        let mut url = Url::parse(&self.url)
            .map_err(|_| EgressError::new("invalid-request", format!("{:?} is not a URL", self.url)))?;
        url.set_fragment(None);
        let method = Method::from_bytes(self.method.as_bytes())
            .map_err(|_| EgressError::new("invalid-request", format!("{:?} is not a method", self.method)))?;
        Ok((url, method))
    }
}

/// Codes of requests that were refused before they left.
const REFUSALS: [&str; 6] = [
    "denied-origin",
    "denied-address",
    "denied-method",
    "denied-header",
    "too-many-requests",
    "invalid-request",
];

/// An answer; its body is still to be read.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

/// Why a request brought no answer.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct EgressError {
    /// A stable code: `denied-origin`, `denied-address`, `denied-method`,
    /// `denied-header`, `invalid-request`, `too-many-requests`,
    /// `connect-failed`, `timeout`, `outcome-unknown`, `connection-lost`,
    /// `upstream-truncated`, `upstream-too-large`, `captured`.
    pub code: &'static str,
    /// What happened and, for a denial, what would allow it.
    pub message: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
}

impl EgressError {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retryable: false }
    }

    fn retryable(code: &'static str, message: impl Into<String>) -> Self {
        Self { retryable: true, ..Self::new(code, message) }
    }
}

type HttpClient = Client<Connector, Full<Bytes>>;

/// The clients of one daemon: one for each source and set of grants, so that
/// what was granted to one is no open connection of another.
#[derive(Default)]
pub struct Egress {
    clients: Mutex<HashMap<String, HttpClient>>,
}

impl Egress {
    /// Sends one request within what `scope` allows.
    pub(crate) async fn send(&self, scope: &Scope, outgoing: Outgoing) -> Result<Answer, EgressError> {
        let span = scope.trace.span(names::SEND);
        let result = self.send_within(scope, &span, outgoing).await;
        match &result {
            Ok(answer) => {
                span.set("http.response.status_code", answer.status);
                if answer.status >= 400 {
                    span.fail(&answer.status.to_string());
                }
            }
            // Shown instead of sent, as was asked.
            Err(EgressError { code: "captured", .. }) => {}
            Err(error) => {
                span.fail(error.code);
                if REFUSALS.contains(&error.code) {
                    metrics().egress.denied(error.code);
                }
            }
        }
        result
    }

    async fn send_within(
        &self,
        scope: &Scope,
        span: &Span,
        mut outgoing: Outgoing,
    ) -> Result<Answer, EgressError> {
        let (url, method) = outgoing.target()?;
        if let Some(answer) = scope.files.as_ref().and_then(|files| files.answer(&method, &url)) {
            return answer;
        }
        let origin = scope.admit(&url, &method)?;
        describe(span, &method, &url);
        let headers = checked_headers(&outgoing.headers)?;
        if scope.captures(&method) {
            return Err(scope.capture(&outgoing, &method, &url));
        }
        let body = Bytes::from(std::mem::take(&mut outgoing.body));
        let request = Sealing { method, url, headers, body };
        let named = outgoing.auth.as_deref();
        let Some(credential) = scope.credential_for(&origin) else {
            return self.send_once(scope, &origin, request, None, named).await;
        };
        scope.expect_sealed(&origin, &credential, named)?;
        if credential.renewal.is_none() {
            return self.send_once(scope, &origin, request, Some(&credential), named).await;
        }
        let answer = self.send_once(scope, &origin, request.clone(), Some(&credential), named).await?;
        if answer.status != 401 {
            return Ok(answer);
        }
        match scope.renewed(&origin, &credential, named).await {
            Some(renewed) => self.send_once(scope, &origin, request, Some(&renewed), named).await,
            None => Ok(answer),
        }
    }

    async fn send_once(
        &self,
        scope: &Scope,
        origin: &Origin,
        mut request: Sealing,
        credential: Option<&Credential>,
        named: Option<&[String]>,
    ) -> Result<Answer, EgressError> {
        let sending = Sending::new(scope, &request.method, origin, request.url.path());
        if let Some(credential) = credential {
            credential
                .place(&mut request, named)
                .map_err(|error| EgressError::new("invalid-request", error.to_string()))?;
        }
        let Sealing { method, url, headers, body } = request;
        sending.metrics.sent(body.len());
        let mut request = Request::new(Full::new(body));
        *request.headers_mut() = headers;
        *request.method_mut() = method.clone();
        *request.uri_mut() = uri(&url)?;
        let redactor = credential.map(Credential::redactor).unwrap_or_default();
        let result = self.exchange(scope, &method, request, redactor, &sending.metrics).await;
        sending.ended(&result);
        result
    }

    /// Gets a document: a plain GET, its body read as far as `limit` bytes.
    ///
    /// # Errors
    /// When it is denied, can't be reached, or is larger.
    pub async fn fetch(
        &self,
        scope: &Scope,
        url: &str,
        accept: &str,
        limit: usize,
    ) -> Result<Fetched, EgressError> {
        let outgoing = Outgoing {
            method: "GET".into(),
            url: url.to_owned(),
            headers: vec![("accept".into(), accept.into()), ("user-agent".into(), b"executor".to_vec())],
            ..Outgoing::default()
        };
        self.ask(scope, outgoing, limit, FETCH_TIMEOUT).await
    }

    /// Sends a request of the host's own and reads its answer as far as
    /// `limit` bytes; of a stream of events its first bytes.
    ///
    /// # Errors
    /// As [`Self::fetch`], and when the whole takes longer than `timeout`.
    pub async fn ask(
        &self,
        scope: &Scope,
        outgoing: Outgoing,
        limit: usize,
        timeout: Duration,
    ) -> Result<Fetched, EgressError> {
        let safe = matches!(outgoing.method.as_str(), "GET" | "HEAD" | "OPTIONS");
        let whole = async {
            let mut answer = self.send(scope, outgoing).await?;
            let body = if is_stream(&answer.headers) {
                // It may stay open for as long as somebody listens.
                let begun = answer.body.read(limit, STREAM_WAIT).await.map_err(body_error)?;
                begun.unwrap_or_default()
            } else {
                answer.body.read_all(limit).await.map_err(body_error)?
            };
            Ok((answer, body))
        };
        let slow = |_| EgressError {
            retryable: safe,
            ..EgressError::new("timeout", format!("no whole answer within {} s", timeout.as_secs()))
        };
        let (answer, body) = tokio::time::timeout(timeout, whole).await.map_err(slow)??;
        let headers = answer.headers.iter().map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        Ok(Fetched { status: answer.status, headers: headers.collect(), body })
    }

    async fn exchange(
        &self,
        scope: &Scope,
        method: &Method,
        request: Request<Full<Bytes>>,
        redactor: Redactor,
        metrics: &Arc<OriginMetrics>,
    ) -> Result<Answer, EgressError> {
        let client = self.client(scope);
        let sent = tokio::time::timeout(HEADERS_TIMEOUT, client.request(request)).await;
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(request_error(method, &error)),
            Err(_) => {
                return Err(no_answer(
                    method,
                    "timeout",
                    format!("no answer within {} s", HEADERS_TIMEOUT.as_secs()),
                ));
            }
        };
        let (parts, incoming) = response.into_parts();
        let mut headers = parts.headers;
        headers.remove(SET_COOKIE);
        for value in headers.values_mut() {
            let clean = redactor.text(value.as_bytes());
            if clean != value.as_bytes() {
                *value = HeaderValue::from_bytes(&clean)
                    .unwrap_or_else(|_| HeaderValue::from_static("[redacted]"));
            }
        }
        let body = Body::new(&mut headers, incoming, redactor, method.is_safe(), metrics.clone());
        Ok(Answer { status: parts.status.as_u16(), headers, body })
    }

    fn client(&self, scope: &Scope) -> HttpClient {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(Duration::from_secs(60))
                .pool_max_idle_per_host(IDLE_CONNECTIONS)
                .build(Connector::new(&scope.allowed_hosts))
        };
        clients.entry(scope.pool_key()).or_insert_with(make).clone()
    }

    /// Closes the idle connections of a source that was removed or changed.
    pub fn forget(&self, pool: &str) {
        let prefix = format!("{pool} ");
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.retain(|key, _| !key.starts_with(&prefix));
    }
}

/// A request under way: whether it ends or is dropped, it is recorded.
struct Sending<'a> {
    scope: &'a Scope,
    record: Option<RequestRecord>,
    metrics: Arc<OriginMetrics>,
    begun: Instant,
}

impl<'a> Sending<'a> {
    fn new(scope: &'a Scope, method: &Method, origin: &Origin, path: &str) -> Self {
        let record = RequestRecord {
            method: method.to_string(),
            origin: origin.to_string(),
            path: path.to_owned(),
            status: None,
            error: Some("dropped"),
            challenge: None,
            duration_us: 0,
        };
        let metrics = metrics().egress.origin(&record.origin);
        Self { scope, record: Some(record), metrics, begun: Instant::now() }
    }

    fn ended(mut self, result: &Result<Answer, EgressError>) {
        if let Some(record) = &mut self.record {
            record.status = result.as_ref().ok().map(|answer| answer.status);
            record.error = result.as_ref().err().map(|error| error.code);
            record.challenge = result.as_ref().ok().and_then(challenge);
        }
    }
}

/// Whether an answer is a stream of events.
fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}

/// What an upstream says that it wants instead (RFC 9110, section 11.6.1).
fn challenge(answer: &Answer) -> Option<String> {
    if !matches!(answer.status, 401 | 403) {
        return None;
    }
    let value = answer.headers.get(WWW_AUTHENTICATE)?.to_str().ok()?;
    Some(value.chars().take(CHALLENGE_CHARS).collect())
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        if let Some(mut record) = self.record.take() {
            let took = self.begun.elapsed();
            self.metrics.answered(&record.method, record.status, took);
            record.duration_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            self.scope.observe(record);
        }
    }
}

/// A document that was fetched.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The status.
    pub status: u16,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body, decompressed.
    pub body: Vec<u8>,
}

impl Fetched {
    /// The first header of a name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

pub(crate) fn body_error(error: BodyError) -> EgressError {
    match error {
        BodyError::Idle { safe } => {
            EgressError { retryable: safe, ..EgressError::new("timeout", error.to_string()) }
        }
        BodyError::TooLarge => EgressError::new("upstream-too-large", error.to_string()),
        BodyError::Truncated { safe, .. } => {
            EgressError { retryable: safe, ..EgressError::new("upstream-truncated", error.to_string()) }
        }
    }
}

/// Says where a request goes. Its path and query are the upstream's, and a
/// guest may have put anything into them: they are not told.
fn describe(span: &Span, method: &Method, url: &Url) {
    span.set("http.request.method", method.as_str());
    span.set("server.address", url.host_str().unwrap_or_default());
    if let Some(port) = url.port_or_known_default() {
        span.set("server.port", port);
    }
}

fn checked_headers(headers: &[(String, Vec<u8>)]) -> Result<HeaderMap, EgressError> {
    let mut checked = HeaderMap::with_capacity(headers.len() + 2);
    for (name, value) in headers {
        let invalid = |what: &str| EgressError::new("invalid-request", format!("header {name:?} {what}"));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid("has no valid name"))?;
        if HOST_HEADERS.contains(&name.as_str()) {
            return Err(EgressError::new(
                "denied-header",
                format!("header {name:?} is set by the host alone"),
            ));
        }
        let value =
            HeaderValue::from_bytes(value).map_err(|_| invalid("holds a line break or control character"))?;
        checked.append(name, value);
    }
    checked.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, br, deflate"));
    checked.remove(HOST);
    Ok(checked)
}

fn uri(url: &Url) -> Result<Uri, EgressError> {
    url.as_str()
        .parse()
        .map_err(|error| EgressError::new("invalid-request", format!("the URL can't be sent: {error}")))
}

/// A request that failed on its way: before it was sent, or at an unknown time.
fn request_error(method: &Method, error: &hyper_util::client::legacy::Error) -> EgressError {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = source {
        match current.downcast_ref::<ConnectError>() {
            Some(special @ ConnectError::Special { host, .. }) => {
                return EgressError::new(
                    "denied-address",
                    format!("{special}: `executor sources set NAME --allow-host {host}` allows it"),
                );
            }
            Some(other) => return EgressError::retryable("connect-failed", other.to_string()),
            None => source = current.source(),
        }
    }
    no_answer(method, "connection-lost", format!("the upstream broke off: {}", innermost(error)))
}

/// Whether a request took effect is unknown once it may have been sent.
fn no_answer(method: &Method, code: &'static str, message: String) -> EgressError {
    if method.is_safe() {
        EgressError::retryable(code, message)
    } else {
        EgressError::new("outcome-unknown", format!("{message}; whether the request took effect is unknown"))
    }
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut current = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}
