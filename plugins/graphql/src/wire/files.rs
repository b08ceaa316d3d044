//! Files in arguments, sent after the GraphQL multipart request specification.

use serde_json::{Map, Value, json};

use super::operation::Prepared;
use super::send::{json_request, request};
use crate::seam::{Chunk, Failure, HttpRequest};
use crate::text::{hash, line};

const MAX_FILES: usize = 100;
const MAX_NAME_CHARS: usize = 200;

/// A file and where it stands: `variables.input.files.0`.
#[derive(Debug, PartialEq, Eq)]
struct File {
    place: String,
    reference: String,
    name: String,
    media_type: String,
}

/// The request of an operation: JSON, or multipart where files go along.
///
/// # Errors
/// `invalid-arguments`: too many files.
pub(crate) fn build(mut prepared: Prepared, uploads: bool) -> Result<HttpRequest, Failure> {
    let mut files = Vec::new();
    if uploads {
        for (name, value) in &mut prepared.variables {
            take(value, &format!("variables.{name}"), &mut files);
        }
    }
    if files.len() > MAX_FILES {
        let message = format!("{} files are too many for one call: {MAX_FILES} are sent", files.len());
        return Err(Failure::new("invalid-arguments", message));
    }
    if files.is_empty() {
        return Ok(json_request(&prepared.endpoint, &prepared.body()));
    }
    Ok(multipart(&prepared, &files))
}

/// Takes the files out of a value; null stands where they were.
fn take(value: &mut Value, place: &str, files: &mut Vec<File>) {
    match value {
        Value::Object(map) => match map.get("$file").and_then(Value::as_str) {
            Some(reference) => {
                files.push(file(reference, map, place, files.len()));
                *value = Value::Null;
            }
            None => map.iter_mut().for_each(|(key, inner)| take(inner, &format!("{place}.{key}"), files)),
        },
        Value::Array(list) => {
            list.iter_mut()
                .enumerate()
                .for_each(|(number, inner)| take(inner, &format!("{place}.{number}"), files));
        }
        _ => {}
    }
}

fn file(reference: &str, map: &Map<String, Value>, place: &str, number: usize) -> File {
    let text = |key: &str| map.get(key).and_then(Value::as_str).unwrap_or_default();
    // Neither may end its header, nor the quotes that it stands in.
    let name = line(text("name"), MAX_NAME_CHARS).replace(['"', '\\', '/'], "_");
    let kind = text("mediaType");
    let is_kind = kind.len() <= 100
        && kind.split('/').count() == 2
        && kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/.+-_".contains(&byte));
    File {
        place: place.to_owned(),
        reference: reference.to_owned(),
        name: if name.is_empty() { format!("file{number}") } else { name },
        media_type: if is_kind { kind.to_owned() } else { "application/octet-stream".to_owned() },
    }
}

fn multipart(prepared: &Prepared, files: &[File]) -> HttpRequest {
    let operations = prepared.body().to_string();
    let map: Map<String, Value> =
        files.iter().enumerate().map(|(number, file)| (number.to_string(), json!([file.place]))).collect();
    let map = Value::Object(map).to_string();
    let mark = boundary(&operations, files);
    let mut chunks = Vec::new();
    let mut text = String::new();
    for (name, value) in [("operations", &operations), ("map", &map)] {
        text.push_str(&format!(
            "--{mark}\r\nContent-Disposition: form-data; name=\"{name}\"\r\nContent-Type: application/json\r\n\r\n{value}\r\n"
        ));
    }
    for (number, File { reference, name, media_type, .. }) in files.iter().enumerate() {
        text.push_str(&format!(
            "--{mark}\r\nContent-Disposition: form-data; name=\"{number}\"; filename=\"{name}\"\r\nContent-Type: {media_type}\r\n\r\n"
        ));
        chunks.push(Chunk::Bytes(std::mem::take(&mut text).into_bytes()));
        chunks.push(Chunk::File(reference.clone()));
        text.push_str("\r\n");
    }
    text.push_str(&format!("--{mark}--\r\n"));
    chunks.push(Chunk::Bytes(text.into_bytes()));
    let kind = format!("multipart/form-data; boundary={mark}");
    let mut request = request("POST", prepared.endpoint.clone(), Some(&kind), chunks);
    // Apollo Server, and Yoga and HotChocolate, refuse forms without it, since
    // a browser would send one from any page.
    request.headers.push(("apollo-require-preflight".to_owned(), b"true".to_vec()));
    request.headers.push(("graphql-preflight".to_owned(), b"1".to_vec()));
    request
}

/// The same for the same call. References are digests of the files, so nobody
/// can write a file that has its own boundary in it.
fn boundary(operations: &str, files: &[File]) -> String {
    let mut parts = vec![operations];
    parts.extend(files.iter().map(|file| file.reference.as_str()));
    let first = hash(&parts);
    parts.push("again");
    format!("executor-{first:016x}{:016x}", hash(&parts))
}
