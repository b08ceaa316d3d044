//! Places values into a request that is about to leave.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use url::{Url, form_urlencoded};

use super::HOST_HEADERS;
use super::credential::{Location, Placement};
use super::sign::SignError;

/// What a path segment is escaped by: everything but the unreserved
/// characters (RFC 3986, section 2.3).
pub(super) const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What a cookie's value can't hold (RFC 6265, section 4.1.1); all else is sent
/// as the person gave it.
pub(super) const COOKIE_VALUE: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b',').add(b';').add(b'\\');

const FORM: &str = "application/x-www-form-urlencoded";

/// A request between what a guest made of it and what leaves.
#[derive(Debug, Clone)]
pub(crate) struct Sealing {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Why a credential was not placed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaceError {
    #[error("the connection has no auth method {0:?}")]
    Unknown(String),
    #[error("{0:?} can't be a header that a credential is placed into")]
    Name(String),
    #[error("the value for {0:?} holds characters that a header can't carry")]
    Value(String),
    #[error("the path has the placeholder {{{name}}} {count} times; a credential is placed into exactly one")]
    Placeholder { name: String, count: usize },
    #[error("the value for {0:?} would lead to another path")]
    Traversal(String),
    #[error("{0:?} is placed into a form, and the request's body is none")]
    NoForm(String),
    #[error(transparent)]
    Sign(#[from] SignError),
}

impl Sealing {
    pub(crate) fn place(&mut self, placement: &Placement) -> Result<(), PlaceError> {
        match placement.location {
            Location::Header => self.header(placement),
            Location::Query => {
                self.query(placement);
                Ok(())
            }
            Location::Cookie => self.cookie(placement),
            Location::Path => self.path(placement),
            Location::Form => self.form(placement),
        }
    }

    fn header(&mut self, placement: &Placement) -> Result<(), PlaceError> {
        let refused = || PlaceError::Name(placement.name.clone());
        let name = HeaderName::try_from(&placement.name).map_err(|_| refused())?;
        let credentials = ["authorization", "proxy-authorization", "cookie"];
        if HOST_HEADERS.contains(&name.as_str()) && !credentials.contains(&name.as_str()) {
            return Err(refused());
        }
        self.headers.insert(name, sensitive(&placement.name, placement.value.expose())?);
        Ok(())
    }

    /// What a guest set under the name of a credential gives way to it: servers
    /// differ in which of two they take.
    fn query(&mut self, placement: &Placement) {
        let own = self.url.query().unwrap_or_default();
        let query = with_pair(own, placement);
        self.url.set_query(Some(&query));
    }

    /// One `Cookie` header holds all of them (RFC 6265, section 5.4).
    fn cookie(&mut self, placement: &Placement) -> Result<(), PlaceError> {
        let own = self.headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let others = own.flat_map(|line| line.split(';')).map(str::trim).filter(|pair| {
            !pair.is_empty() && pair.split('=').next().map(str::trim) != Some(placement.name.as_str())
        });
        let value = utf8_percent_encode(placement.value.expose(), COOKIE_VALUE);
        let placed = format!("{}={value}", placement.name);
        let line = others.map(str::to_owned).chain([placed]).collect::<Vec<_>>().join("; ");
        self.headers.insert(COOKIE, sensitive(&placement.name, &line)?);
        Ok(())
    }

    /// A script could write the placeholder into an argument to have the value
    /// put where it can be read: two are refused.
    fn path(&mut self, placement: &Placement) -> Result<(), PlaceError> {
        let (name, value) = (&placement.name, placement.value.expose());
        let placeholder = format!("%7B{}%7D", utf8_percent_encode(name, SEGMENT));
        let path = self.url.path().replace('{', "%7B").replace('}', "%7D");
        let count = path.matches(&placeholder).count();
        if count != 1 {
            return Err(PlaceError::Placeholder { name: name.clone(), count });
        }
        let filled = path.replace(&placeholder, &utf8_percent_encode(value, SEGMENT).to_string());
        let segments = filled.split('/').count();
        self.url.set_path(&filled);
        if self.url.path().split('/').count() != segments {
            return Err(PlaceError::Traversal(name.clone()));
        }
        Ok(())
    }

