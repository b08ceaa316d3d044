//! URLs, as far as a client of one endpoint has to read them.

/// `scheme://authority` of an http or https URL, in lower case.
pub(crate) fn origin(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let sound = !authority.is_empty()
        && !authority.starts_with(':')
        && !authority.contains(|c: char| c.is_whitespace() || c.is_control() || c == '@');
    (matches!(scheme.as_str(), "http" | "https") && sound)
        .then(|| format!("{scheme}://{}", authority.to_ascii_lowercase()))
}

/// The host's name, without a port.
pub(crate) fn host(url: &str) -> Option<String> {
    let origin = origin(url)?;
    let (_, authority) = origin.split_once("://")?;
    if authority.starts_with('[') {
        return Some(authority.split_inclusive(']').next().unwrap_or_default().to_owned());
    }
    Some(authority.split(':').next().unwrap_or_default().to_owned())
}

/// The path, without query and fragment; `/` where there is none.
pub(crate) fn path(url: &str) -> &str {
    let Some((_, rest)) = url.split_once("://") else { return "/" };
    let Some(start) = rest.find(['/', '?', '#']) else { return "/" };
    let path = &rest[start..];
    let path = &path[..path.find(['?', '#']).unwrap_or(path.len())];
    if path.is_empty() { "/" } else { path }
}

/// Whether a segment of the path is `word`.
pub(crate) fn has_segment(url: &str, word: &str) -> bool {
    path(url).split('/').any(|segment| segment.eq_ignore_ascii_case(word))
}

/// A reference that stands in an answer of `base`, as an absolute URL of the
/// same origin; none where it leads to another, or is no http or https URL.
pub(crate) fn within(base: &str, reference: &str) -> Option<String> {
    let own = origin(base)?;
    let reference = reference.trim();
    if reference.is_empty() || reference.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\')
    {
        return None;
    }
    let url = if let Some(rest) = reference.strip_prefix("//") {
        format!("{}://{rest}", own.split("://").next()?)
    } else if reference.starts_with('/') {
        format!("{own}{reference}")
    } else if let Some(query) = reference.strip_prefix('?') {
        format!("{own}{}?{query}", path(base))
    } else if origin(reference).is_some() {
        reference.to_owned()
    } else if reference.split(['/', '?']).next()?.contains(':') {
        return None;
    } else {
        let folder = &path(base)[..=path(base).rfind('/')?];
        format!("{own}{folder}{reference}")
    };
    (origin(&url)? == own).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_stay_within_the_origin() {
        let check = |reference: &str, expected: Option<&str>| {
            let found = within("https://a.example:8443/x/sse?k=1", reference);
            assert_eq!(found.as_deref(), expected, "{reference}");
        };
        check("/messages?sessionId=1", Some("https://a.example:8443/messages?sessionId=1"));
        check("messages", Some("https://a.example:8443/x/messages"));
        check("?s=1", Some("https://a.example:8443/x/sse?s=1"));
        check("https://A.example:8443/m", Some("https://A.example:8443/m"));
        check("https://b.example/m", None);
        check("//b.example/m", None);
        check("https://a.example:8443@b.example/m", None);
        check("http://a.example:8443/m", None);
        check("file:///etc/passwd", None);
        check("/m\r\nx: y", None);
        check("", None);
    }

    #[test]
    fn parts() {
        assert_eq!(origin("HTTPS://Mcp.Example/mcp").as_deref(), Some("https://mcp.example"));
        assert_eq!(origin("ftp://x/"), None);
        assert_eq!(origin("https://u:p@x/"), None);
        assert_eq!(host("http://[::1]:80/mcp").as_deref(), Some("[::1]"));
        assert_eq!(host("http://localhost:80/mcp").as_deref(), Some("localhost"));
        assert_eq!(path("https://x?q=1"), "/");
        assert!(has_segment("https://x/a/MCP?z=/sse", "mcp") && !has_segment("https://x/a?z=/sse", "sse"));
    }
}
