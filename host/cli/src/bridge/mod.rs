//! A faithful bridge between MCP on stdin and stdout and the daemon's `/mcp`.
//!
//! Each request has a connection and a thread of its own, so that nothing
//! waits for anything else; they are written in the order in which they came.
//! When the daemon was restarted the session is begun anew with the client's
//! own words, of which the client sees nothing. A call that may have reached a
//! daemon which then ended is not made twice.

mod events;
mod flight;
mod lines;
mod message;
mod session;

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::context::Context;
use crate::daemon;
use crate::failure::{Exit, Failure};
use crate::http::{self, HttpError, Response};
use flight::Flights;
use lines::Line;
use message::{CONNECTION_LOST, INTERNAL_ERROR, INVALID_REQUEST, Message, Request};
use session::Session;

const BOTH: &str = "application/json, text/event-stream";
const EVENTS: &str = "text/event-stream";
/// Requests under way; a client that has more has lost count.
const FLIGHT_LIMIT: usize = 256;
/// How long answers are waited for once the client has closed stdin.
const LAST_ANSWERS: Duration = Duration::from_secs(10);
/// Between attempts to reach a daemon that is away, at first and at most.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Where the bridge leads.
#[derive(Debug)]
pub(crate) struct Endpoint {
    /// Path and query, encoded.
    pub(crate) target: String,
    /// As whom the client acts; the owner where there is none.
    pub(crate) token: Option<String>,
    /// What the client is called in records, where no token names it.
    pub(crate) client: Option<String>,
}

struct Bridge {
    context: Context,
    endpoint: Endpoint,
    session: Mutex<Session>,
    flights: Flights,
    /// One at a time starts the daemon.
    starting: Mutex<()>,
}

/// Bridges until stdin ends.
///
/// # Errors
/// There is no daemon and none can be started, or stdin can't be read.
pub(crate) fn run(context: &Context, endpoint: Endpoint) -> Result<Exit, Failure> {
    // What can be said on stderr, with an exit code, is said before the first
    // message is taken.
    daemon::connect(context, true)?;
    let bridge = Arc::new(Bridge {
        context: Context::new(&context.globals, context.environment.clone())?,
        endpoint,
        session: Mutex::default(),
        flights: Flights::default(),
        starting: Mutex::default(),
    });
    let mut stdin = io::stdin().lock();
    while let Some(line) = lines::next(&mut stdin, lines::LINE_LIMIT_BYTES)
        .map_err(|error| Failure::failed(format!("stdin can't be read: {error}")))?
    {
        match line {
            Line::Text(text) => bridge.take(text),
            Line::TooLong => {
                let limit = lines::LINE_LIMIT_BYTES >> 20;
                let words =
                    format!("the message is longer than {limit} MiB, which is the most that is taken");
                emit(message::error(&Value::Null, INVALID_REQUEST, &words));
            }
        }
    }
    bridge.flights.wait(LAST_ANSWERS);
    bridge.end_session();
    Ok(Exit::Ok)
}

/// One message to the client. A client that reads no more needs no bridge.
fn emit(message: impl AsRef<[u8]>) {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(message.as_ref()).and_then(|()| stdout.write_all(b"\n"));
    if written.and_then(|()| stdout.flush()).is_err() {
        std::process::exit(i32::from(Exit::Ok.code()));
    }
}

impl Bridge {
    /// Does what one line of the client asks.
    fn take(self: &Arc<Self>, line: Vec<u8>) {
        match message::read(&line) {
            Err((code, words)) => emit(message::error(&Value::Null, code, &words)),
            Ok(Message::Request(request)) if request.method == "initialize" => {
                self.initialize(&line, &request)
            }
            Ok(Message::Request(request)) => self.request(line, request),
            Ok(Message::Notification { method, cancels }) => self.notify(&line, &method, cancels.as_ref()),
            Ok(Message::Response) => self.tell(&line),
        }
    }

    /// Begins a session, before anything that needs it is looked at.
    fn initialize(self: &Arc<Self>, line: &[u8], request: &Request) {
        let mut session = self.session();
        let begun = session
            .begin(line, || self.send(line, &[]))
            .or_else(|_| session.begin(line, || self.send(line, &[])));
        match begun {
            Ok(answer) => emit(answer),
            Err(lost) => emit(message::error(&request.id, CONNECTION_LOST, &lost.to_string())),
        }
        if session.is_new_listener() {
            let bridge = self.clone();
            thread::spawn(move || bridge.listen());
        }
    }

