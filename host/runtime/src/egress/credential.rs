//! Credentials, as the host places them into requests: a guest names the
//! auth methods, the values never enter it.

use std::fmt;

use http::{HeaderName, HeaderValue, Request};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use super::redact::Redactor;
use super::{HOST_HEADERS, Origin};

/// A value that is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: String) -> Self {
        Self(value)
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.fill(0);
        std::hint::black_box(&bytes);
    }
}

/// Where a value goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// A header.
    Header,
    /// A query parameter.
    Query,
    /// A cookie.
    Cookie,
}

/// One value and its place.
#[derive(Debug, Clone)]
pub struct Placement {
    /// Where.
    pub location: Location,
    /// The header's, parameter's or cookie's name.
    pub name: String,
    /// The whole value, its template filled: `Bearer …`.
    pub value: Secret,
}

/// One auth method of a connection, ready to be placed.
#[derive(Debug, Clone)]
pub struct CredentialMethod {
    /// The auth method's id.
    pub id: String,
    /// Its placements.
    pub placements: Vec<Placement>,
}

/// What a connection gives a tool call.
#[derive(Debug, Clone, Default)]
pub struct Credential {
    /// The connection's name, for records.
    pub connection: String,
    /// The origins that a value of it may travel to.
    pub origins: Vec<Origin>,
    /// Its methods.
    pub methods: Vec<CredentialMethod>,
    /// The methods of the running tool.
    pub default_methods: Vec<String>,
    /// Every secret value in it, to be found in what comes back.
    pub secrets: Vec<Secret>,
}

impl Credential {
    pub(crate) fn redactor(&self) -> Redactor {
        let encoded: Vec<String> = self
            .secrets
            .iter()
            .map(|secret| utf8_percent_encode(secret.expose(), NON_ALPHANUMERIC).to_string())
            .collect();
        let plain = self.secrets.iter().map(Secret::expose);
        Redactor::new(plain.chain(encoded.iter().map(String::as_str)))
    }

    /// Places the named methods' values, the tool's own where none are named.
    pub(crate) fn place<B>(
        &self,
        url: &mut Url,
        request: &mut Request<B>,
        named: Option<&[String]>,
    ) -> Result<(), PlaceError> {
        let ids = named.unwrap_or(&self.default_methods);
        for id in ids {
            let method = self.methods.iter().find(|method| method.id == *id);
            let method = method.ok_or_else(|| PlaceError::Unknown(id.clone()))?;
            for placement in &method.placements {
                placement.place(url, request)?;
            }
        }
        Ok(())
    }
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
}

impl Placement {
    fn place<B>(&self, url: &mut Url, request: &mut Request<B>) -> Result<(), PlaceError> {
        let value = self.value.expose();
        match self.location {
            Location::Header => {
                let refused = || PlaceError::Name(self.name.clone());
                let name = HeaderName::try_from(&self.name).map_err(|_| refused())?;
                if HOST_HEADERS.contains(&name.as_str())
                    && !matches!(name.as_str(), "authorization" | "proxy-authorization")
                {
                    return Err(refused());
                }
                request.headers_mut().insert(name, sensitive(&self.name, value)?);
            }
            Location::Query => {
                url.query_pairs_mut().append_pair(&self.name, value);
            }
            Location::Cookie => {
                let cookie = format!("{}={}", self.name, utf8_percent_encode(value, NON_ALPHANUMERIC));
                let joined =
                    match request.headers().get(http::header::COOKIE).and_then(|old| old.to_str().ok()) {
                        Some(old) => format!("{old}; {cookie}"),
                        None => cookie,
                    };
                request.headers_mut().insert(http::header::COOKIE, sensitive(&self.name, &joined)?);
            }
        }
        Ok(())
    }
}

fn sensitive(name: &str, value: &str) -> Result<HeaderValue, PlaceError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| PlaceError::Value(name.to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}
