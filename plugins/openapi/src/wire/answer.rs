//! From a successful response to data.

use serde_json::{json, value::RawValue};

use super::binding::Binding;
use super::content::{self, Content};
use super::headers::Headers;
use super::read::{self, Received, malformed};
use crate::seam::{Answer, Failure, Http, HttpResponse, StoredFile};
use crate::text::plain;

const MAX_LINES: usize = 100_000;
/// What any JSON reader takes; deeper answers would fail later, less clearly.
const MAX_DEPTH: u32 = 120;
const MAX_EXCERPT_CHARS: usize = 200;

/// Reads the response of a call that succeeded.
///
/// # Errors
/// `upstream-malformed`, saying what is wrong with the body, and what reading
/// it can fail with.
pub(crate) fn read<H: Http>(
    http: &mut H,
    binding: &Binding,
    response: H::Response,
) -> Result<Answer, Failure> {
    let status = response.status();
    let headers = Headers::new(response.headers());
    let metadata = Some(headers.metadata(status));
    let is_empty =
        matches!(status, 204 | 205 | 304) || binding.method == "HEAD" || headers.content_length() == Some(0);
    if is_empty {
        return Ok(Answer { data: "null".to_owned(), metadata });
    }
    let content_type = headers.content_type().to_owned();
    let named = (!content_type.is_empty()).then(|| content::kind(&content_type));
    if named == Some(Content::Binary) && !binding.json {
        let file = response.into_file(Some(&content_type))?;
        return Ok(Answer { data: file_value(&file, &content_type), metadata });
    }
    let bytes = match read::all(http, response, &headers, binding.is_idempotent())? {
        Received::Bytes(bytes) => bytes,
        Received::File(file) => {
            return Ok(Answer { data: file_value(&file, &content_type), metadata });
        }
    };
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        let is_text = named == Some(Content::Text) && !binding.json && !bytes.is_empty();
        return Ok(Answer {
            data: if is_text { text(bytes, &content_type) } else { "null".to_owned() },
            metadata,
        });
    }
    let data = match named {
        Some(Content::Json) => json_text(bytes).map_err(|why| malformed_json(status, &why, bytes))?,
        Some(Content::Lines) => lines(status, bytes)?,
        Some(Content::Text) if !binding.json => text(bytes, &content_type),
        _ => sniffed(http, named, bytes, &content_type)?,
    };
    Ok(Answer { data, metadata })
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
    if matches!(first, Some(b'{' | b'['))
        && let Ok(data) = json_text(bytes)
    {
        return Ok(data);
    }
    if named == Some(Content::Text) || (named.is_none() && std::str::from_utf8(bytes).is_ok()) {
        return Ok(text(bytes, content_type));
    }
    let media_type = Some(content_type).filter(|text| !text.is_empty());
    let file = read::store(http, media_type, bytes)?;
    Ok(file_value(&StoredFile { size: Some(bytes.len() as u64), ..file }, content_type))
}

/// The bytes as they are, once they are known to be JSON: numbers keep their
/// digits, and no tree is built.
fn json_text(bytes: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    if depth(bytes) > MAX_DEPTH {
        return Err(format!("it is nested deeper than {MAX_DEPTH} levels"));
    }
    let value: &RawValue = serde_json::from_str(text).map_err(|fault| fault.to_string())?;
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

fn lines(status: u16, bytes: &[u8]) -> Result<String, Failure> {
    let mut data = String::from("[");
    let rows = bytes
        .split(|byte| matches!(byte, b'\n' | 0x1E))
        .map(<[u8]>::trim_ascii)
        .filter(|row| !row.is_empty());
    for (index, row) in rows.enumerate() {
        if index == MAX_LINES {
            return Err(malformed(status, format!("the body has more than {MAX_LINES} lines")));
        }
        let value = json_text(row)
            .map_err(|why| malformed(status, format!("line {} of the body is not JSON: {why}", index + 1)))?;
        if index > 0 {
            data.push(',');
        }
        data.push_str(&value);
    }
    data.push(']');
    Ok(data)
}

fn text(bytes: &[u8], content_type: &str) -> String {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) if content::is_latin(content_type) => bytes.iter().map(|byte| char::from(*byte)).collect(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    };
    json!(text).to_string()
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
