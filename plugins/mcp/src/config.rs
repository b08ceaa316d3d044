//! A source's config: where the server is, and what was found out about it
//! when the source was added.

use serde::{Deserialize, Serialize};

use crate::address;
use crate::seam::Failure;
use crate::text::line;

/// How a server and its client greet each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Era {
    /// Revision 2026-07-28: no handshake, each request says all.
    Modern,
    /// 2025-11-25 and older: `initialize` first.
    Legacy,
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "transport", rename_all = "lowercase")]
pub(crate) enum Endpoint {
    /// Behind a URL.
    Http {
        /// Absolute.
        url: String,
        /// Whether it speaks the HTTP+SSE of 2024-11-05, where that is known.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        sse: bool,
        /// Its era, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        era: Option<Era>,
    },
    /// A process of the host's.
    Stdio,
}

impl Endpoint {
    pub(crate) fn url(&self) -> Option<&str> {
        match self {
            Self::Http { url, .. } => Some(url),
            Self::Stdio => None,
        }
    }

    /// How its calls go over the wire, for people.
    pub(crate) fn transport(&self, sse: bool) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http { .. } if sse => "sse",
            Self::Http { .. } => "streamable-http",
        }
    }
}

#[derive(Deserialize)]
struct Raw {
    transport: Option<String>,
    url: Option<String>,
    #[serde(default)]
    sse: bool,
    era: Option<Era>,
}

#[derive(Deserialize)]
struct Settings {
    base_url: Option<String>,
}

/// Reads a config. Where it has no URL, `fallback` is the one that the person
/// gave; one in the settings is stronger than both.
///
/// # Errors
/// `invalid-config`, saying what is wrong.
pub(crate) fn read(config: &str, settings: &str, fallback: Option<&str>) -> Result<Endpoint, Failure> {
    let invalid = |why: String| Failure::new("invalid-config", why);
    let raw: Raw = serde_json::from_str(config)
        .map_err(|error| invalid(format!("the source's config can't be read: {error}")))?;
    match raw.transport.as_deref() {
        Some("stdio") => return Ok(Endpoint::Stdio),
        None | Some("http") => {}
        Some(other) => {
            let other = line(other, 50);
            return Err(invalid(format!("the config's transport is {other:?}: it is \"http\" or \"stdio\"")));
        }
    }
    let settings: Settings = serde_json::from_str(settings).map_err(|error| {
        Failure::new("settings-invalid", format!("the source's settings can't be used: {error}"))
    })?;
    // What was found out is of the server that it was found out about.
    let (sse, era) = if settings.base_url.is_some() { (false, None) } else { (raw.sse, raw.era) };
    let Some(url) = settings.base_url.as_deref().or(raw.url.as_deref()).or(fallback) else {
        return Err(invalid("the config has no url: say where the MCP server is".to_owned()));
    };
    if address::origin(url).is_none() {
        return Err(invalid(format!("{:?} is not an absolute http or https URL", line(url, 200))));
    }
    let url = url.split('#').next().unwrap_or(url).to_owned();
    Ok(Endpoint::Http { url, sse, era })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let endpoint = Endpoint::Http { url: "https://x/mcp".to_owned(), sse: false, era: Some(Era::Modern) };
        let text = serde_json::to_string(&endpoint).unwrap();
        assert_eq!(text, r#"{"transport":"http","url":"https://x/mcp","era":"modern"}"#);
        assert_eq!(read(&text, "{}", None).unwrap(), endpoint);
        assert_eq!(read(r#"{"transport":"stdio"}"#, "{}", None).unwrap(), Endpoint::Stdio);
        let moved = Endpoint::Http { url: "https://y/mcp".to_owned(), sse: false, era: None };
        assert_eq!(read(&text, r#"{"base_url":"https://y/mcp"}"#, None).unwrap(), moved);
        let named = read("{}", "{}", Some("http://127.0.0.1:1/mcp#x")).unwrap();
        assert_eq!(named.url(), Some("http://127.0.0.1:1/mcp"));
    }

    #[test]
    fn what_can_not_be_used_is_named() {
        let check = |config: &str, part: &str| {
            let failure = read(config, "{}", None).unwrap_err();
            assert_eq!(failure.code, "invalid-config");
            assert!(failure.message.contains(part), "{}", failure.message);
        };
        check("{}", "no url");
        check(r#"{"transport":"carrier pigeon"}"#, "carrier pigeon");
        check(r#"{"url":"/mcp"}"#, "absolute");
        check("[7]", "can't be read");
        assert_eq!(read("{}", r#"{"base_url":7}"#, None).unwrap_err().code, "settings-invalid");
    }
}
