//! What the emulator is told to do. A test begins with [`Script::default`],
//! which follows the specifications, and says where it is to differ; while the
//! emulator runs, [`super::Emulator::change`] changes it for the requests that
//! follow.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::clients::{Authentication, Client};
use super::credentials::Credentials;
use super::{CONFIDENTIAL_CLIENT, CONFIDENTIAL_SECRET, PUBLIC_CLIENT};

/// Everything that can be said to an emulator.
#[derive(Clone, Debug)]
pub struct Script {
    /// The path of the issuer: empty, or one such as `/tenant/one`.
    pub issuer_path: String,
    /// Which metadata documents there are; all others are answered 404.
    pub discovery: Vec<Discovery>,
    /// Laid over the authorization server's metadata; `null` takes a member
    /// out.
    pub metadata: Map<String, Value>,
    /// Those that are known from the start.
    pub clients: Vec<Client>,
    /// Whether the metadata says that client ids may be the URLs of metadata
    /// documents; those that are taken stand in `clients`.
    pub client_documents: bool,
    /// What becomes of `POST /register`.
    pub registration: Registration,
    /// Whether there is `/revoke`.
    pub revocation: bool,
    /// Those that may be asked for; any other is answered `invalid_scope`.
    pub scopes: Vec<String>,
    /// Prefixes of resources that tokens may be asked for, besides the
    /// emulator's own origin.
    pub resources: Vec<String>,
    /// Whether requests without `resource` are refused with `invalid_target`.
    pub requires_resource: bool,
    /// The answers of `/authorize`.
    pub authorization: Authorization,
    /// The good answers of `/token`.
    pub tokens: Tokens,
    /// What becomes of refresh tokens.
    pub refresh: Refresh,
    /// The device flow.
    pub devices: Devices,
    /// The resource that access tokens are for.
    pub protected: Protected,
    /// What the operations of the API take, besides access tokens.
    pub credentials: Credentials,
    /// Whether the documents of the API name OAuth's endpoints by URLs
    /// relative to where they are.
    pub relative_urls: bool,
}

/// Where an authorization server's metadata may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discovery {
    /// RFC 8414: `/.well-known/oauth-authorization-server` before the path of
    /// the issuer.
    OAuth,
    /// `/.well-known/openid-configuration` before the path of the issuer.
    OpenIdBefore,
    /// OpenID Connect Discovery: `/.well-known/openid-configuration` after it.
    OpenIdAfter,
}

/// Dynamic client registration (RFC 7591).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registration {
    /// There is none; 404.
    Off,
    /// Whoever asks is registered.
    Open,
    /// Whoever has this initial access token.
    WithToken(String),
    /// Whoever asks is registered, to authenticate in this way and no other,
    /// whatever they asked for.
    Substituted(Authentication),
    /// Nobody: 400 with this `error`.
    Refused(String),
}

/// What stands in an answer for a value that it should echo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Echo {
    /// The right one.
    #[default]
    Right,
    /// None.
    Missing,
    /// Another.
    Other(String),
}

impl Echo {
    pub(crate) fn of<'a>(&'a self, right: &'a str) -> Option<&'a str> {
        match self {
            Self::Right => Some(right),
            Self::Missing => None,
            Self::Other(other) => Some(other),
        }
    }
}

/// An error that is sent back from `/authorize`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Such as `access_denied`.
    pub error: String,
    /// Sent where it is not empty.
    pub description: String,
}

impl Denial {
    /// The person says no, and the server explains it with markup and what a
    /// terminal would act upon.
    pub fn with_markup() -> Self {
        Self {
            error: "access_denied".to_owned(),
            description: "<script>alert(1)</script>\u{1b}[31m\"no\"".to_owned(),
        }
    }
}

/// The answers of `/authorize`.
#[derive(Clone, Debug)]
pub struct Authorization {
    /// Sent in the place of a code.
    pub denied: Option<Denial>,
    /// The `state` of the answer.
    pub state: Echo,
    /// The `iss` of the answer (RFC 9207).
    pub issuer: Echo,
    /// The `code` of the answer.
    pub code: Echo,
    /// How long a code is good.
    pub code_lifetime_s: i64,
}

/// The type of `expires_in`.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpiresIn {
    /// As RFC 6749 has it.
    Number,
    /// As some servers have it: `"3600"`.
    Text,
    /// Not there.
    Absent,
    /// Whatever this is.
    Other(Value),
}

/// How the body of a good token answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As RFC 6749 has it.
    Json,
    /// Form-encoded, unless the request's Accept asks for JSON.
    FormUnlessAsked,
    /// Form-encoded.
    Form,
}

