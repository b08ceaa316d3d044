//! From a result to an answer.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::binding::What;
use crate::seam::{Answer, Failure, World};
use crate::text;

/// What any JSON reader takes; deeper answers would fail later, less clearly.
const MAX_DEPTH: u32 = 120;
/// Base64 that is longer becomes a file.
const MAX_INLINE_BYTES: usize = 64 << 10;
/// Data that is larger becomes a file.
const MAX_DATA_BYTES: usize = 16 << 20;
/// Content beside the data is kept up to this size.
const MAX_METADATA_BYTES: usize = 256 << 10;
/// Levels at which content may stand in content.
const MAX_NESTED: u32 = 6;

/// A result's members, unread.
type Members<'r> = BTreeMap<String, &'r RawValue>;

/// Reads a complete result.
///
/// # Errors
/// `upstream-malformed` for one that is no object or nested too deeply, and
/// the host's failures where it can't keep a file.
pub(crate) fn read(what: &What, result: &str, world: &dyn World) -> Result<Answer, Failure> {
    if text::depth(result) > MAX_DEPTH {
        let message = format!("the server's result is nested deeper than {MAX_DEPTH} levels");
        return Err(Failure::new("upstream-malformed", message));
    }
    let mut members: Members<'_> = serde_json::from_str(result)
        .map_err(|_| Failure::new("upstream-malformed", "the server's result is not an object"))?;
    members.remove("resultType");
    let is_error = members.remove("isError").is_some_and(|value| value.get() == "true");
    let data = match what {
        What::Tool { .. } => tool_data(&mut members, is_error, world)?,
        What::Prompt { .. } => picked(&mut members, &["description", "messages"], world)?,
        What::Read => picked(&mut members, &["contents"], world)?,
        What::Resources => picked(&mut members, &["resources", "nextCursor"], world)?,
        What::Templates => picked(&mut members, &["resourceTemplates", "nextCursor"], world)?,
    };
    let data = bounded(data, world)?;
    members.retain(|_, value| value.get().len() <= MAX_METADATA_BYTES);
    let metadata = (!members.is_empty()).then(|| object(&members));
    Ok(Answer { data, is_error, metadata })
}