    /// Sends a request, and answers it from a thread of its own.
    fn request(self: &Arc<Self>, line: Vec<u8>, request: Request) {
        if self.flights.count() >= FLIGHT_LIMIT {
            let words = format!("{FLIGHT_LIMIT} requests are under way already");
            return emit(message::error(&request.id, CONNECTION_LOST, &words));
        }
        let (sent, generation) = self.post(&line, &request);
        self.flights.add(&request.id, sent.as_ref().ok(), request.stands_alone());
        let bridge = self.clone();
        thread::spawn(move || {
            let answered = bridge.answer(&line, &request, sent, generation);
            let cancelled = bridge.flights.remove(&request.id);
            if let (Err(lost), false) = (answered, cancelled) {
                emit(message::error(&request.id, CONNECTION_LOST, &lost.to_string()));
            }
        });
    }

    /// Waits for the answer to what was sent; sends it again where that does
    /// no harm.
    fn answer(
        &self,
        line: &[u8],
        request: &Request,
        sent: Result<UnixStream, Lost>,
        mut generation: u64,
    ) -> Result<(), Lost> {
        let mut sent = sent;
        for last in [false, true] {
            let outcome = sent.and_then(|stream| self.pass_on(stream, &request.id));
            match outcome {
                Ok(Passed::Answered) => return Ok(()),
                Ok(Passed::NoSession) if !last => self.begin_again(generation)?,
                Ok(Passed::NoSession) => return Err(Lost::Session),
                // A connection that could not be made carried nothing.
                Err(Lost::Unreached(_)) if !last => {}
                Err(Lost::Broken) if !last && request.is_repeatable() => {}
                Err(lost) => return Err(lost),
            }
            (sent, generation) = self.post(line, request);
            self.flights.add(&request.id, sent.as_ref().ok(), request.stands_alone());
        }
        Err(Lost::Broken)
    }

    /// Sends a request with what its revision wants beside it.
    fn post(&self, line: &[u8], request: &Request) -> (Result<UnixStream, Lost>, u64) {
        let (mut headers, mut generation) = (request.headers(), 0);
        if headers.is_empty() {
            let session = self.session();
            (headers, generation) = (session.headers(), session.generation());
        }
        (self.send(line, &headers), generation)
    }

    /// Passes on all that answers a request.
    fn pass_on(&self, stream: UnixStream, id: &Value) -> Result<Passed, Lost> {
        let response = http::receive(stream)?;
        match (response.status, response.media_type.as_str()) {
            (200, EVENTS) => {
                let mut settled = false;
                let read = events::read(&mut response.into_reader(), |event| {
                    emit(event);
                    settled = message::settles(event, id);
                    !settled
                });
                match read {
                    _ if settled => Ok(Passed::Answered),
                    _ => Err(Lost::Broken),
                }
            }
            (404, media_type) if media_type != "application/json" => Ok(Passed::NoSession),
            _ => {
                emit(whole(response, id)?);
                Ok(Passed::Answered)
            }
        }
    }

    /// Passes a notification on. One that cancels a request closes its
    /// connection as well: no answer will come, and for requests that stand
    /// alone that is how it is said over HTTP.
    fn notify(&self, line: &[u8], method: &str, cancels: Option<&Value>) {
        let cancelled = cancels.filter(|_| method == "notifications/cancelled");
        if !cancelled.is_some_and(|id| self.flights.stands_alone(id)) {
            self.tell(line);
        }
        if let Some(id) = cancelled {
            self.flights.cancel(id);
        }
    }

    /// Passes on what has no answer. Without a session nobody waits for it.
    fn tell(&self, line: &[u8]) {
        let (headers, generation) = {
            let session = self.session();
            (session.headers(), session.generation())
        };
        if headers.is_empty() {
            return;
        }
        let told = self.send(line, &headers).and_then(|stream| Ok(http::receive(stream)?.status));
        if matches!(told, Ok(404)) {
            // What it was about went with the old session.
            let _ = self.begin_again(generation);
        }
    }

    /// Passes on what the server says of its own accord, as long as there is
    /// a session.
    fn listen(&self) {
        let mut pause = PAUSE;
        loop {
            let (headers, generation) = {
                let session = self.session();
                (session.headers(), session.generation())
            };
            match self.hear(&headers) {
                Heard::Something => pause = PAUSE,
                Heard::Nothing => pause = (pause * 2).min(PAUSE_MAX),
                Heard::NoSession => {
                    let _ = self.begin_again(generation);
                }
                Heard::NoStream => return,
            }
            thread::sleep(pause);
        }
    }