/// The good answers of `/token`.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// `Bearer` in whatever case, or another.
    pub token_type: String,
    /// How long an access token is good.
    pub lifetime_s: i64,
    /// How that is said.
    pub expires_in: ExpiresIn,
    /// Of what is asked for, only these are granted.
    pub granted: Option<Vec<String>>,
    /// Whether the answer says what was granted.
    pub says_scope: bool,
    /// How the answer is written.
    pub encoding: Encoding,
    /// Laid over the answer; `null` takes a member out.
    pub members: Map<String, Value>,
}

/// Whether a refresh token is replaced when it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// By a new one. The old one, used again, ends the whole family.
    On,
    /// Not, and the answer repeats it.
    Off,
    /// Not, and the answer has none.
    Silent,
}

/// What becomes of refresh tokens.
#[derive(Clone, Debug)]
pub struct Refresh {
    /// Whether there are any.
    pub issued: bool,
    /// Whether they are given only where `offline_access` was granted.
    pub needs_offline_access: bool,
    /// What their use does to them.
    pub rotation: Rotation,
    /// How long each is good; without end where it is none.
    pub lifetime_s: Option<i64>,
    /// Whether a refresh ends the access tokens given before.
    pub ends_access: bool,
}

/// What a device's question is answered with, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// `authorization_pending`
    Pending,
    /// `slow_down`
    SlowDown,
    /// `access_denied`
    Denied,
    /// `expired_token`
    Expired,
    /// The tokens, as if the person had said yes.
    Approved,
}

/// The device flow (RFC 8628).
#[derive(Clone, Debug)]
pub struct Devices {
    /// The answers of the next questions, first to last. When they are used
    /// up, what the person said decides.
    pub polls: VecDeque<Poll>,
    /// The `interval` of the answer, in seconds.
    pub interval_s: Option<i64>,
    /// Whether questions that come sooner are answered `slow_down`, which
    /// makes the interval longer by five seconds.
    pub enforces_interval: bool,
    /// Whether the answer has `verification_uri_complete`.
    pub complete: bool,
    /// How long a device code is good.
    pub lifetime_s: i64,
}

/// The resource that access tokens are for, and how it refuses.
#[derive(Clone, Debug)]
pub struct Protected {
    /// Whether there is metadata (RFC 9728).
    pub metadata_served: bool,
    /// Laid over the metadata; `null` takes a member out.
    pub metadata: Map<String, Value>,
    /// Whether each path is a resource of its own, with metadata of its own.
    pub by_path: bool,
    /// Whether challenges name the metadata.
    pub names_metadata: bool,
    /// Whether challenges name the scope that is needed.
    pub names_scope: bool,
    /// A challenge in the place of the emulator's own.
    pub challenge: Option<String>,
}

impl Default for Script {
    fn default() -> Self {
        let scopes = [
            "items:read",
            "items:write",
            "machine:read",
            "device:read",
            "openid",
            "profile",
            "email",
            "offline_access",
        ];
        Self {
            issuer_path: String::new(),
            discovery: vec![Discovery::OAuth, Discovery::OpenIdBefore, Discovery::OpenIdAfter],
            metadata: Map::new(),
            clients: vec![
                Client::public(PUBLIC_CLIENT),
                Client::confidential(CONFIDENTIAL_CLIENT, CONFIDENTIAL_SECRET),
            ],
            client_documents: false,
            registration: Registration::Open,
            revocation: true,
            scopes: scopes.map(str::to_owned).to_vec(),
            resources: Vec::new(),
            requires_resource: false,
            authorization: Authorization {
                denied: None,
                state: Echo::Right,
                issuer: Echo::Right,
                code: Echo::Right,
                code_lifetime_s: 60,
            },
            tokens: Tokens {
                token_type: "Bearer".to_owned(),
                lifetime_s: 3600,
                expires_in: ExpiresIn::Number,
                granted: None,
                says_scope: true,
                encoding: Encoding::Json,
                members: Map::new(),
            },
            refresh: Refresh {
                issued: true,
                needs_offline_access: false,
                rotation: Rotation::On,
                lifetime_s: None,
                ends_access: false,
            },
            devices: Devices {
                polls: VecDeque::new(),
                interval_s: Some(1),
                enforces_interval: false,
                complete: true,
                lifetime_s: 600,
            },
            protected: Protected {
                metadata_served: true,
                metadata: Map::new(),
                by_path: false,
                names_metadata: true,
                names_scope: true,
                challenge: None,
            },
            credentials: Credentials::default(),
            relative_urls: false,
        }
    }
}

impl Script {
    /// This script, changed.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Knows one client more.
    pub fn client(mut self, client: Client) -> Self {
        self.clients.push(client);
        self
    }
}
