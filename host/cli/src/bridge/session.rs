//! The session that the bridge holds for its client.

use std::os::unix::net::UnixStream;

use serde_json::Value;

use super::{EVENTS, Lost, events, message, whole};
use crate::http;

const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

#[derive(Debug, Default)]
pub(super) struct Session {
    /// The client's own words, to begin again with.
    initialize: Option<Vec<u8>>,
    id: Option<String>,
    /// The revision that was agreed on.
    version: Option<String>,
    /// How many there have been.
    generation: u64,
    listened_to: bool,
}

type Headers<'h> = &'h [(&'static str, String)];

impl Session {
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// What goes with every request of the session; nothing where there is
    /// none.
    pub(super) fn headers(&self) -> Vec<(&'static str, String)> {
        let id = self.id.iter().map(|id| ("mcp-session-id", id.clone()));
        let version = self.version.iter().map(|version| ("mcp-protocol-version", version.clone()));
        id.chain(version).collect()
    }

    /// Whether there is a session that nobody listens to yet.
    pub(super) fn is_new_listener(&mut self) -> bool {
        self.id.is_some() && !std::mem::replace(&mut self.listened_to, true)
    }

    /// Begins a session with the client's words, and gives the answer to them.
    pub(super) fn begin(
        &mut self,
        line: &[u8],
        send: impl FnOnce() -> Result<UnixStream, Lost>,
    ) -> Result<Vec<u8>, Lost> {
        let id: Value =
            serde_json::from_slice::<Value>(line).map(|mut line| line["id"].take()).unwrap_or_default();
        let response = http::receive(send()?)?;
        let session = response.session.clone();
        let answer = match (response.status, response.media_type.as_str()) {
            (200, EVENTS) => first(response.into_reader(), &id)?,
            _ => whole(response, &id)?,
        };
        let agreed = serde_json::from_slice::<Value>(&answer).unwrap_or_default();
        if let (Some(version), Some(session)) = (agreed["result"]["protocolVersion"].as_str(), session) {
            self.initialize = Some(line.to_vec());
            self.version = Some(version.to_owned());
            self.id = Some(session);
            self.generation += 1;
        }
        Ok(answer)
    }

    /// Begins it again with the same words, unless there is a newer one than
    /// that of `generation`.
    pub(super) fn begin_again(
        &mut self,
        generation: u64,
        send: impl Fn(&[u8], Headers<'_>) -> Result<UnixStream, Lost>,
    ) -> Result<(), Lost> {
        if generation != self.generation {
            return Ok(());
        }
        let Some(line) = self.initialize.clone() else { return Err(Lost::Session) };
        self.begin(&line, || send(&line, &[]))?;
        if self.generation == generation {
            return Err(Lost::Session);
        }
        let told = send(INITIALIZED, &self.headers())?;
        http::receive(told)?;
        Ok(())
    }
}

/// The message in a stream that answers `id`.
fn first(mut reader: impl std::io::BufRead, id: &Value) -> Result<Vec<u8>, Lost> {
    let mut answer = None;
    let read = events::read(&mut reader, |event| {
        if message::settles(event, id) {
            answer = Some(event.to_vec());
        }
        answer.is_none()
    });
    match answer {
        Some(answer) => Ok(answer),
        None => read.map_or(Err(Lost::Broken), |()| Err(Lost::Broken)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::io::Write;

    const LINE: &[u8] = br#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}"#;

    /// A daemon that answers once with `answer`.
    fn answering(answer: &str) -> UnixStream {
        let (near, mut far) = UnixStream::pair().unwrap();
        far.write_all(answer.as_bytes()).unwrap();
        near
    }

    fn begun(session: &str) -> String {
        let result = json!({ "jsonrpc": "2.0", "id": 7, "result": { "protocolVersion": "2025-11-25" } });
        format!(
            "HTTP/1.1 200 OK\r\nmcp-session-id: {session}\r\ncontent-type: text/event-stream\r\n\r\nid: 0\ndata:\n\ndata: {result}\n\n"
        )
    }

    #[test]
    fn a_session_is_begun_again_once() {
        let mut session = Session::default();
        assert!(session.headers().is_empty());
        assert!(matches!(session.begin_again(0, |_, _| panic!("nothing to say")), Err(Lost::Session)));
        let answer = session.begin(LINE, || Ok(answering(&begun("one")))).unwrap();
        assert!(answer.ends_with(br#""protocolVersion":"2025-11-25"}}"#));
        assert_eq!(
            session.headers(),
            [("mcp-session-id", "one".to_owned()), ("mcp-protocol-version", "2025-11-25".to_owned())]
        );
        assert!(session.is_new_listener() && !session.is_new_listener());
        let sent = std::cell::RefCell::new(Vec::new());
        let send = |line: &[u8], headers: Headers<'_>| {
            sent.borrow_mut().push((line.to_vec(), headers.len()));
            Ok(answering(&if line == LINE {
                begun("two")
            } else {
                "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".into()
            }))
        };
        session.begin_again(1, send).unwrap();
        session.begin_again(1, |_, _| panic!("it was begun again already")).unwrap();
        assert_eq!(session.headers()[0].1, "two");
        assert_eq!(*sent.borrow(), [(LINE.to_vec(), 0), (INITIALIZED.to_vec(), 2)]);
    }

    #[test]
    fn a_refusal_is_passed_on_and_no_session() {
        let mut session = Session::default();
        let refusal = "HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 44\r\n\r\n{\"error\":{\"code\":\"x\",\"message\":\"no such y\"}}";
        let answer = session.begin(LINE, || Ok(answering(refusal))).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["message"]), (&json!(7), &json!("no such y")));
        assert!(session.headers().is_empty());
        let (near, far) = UnixStream::pair().unwrap();
        drop(far);
        assert!(matches!(session.begin(LINE, || Ok(near)), Err(Lost::Broken)));
    }
}
