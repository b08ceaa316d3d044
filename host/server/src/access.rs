//! The door: who may talk to the daemon over TCP at all.
//!
//! A page in a browser reaches loopback too. It can't forge `Host` (DNS
//! rebinding gives its own name) nor `Origin`, and it does not have the
//! token.

use std::net::SocketAddr;

use axum::http::header::{AUTHORIZATION, HOST, HeaderName, HeaderValue, ORIGIN};
use axum::http::{HeaderMap, Uri};
use executor_control::{Caller, Surface};

use crate::http::Failure;
use crate::listen::ServeError;

/// Answers who shows a text; nothing where it is nobody's token.
type Authenticate = Box<dyn Fn(&str, &Asking) -> Option<Caller> + Send + Sync>;

/// How a request says that it comes.
pub(crate) struct Asking<'a> {
    /// What its client calls itself.
    pub(crate) client: &'a str,
    /// What it asks.
    pub(crate) surface: Surface,
}

/// <https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header>
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What a request over TCP has to show.
pub(crate) struct Access {
    /// In lower case, as `Host` has them.
    hosts: Vec<String>,
    origins: Vec<String>,
    authenticate: Authenticate,
}

impl Access {
    pub(crate) fn new(
        address: SocketAddr,
        allow_hosts: &[String],
        authenticate: impl Fn(&str, &Asking) -> Option<Caller> + Send + Sync + 'static,
    ) -> Result<Self, ServeError> {
        let port = address.port();
        let mut hosts = Vec::new();
        let own = if address.is_ipv6() { format!("[{}]", address.ip()) } else { address.ip().to_string() };
        for name in ["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned(), own] {
            hosts.push(format!("{name}:{port}"));
            if port == 80 {
                hosts.push(name);
            }
        }
        for given in allow_hosts {
            let name = given.to_ascii_lowercase();
            match checked(&name) {
                Some(WithPort::Yes) => hosts.push(name),
                Some(WithPort::No) => {
                    hosts.push(format!("{name}:{port}"));
                    hosts.push(name);
                }
                None => {
                    return Err(ServeError::AllowHost {
                        given: given.chars().filter(|c| !c.is_control()).take(120).collect(),
                    });
                }
            }
        }
        let origins =
            hosts.iter().flat_map(|host| [format!("http://{host}"), format!("https://{host}")]).collect();
        Ok(Self { hosts, origins, authenticate: Box::new(authenticate) })
    }

