//! Credentials, as the host places them into requests: a guest names the
//! auth methods, the values never enter it.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::Origin;
use super::place::{PlaceError, Sealing};
use super::redact::Redactor;
use super::sign::Signing;

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
    /// The placeholder `{name}` in the URL's path.
    Path,
    /// A field of a form in the body.
    Form,
}

/// One value and its place.
#[derive(Debug, Clone)]
pub struct Placement {
    /// Where.
    pub location: Location,
    /// The name of the header, parameter, cookie, placeholder or field.
    pub name: String,
    /// The whole value, its template filled: `Bearer …`.
    pub value: Secret,
}

/// One auth method of a connection, ready to be placed.
#[derive(Debug, Clone, Default)]
pub struct CredentialMethod {
    /// The auth method's id.
    pub id: String,
    /// Its placements.
    pub placements: Vec<Placement>,
    /// What signs the request once everything is placed.
    pub signing: Option<Signing>,
}

/// Asks for a credential that is newer than the one that an upstream refused;
/// none where there is none to be had.
#[derive(Clone)]
pub struct Renewal(pub Arc<dyn Fn() -> BoxFuture<'static, Option<Credential>> + Send + Sync>);

impl fmt::Debug for Renewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Renewal")
    }
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
    /// How to get a newer one; none where its values do not age.
    pub renewal: Option<Renewal>,
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

    /// Places the named methods' values, the tool's own where none are named;
    /// then signs.
    pub(crate) fn place(&self, request: &mut Sealing, named: Option<&[String]>) -> Result<(), PlaceError> {
        let ids = named.unwrap_or(&self.default_methods);
        let methods: Vec<&CredentialMethod> = ids
            .iter()
            .map(|id| {
                let method = self.methods.iter().find(|method| method.id == *id);
                method.ok_or_else(|| PlaceError::Unknown(id.clone()))
            })
            .collect::<Result<_, _>>()?;
        for placement in methods.iter().flat_map(|method| &method.placements) {
            request.place(placement)?;
        }
        for signing in methods.iter().filter_map(|method| method.signing.as_ref()) {
            request.sign(signing)?;
        }
        Ok(())
    }
}
