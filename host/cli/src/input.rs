//! What is read for a command: files, stdin, values given as JSON.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

use crate::failure::Failure;

/// Everything of a file, or of stdin for `-`.
///
/// # Errors
/// It can't be read, or is longer than `limit_bytes`.
pub(crate) fn bytes(name: &str, limit_bytes: u64) -> Result<Vec<u8>, Failure> {
    if name == "-" {
        return bounded(io::stdin().lock(), "stdin", limit_bytes);
    }
    let path = Path::new(name);
    if path.is_dir() {
        return Err(Failure::usage(format!("{name} is a directory, and a file is needed")));
    }
    let file = File::open(path).map_err(|error| Failure::usage(format!("{name} can't be read: {error}")))?;
    bounded(file, name, limit_bytes)
}

fn bounded(reader: impl Read, name: &str, limit_bytes: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = reader.take(limit_bytes + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(format!("{name} can't be read: {error}")))?;
    if bytes.len() as u64 > limit_bytes {
        let limit = crate::text::bytes(limit_bytes);
        return Err(Failure::failed(format!("{name} is larger than {limit}")));
    }
    Ok(bytes)
}

/// Text of a file, or of stdin for `-`.
pub(crate) fn text(name: &str, limit_bytes: u64) -> Result<String, Failure> {
    String::from_utf8(bytes(name, limit_bytes)?).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        Failure::usage(format!("{name} is no UTF-8 text: see byte {place}"))
    })
}

/// JSON as it is given: `{…}` itself, `@file`, or `-` for stdin. `what` names
/// it in errors.
pub(crate) fn json(given: &str, what: &str, limit_bytes: u64) -> Result<Value, Failure> {
    let (source, text) = match given.strip_prefix('@') {
        Some("") => {
            return Err(Failure::usage(format!("{what}: `@` is followed by a file's name")));
        }
        Some(file) => (file, self::text(file, limit_bytes)?),
        None if given == "-" => ("stdin", self::text("-", limit_bytes)?),
        None => ("it", given.to_owned()),
    };
    serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("{what}: {source} is no valid JSON: {error}"))
            .hint("JSON needs double quotes around names and strings; put single quotes around the whole in a shell")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_comes_from_where_it_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        std::fs::write(&path, "{\"a\":1}").unwrap();
        let file = format!("@{}", path.display());
        assert_eq!(json(&file, "x", 100).unwrap(), json!({ "a": 1 }));
        assert_eq!(json("[1]", "x", 100).unwrap(), json!([1]));
        let refused = |given: &str, limit: u64| json(given, "the arguments", limit).unwrap_err().message;
        assert!(refused("{a:1}", 9).contains("line 1 column 2"));
        assert!(refused(&file, 3).contains("larger than 3 bytes"));
        assert!(refused("@", 9).contains("file's name"));
        assert!(refused(&format!("@{}", directory.path().display()), 9).contains("directory"));
        std::fs::write(&path, b"\"\xff\"").unwrap();
        assert!(refused(&file, 9).contains("byte 1"));
    }
}