    fn hear(&self, headers: &[(&'static str, String)]) -> Heard {
        // A daemon is started for a request, not to be listened to.
        let Ok(Some(mut stream)) = daemon::try_connect(&self.context.home) else { return Heard::Nothing };
        let sent = self.write(&mut stream, "GET", EVENTS, None, headers);
        let Ok(response) = sent.and_then(|()| Ok(http::receive(stream)?)) else { return Heard::Nothing };
        match response.status {
            200 if response.media_type == EVENTS => {
                let _ = events::read(&mut response.into_reader(), |event| {
                    emit(event);
                    true
                });
                Heard::Something
            }
            404 => Heard::NoSession,
            405 => Heard::NoStream,
            _ => Heard::Nothing,
        }
    }

    /// Begins the session again, unless somebody has since `generation`.
    fn begin_again(&self, generation: u64) -> Result<(), Lost> {
        let mut session = self.session();
        session.begin_again(generation, |line, headers| self.send(line, headers))
    }

    fn end_session(&self) {
        let headers = self.session().headers();
        if headers.is_empty() {
            return;
        }
        if let Ok(Some(mut stream)) = daemon::try_connect(&self.context.home) {
            let ended = self.write(&mut stream, "DELETE", BOTH, None, &headers);
            let _ = ended.and_then(|()| Ok(http::receive(stream)?.status));
        }
    }

    fn session(&self) -> std::sync::MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Posts a message to the daemon, which is started if none runs.
    fn send(&self, line: &[u8], headers: &[(&'static str, String)]) -> Result<UnixStream, Lost> {
        let connected = {
            let _starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
            daemon::connect(&self.context, true)
        };
        let mut stream = connected.map_err(|failure| Lost::Unreached(failure.message))?;
        self.write(&mut stream, "POST", BOTH, Some(line), headers)?;
        Ok(stream)
    }

    fn write(
        &self,
        stream: &mut UnixStream,
        method: &str,
        accept: &str,
        body: Option<&[u8]>,
        headers: &[(&'static str, String)],
    ) -> Result<(), Lost> {
        let authorization = self.endpoint.token.as_ref().map(|token| format!("Bearer {token}"));
        let mut all: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        all.extend(authorization.as_deref().map(|value| ("authorization", value)));
        all.extend(self.endpoint.client.as_deref().map(|name| (http::CLIENT_HEADER, name)));
        let request = http::Request { method, target: &self.endpoint.target, accept, body, headers: &all };
        http::send(stream, &request).map_err(|_| Lost::Broken)
    }
}

/// What came of passing an answer on.
enum Passed {
    Answered,
    /// The daemon does not know the session.
    NoSession,
}

/// What came of listening.
enum Heard {
    Something,
    Nothing,
    NoSession,
    /// The server has nothing to say of its own accord.
    NoStream,
}

/// Why a request has no answer.
#[derive(Debug)]
enum Lost {
    /// There is no daemon, and why.
    Unreached(String),
    /// The connection broke after something was sent.
    Broken,
    /// The session can't be begun again.
    Session,
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreached(why) => write!(f, "the daemon can't be reached: {why}"),
            Self::Broken => f.write_str(
                "the daemon ended before it answered; whether the call was made is not known, and it is not made \
                 again: `executor executions list` shows what became of it",
            ),
            Self::Session => f.write_str("the daemon was restarted, and takes no session with this client"),
        }
    }
}

impl From<HttpError> for Lost {
    fn from(_: HttpError) -> Self {
        Self::Broken
    }
}

/// An answer that is one message: the server's own, or made of an error that
/// is none of MCP's.
fn whole(response: Response<UnixStream>, id: &Value) -> Result<Vec<u8>, Lost> {
    let (status, json) = (response.status, response.media_type == "application/json");
    let mut body = response.read()?;
    if json && status == 200 {
        // One line, whatever it was.
        body.retain(|byte| !matches!(byte, b'\n' | b'\r'));
        return Ok(body);
    }
    let value: Option<Value> = serde_json::from_slice(&body).ok();
    if let Some(value) = value.as_ref().filter(|value| value.get("jsonrpc").is_some()) {
        return Ok(value.to_string().into_bytes());
    }
    let error = value.as_ref().and_then(|value| value.get("error"));
    let part = |key: &str| error.and_then(|error| error.get(key)).and_then(Value::as_str);
    let words = match (part("message"), part("hint")) {
        (Some(message), Some(hint)) => format!("{message}; {hint}"),
        (Some(message), None) => message.to_owned(),
        (None, _) => format!(
            "the daemon answered {status}: {}",
            crate::text::line(&String::from_utf8_lossy(&body), 300)
        ),
    };
    Ok(message::error(id, INTERNAL_ERROR, &words).into_bytes())
}
