//! Server-sent events: the messages in a stream, as they come.

use std::io::{self, BufRead};

/// Bytes of one event: the largest answer many times over.
const EVENT_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// Gives each event's data to `each`, on one line, until the stream ends or
/// `each` says that it has enough.
pub(super) fn read(reader: &mut impl BufRead, mut each: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let (mut data, mut line) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.is_empty() {
            let message = std::mem::take(&mut data);
            if !message.trim_ascii().is_empty() && !each(message.trim_ascii()) {
                return Ok(());
            }
        } else if let Some(value) = text.strip_prefix(b"data:") {
            // Lines of one event are one text; between JSON's tokens a space
            // does what a line's end does.
            if !data.is_empty() {
                data.push(b' ');
            }
            data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
        }
        if data.len() + line.len() > EVENT_LIMIT_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "an event is too large"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_messages() {
        let stream = b"id: 0\nretry: 3000\ndata:\n\n: ping\n\ndata: {\"a\":1}\r\n\r\nevent: message\ndata:{\"b\":\ndata: 2}\n\ndata: lost";
        let mut messages = Vec::new();
        read(&mut &stream[..], |message| {
            messages.push(String::from_utf8(message.to_vec()).unwrap());
            true
        })
        .unwrap();
        assert_eq!(messages, ["{\"a\":1}", "{\"b\": 2}"]);
        let mut count = 0;
        read(&mut &stream[..], |_| {
            count += 1;
            false
        })
        .unwrap();
        assert_eq!(count, 1);
    }
}
