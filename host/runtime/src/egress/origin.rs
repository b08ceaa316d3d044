//! Origins in their canonical form, as grants and pins are compared.

use std::fmt;

use url::{Host, Url};

/// Scheme, host and port of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

/// Why a text is no origin, or a URL is not one to send to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    /// Not a URL.
    #[error("{0:?} is not a URL")]
    Invalid(String),
    /// Another scheme than http and https.
    #[error("{0:?} is neither http nor https")]
    Scheme(String),
    /// A URL with a user name or password in it.
    #[error("the URL holds a user name or password: credentials belong into a connection")]
    UserInfo,
}

impl Origin {
    /// The origin of a URL.
    ///
    /// # Errors
    /// When it is not http or https, has no host or carries credentials.
    pub fn of(url: &Url) -> Result<Self, OriginError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(OriginError::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(OriginError::UserInfo);
        }
        let host = url.host_str().ok_or_else(|| OriginError::Invalid(url.to_string()))?;
        let port = url.port_or_known_default().ok_or_else(|| OriginError::Invalid(url.to_string()))?;
        Ok(Self { scheme: url.scheme().to_owned(), host: host.trim_end_matches('.').to_owned(), port })
    }

    /// The origin that a text names; a path after it is dropped.
    ///
    /// # Errors
    /// As [`Origin::of`], and when the text is no URL.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        let url = Url::parse(text).map_err(|_| OriginError::Invalid(text.chars().take(200).collect()))?;
        Self::of(&url)
    }

    /// Whether what goes there can't be read on its way.
    pub fn is_https(&self) -> bool {
        self.scheme == "https"
    }

    /// `host:port`, as `--allow-host` takes it.
    pub fn host_port(&self) -> HostPort {
        HostPort { host: self.host.clone(), port: self.port }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = if self.scheme == "https" { 443 } else { 80 };
        write!(f, "{}://{}", self.scheme, self.host)?;
        if self.port == default { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

/// One host and port whose special addresses were granted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPort {
    host: String,
    port: u16,
}

impl HostPort {
    /// Reads `localhost:8080` or `[::1]:8080`.
    ///
    /// # Errors
    /// Says the form that is wanted.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        let invalid = || OriginError::Invalid(format!("{text} (HOST:PORT is wanted, as localhost:8080)"));
        let (host, port) = text.rsplit_once(':').ok_or_else(invalid)?;
        let port = port.parse().map_err(|_| invalid())?;
        match Host::parse(host).map_err(|_| invalid())? {
            Host::Domain(host) => Ok(Self { host, port }),
            Host::Ipv4(address) => Ok(Self { host: address.to_string(), port }),
            Host::Ipv6(address) => Ok(Self { host: format!("[{address}]"), port }),
        }
    }

    pub(crate) fn new(host: &str, port: u16) -> Self {
        Self { host: host.trim_end_matches('.').to_owned(), port }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let found = Origin::parse(text).map_or_else(|error| error.to_string(), |origin| origin.to_string());
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn canonical_forms() {
        check("https://API.GitHub.com/repos", "https://api.github.com");
        check("https://api.github.com:443", "https://api.github.com");
        check("http://localhost:4010/x", "http://localhost:4010");
        check("https://api.github.com.", "https://api.github.com");
        check("http://2130706433/", "http://127.0.0.1");
        check("http://0x7f.1/", "http://127.0.0.1");
        check("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]");
        check("https://bücher.example", "https://xn--bcher-kva.example");
        check("ftp://a.example", "\"ftp\" is neither http nor https");
        check(
            "https://user:secret@a.example",
            "the URL holds a user name or password: credentials belong into a connection",
        );
        check("not a url", "\"not a url\" is not a URL");
    }

    #[test]
    fn hosts_with_ports() {
        for (text, expect) in
            [("localhost:80", "localhost:80"), ("[::1]:8080", "[::1]:8080"), ("127.1:9", "127.0.0.1:9")]
        {
            assert_eq!(HostPort::parse(text).map(|host| host.to_string()), Ok(expect.to_owned()));
        }
        for text in ["localhost", "localhost:", "localhost:99999", ":80", "http://localhost:80"] {
            assert!(HostPort::parse(text).is_err(), "{text}");
        }
    }
}
