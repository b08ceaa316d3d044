//! The tags of an HTML page, as far as they name other documents. A page is a
//! stranger's text: what is broken in it is passed over.

/// Bytes of a page that are looked at.
const PAGE_BYTES: usize = 1 << 20;
const TAGS: usize = 20_000;
const ATTRIBUTES: usize = 50;

/// An opening tag.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag {
    /// In lower case.
    pub(super) name: String,
    /// Names in lower case.
    attributes: Vec<(String, String)>,
}

impl Tag {
    /// The value of an attribute.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether an attribute that is a list of words has this one.
    pub(super) fn has(&self, name: &str, word: &str) -> bool {
        let mut words = self.get(name).unwrap_or_default().split_ascii_whitespace();
        words.any(|known| known.eq_ignore_ascii_case(word))
    }
}

/// The text that a body is, as far as it is looked at.
pub(super) fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(PAGE_BYTES)]).into_owned()
}

/// Whether a text is a page.
pub(super) fn is_page(text: &str) -> bool {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if !start.starts_with('<') {
        return false;
    }
    let mut end = start.len().min(4096);
    while !start.is_char_boundary(end) {
        end -= 1;
    }
    let start = start[..end].to_ascii_lowercase();
    start.starts_with("<!doctype html") || ["<html", "<head", "<body"].iter().any(|tag| start.contains(tag))
}

/// The opening tags of a page, in their order.
pub(super) fn tags(page: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
        if end == 0 {
            continue;
        }
        let mut tag = Tag { name: rest[..end].to_ascii_lowercase(), attributes: Vec::new() };
        rest = attributes(&rest[end..], &mut tag.attributes);
        tags.push(tag);
        if tags.len() == TAGS {
            break;
        }
    }
    tags
}

/// Reads attributes up to the end of the tag, and gives what follows it.
fn attributes<'p>(mut rest: &'p str, found: &mut Vec<(String, String)>) -> &'p str {
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
        if let Some(after) = rest.strip_prefix('>') {
            return after;
        }
        if rest.is_empty() || rest.starts_with('<') || found.len() == ATTRIBUTES {
            return rest;
        }
        let end =
            rest.find(|c: char| c.is_whitespace() || matches!(c, '=' | '>' | '/')).unwrap_or(rest.len());
        // A lone `=` names nothing, and has to be passed all the same.
        let (name, after) = rest.split_at(end.max(rest.chars().next().map_or(0, char::len_utf8)));
        let (value, after) = value(after);
        found.push((name.to_ascii_lowercase(), unescaped(value)));
        rest = after;
    }
}

fn value(after: &str) -> (&str, &str) {
    let Some(given) = after.trim_start().strip_prefix('=') else {
        return ("", after);
    };
    let given = given.trim_start();
    for quote in ['"', '\''] {
        if let Some(quoted) = given.strip_prefix(quote) {
            return quoted.split_once(quote).unwrap_or((quoted, ""));
        }
    }
    given.split_at(given.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(given.len()))
}

/// The characters that stand for others in an attribute, as far as URLs and
/// titles have them.
pub(super) fn unescaped(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let known = [
        ("&#x2F;", "/"),
        ("&#47;", "/"),
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ];
    known.iter().fold(text.to_owned(), |text, (written, meant)| text.replace(written, meant))
}

/// The text between a tag and its end, without the tags in it.
pub(super) fn inner(page: &str, name: &str) -> Option<String> {
    let lower = page.to_ascii_lowercase();
    let start = lower.find(&format!("<{name}"))?;
    let open = start + lower[start..].find('>')? + 1;
    let close = open + lower[open..].find(&format!("</{name}"))?;
    let words: Vec<&str> = page[open..close].split_whitespace().collect();
    let text: String = unescaped(&words.join(" ")).chars().filter(|c| !c.is_control()).take(100).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(page: &str, expect: &str) {
        let found: Vec<String> = tags(page)
            .into_iter()
            .map(|tag| {
                let attributes = tag.attributes.iter().map(|(name, value)| format!(" {name}={value}"));
                tag.name.clone() + &attributes.collect::<String>()
            })
            .collect();
        assert_eq!(found.join("; "), expect, "{page}");
    }

    #[test]
    fn tags_are_read_as_browsers_do() {
        check(r#"<LINK Rel="a b" href='/x?a=1&amp;b=2'><p>"#, "link rel=a b href=/x?a=1&b=2; p");
        check("<!-- <link href=no> --><a href=/yes/ x>", "a href=/yes/ x=");
        check("</p><!doctype html><br/><b\n c = d e>", "br; b c=d e=");
        check("<redoc spec-url='/api.json'></redoc>", "redoc spec-url=/api.json");
    }

    #[test]
    fn what_is_broken_ends() {
        check("<", "");
        check("<a", "a");
        check("<a href=\"never ends", "a href=never ends");
        check("<a = = >", "a ==");
        check("<a <b>", "a; b");
        check("<!-- never ends <a>", "");
        check("a < b && c > d", "");
        assert_eq!(tags(&"<a>".repeat(100_000)).len(), TAGS);
        assert!(tags(&"<a é=".repeat(100_000)).len() < TAGS, "values may hold what they like");
    }

    #[test]
    fn pages_are_told_from_other_marks() {
        assert!(is_page("\u{feff} <!DOCTYPE html><title>x</title>"));
        assert!(
            is_page("<html>") && is_page("<head>") && is_page("<?xml version=\"1.0\"?><html xmlns=\"x\">")
        );
        assert!(!is_page("<definitions/>") && !is_page("") && !is_page("{\"a\":\"<html>\"}"));
        assert_eq!(inner("<TITLE lang=en>\n Sign  in &amp; up</title>", "title").unwrap(), "Sign in & up");
        assert_eq!(inner("<title>never ends", "title"), None);
    }
}
