//! OAuth 2 in the host: a person authorizes a connection, and its tokens are
//! kept fresh. No token, code or client secret enters a guest.
//!
//! [`Grant`] is what a person agreed to, stored with the connection and never
//! widened: which endpoints, which client, which scopes. [`Tokens`] is what
//! came of it, sealed, and replaced by each refresh.

mod answer;
mod authorization;
mod authorize;
mod client;
mod config;
mod device;
mod discover;
mod exchange;
mod explain;
mod fresh;
mod grant;
mod metadata;
mod offered;
mod pending;
mod reply;
mod request;
mod scopes;

pub use authorization::{
    AuthorizationError, AuthorizationView, BeginAuthorization, Callback, FinishAuthorization, OauthChoices,
};
pub(crate) use config::OauthConfig;
pub(crate) use fresh::{Refreshing, expired};
pub(crate) use grant::{EXPIRED, Grant, OK, Tokens};
pub use grant::{Endpoints, Flow};
pub use offered::FlowView;
pub(crate) use offered::{discovered_from, flows};
pub(crate) use pending::Pending;
pub(crate) use scopes::of_tool;
