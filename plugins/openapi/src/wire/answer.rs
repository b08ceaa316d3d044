//! From a successful response to data.

use serde_json::{Map, Value, json, value::RawValue};

use super::binding::Binding;
use super::content::{self, Content};
use super::headers::Headers;
use super::read::{self, Received, malformed};
use super::{charset, events, next};
use crate::seam::{Answer, Failure, Http, HttpResponse, StoredFile};
use crate::text::plain;

const MAX_LINES: usize = 100_000;
/// What any JSON reader takes; deeper answers would fail later, less clearly.
const MAX_DEPTH: u32 = 120;
const MAX_EXCERPT_CHARS: usize = 200;

/// An answer, and what is told beside it.
pub(super) struct Read {
    data: String,
    headers: Headers,
    metadata: Map<String, Value>,
}

impl Read {
    /// Tells how to call for the next page, where the answer says that there
    /// is one.
    pub(super) fn add_next(&mut self, arguments: &str, url: &str) {
        if let Some(next) = next::arguments(&self.headers, &self.data, arguments, url) {
            self.metadata.insert("next".to_owned(), json!({"arguments": next}));
        }
    }

    pub(super) fn into_answer(self) -> Answer {
        Answer { data: self.data, metadata: Some(Value::Object(self.metadata).to_string()) }
    }
}

/// Reads the response of a call that succeeded.
///
/// # Errors
/// `upstream-malformed`, saying what is wrong with the body, and what reading
/// it can fail with.
pub(super) fn read<H: Http>(http: &mut H, binding: &Binding, response: H::Response) -> Result<Read, Failure> {
    let status = response.status();
    let headers = Headers::new(response.headers());
    let mut metadata = headers.metadata(status);
    let is_empty =
        matches!(status, 204 | 205 | 304) || binding.method == "HEAD" || headers.content_length() == Some(0);
    let data = if is_empty {
        "null".to_owned()
    } else {
        let read = body(http, binding, response, &headers)?;
        if let Some(why) = read.cut {
            metadata.insert("truncated".to_owned(), json!(why));
        }
        read.data
    };
    Ok(Read { data, headers, metadata })
}

/// Data, and why there is not all of it where that is so.
struct Data {
    data: String,
    cut: Option<&'static str>,
}

impl From<String> for Data {
    fn from(data: String) -> Self {
        Self { data, cut: None }
    }
}

fn body<H: Http>(
    http: &mut H,
    binding: &Binding,
    mut response: H::Response,
    headers: &Headers,
) -> Result<Data, Failure> {
    let status = response.status();
    let content_type = headers.content_type().to_owned();
    let named = (!content_type.is_empty()).then(|| content::kind(&content_type));
    if named == Some(Content::Binary) && !binding.json {
        let file = response.into_file(Some(&content_type))?;
        return Ok(file_value(&file, &content_type).into());
    }
    if matches!(named, Some(Content::Events | Content::Lines)) {
        let (bytes, cut) = read::stream(&mut response, binding.is_idempotent())?;
        return if named == Some(Content::Events) {
            Ok(events(&bytes, cut))
        } else {
            lines(status, &bytes, cut)
        };
    }
    let bytes = match read::all(http, response, headers, binding.is_idempotent())? {
        Received::Bytes(bytes) => bytes,
        Received::File(file) => return Ok(file_value(&file, &content_type).into()),
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        let is_text = named == Some(Content::Text) && !binding.json && !bytes.is_empty();
        let text = if is_text { text(http, &bytes, &content_type)? } else { "null".to_owned() };
        return Ok(text.into());
    }
    let data = match named {
        Some(Content::Json) => {
            json_text(&bytes, &content_type).map_err(|why| malformed_json(status, &why, &bytes))?
        }
        Some(Content::Text) if !binding.json => text(http, &bytes, &content_type)?,
        _ => sniffed(http, named, &bytes, &content_type)?,
    };
    Ok(data.into())
}

