//! Streamable HTTP, of every revision since 2025-03-26.

use super::stray::{self, Stray};
use super::{Answered, Ear, Events, Headers, Lost, Refused, Wait};
use crate::address;
use crate::rpc::{self, Message, Request};
use crate::seam::{Failure, HttpRequest, HttpResponse, World};
use crate::text::plain;

const READ_BYTES: u32 = 256 << 10;
/// What one answer may have: it stands in memory up to four times, of the
/// 128 MiB of a call.
const MAX_BODY_BYTES: usize = 24 << 20;
const MAX_REFUSAL_BYTES: usize = 64 << 10;
const MAX_START_CHARS: usize = 300;
/// Messages on the stream of one request.
const MAX_MESSAGES: u32 = 100_000;
/// Streams in a row that go on with one and bring nothing, not even another id.
const MAX_RESUMES: u32 = 3;
const RETRY_MS: u64 = 1_000;
/// A server that wants no pause is given one all the same.
const MIN_RETRY_MS: u64 = 250;
const MAX_RETRY_MS: u64 = 30_000;
const MAX_REDIRECTS: u32 = 2;
const USER_AGENT: &str = concat!("executor/", env!("CARGO_PKG_VERSION"));

/// One endpoint.
pub(crate) struct Streamable<'w> {
    pub(crate) world: &'w dyn World,
    pub(crate) url: String,
    /// Of each request: protocol version, session.
    pub(crate) headers: Vec<(String, String)>,
    /// Whether a stream that broke can be gone on with, and a session be lost.
    pub(crate) legacy: bool,
}

/// Whether an answer is a stream of events.
fn is_events(headers: &Headers) -> bool {
    headers.media_type() == "text/event-stream"
}

