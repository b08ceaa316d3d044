//! The ways to authenticate that the API knows, and how each is checked.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::app::{Turn, is_within};
use super::call::{self, Parameters};
use super::sigv4;
use super::state::Grant;

/// One entry of the documents' security schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    KeyHeader,
    KeyQuery,
    KeyCookie,
    Basic,
    Bearer,
    /// An access token with these scopes, from whichever grant.
    Token(TokenScheme, &'static [&'static str]),
    Aws,
    /// Declared, and never met: nothing on loopback has a certificate.
    MutualTls,
}

/// How the documents say that an access token is had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenScheme {
    Code,
    Machine,
    Device,
    OpenId,
}

/// Why a scheme is not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// Nothing was sent for it.
    Absent,
    /// What was sent is wrong, for this reason.
    Wrong(String),
    /// The token is good, but not for these scopes.
    Scopes(Vec<&'static str>),
}

impl Scheme {
    /// Its name in the documents.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::KeyHeader => "keyHeader",
            Self::KeyQuery => "keyQuery",
            Self::KeyCookie => "keyCookie",
            Self::Basic => "basic",
            Self::Bearer => "bearer",
            Self::Token(TokenScheme::Code, _) => "oauth",
            Self::Token(TokenScheme::Machine, _) => "machine",
            Self::Token(TokenScheme::Device, _) => "device",
            Self::Token(TokenScheme::OpenId, _) => "openid",
            Self::Aws => "aws",
            Self::MutualTls => "mutual",
        }
    }

    pub(crate) fn scopes(self) -> &'static [&'static str] {
        match self {
            Self::Token(_, scopes) => scopes,
            _ => &[],
        }
    }

    /// Whether the request meets it.
    pub(crate) fn check(self, turn: &Turn<'_>) -> Result<(), Lack> {
        let right = &turn.script.credentials;
        match self {
            Self::KeyHeader => same(call::header(turn.request, "x-api-key"), &right.header_key),
            Self::KeyQuery => {
                let query = Parameters::read(turn.request.query.as_bytes());
                let mut sent = query.all("api_key");
                let first = sent.next();
                match sent.next() {
                    Some(_) => Err(Lack::Wrong("api_key is there more than once".to_owned())),
                    None => same(first, &right.query_key),
                }
            }
            Self::KeyCookie => same(cookie(turn, "session_key"), &right.cookie_key),
            Self::Basic => basic(turn),
            Self::Bearer => same(call::authorization(turn.request, "bearer"), &right.bearer),
            Self::Token(_, scopes) => with_scopes(turn, scopes),
            Self::Aws => signed(turn),
            Self::MutualTls => Err(Lack::Absent),
        }
    }
}

fn same(sent: Option<&str>, right: &str) -> Result<(), Lack> {
    match sent {
        None => Err(Lack::Absent),
        Some(sent) if sent == right => Ok(()),
        Some(_) => Err(Lack::Wrong("the value is another".to_owned())),
    }
}

fn cookie<'a>(turn: &'a Turn<'_>, name: &str) -> Option<&'a str> {
    let pairs = call::header(turn.request, "cookie")?.split(';');
    pairs
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(have, _)| *have == name)
        .map(|(_, value)| value)
}

fn basic(turn: &Turn<'_>) -> Result<(), Lack> {
    let right = &turn.script.credentials;
    let encoded = call::authorization(turn.request, "basic");
    let decoded = encoded.map(|encoded| BASE64.decode(encoded)).transpose();
    let decoded = decoded.map_err(|_| Lack::Wrong("the Authorization is no base64".to_owned()))?;
    let pair = format!("{}:{}", right.username, right.password);
    match decoded {
        None => Err(Lack::Absent),
        Some(sent) if sent == pair.as_bytes() => Ok(()),
        Some(_) => Err(Lack::Wrong("name or password is another".to_owned())),
    }
}

fn signed(turn: &Turn<'_>) -> Result<(), Lack> {
    let request = turn.request;
    if call::header(request, "authorization").is_none() {
        return Err(Lack::Absent);
    }
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let signed = sigv4::Signed {
        method: request.method,
        path: request.path,
        query: request.query,
        headers: request.headers.iter().map(|one| (one.name.to_ascii_lowercase(), text(one.value))).collect(),
        body: request.body,
    };
    sigv4::verify(&signed, &turn.script.credentials.aws, turn.now_ms / 1000).map_err(Lack::Wrong)
}

fn with_scopes(turn: &Turn<'_>, scopes: &'static [&'static str]) -> Result<(), Lack> {
    let grant = access(turn)?;
    let missing = scopes.iter().copied().filter(|one| !grant.scopes.iter().any(|have| have == one));
    let missing: Vec<&str> = missing.collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Lack::Scopes(missing)),
    }
}

/// What the request's access token stands for (RFC 6750, section 2.1).
pub(crate) fn access<'a>(turn: &'a Turn<'_>) -> Result<&'a Grant, Lack> {
    let sent = call::authorization(turn.request, "bearer").ok_or(Lack::Absent)?;
    let wrong = |why: &str| Lack::Wrong(format!("the access token {why}"));
    let access = turn.state.access.get(sent).ok_or_else(|| wrong("is unknown"))?;
    if access.revoked {
        return Err(wrong("was revoked"));
    }
    if access.expires_at_ms <= turn.now_ms {
        return Err(wrong("has expired"));
    }
    let here = format!("{}{}", turn.origin, turn.request.path);
    let resources = &access.grant.resources;
    match resources.is_empty() || resources.iter().any(|one| is_within(&here, one)) {
        true => Ok(&access.grant),
        false => Err(wrong("is for another resource")),
    }
}