/// Where the document promised JSON, or nothing says what it is: what looks
/// like JSON and reads as JSON is JSON.
fn sniffed<H: Http>(
    http: &mut H,
    named: Option<Content>,
    bytes: &[u8],
    content_type: &str,
) -> Result<String, Failure> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if matches!(first, Some(b'{' | b'[' | 0xEF))
        && let Ok(data) = json_text(bytes, content_type)
    {
        return Ok(data);
    }
    if named == Some(Content::Text) || (named.is_none() && std::str::from_utf8(bytes).is_ok()) {
        return text(http, bytes, content_type);
    }
    stored(http, bytes, content_type)
}

fn stored<H: Http>(http: &mut H, bytes: &[u8], content_type: &str) -> Result<String, Failure> {
    let media_type = Some(content_type).filter(|text| !text.is_empty());
    let file = read::store(http, media_type, bytes)?;
    Ok(file_value(&StoredFile { size: Some(bytes.len() as u64), ..file }, content_type))
}

/// The bytes as they are, once they are known to be JSON: numbers keep their
/// digits, and no tree is built.
fn json_text(bytes: &[u8], content_type: &str) -> Result<String, String> {
    let text = charset::decode(bytes, content_type).ok_or_else(|| "it is not UTF-8".to_owned())?;
    if depth(text.as_bytes()) > MAX_DEPTH {
        return Err(format!("it is nested deeper than {MAX_DEPTH} levels"));
    }
    let value: &RawValue = serde_json::from_str(&text).map_err(|fault| fault.to_string())?;
    Ok(value.get().to_owned())
}

fn depth(bytes: &[u8]) -> u32 {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0_u32, 0, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn lines(status: u16, bytes: &[u8], cut: Option<&'static str>) -> Result<Data, Failure> {
    // What was cut off was cut anywhere: the last line may be half a one.
    let whole = match bytes.iter().rposition(|byte| matches!(byte, b'\n' | 0x1E)) {
        Some(end) if cut.is_some() => &bytes[..end],
        _ => bytes,
    };
    let mut data = String::from("[");
    let rows = whole
        .split(|byte| matches!(byte, b'\n' | 0x1E))
        .map(<[u8]>::trim_ascii)
        .filter(|row| !row.is_empty());
    for (index, row) in rows.enumerate() {
        if index == MAX_LINES {
            data.push(']');
            return Ok(Data { data, cut: Some("too many lines") });
        }
        let value = json_text(row, "")
            .map_err(|why| malformed(status, format!("line {} of the body is not JSON: {why}", index + 1)))?;
        if index > 0 {
            data.push(',');
        }
        data.push_str(&value);
    }
    data.push(']');
    Ok(Data { data, cut })
}

fn events(bytes: &[u8], cut: Option<&'static str>) -> Data {
    let events = events::read(bytes, MAX_LINES);
    Data { data: events.data, cut: cut.or(events.cut.then_some("too many events")) }
}

/// Text as a JSON string; what can't be read as text is kept byte for byte.
fn text<H: Http>(http: &mut H, bytes: &[u8], content_type: &str) -> Result<String, Failure> {
    match charset::decode(bytes, content_type) {
        Some(text) => Ok(json!(text).to_string()),
        None => stored(http, bytes, content_type),
    }
}

fn file_value(file: &StoredFile, content_type: &str) -> String {
    let media_type = if content_type.is_empty() {
        "application/octet-stream".to_owned()
    } else {
        content::essence(content_type)
    };
    json!({"$file": file.reference, "mediaType": plain(&media_type, 120), "size": file.size}).to_string()
}

fn malformed_json(status: u16, why: &str, bytes: &[u8]) -> Failure {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MAX_EXCERPT_CHARS)]).into_owned();
    Failure {
        details: Some(json!({"size": bytes.len(), "start": plain(&start, MAX_EXCERPT_CHARS)}).to_string()),
        ..malformed(status, format!("the API said it answers JSON, but the body is not valid JSON: {why}"))
    }
}
