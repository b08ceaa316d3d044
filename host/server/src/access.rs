//! The door: who may talk to the daemon over TCP at all.
//!
//! A page in a browser reaches loopback too. It can't forge `Host` (DNS
//! rebinding gives its own name) nor `Origin`, it does not have the token,
//! and a session's cookie is not sent with what it asks.

use std::net::SocketAddr;

use axum::http::header::{AUTHORIZATION, COOKIE, HOST, HeaderName, HeaderValue, ORIGIN};
use axum::http::{HeaderMap, Method, Uri};
use executor_control::{Caller, Surface};

use crate::http::{Failure, is_safe};
use crate::listen::ServeError;

/// The cookie of a session.
pub(crate) const SESSION_COOKIE: &str = "executor_session";

/// What a request shows of who asks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shown<'a> {
    /// A token.
    Token(&'a str),
    /// The secret of a session.
    Session(&'a str),
    /// That it comes over the socket, from a process of the daemon's user.
    Socket,
}

/// Answers who shows this; nothing where it is nobody's.
type Authenticate = Box<dyn Fn(Shown<'_>, &Asking) -> Option<Caller> + Send + Sync>;

/// How a request says that it comes.
pub(crate) struct Asking<'a> {
    /// What its client calls itself.
    pub(crate) client: &'a str,
    /// What it asks.
    pub(crate) surface: Surface,
}

/// <https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header>
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

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
        authenticate: impl Fn(Shown<'_>, &Asking) -> Option<Caller> + Send + Sync + 'static,
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

    /// Refuses a request that was made for another site, or by one. A page of
    /// ours may be come to from anywhere.
    pub(crate) fn check_site(&self, uri: &Uri, headers: &HeaderMap, page: bool) -> Result<(), Failure> {
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
        if !headers.get_all(ORIGIN).iter().all(|origin| self.is_ours(origin)) {
            return Err(Failure::origin_denied());
        }
        // What a browser says of itself (Fetch Metadata), where it does: a
        // form or an image of another site sends no Origin.
        let followed =
            page && says(headers, &SEC_FETCH_MODE, "navigate") && says(headers, &SEC_FETCH_DEST, "document");
        let own = headers.get_all(SEC_FETCH_SITE).iter().all(is_own_site);
        if own || followed { Ok(()) } else { Err(Failure::origin_denied()) }
    }

    fn is_ours(&self, origin: &HeaderValue) -> bool {
        let ours = |text: &str| self.origins.iter().any(|origin| origin.eq_ignore_ascii_case(text));
        origin.to_str().is_ok_and(ours)
    }

    /// Refuses a change that a cookie would make unless the browser says that
    /// a page of ours asked for it: what says nothing is no browser of today.
    fn check_change(&self, headers: &HeaderMap) -> Result<(), Failure> {
        let mut origins = headers.get_all(ORIGIN).iter();
        let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
        let origin = matches!((origins.next(), origins.next()), (Some(one), None) if self.is_ours(one));
        let site = matches!((sites.next(), sites.next()), (Some(one), None) if is_own_site(one));
        if origin && site { Ok(()) } else { Err(Failure::origin_denied()) }
    }

    /// Whose session a request's cookie shows; nobody's where it has none. A
    /// change has to come from a page of ours.
    pub(crate) fn signed_in(
        &self,
        method: &Method,
        headers: &HeaderMap,
        asking: &Asking,
    ) -> Result<Option<Caller>, Failure> {
        // Of two cookies of one name another site's host may have set one.
        let mut secrets = session_cookies(headers);
        let (Some(secret), None) = (secrets.next(), secrets.next()) else { return Ok(None) };
        let Some(caller) = (self.authenticate)(Shown::Session(secret), asking) else { return Ok(None) };
        if !is_safe(method) {
            self.check_change(headers)?;
        }
        Ok(Some(caller))
    }

    /// Who comes over the socket.
    pub(crate) fn at_the_socket(&self, asking: &Asking) -> Result<Caller, Failure> {
        (self.authenticate)(Shown::Socket, asking).ok_or_else(Failure::unauthorized)
    }

    /// Who shows a token; refuses a request that shows none, or one that is
    /// nobody's.
    pub(crate) fn caller(&self, headers: &HeaderMap, asking: &Asking) -> Result<Caller, Failure> {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let (Some(authorization), None) = (given.next(), given.next()) else {
            return Err(Failure::unauthorized());
        };
        let token = authorization.to_str().ok().and_then(bearer).ok_or_else(Failure::unauthorized)?;
        (self.authenticate)(Shown::Token(token), asking).ok_or_else(Failure::unauthorized)
    }
}

fn is_own_site(site: &HeaderValue) -> bool {
    matches!(site.as_bytes(), b"same-origin" | b"none")
}

fn says(headers: &HeaderMap, name: &HeaderName, value: &str) -> bool {
    headers.get(name).is_some_and(|said| said.as_bytes() == value.as_bytes())
}

/// The values of the cookies that are named like a session's (RFC 6265).
fn session_cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = pairs.flat_map(|value| value.split(';'));
    pairs.filter_map(|pair| pair.trim().strip_prefix(SESSION_COOKIE)?.strip_prefix('='))
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
        let known = |shown: Shown<'_>, asking: &Asking| match shown {
            Shown::Token("right") | Shown::Session("right") | Shown::Socket => {
                Some(Caller::owner(asking.client, asking.surface))
            }
            _ => None,
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
        let outcome = access.check_site(&Uri::from_static(uri), &headers(pairs), false);
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
    fn a_page_is_come_to_from_anywhere_and_nothing_else_is() {
        let access = access("127.0.0.1:4788", &[]).unwrap();
        let come = |page, mode: &str, dest: &str, more: &[(&'static str, &str)]| {
            let mut pairs = vec![
                ("host", "localhost:4788"),
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", mode),
                ("sec-fetch-dest", dest),
            ];
            pairs.extend_from_slice(more);
            access.check_site(&Uri::from_static("/"), &headers(&pairs), page).is_ok()
        };
        assert!(come(true, "navigate", "document", &[]));
        assert!(!come(false, "navigate", "document", &[]));
        assert!(!come(true, "navigate", "iframe", &[]));
        assert!(!come(true, "no-cors", "image", &[]));
        assert!(!come(true, "navigate", "document", &[("origin", "http://evil.test")]));
    }

    #[test]
    fn a_cookie_changes_nothing_but_from_our_own_page() {
        let access = access("127.0.0.1:4788", &[]).unwrap();
        let asking = Asking { client: "test", surface: Surface::Http };
        let cookie = ("cookie", "theme=dark; executor_session=right");
        let (origin, site) = (("origin", "http://localhost:4788"), ("sec-fetch-site", "same-origin"));
        let enters = |method: Method, pairs: &[(&'static str, &str)]| {
            let mut all = vec![cookie];
            all.extend_from_slice(pairs);
            access.signed_in(&method, &headers(&all), &asking).is_ok_and(|caller| caller.is_some())
        };
        assert!(enters(Method::GET, &[]));
        assert!(enters(Method::POST, &[origin, site]));
        assert!(enters(Method::DELETE, &[origin, ("sec-fetch-site", "none")]));
        for pairs in [
            &[][..],
            &[origin],
            &[site],
            &[("origin", "null"), site],
            &[("origin", "http://evil.test"), site],
            &[origin, ("sec-fetch-site", "same-site")],
            &[origin, ("sec-fetch-site", "cross-site")],
            &[origin, site, ("sec-fetch-site", "cross-site")],
            &[origin, ("origin", "http://evil.test"), site],
        ] {
            assert!(!enters(Method::POST, pairs), "{pairs:?}");
        }
        for cookies in [
            "executor_session=wrong",
            "executor_session=right; executor_session=right",
            "executor_sessionx=right",
            "x=executor_session=right",
            "executor_session",
            "",
        ] {
            let headers = headers(&[("cookie", cookies)]);
            let found = access.signed_in(&Method::GET, &headers, &asking).unwrap();
            assert!(found.is_none(), "{cookies}");
        }
    }

    #[test]
    fn a_daemon_on_ipv6_is_called_so() {
        let access = access("[::1]:80", &["[::2]:81"]).unwrap();
        for host in ["[::1]:80", "[::1]", "localhost", "[::2]:81"] {
            assert!(
                access.check_site(&Uri::from_static("/"), &headers(&[("host", host)]), false).is_ok(),
                "{host}"
            );
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
