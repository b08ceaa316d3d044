//! Server-sent events (HTML standard, section 9.2), read as they come.

/// The longest event that is kept.
const MAX_EVENT_BYTES: usize = 24 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// `message` where none is said.
    pub(crate) name: String,
    pub(crate) data: String,
}

impl Event {
    /// Whether it says where to post to, as the HTTP+SSE of 2024-11-05 does.
    pub(crate) fn is_endpoint(&self) -> bool {
        self.name == "endpoint"
    }
}

/// A reader of one stream, and of those that go on with it.
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    after_cr: bool,
    begun: bool,
    name: String,
    data: String,
    has_data: bool,
    id: Option<String>,
    last_id: Option<String>,
    retry_ms: Option<u64>,
}

impl Events {
    /// The id of the last event, with which a stream can be gone on with.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server wants to be left alone before that.
    pub(crate) fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Another stream begins: half an event is none.
    pub(crate) fn restart(&mut self) {
        let (last_id, retry_ms) = (self.last_id.take(), self.retry_ms);
        *self = Self { last_id, retry_ms, ..Self::default() };
    }

    /// Takes bytes and gives the events that they complete.
    ///
    /// # Errors
    /// When one event is longer than is kept.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Event>, &'static str> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (head, tail) = rest.split_at(end);
            let ends_crlf = self.after_cr && end == 0 && tail[0] == b'\n' && self.line.is_empty();
            self.after_cr = tail[0] == b'\r';
            rest = &tail[1..];
            if ends_crlf {
                continue;
            }
            self.line.extend_from_slice(head);
            let line = std::mem::take(&mut self.line);
            events.extend(self.take(&line));
        }
        if !rest.is_empty() {
            self.after_cr = false;
            self.line.extend_from_slice(rest);
        }
        if self.line.len() + self.data.len() > MAX_EVENT_BYTES {
            return Err("one event is longer than 24 MiB");
        }
        Ok(events)
    }

    fn take(&mut self, line: &[u8]) -> Option<Event> {
        let text = String::from_utf8_lossy(line);
        let text = if self.begun { &text } else { text.trim_start_matches('\u{FEFF}') };
        self.begun = true;
        if text.is_empty() {
            return self.dispatch();
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry_ms = value.parse().ok();
            }
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        if let Some(id) = self.id.take() {
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        std::mem::take(&mut self.has_data)
            .then(|| Event { name: if name.is_empty() { "message".to_owned() } else { name }, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&str]) -> (Vec<(String, String)>, Events) {
        let mut events = Events::default();
        let mut found = Vec::new();
        for piece in pieces {
            found.extend(events.feed(piece.as_bytes()).unwrap());
        }
        (found.into_iter().map(|event| (event.name, event.data)).collect(), events)
    }

    #[test]
    fn events_are_the_same_however_they_are_cut() {
        let text = "\u{FEFF}: hello\r\nevent: endpoint\r\ndata: /m?s=1\r\n\r\nid: 7\rdata:a\rdata: b\r\rretry: 50\n\nid\ndata\n\ndata: half";
        let expected: Vec<(String, String)> = [("endpoint", "/m?s=1"), ("message", "a\nb"), ("message", "")]
            .map(|(name, data)| (name.to_owned(), data.to_owned()))
            .to_vec();
        let (whole, events) = read(&[text]);
        assert_eq!(whole, expected);
        assert_eq!((events.last_id(), events.retry_ms()), (None, Some(50)));
        let single: Vec<String> = text.chars().map(String::from).collect();
        let single: Vec<&str> = single.iter().map(String::as_str).collect();
        assert_eq!(read(&single).0, expected);
    }

    #[test]
    fn what_a_stream_ended_in_is_forgotten_and_its_id_kept() {
        let (_, mut events) = read(&["id: 1\ndata:\n\ndata: half", "of it"]);
        events.restart();
        assert_eq!(events.last_id(), Some("1"));
        assert_eq!(events.feed(b"data: x\n\n").unwrap()[0].data, "x");
    }
}