    fn form(&mut self, placement: &Placement) -> Result<(), PlaceError> {
        let media_type = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.map(|value| value.split(';').next().unwrap_or_default().trim());
        let is_form = media_type.is_some_and(|value| value.eq_ignore_ascii_case(FORM));
        if !is_form && (!self.body.is_empty() || media_type.is_some()) {
            return Err(PlaceError::NoForm(placement.name.clone()));
        }
        if !is_form {
            self.headers.insert(CONTENT_TYPE, HeaderValue::from_static(FORM));
        }
        // A form is ASCII; what is none in it is no pair that a server reads.
        let own = String::from_utf8_lossy(&self.body).into_owned();
        self.body = Bytes::from(with_pair(&own, placement));
        Ok(())
    }
}

/// A query or a form with the value in it, and no other of that name.
fn with_pair(own: &str, placement: &Placement) -> String {
    let is_other = |pair: &&str| {
        let name = form_urlencoded::parse(pair.as_bytes()).next().map(|(name, _)| name);
        !pair.is_empty() && name.as_deref() != Some(placement.name.as_str())
    };
    let placed = form_urlencoded::Serializer::new(String::new())
        .append_pair(&placement.name, placement.value.expose())
        .finish();
    own.split('&').filter(is_other).chain([placed.as_str()]).collect::<Vec<_>>().join("&")
}

pub(super) fn sensitive(name: &str, value: &str) -> Result<HeaderValue, PlaceError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| PlaceError::Value(name.to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::super::Secret;
    use super::*;

    fn request(url: &str, content_type: Option<&str>, body: &str) -> Sealing {
        let mut headers = HeaderMap::new();
        if let Some(content_type) = content_type {
            headers.insert(CONTENT_TYPE, content_type.parse().expect("a fixture"));
        }
        Sealing {
            method: Method::POST,
            url: Url::parse(url).expect("a fixture"),
            headers,
            body: Bytes::from(body.to_owned()),
        }
    }

    fn placement(location: Location, name: &str, value: &str) -> Placement {
        Placement { location, name: name.into(), value: Secret::new(value.into()) }
    }

    fn check_path(url: &str, value: &str, expect: &str) {
        let mut request = request(url, None, "");
        let found = match request.place(&placement(Location::Path, "token", value)) {
            Ok(()) => request.url.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expect);
    }

    #[test]
    fn a_path_takes_a_value_where_its_placeholder_is() {
        check_path("https://x/bot{token}/send", "1:a b/c", "https://x/bot1%3Aa%20b%2Fc/send");
        check_path("https://x/%7Btoken%7D/a?q={token}", "k", "https://x/k/a?q={token}");
        check_path("https://x/{token}/a", "..", "the value for \"token\" would lead to another path");
        check_path(
            "https://x/{token}/{token}",
            "k",
            "the path has the placeholder {token} 2 times; a credential is placed into exactly one",
        );
        check_path(
            "https://x/a",
            "k",
            "the path has the placeholder {token} 0 times; a credential is placed into exactly one",
        );
    }

    fn check_form(content_type: Option<&str>, body: &str, expect: &str) {
        let mut request = request("https://x/", content_type, body);
        let found = match request.place(&placement(Location::Form, "key", "a&b c")) {
            Ok(()) => String::from_utf8(request.body.to_vec()).expect("a fixture"),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expect);
        if content_type.is_none() && body.is_empty() {
            assert_eq!(request.headers[CONTENT_TYPE], FORM);
        }
    }

    #[test]
    fn a_form_takes_a_value_as_one_more_field() {
        check_form(Some(FORM), "a=1", "a=1&key=a%26b+c");
        check_form(Some("Application/X-WWW-Form-Urlencoded; charset=utf-8"), "", "key=a%26b+c");
        check_form(None, "", "key=a%26b+c");
        check_form(Some(FORM), "key=forged&b=%2B&%6Bey=2", "b=%2B&key=a%26b+c");
        let none = "\"key\" is placed into a form, and the request's body is none";
        check_form(Some("application/json"), "{}", none);
        check_form(None, "text", none);
    }

    fn check_query(url: &str, expect: &str) {
        let mut request = request(url, None, "");
        request.place(&placement(Location::Query, "api key", "a&b c")).expect("a fixture");
        assert_eq!(request.url.as_str(), expect);
    }

    #[test]
    fn a_query_holds_a_credential_once() {
        check_query("https://x/", "https://x/?api+key=a%26b+c");
        check_query("https://x/?a=%20&b", "https://x/?a=%20&b&api+key=a%26b+c");
        check_query("https://x/?api+key=forged&a=1&api%20key=2", "https://x/?a=1&api+key=a%26b+c");
        check_query("https://x/?api+key", "https://x/?api+key=a%26b+c");
    }

    #[test]
    fn cookies_share_a_header_and_a_guest_displaces_none() {
        let mut request = request("https://x/", None, "");
        request.headers.insert(
            COOKIE,
            "theme=dark; session=forged; session =forged; sessions=2".parse().expect("a fixture"),
        );
        request.place(&placement(Location::Cookie, "session", "s e;c/+=%")).expect("a fixture");
        request.place(&placement(Location::Cookie, "csrf", "t")).expect("a fixture");
        assert_eq!(request.headers[COOKIE], "theme=dark; sessions=2; session=s%20e%3Bc/+=%; csrf=t");
        assert_eq!(request.headers.get_all(COOKIE).iter().count(), 1);
    }

    #[test]
    fn headers_of_the_connection_take_no_value() {
        let mut request = request("https://x/", None, "");
        request.place(&placement(Location::Header, "X-Key", "k")).expect("a fixture");
        assert!(request.headers["x-key"].is_sensitive());
        for (name, value) in [("host", "evil"), ("Content-Length", "0"), ("a b", "k"), ("x", "a\r\nb: c")] {
            assert!(request.place(&placement(Location::Header, name, value)).is_err(), "{name}");
        }
    }
}
