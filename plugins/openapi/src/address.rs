//! URLs, as far as servers need them: resolving, joining and origins. The host
//! parses every URL again, strictly, before anything is sent.

/// An `http` or `https` URL cut in three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts<'u> {
    scheme: &'u str,
    authority: &'u str,
    /// From the first slash on, or empty.
    path: &'u str,
}

fn split(url: &str) -> Option<Parts<'_>> {
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    Some(Parts { scheme, authority, path })
}

/// `reference` as an absolute URL, resolved on `base` where it is relative.
/// None where there is no way to an `http` or `https` URL.
pub(crate) fn resolve(base: Option<&str>, reference: &str) -> Option<String> {
    let reference = reference.trim();
    let base = base.filter(|base| split(base).is_some());
    if reference.starts_with("//") && base.is_none() {
        return Some(format!("https:{reference}"));
    }
    if !reference.contains("://")
        && !reference.starts_with("//")
        && let Some(host) = schemeless(reference)
    {
        return Some(format!("https://{host}"));
    }
    if reference.contains("://") { absolute(reference) } else { join(base?, reference) }
}

fn absolute(url: &str) -> Option<String> {
    split(url).map(|_| url.to_owned())
}

/// `reference` resolved on `base` by the letter of RFC 3986, section 5.2.
pub(crate) fn join(base: &str, reference: &str) -> Option<String> {
    if has_scheme(reference) {
        return absolute(reference);
    }
    let Parts { scheme, authority, path } = split(base)?;
    if reference.starts_with("//") {
        return Some(format!("{scheme}:{reference}"));
    }
    let folder = without_tail(path);
    let joined = if reference.starts_with('/') {
        reference.to_owned()
    } else if reference.is_empty() {
        folder.to_owned()
    } else {
        format!("{}/{reference}", folder.rsplit_once('/').map_or("", |(before, _)| before))
    };
    Some(format!("{scheme}://{}{}", without_user(authority), without_dots(&joined)))
}

fn has_scheme(reference: &str) -> bool {
    let end = reference.find([':', '/', '?', '#']);
    end.is_some_and(|end| reference[end..].starts_with(':') && end > 0)
        && reference.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// `api.example.com/v1` is a relative path by the letter; people mean a host.
fn schemeless(reference: &str) -> Option<&str> {
    let end = reference.find(['/', ':']).unwrap_or(reference.len());
    let host = &reference[..end];
    let last = host.rsplit_once('.')?.1;
    let is_host = !host.starts_with('.')
        && host.len() > 3
        && last.len() >= 2
        && last.bytes().all(|byte| byte.is_ascii_alphabetic())
        && !matches!(last, "json" | "yaml" | "yml" | "html" | "php" | "aspx")
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    is_host.then_some(reference)
}

fn without_tail(path: &str) -> &str {
    &path[..path.find(['?', '#']).unwrap_or(path.len())]
}

fn without_user(authority: &str) -> &str {
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// RFC 3986, section 5.2.4.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." if is_last => kept.push(""),
            "." => {}
            ".." => {
                if kept.len() > 1 {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            other => kept.push(other),
        }
    }
    kept.join("/")
}

/// A server's URL as requests are built on it: no user info, query, fragment
/// or closing slash.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn as_base(url: &str) -> Result<String, String> {
    let refused = |why: &str| format!("the server URL {:?} {why}", crate::text::line(url, 200));
    let Some(Parts { scheme, authority, path }) = split(url.trim()) else {
        return Err(refused("is not an absolute http or https URL"));
    };
    let host = without_user(authority);
    let bad = |c: char| c.is_control() || c.is_whitespace() || "\\<>\"^`{|}".contains(c);
    if host.is_empty() || host.starts_with(':') {
        return Err(refused("names no host"));
    }
    if host.contains(bad) || host.contains('%') || path.contains(bad) {
        return Err(refused("contains characters that no URL may have"));
    }
    let path = without_tail(path).trim_end_matches('/');
    Ok(format!("{}://{}{path}", scheme.to_ascii_lowercase(), host.to_ascii_lowercase()))
}

/// `scheme://host[:port]`, in lower case, without a scheme's usual port.
pub(crate) fn origin(url: &str) -> Option<String> {
    let Parts { scheme, authority, .. } = split(url)?;
    let scheme = scheme.to_ascii_lowercase();
    let host = without_user(authority).to_ascii_lowercase();
    let usual = if scheme == "https" { ":443" } else { ":80" };
    let host = host.strip_suffix(usual).unwrap_or(&host);
    (!host.is_empty()).then(|| format!("{scheme}://{host}"))
}

/// The host's name without its port.
pub(crate) fn host(url: &str) -> Option<String> {
    let Parts { authority, .. } = split(url)?;
    let host = without_user(authority).to_ascii_lowercase();
    if host.starts_with('[') {
        return host.split_once(']').map(|(inside, _)| format!("{inside}]"));
    }
    Some(host.split(':').next().unwrap_or_default().to_owned()).filter(|host| !host.is_empty())
}

/// Whether a document was given as files: their names are under a name that is
/// none (RFC 6761), for references alone, and no server is there.
pub(crate) fn is_of_files(url: &str) -> bool {
    host(url).is_some_and(|host| host.ends_with(".invalid"))
}

/// Whether a host is this machine or a private network, by its name alone.
pub(crate) fn is_private(host: &str) -> bool {
    if let Ok(address) = host.parse::<std::net::Ipv4Addr>() {
        return address.is_private()
            || address.is_loopback()
            || address.is_link_local()
            || address.is_unspecified();
    }
    host == "localhost"
        || host.ends_with(".localhost")
        || host.ends_with(".local")
        || host.ends_with(".internal")
        || host.starts_with('[')
        || !host.contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_resolved_on_the_documents_url() {
        let base = Some("https://user:pw@example.com/specs/v1/openapi.json?key=1");
        let check = |reference: &str, expected: &str| {
            assert_eq!(resolve(base, reference).as_deref(), Some(expected), "{reference}");
        };
        check("https://api.example.com/v2", "https://api.example.com/v2");
        check("/api", "https://example.com/api");
        check("/", "https://example.com/");
        check("", "https://example.com/specs/v1/openapi.json");
        check("v2", "https://example.com/specs/v1/v2");
        check("./v2", "https://example.com/specs/v1/v2");
        check("../../../v2/", "https://example.com/v2/");
        check("//cdn.example.com/x", "https://cdn.example.com/x");
        check("api.example.com/v1", "https://api.example.com/v1");
        assert_eq!(resolve(None, "/api"), None);
        assert_eq!(resolve(base, "ftp://example.com"), None);
        assert_eq!(resolve(base, "javascript://x"), None);
    }

    #[test]
    fn bases_and_origins() {
        assert_eq!(
            as_base("HTTPS://u:p@API.example.com:8443/V1/?x=1#y").unwrap(),
            "https://api.example.com:8443/V1"
        );
        assert!(as_base("https:///x").is_err());
        assert!(as_base("https://a b/").is_err());
        assert!(as_base("https://evil.com\\@good.com/").is_err());
        assert!(as_base("https://{host}/").is_err());
        assert_eq!(origin("https://API.example.com:443/x").as_deref(), Some("https://api.example.com"));
        assert_eq!(origin("http://a@b:80?x").as_deref(), Some("http://b"));
        assert_eq!(host("http://[::1]:80/").as_deref(), Some("[::1]"));
        assert!(is_private("127.0.0.1") && is_private("kubernetes.local") && is_private("10.1.2.3"));
        assert!(!is_private("example.com"));
    }
}