impl Streamable<'_> {
    pub(crate) fn exchange(
        &self,
        request: &Request,
        wait: &mut Wait<'_>,
        ear: &mut Ear<'_>,
    ) -> Result<Answered, Lost> {
        let mut response = self.post(&request.text, &request.headers, wait)?;
        let status = response.status();
        let headers = Headers::new(response.headers());
        if !(200..300).contains(&status) {
            return self.refusal(response, &headers, request, wait);
        }
        let session = headers.session();
        if is_events(&headers) {
            return self.stream(response, session, request, wait, ear);
        }
        let body = body(response.as_mut(), MAX_BODY_BYTES, wait)?;
        let text = String::from_utf8_lossy(&body);
        if text.trim_start().starts_with(['d', 'e', 'i', ':']) && text.contains("data:") {
            // A stream that does not say that it is one.
            let mut events = Events::default();
            let whole = events.feed(&body).and_then(|mut found| {
                found.extend(events.feed(b"\n\n")?);
                Ok(found)
            });
            for event in whole.unwrap_or_default() {
                if let Some(outcome) = self.hear(&event.data, request, wait, ear) {
                    return Ok(Answered { status: Some(status), session, outcome });
                }
            }
        }
        if let Some(outcome) = self.hear(&text, request, wait, ear) {
            return Ok(Answered { status: Some(status), session, outcome });
        }
        let why = if body.is_empty() {
            format!("it answered {status} and nothing else")
        } else if headers.media_type().contains("html") {
            "it answered a web page".to_owned()
        } else {
            "its answer is not the answer to the request".to_owned()
        };
        Err(Lost::Garbage { status: Some(status), why, start: plain(&text, MAX_START_CHARS).into_owned() })
    }

    /// Says something that has no answer, or answers the server.
    pub(crate) fn tell(&self, text: &str, wait: &Wait<'_>) -> Result<(), Lost> {
        let response = self.post(text, &[], wait)?;
        let status = response.status();
        if (200..300).contains(&status) {
            return Ok(());
        }
        let headers = Headers::new(response.headers());
        Err(Lost::Refused(refused(status, &headers, "")))
    }

    /// Opens the stream on which a server of the older revisions says what
    /// belongs to no request, or goes on with one that broke.
    pub(crate) fn open(&self, last_id: Option<&str>, within_ms: u32) -> Result<Box<dyn HttpResponse>, Lost> {
        let mut headers = self.common("text/event-stream");
        headers.extend(last_id.map(|id| ("last-event-id".to_owned(), id.to_owned())));
        let request =
            HttpRequest { method: "GET".to_owned(), url: self.url.clone(), headers, body: Vec::new() };
        let response = self.world.send(request, within_ms).map_err(Lost::of_sending)?.ok_or(Lost::Silent)?;
        let head = Headers::new(response.headers());
        if response.status() == 200 && is_events(&head) {
            return Ok(response);
        }
        if self.has_session() && response.status() == 404 {
            return Err(Lost::SessionGone);
        }
        Err(Lost::Refused(refused(response.status(), &head, "")))
    }

    /// Asks for what is answered by a stream that stays open.
    pub(crate) fn open_answer(
        &self,
        request: &Request,
        within_ms: u32,
    ) -> Result<Box<dyn HttpResponse>, Lost> {
        let wait = Wait::short(self.world, u64::from(within_ms));
        let response = self.post(&request.text, &request.headers, &wait)?;
        let head = Headers::new(response.headers());
        if response.status() == 200 && is_events(&head) {
            return Ok(response);
        }
        // 404 is how a method that is not known is answered over HTTP; an
        // error in a 200 says the same.
        let status = if response.status() == 200 { 404 } else { response.status() };
        Err(Lost::Refused(refused(status, &head, "")))
    }

    pub(super) fn session(&self) -> Option<&str> {
        let held = self.headers.iter().find(|(name, _)| name == "mcp-session-id");
        held.map(|(_, id)| id.as_str())
    }

    fn has_session(&self) -> bool {
        self.session().is_some()
    }

    fn common(&self, accept: &str) -> Vec<(String, String)> {
        let mut headers =
            vec![("accept".to_owned(), accept.to_owned()), ("user-agent".to_owned(), USER_AGENT.to_owned())];
        headers.extend(self.headers.iter().cloned());
        headers
    }

    /// Posts a message. A redirect within the origin that keeps the method
    /// (307, 308) is followed: who answered it did nothing else.
    pub(super) fn post(
        &self,
        text: &str,
        extra: &[(String, String)],
        wait: &Wait<'_>,
    ) -> Result<Box<dyn HttpResponse>, Lost> {
        let mut url = self.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let request = HttpRequest { url: url.clone(), ..self.message(text, extra) };
            let within = wait.left_ms().ok_or(Lost::Silent)?;
            let response = self.world.send(request, within).map_err(Lost::of_sending)?.ok_or(Lost::Silent)?;
            let location = Headers::new(response.headers()).get("location").map(str::to_owned);
            match (response.status(), location.and_then(|to| address::within(&url, &to))) {
                (307 | 308, Some(next)) => url = next,
                _ => return Ok(response),
            }
        }
        let failure = Failure::new("too-many-redirects", "the MCP endpoint redirects without end");
        Err(Lost::Unsent(failure))
    }

    /// A message as it is posted.
    pub(crate) fn message(&self, text: &str, extra: &[(String, String)]) -> HttpRequest {
        let mut headers = self.common("application/json, text/event-stream");
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
        headers.extend(extra.iter().cloned());
        let body = text.as_bytes().to_vec();
        HttpRequest { method: "POST".to_owned(), url: self.url.clone(), headers, body }
    }

    fn refusal(
        &self,
        mut response: Box<dyn HttpResponse>,
        headers: &Headers,
        request: &Request,
        wait: &mut Wait<'_>,
    ) -> Result<Answered, Lost> {
        let status = response.status();
        // What is left of a body that breaks says nothing more.
        let body = body(response.as_mut(), MAX_REFUSAL_BYTES, wait).unwrap_or_default();
        let text = String::from_utf8_lossy(&body);
        let error = rpc::parse(&text).into_iter().flatten().find_map(|message| match message {
            Message::Response { id, outcome: Err(error) } => {
                id.is_none_or(|id| id == request.id.to_string()).then_some(error)
            }
            _ => None,
        });
        if self.legacy && self.has_session() {
            let lost = match (status, &error) {
                (404, error) => error.as_ref().is_none_or(|error| error.code != -32_601),
                // Reference servers answer so where the specification wants 404, and where
                // somebody else began the session.
                (400 | 403, Some(error)) => {
                    headers.challenge().is_none() && error.message.to_ascii_lowercase().contains("session")
                }
                _ => false,
            };
            if lost {
                return Err(Lost::SessionGone);
            }
        }
        match error {
            // 401 and 403 are about who asks, whatever the body says.
            Some(error) if !matches!(status, 401 | 403) => {
                Ok(Answered { status: Some(status), session: None, outcome: Err(error) })
            }
            _ => Err(Lost::Refused(refused(status, headers, &text))),
        }
    }

    fn stream(
        &self,
        mut response: Box<dyn HttpResponse>,
        session: Option<String>,
        request: &Request,
        wait: &mut Wait<'_>,
        ear: &mut Ear<'_>,
    ) -> Result<Answered, Lost> {
        let status = Some(response.status());
        let mut events = Events::default();
        let (mut heard, mut resumes) = (0, 0);
        let (mut resumed, mut looked) = (None, self.world.ticks_ms());
        loop {
            let Some(mut step) = wait.step_ms() else { return Err(Lost::Silent) };
            if self.legacy {
                step = step.min(stray::LOOK_MS);
                self.answer_stray(&mut looked, wait, ear);
            }
            let ended = match response.read(READ_BYTES, step) {
                Ok(None) => continue,
                Ok(Some(bytes)) if bytes.is_empty() => {
                    Failure::passing("connection-lost", "the stream ended before the answer came")
                }
                Ok(Some(bytes)) => {
                    let found = events
                        .feed(&bytes)
                        .map_err(|why| Lost::Broken(Failure::new("upstream-too-large", why)))?;
                    for event in found.iter().filter(|event| !event.data.is_empty()) {
                        (heard, resumes) = (heard + 1, 0);
                        if let Some(outcome) = self.hear(&event.data, request, wait, ear) {
                            return Ok(Answered { status, session, outcome });
                        }
                    }
                    if heard > MAX_MESSAGES {
                        let message = "the server said more than 100,000 things and no answer";
                        return Err(Lost::Broken(Failure::new("upstream-too-large", message)));
                    }
                    continue;
                }
                Err(failure) => failure,
            };
            let last_id = events.last_id().filter(|_| self.legacy).map(str::to_owned);
            if last_id != resumed {
                // A server may close a stream that it has begun, to be asked again later.
                resumes = 0;
            }
            let Some(last_id) = last_id.filter(|_| resumes < MAX_RESUMES) else {
                return Err(Lost::Broken(ended));
            };
            resumes += 1;
            resumed = Some(last_id.clone());
            self.world.sleep_ms(events.retry_ms().unwrap_or(RETRY_MS).clamp(MIN_RETRY_MS, MAX_RETRY_MS));
            let Some(left) = wait.left_ms() else { return Err(Lost::Silent) };
            events.restart();
            response = match self.open(Some(&last_id), left) {
                Ok(response) => response,
                Err(Lost::Silent) => return Err(Lost::Silent),
                // It was sent, whatever the resumption met.
                Err(Lost::Unsent(failure) | Lost::Broken(failure)) => return Err(Lost::Broken(failure)),
                Err(_) => return Err(Lost::Broken(ended)),
            };
        }
    }

    /// Answers a question that came on the stream of no call.
    fn answer_stray(&self, looked: &mut u64, wait: &mut Wait<'_>, ear: &mut Ear<'_>) {
        let now = self.world.ticks_ms();
        if now.saturating_sub(*looked) < u64::from(stray::LOOK_MS) {
            return;
        }
        *looked = now;
        if let Some(stray) = Stray::take(self) {
            let reply = ear.request(&stray.id, stray::QUESTION, stray.params.as_deref(), wait);
            // A server that does not take the reply ends the call itself.
            let _ = self.tell(&reply, wait);
        }
    }

    /// Hears what one body or event says; gives the answer where it is there.
    fn hear(
        &self,
        text: &str,
        request: &Request,
        wait: &mut Wait<'_>,
        ear: &mut Ear<'_>,
    ) -> Option<Result<String, rpc::RpcError>> {
        let own = request.id.to_string();
        let mut answer = None;
        for message in rpc::parse(text).into_iter().flatten() {
            match message {
                Message::Response { id, outcome } if id.as_deref() == Some(&own) => {
                    answer = Some(outcome.map(str::to_owned));
                }
                // Nobody else's request is on this way.
                Message::Response { id: None, outcome: Err(error) } => answer = Some(Err(error)),
                Message::Response { .. } => {}
                Message::Notification { method, params } => ear.notification(&method, params, wait),
                Message::Request { id, method, params } => {
                    let reply = ear.request(id, &method, params, wait);
                    // A server that does not take the reply ends the call itself.
                    let _ = self.tell(&reply, wait);
                }
            }
        }
        answer
    }
}

/// What there is of a body, up to a bound. Bytes are a sign of life.
pub(crate) fn body(
    response: &mut dyn HttpResponse,
    max: usize,
    wait: &mut Wait<'_>,
) -> Result<Vec<u8>, Lost> {
    let mut body = Vec::new();
    loop {
        let Some(step) = wait.step_ms() else { return Err(Lost::Silent) };
        match response.read(READ_BYTES, step).map_err(Lost::Broken)? {
            None => continue,
            Some(bytes) if bytes.is_empty() => return Ok(body),
            Some(bytes) => body.extend_from_slice(&bytes),
        }
        wait.heard();
        if body.len() > max {
            let message = format!("the answer is larger than {} MiB", max >> 20);
            return Err(Lost::Broken(Failure::new("upstream-too-large", message)));
        }
    }
}

pub(super) fn refused(status: u16, headers: &Headers, text: &str) -> Refused {
    Refused {
        status,
        challenge: headers.challenge(),
        retry_after_ms: headers.retry_after_ms(),
        start: plain(text, MAX_START_CHARS).into_owned(),
    }
}
