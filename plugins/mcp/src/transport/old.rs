//! The HTTP+SSE of 2024-11-05: one stream to hear on, and an endpoint to post
//! to. A session is a stream, so each call has its own.

use super::events::Event;
use super::streamable::{body, refused};
use super::{Answered, Ear, Events, Headers, Lost, Streamable, Wait};
use crate::address;
use crate::rpc::{self, Message, Request};
use crate::seam::{Failure, HttpResponse};

const READ_BYTES: u32 = 256 << 10;
/// Within which the stream says where to post to.
const ENDPOINT_MS: u64 = 10_000;
const MAX_POST_BYTES: usize = 1 << 20;

/// An open stream.
pub(crate) struct Old<'w> {
    /// Posts to what the stream named.
    pub(crate) post: Streamable<'w>,
    pub(crate) stream: Box<dyn HttpResponse>,
    events: Events,
    /// Messages that were heard and not yet looked at.
    waiting: Vec<String>,
}

impl<'w> Old<'w> {
    /// Opens the stream and waits for the endpoint.
    ///
    /// # Errors
    /// What the server answered instead.
    pub(crate) fn open(mut way: Streamable<'w>) -> Result<Self, Lost> {
        let world = way.world;
        let wait = Wait::short(world, ENDPOINT_MS);
        let within = wait.left_ms().ok_or(Lost::Silent)?;
        let mut stream = way.open(None, within)?;
        let mut events = Events::default();
        while let Some(step) = wait.step_ms() {
            let Some(bytes) = stream.read(READ_BYTES, step).map_err(Lost::Broken)? else { continue };
            if bytes.is_empty() {
                break;
            }
            let found =
                events.feed(&bytes).map_err(|why| Lost::Broken(Failure::new("upstream-too-large", why)))?;
            let mut found = found.into_iter();
            let Some(endpoint) = found.find(Event::is_endpoint) else { continue };
            let Some(url) = address::within(&way.url, &endpoint.data) else {
                let message = "the server names an endpoint of another origin, to which nothing is sent";
                return Err(Lost::Unsent(Failure::new("upstream-malformed", message)));
            };
            way.url = url;
            let waiting = found.map(|event| event.data).collect();
            return Ok(Self { post: way, stream, events, waiting });
        }
        let why = "its stream does not say where to post to".to_owned();
        Err(Lost::Garbage { status: Some(200), why, start: String::new() })
    }

    pub(crate) fn exchange(
        &mut self,
        request: &Request,
        wait: &mut Wait<'_>,
        ear: &mut Ear<'_>,
    ) -> Result<Answered, Lost> {
        self.send(&request.text, wait)?;
        let own = request.id.to_string();
        loop {
            for data in std::mem::take(&mut self.waiting) {
                for message in rpc::parse(&data).into_iter().flatten() {
                    match message {
                        Message::Response { id, outcome } if id.as_deref() == Some(&own) => {
                            let outcome = outcome.map(str::to_owned);
                            return Ok(Answered { status: Some(200), session: None, outcome });
                        }
                        Message::Response { .. } => {}
                        Message::Notification { method, params } => ear.notification(&method, params, wait),
                        Message::Request { id, method, params } => {
                            let reply = ear.request(id, &method, params, wait);
                            // A server that does not take the reply ends the call itself.
                            let _ = self.send(&reply, wait);
                        }
                    }
                }
            }
            if !self.more(wait)? {
                return Err(Lost::Silent);
            }
        }
    }

    /// Says something that has no answer.
    pub(crate) fn tell(&mut self, text: &str, wait: &mut Wait<'_>) -> Result<(), Lost> {
        self.send(text, wait)
    }

    /// Waits for more to look at; false once the time is over.
    pub(crate) fn more(&mut self, wait: &Wait<'_>) -> Result<bool, Lost> {
        let Some(step) = wait.step_ms() else { return Ok(false) };
        let Some(bytes) = self.stream.read(READ_BYTES, step).map_err(Lost::Broken)? else { return Ok(true) };
        if bytes.is_empty() {
            let message = "the stream ended before the answer came";
            return Err(Lost::Broken(Failure::passing("connection-lost", message)));
        }
        let found =
            self.events.feed(&bytes).map_err(|why| Lost::Broken(Failure::new("upstream-too-large", why)))?;
        self.waiting.extend(found.into_iter().map(|event| event.data));
        Ok(true)
    }

    /// What was heard since.
    pub(crate) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.waiting)
    }

    fn send(&mut self, text: &str, wait: &mut Wait<'_>) -> Result<(), Lost> {
        let mut response = self.post.post(text, &[], wait)?;
        let status = response.status();
        let headers = Headers::new(response.headers());
        let body = body(response.as_mut(), MAX_POST_BYTES, wait).unwrap_or_default();
        let text = String::from_utf8_lossy(&body);
        if !(200..300).contains(&status) {
            return Err(Lost::Refused(refused(status, &headers, &text)));
        }
        // Some answer at once, against the letter.
        if rpc::parse(&text).is_some() {
            self.waiting.push(text.into_owned());
        }
        Ok(())
    }
}
