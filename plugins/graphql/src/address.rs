//! URLs, as far as an endpoint needs them. The host parses every URL again,
//! strictly, before anything is sent.

/// An `http` or `https` URL cut in three.
struct Parts<'u> {
    scheme: &'u str,
    authority: &'u str,
    /// From the first slash on, or empty.
    rest: &'u str,
}

fn split(url: &str) -> Option<Parts<'_>> {
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    Some(Parts { scheme, authority, rest })
}

fn without_user(authority: &str) -> &str {
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// A URL that requests can be sent to: without user info and fragment. Path
/// and query stay as they are; servers tell `/graphql` from `/graphql/`.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn endpoint(url: &str) -> Result<String, String> {
    let url = url.trim();
    let refused = |why: &str| format!("the URL {:?} {why}", crate::text::line(url, 200));
    let Some(Parts { scheme, authority, rest }) = split(url) else {
        return Err(refused("is not an absolute http or https URL"));
    };
    let host = without_user(authority);
    if host.is_empty() || host.starts_with(':') {
        return Err(refused("names no host"));
    }
    let bad = |c: char| c.is_control() || c.is_whitespace() || "\\<>\"^`{|}".contains(c);
    if host.contains(bad) || host.contains('%') || rest.contains(bad) {
        return Err(refused("contains characters that no URL may have"));
    }
    let rest = rest.split('#').next().unwrap_or_default();
    Ok(format!("{}://{}{rest}", scheme.to_ascii_lowercase(), host.to_ascii_lowercase()))
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

/// What an API at a URL is called where nobody says it.
pub(crate) fn title(url: &str) -> String {
    host(url).map_or_else(|| "GraphQL API".to_owned(), |host| format!("GraphQL API of {host}"))
}

/// Whether host or path have the word `graphql` or `gql` to themselves.
pub(crate) fn says_graphql(url: &str) -> bool {
    let Some(Parts { authority, rest, .. }) = split(url) else {
        return false;
    };
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let words = without_user(authority).split(['.', '-', ':']).chain(path.split(['/', '.', '-', '_']));
    words.map(str::to_ascii_lowercase).any(|word| word == "graphql" || word == "gql" || word == "graphiql")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_keep_what_servers_look_at() {
        let check = |url: &str, expected: &str| assert_eq!(endpoint(url).unwrap(), expected);
        check("HTTPS://u:p@API.example.com:8443/GraphQL/?v=1#x", "https://api.example.com:8443/GraphQL/?v=1");
        check(" http://a ", "http://a");
        for bad in
            ["ftp://a", "a/graphql", "https://", "https://a b/", "https://evil\\@good/", "https://{h}/"]
        {
            assert!(endpoint(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn parts_of_urls() {
        assert_eq!(origin("https://API.example.com:443/x").as_deref(), Some("https://api.example.com"));
        assert_eq!(origin("http://a@b:80?x").as_deref(), Some("http://b"));
        assert_eq!(host("http://[::1]:80/").as_deref(), Some("[::1]"));
        for url in ["https://a.example/graphql", "https://graphql.a.example/", "https://a/api/graphql.json?x"]
        {
            assert!(says_graphql(url), "{url}");
        }
        for url in ["https://a.example/graphqlx", "https://notgraphql.example/", "https://a/?graphql"] {
            assert!(!says_graphql(url), "{url}");
        }
    }
}
