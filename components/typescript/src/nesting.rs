//! A cheap look at how deep a text nests, before a recursive parser does.

use crate::limits::NESTING;

/// Where more than [`NESTING`] brackets are open at once, outside strings and
/// comments. Regular expressions are not told apart from divisions: a bracket
/// or quote in one can shift the count by a little, never hide much.
pub(crate) fn too_deep(source: &str) -> Option<u32> {
    let bytes = source.as_bytes();
    let mut open: Vec<u8> = Vec::new();
    let mut index = 0;
    while let Some(byte) = bytes.get(index).copied() {
        match byte {
            b'(' | b'[' | b'{' => open.push(byte),
            b')' | b']' => {
                open.pop();
            }
            // A brace may end the `${` of a template, whose text goes on.
            b'}' => {
                let ends_template = open.pop() == Some(b'`');
                if ends_template {
                    index = template_end(bytes, index + 1, &mut open);
                    continue;
                }
            }
            b'"' | b'\'' => index = string_end(bytes, index),
            b'`' => {
                index = template_end(bytes, index + 1, &mut open);
                if open.len() > NESTING {
                    break;
                }
                continue;
            }
            b'/' => index = comment_end(bytes, index),
            _ => {}
        }
        if open.len() > NESTING {
            break;
        }
        index += 1;
    }
    if open.len() <= NESTING {
        return None;
    }
    u32::try_from(index.min(bytes.len())).ok()
}

/// The last byte of a string; the end of the line where it is not closed.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let mut index = start + 1;
    while let Some(byte) = bytes.get(index).copied() {
        match byte {
            b'\\' => index += 1,
            b'\n' => return index,
            _ if byte == quote => return index,
            _ => {}
        }
        index += 1;
    }
    index
}

/// The byte after a template's text: after its closing quote, or after a `${`,
/// which is then open.
fn template_end(bytes: &[u8], start: usize, open: &mut Vec<u8>) -> usize {
    let mut index = start;
    while let Some(byte) = bytes.get(index).copied() {
        match byte {
            b'\\' => index += 1,
            b'`' => return index + 1,
            b'$' if bytes.get(index + 1) == Some(&b'{') => {
                open.push(b'`');
                return index + 2;
            }
            _ => {}
        }
        index += 1;
    }
    index
}

/// The last byte of a comment; the slash itself where none starts.
fn comment_end(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start + 1..];
    match rest.first() {
        Some(b'/') => {
            let length = rest.iter().position(|byte| *byte == b'\n');
            start + 1 + length.unwrap_or(rest.len())
        }
        Some(b'*') => {
            let length = rest.windows(2).skip(1).position(|pair| pair == b"*/");
            start + 1 + length.map_or(rest.len(), |length| length + 2)
        }
        _ => start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_strings_and_comments() {
        let deep = "[".repeat(NESTING + 1);
        assert_eq!(too_deep(&deep), Some(NESTING as u32));
        assert_eq!(too_deep(&"[".repeat(NESTING)), None);
        assert_eq!(too_deep(&"[]".repeat(NESTING * 2)), None);
        for text in [
            format!("'{deep}'"),
            format!("\"\\\"{deep}\""),
            format!("`{deep}`"),
            format!("`a${{1}}{deep}`"),
            format!("// {deep}\n"),
            format!("/* {deep} */"),
            format!("/**/ '{deep}'"),
        ] {
            assert_eq!(too_deep(&text), None, "{}", &text[..10]);
        }
        for text in [
            format!("'{deep}\n{deep}"),
            format!("/* */{deep}"),
            format!("// x\n{deep}"),
            format!("`${{'`'}}`{deep}"),
            "`${".repeat(NESTING + 1),
        ] {
            assert!(too_deep(&text).is_some(), "{}", &text[..10]);
        }
    }

    #[test]
    fn odd_ends_do_not_run_over() {
        for text in ["'", "'\\", "`", "`\\", "`${", "/", "/*", "//", "/*/", "}", ")"] {
            assert_eq!(too_deep(text), None, "{text}");
        }
    }
}