fn tool_data(members: &mut Members<'_>, is_error: bool, world: &dyn World) -> Result<String, Failure> {
    let content = match (members.remove("structuredContent"), members.remove("content")) {
        // Of an error a program gets the data alone, so that nothing of it may stand elsewhere.
        (Some(structured), Some(content)) if is_error => {
            let content = light(content, world)?;
            let mut data = String::with_capacity(content.len() + structured.get().len() + 40);
            for part in [r#"{"content":"#, &content, r#","structuredContent":"#, structured.get(), "}"] {
                data.push_str(part);
            }
            return Ok(data);
        }
        (Some(structured), content) => {
            members.extend(content.map(|content| ("content".to_owned(), content)));
            return Ok(structured.get().to_owned());
        }
        (None, content) => content,
    };
    let Some(content) = content else {
        let told = members.keys().any(|name| name != "_meta");
        let rest = object(
            &members.iter().filter(|(name, _)| *name != "_meta").map(|(n, v)| (n.clone(), *v)).collect(),
        );
        members.retain(|name, _| name == "_meta");
        return Ok(if told { rest } else { "null".to_owned() });
    };
    let Ok(blocks) = serde_json::from_str::<Vec<&RawValue>>(content.get()) else {
        return Ok(content.get().to_owned());
    };
    match &blocks[..] {
        [] => return Ok("null".to_owned()),
        [only] => {
            if let Some(text) = lone_text(only) {
                return Ok(text);
            }
        }
        _ => {}
    }
    // As large as an answer may be, it has room once more and not twice.
    let mut data = String::with_capacity(content.get().len() + 16);
    data.push_str(r#"{"content":["#);
    for (at, block) in blocks.iter().enumerate() {
        data.push_str(if at == 0 { "" } else { "," });
        data.push_str(&light(block, world)?);
    }
    data.push_str("]}");
    Ok(data)
}

/// A block of text, as the value that it writes where it writes an object or
/// an array, else as a string.
fn lone_text(block: &RawValue) -> Option<String> {
    let members: Members<'_> = serde_json::from_str(block.get()).ok()?;
    if members.get("type")?.get() != "\"text\"" {
        return None;
    }
    let quoted = members.get("text")?.get();
    let text: String = serde_json::from_str(quoted).ok()?;
    let trimmed = text.trim();
    let is_json = trimmed.starts_with(['{', '['])
        && text::depth(trimmed) <= MAX_DEPTH
        && serde_json::from_str::<&RawValue>(trimmed).is_ok();
    Some(if is_json { trimmed.to_owned() } else { quoted.to_owned() })
}

/// Some members of a result, as they are.
fn picked(members: &mut Members<'_>, names: &[&str], world: &dyn World) -> Result<String, Failure> {
    let mut data = "{".to_owned();
    for name in names {
        if let Some(value) = members.remove(*name) {
            let comma = if data.len() > 1 { "," } else { "" };
            let value = light(value, world)?;
            data.reserve_exact(value.len() + name.len() + 8);
            data.push_str(&format!("{comma}{}:", json!(name)));
            data.push_str(&value);
        }
    }
    data.push('}');
    Ok(data)
}

/// A value in which what is large and binary lies in files.
fn light<'v>(value: &'v RawValue, world: &dyn World) -> Result<Cow<'v, str>, Failure> {
    let raw = value.get();
    if raw.len() <= MAX_INLINE_BYTES {
        return Ok(Cow::Borrowed(raw));
    }
    let Ok(mut tree) = serde_json::from_str::<Value>(raw) else { return Ok(Cow::Borrowed(raw)) };
    let moved = move_files(&mut tree, world, 0)?;
    Ok(if moved { Cow::Owned(tree.to_string()) } else { Cow::Borrowed(raw) })
}

fn move_files(value: &mut Value, world: &dyn World, level: u32) -> Result<bool, Failure> {
    if level > MAX_NESTED {
        return Ok(false);
    }
    let mut moved = false;
    match value {
        Value::Array(items) => {
            for item in items {
                moved |= move_files(item, world, level + 1)?;
            }
        }
        Value::Object(members) => {
            let media_type =
                members.get("mimeType").and_then(Value::as_str).map(|text| text::line(text, 120));
            let holds_data = matches!(members.get("type").and_then(Value::as_str), Some("image" | "audio"));
            for (name, member) in members.iter_mut() {
                match name.as_str() {
                    "data" if holds_data => moved |= move_file(member, media_type.as_deref(), world)?,
                    "blob" => moved |= move_file(member, media_type.as_deref(), world)?,
                    "content" | "contents" | "resource" | "messages" => {
                        moved |= move_files(member, world, level + 1)?;
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
    Ok(moved)
}

/// What is no base64 stays what it is.
fn move_file(value: &mut Value, media_type: Option<&str>, world: &dyn World) -> Result<bool, Failure> {
    let Some(bytes) = value
        .as_str()
        .filter(|text| text.len() > MAX_INLINE_BYTES)
        .and_then(|text| STANDARD.decode(text).ok())
    else {
        return Ok(false);
    };
    let reference = world.keep(media_type, &bytes)?;
    *value = json!({"$file": reference});
    Ok(true)
}

fn bounded(data: String, world: &dyn World) -> Result<String, Failure> {
    if data.len() <= MAX_DATA_BYTES {
        return Ok(data);
    }
    let (media_type, bytes) = match serde_json::from_str::<String>(&data) {
        Ok(text) => ("text/plain", text.into_bytes()),
        Err(_) => ("application/json", data.into_bytes()),
    };
    let size = bytes.len();
    let reference = world.keep(Some(media_type), &bytes)?;
    Ok(json!({"$file": reference, "mediaType": media_type, "size": size}).to_string())
}

fn object(members: &Members<'_>) -> String {
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("{}:{}", json!(name), value.get())).collect();
    format!("{{{}}}", members.join(","))
}
