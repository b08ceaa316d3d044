//! A short name for a source.

use crate::address;

const MAX_WORDS: usize = 3;
const MAX_CHARS: usize = 32;
/// Words that say nothing about which server it is.
const NOISE: [&str; 17] = [
    "a",
    "an",
    "and",
    "api",
    "app",
    "example",
    "for",
    "mcp",
    "modelcontextprotocol",
    "official",
    "remote",
    "server",
    "servers",
    "service",
    "sse",
    "the",
    "www",
];
/// Second labels under which names are registered, as in `example.co.uk`.
const SHARED_LABELS: [&str; 7] = ["co", "com", "net", "org", "gov", "ac", "edu"];

/// The telling words of what the server calls itself, else its host's own
/// label, else `mcp`.
pub(crate) fn name(server: Option<&str>, url: &str) -> String {
    let words = words(server.unwrap_or_default());
    let mut name = words.into_iter().take(MAX_WORDS).collect::<Vec<_>>().join("_");
    name.truncate(MAX_CHARS);
    if name.is_empty() {
        name = address::host(url).as_deref().and_then(label).unwrap_or_else(|| "mcp".to_owned());
    }
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("mcp_{name}") } else { name }
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .map(str::to_ascii_lowercase)
        .filter(|word| !word.is_empty() && !NOISE.contains(&word.as_str()))
        .collect()
}

/// `linear` of `mcp.linear.app`.
fn label(host: &str) -> Option<String> {
    let mut labels: Vec<&str> = host.split('.').collect();
    if labels.len() < 2 || host.starts_with('[') || labels.last()?.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let last = labels.pop()?;
    if labels.len() > 1 && last.len() == 2 && SHARED_LABELS.contains(labels.last()?) {
        labels.pop();
    }
    words(labels.last()?).into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_telling() {
        let check = |server: Option<&str>, url: &str, expected: &str| {
            assert_eq!(name(server, url), expected, "{server:?} {url}")
        };
        check(Some("linear-mcp-server"), "https://mcp.linear.app/mcp", "linear");
        check(Some("example-servers/everything"), "http://127.0.0.1/mcp", "everything");
        check(Some("MCP"), "https://mcp.linear.app/mcp", "linear");
        check(None, "https://mcp.example.co.uk/mcp", "mcp");
        check(None, "https://mcp.acme.co.uk/mcp", "acme");
        check(None, "http://127.0.0.1:3000/mcp", "mcp");
        check(Some("1password"), "https://x.example/", "mcp_1password");
        check(Some("日本"), "http://[::1]/mcp", "mcp");
    }
}
