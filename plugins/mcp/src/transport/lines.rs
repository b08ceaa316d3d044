//! A local server: one message a line of a process.

use super::{Answered, Ear, Lost, Wait};
use crate::rpc::{self, Message, Request};
use crate::seam::{Failure, Process, World};
use crate::text::line;

/// Lines of noise that are kept to be shown.
const KEPT_LINES: usize = 20;
const KEPT_CHARS: usize = 200;

/// What a server wrote to its output that is no message.
#[derive(Debug, Clone, Default)]
pub(crate) struct Noise {
    pub(crate) lines: Vec<String>,
    pub(crate) count: u64,
}

impl Noise {
    pub(crate) fn add(&mut self, text: &str) {
        let shown = line(text, KEPT_CHARS);
        if shown.is_empty() {
            return;
        }
        self.count += 1;
        if self.lines.len() < KEPT_LINES {
            self.lines.push(shown);
        }
    }
}

/// Whether a line is the answer to another call: each of a thousand calls sees
/// the answers to all, and reads its own.
fn is_of_another(text: &str, own: &str) -> bool {
    text.starts_with('{')
        && text.contains("\"jsonrpc\"")
        && !text.contains(own)
        && !text.contains("\"method\"")
}

/// A handle on the process.
pub(crate) struct Lines {
    pub(crate) process: Box<dyn Process>,
    pub(crate) noise: Noise,
}

impl Lines {
    pub(crate) fn attach(world: &dyn World) -> Result<Self, Failure> {
        Ok(Self { process: world.attach()?, noise: Noise::default() })
    }

    pub(crate) fn exchange(
        &mut self,
        request: &Request,
        wait: &mut Wait<'_>,
        ear: &mut Ear<'_>,
    ) -> Result<Answered, Lost> {
        let own = request.id.to_string();
        self.tell(&request.text)?;
        while let Some(step) = wait.step_ms() {
            let Some(text) = self.read(step)? else { continue };
            if is_of_another(&text, &own) {
                continue;
            }
            let Some(messages) = rpc::parse(&text) else {
                self.noise.add(&text);
                continue;
            };
            for message in messages {
                match message {
                    Message::Response { id, outcome } if id.as_deref() == Some(&own) => {
                        let outcome = outcome.map(str::to_owned);
                        return Ok(Answered { status: None, session: None, outcome });
                    }
                    Message::Response { .. } => {}
                    Message::Notification { method, params } => ear.notification(&method, params, wait),
                    Message::Request { id, method, params } => {
                        self.answer(id, &method, || ear.request(id, &method, params, wait));
                    }
                }
            }
        }
        Err(Lost::Silent)
    }

    /// Answers a request of the server's, where no other handle did: all of
    /// them hear it.
    pub(crate) fn answer(&mut self, id: &str, method: &str, reply: impl FnOnce() -> String) {
        if self.process.claim(&format!("{method}:{id}")) {
            // A process that is gone is noticed by whoever reads next.
            let _ = self.process.write_line(&reply());
        }
    }

    /// Says something that has no answer.
    pub(crate) fn tell(&mut self, text: &str) -> Result<(), Lost> {
        self.process.write_line(text).map_err(|failure| match failure.code.as_str() {
            // It may have read the line before it ended or stopped to read.
            "process-failed" | "timeout" => Lost::Broken(failure),
            _ => Lost::Unsent(failure),
        })
    }

    /// The next line; none after so many milliseconds, and in place of lines
    /// that were lost since nobody read them in time.
    pub(crate) fn read(&mut self, ms: u32) -> Result<Option<String>, Lost> {
        match self.process.read_line(ms) {
            Err(failure) if failure.code == "lines-lost" => Ok(None),
            result => result.map_err(Lost::Broken),
        }
    }
}
