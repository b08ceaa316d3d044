//! Files that an answer left with the workspace, brought to this machine.

use std::fs::File;
use std::io::{self, Write};

use serde_json::Value;

use crate::api::Api;
use crate::context::{Context, quoted};
use crate::failure::Failure;
use crate::text;
use crate::uploads::FILE;

/// Files of one answer that are looked for.
const FILES_LIMIT: usize = 100;
/// Of these so many are named in a hint.
const NAMED_LIMIT: usize = 3;

/// The references of the files in an answer, each once.
pub(crate) fn references(answer: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    let mut waiting = vec![answer];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Object(map) => {
                if let Some(reference) = map.get(FILE).and_then(Value::as_str)
                    && is_reference(reference)
                    && !found.contains(&reference)
                {
                    found.push(reference);
                }
                waiting.extend(map.values().rev());
            }
            Value::Array(items) => waiting.extend(items.iter().rev()),
            _ => {}
        }
        if found.len() >= FILES_LIMIT {
            break;
        }
    }
    found
}

fn is_reference(text: &str) -> bool {
    let digits = text.strip_prefix("blob:").unwrap_or_default();
    digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Says how to get the files of an answer.
pub(crate) fn tell(context: &Context, answer: &Value) {
    let found = references(answer);
    for reference in found.iter().take(NAMED_LIMIT) {
        let get = context.command(&format!("blobs get {reference} -o FILE"));
        context.output.hint(&format!("`{get}` writes the file"));
    }
}

/// Whether the answer is a file and nothing else.
pub(crate) fn is_file(answer: &Value) -> bool {
    answer[FILE].is_string()
}

/// Writes the one file of an answer.
///
/// # Errors
/// There is none, or more than one, or it can't be written.
pub(crate) fn save_only(context: &Context, answer: &Value, target: &str) -> Result<(), Failure> {
    match references(answer)[..] {
        [] => Err(Failure::failed(format!(
            "the answer has no file, so that nothing was written to {}",
            text::line(target, 200)
        ))),
        [only] => save(context, only, target),
        ref several => {
            let failure = Failure::failed(format!(
                "the answer has {} files, so that none was written to {}",
                several.len(),
                text::line(target, 200)
            ));
            let get = context.command(&format!("blobs get {} -o FILE", several[0]));
            Err(failure.hint(format!("each by its reference: `{get}`")))
        }
    }
}

/// Writes a file that the workspace holds, to stdout for `-`.
///
/// # Errors
/// There is none of that reference, or it can't be written.
pub(crate) fn save(context: &Context, reference: &str, target: &str) -> Result<(), Failure> {
    let mut content = Api::new(context).download(&context.path(&["blobs", reference]))?;
    if target == "-" {
        let mut stdout = io::stdout().lock();
        copy(&mut content, &mut stdout, |error| Failure::writing(&error))?;
        return Ok(());
    }
    let shown = text::line(target, 200);
    let wrong = |error: io::Error| Failure::failed(format!("{shown} can't be written: {error}"));
    let mut file = File::create(target).map_err(wrong)?;
    let count = copy(&mut content, &mut file, wrong)?;
    context.output.say(&format!("wrote {}, {}", quoted(&shown), text::bytes(count)));
    Ok(())
}

fn copy(
    from: &mut impl io::BufRead,
    to: &mut impl Write,
    wrong: impl Fn(io::Error) -> Failure,
) -> Result<u64, Failure> {
    let mut count = 0;
    loop {
        let piece = from.fill_buf().map_err(|error| {
            Failure::no_daemon(format!("the daemon broke off, and the file is incomplete: {error}"))
        })?;
        if piece.is_empty() {
            to.flush().map_err(wrong)?;
            return Ok(count);
        }
        to.write_all(piece).map_err(&wrong)?;
        let length = piece.len();
        count += length as u64;
        from.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_files_of_an_answer_are_found_once_and_in_order() {
        let file = |digit: &str| format!("blob:{}", digit.repeat(64));
        let (one, two) = (file("1"), file("2"));
        let answer = json!({ "a": [{ "$file": one }, { "$file": two, "size": 1 }], "b": { "$file": one },
            "c": { "$file": "blob:1" }, "d": { "$file": "../../x" }, "e": { "$file": 1 } });
        assert_eq!(references(&answer), [one.as_str(), two.as_str()]);
        assert!(references(&json!([1, "blob:2", null])).is_empty());
        let many: Vec<Value> =
            (0..1000).map(|number| json!({ "$file": format!("blob:{number:064}") })).collect();
        assert_eq!(references(&json!(many)).len(), FILES_LIMIT);
    }
}