    /// Refuses a request that was made for another site, or by one.
    pub(crate) fn check_site(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Failure> {
        let mut named = headers.get_all(HOST).iter();
        let (Some(host), None) = (named.next(), named.next()) else {
            return Err(Failure::host_denied("a request needs exactly one Host header"));
        };
        let known = |text: &str| self.hosts.iter().any(|host| host.eq_ignore_ascii_case(text));
        if !host.to_str().is_ok_and(known) {
            return Err(Failure::host_denied("the Host header names no host of this daemon"));
        }
        // A request line may name a host as well (RFC 9112, absolute form).
        if !uri.authority().is_none_or(|authority| known(authority.as_str())) {
            return Err(Failure::host_denied("the request's target names no host of this daemon"));
        }
        let ours = |text: &str| self.origins.iter().any(|origin| origin.eq_ignore_ascii_case(text));
        if !headers.get_all(ORIGIN).iter().all(|origin| origin.to_str().is_ok_and(ours)) {
            return Err(Failure::origin_denied());
        }
        // What a browser says of itself (Fetch Metadata), where it does: a
        // form or an image of another site sends no Origin.
        let own = |site: &HeaderValue| matches!(site.as_bytes(), b"same-origin" | b"none");
        if headers.get_all(SEC_FETCH_SITE).iter().all(own) { Ok(()) } else { Err(Failure::origin_denied()) }
    }

    /// Who shows a token; refuses a request that shows none, or one that is
    /// nobody's.
    pub(crate) fn caller(&self, headers: &HeaderMap, asking: &Asking) -> Result<Caller, Failure> {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let (Some(authorization), None) = (given.next(), given.next()) else {
            return Err(Failure::unauthorized());
        };
        let token = authorization.to_str().ok().and_then(bearer).ok_or_else(Failure::unauthorized)?;
        (self.authenticate)(token, asking).ok_or_else(Failure::unauthorized)
    }
}

/// The token of `Bearer <token>` (RFC 6750); the scheme in any case.
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

enum WithPort {
    Yes,
    No,
}

/// A name or address that a `Host` header can be, or nothing.
fn checked(name: &str) -> Option<WithPort> {
    let (host, port) = match name.strip_prefix('[') {
        Some(rest) => {
            let (address, after) = rest.split_once(']')?;
            address.parse::<std::net::Ipv6Addr>().ok()?;
            ("", if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
        }
        None => match name.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (name, None),
        },
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let named = name.starts_with('[') || !host.is_empty() && host.len() <= 253 && host.bytes().all(plain);
    if !named {
        return None;
    }
    match port {
        None => Some(WithPort::No),
        Some(port) => port.parse::<u16>().ok().filter(|&port| port > 0).map(|_| WithPort::Yes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: &str, allow: &[&str]) -> Result<Access, ServeError> {
        let allow: Vec<String> = allow.iter().map(ToString::to_string).collect();
        let known = |token: &str, asking: &Asking| {
            (token == "right").then(|| Caller::owner(asking.client, asking.surface))
        };
        Access::new(address.parse().unwrap(), &allow, known)
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    #[track_caller]
    fn check(pairs: &[(&'static str, &str)], uri: &'static str, expect: bool) {
        let access = access("127.0.0.1:4788", &["Executor.test", "tunnel:9000"]).unwrap();
        let outcome = access.check_site(&Uri::from_static(uri), &headers(pairs));
        assert_eq!(outcome.is_ok(), expect, "{pairs:?} {uri}");
    }

    #[test]
    fn only_our_own_names_are_answered() {
        for host in [
            "127.0.0.1:4788",
            "localhost:4788",
            "LOCALHOST:4788",
            "[::1]:4788",
            "executor.test",
            "executor.test:4788",
            "tunnel:9000",
        ] {
            check(&[("host", host)], "/", true);
        }
        for host in [
            "evil.test",
            "evil.test:4788",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost.:4788",
            "localhost:4788.evil",
            "tunnel",
            "127.0.0.1.evil.test:4788",
            "",
            "[::ffff:127.0.0.1]:4788",
            "127.1:4788",
            "é:4788",
        ] {
            check(&[("host", host)], "/", false);
        }
        check(&[], "/", false);
        check(&[("host", "localhost:4788"), ("host", "evil.test")], "/", false);
        check(&[("host", "localhost:4788")], "http://evil.test/v1/health", false);
        check(&[("host", "localhost:4788")], "http://localhost:4788/v1/health", true);
    }

    #[test]
    fn another_site_is_refused() {
        let host = ("host", "localhost:4788");
        check(&[host, ("origin", "http://localhost:4788")], "/", true);
        check(&[host, ("origin", "https://executor.test")], "/", true);
        for origin in
            ["null", "http://evil.test", "http://localhost", "http://localhost:1", "file://", "", "\u{e9}"]
        {
            check(&[host, ("origin", origin)], "/", false);
        }
        check(&[host, ("origin", "http://localhost:4788"), ("origin", "http://evil.test")], "/", false);
        for (site, expect) in
            [("none", true), ("same-origin", true), ("same-site", false), ("cross-site", false)]
        {
            check(&[host, ("sec-fetch-site", site)], "/", expect);
        }
    }

    #[test]
    fn a_daemon_on_ipv6_is_called_so() {
        let access = access("[::1]:80", &["[::2]:81"]).unwrap();
        for host in ["[::1]:80", "[::1]", "localhost", "[::2]:81"] {
            assert!(access.check_site(&Uri::from_static("/"), &headers(&[("host", host)])).is_ok(), "{host}");
        }
    }

    #[test]
    fn names_that_are_none_are_refused() {
        for name in ["", "*", "a b", "http://x", "x:0", "x:y", "[::1", "[x]", "[::1]x", "a/b", "é", ":1"] {
            assert!(access("127.0.0.1:1", &[name]).is_err(), "{name}");
        }
    }

    #[test]
    fn the_token_is_taken_as_a_bearer_alone() {
        let access = access("127.0.0.1:1", &[]).unwrap();
        let asking = Asking { client: "test", surface: Surface::Http };
        let allowed = |pairs: &[(&'static str, &str)]| access.caller(&headers(pairs), &asking).is_ok();
        assert!(allowed(&[("authorization", "Bearer right")]));
        assert!(allowed(&[("authorization", "bearer right")]));
        for wrong in ["Bearer wrong", "Bearer", "Basic right", "right", "Bearer right x", "", "Bearer \u{e9}"]
        {
            assert!(!allowed(&[("authorization", wrong)]), "{wrong}");
        }
        assert!(!allowed(&[]));
        assert!(!allowed(&[("authorization", "Bearer right"), ("authorization", "Bearer wrong")]));
    }
}
