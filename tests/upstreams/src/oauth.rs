//! An authorization server, the resource that it protects and an API with an
//! operation for each way to authenticate, at one origin.
//!
//! What it does by default is what the specifications say, checked strictly:
//! OAuth 2.0 with the security practice of RFC 9700 (PKCE with S256 and exact
//! redirects), metadata (RFC 8414, OpenID Connect Discovery, RFC 9728), resource
//! indicators (RFC 8707), the issuer in answers (RFC 9207), registration (RFC
//! 7591), revocation (RFC 7009) and devices (RFC 8628). A [`Script`] says where
//! it is to differ, a [`Fault`] what goes wrong and how often.
//!
//! | path | |
//! |---|---|
//! | `/authorize` `/token` `/device_authorization` `/revoke` `/register` | the authorization server |
//! | `/device` | where a person answers a device |
//! | `/.well-known/…` | metadata |
//! | `/openapi.json` `/swagger.json` | the API's documents |
//! | `/auth/…` | an operation for each way to authenticate |
//! | `/items` | takes an access token: `items:read` lists, `items:write` makes |
//! | `/me` `/echo` `/limited` | who calls; what was sent; always 429 |
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! use executor_upstreams::oauth::{self, Fault, FaultKind, Rotation, Script, browser};
//!
//! let script = Script::default().with(|script| script.refresh.rotation = Rotation::Off);
//! let emulator = oauth::start(script).await?;
//! # let url = "";
//! // … have the client begin; it says which `url` the person should open …
//! let page = browser::consent(url)?;
//! assert_eq!(page.status, 200);
//! let asked = &emulator.ledger.matching("POST", "/token")[0];
//! assert_eq!(asked.form("grant_type").as_deref(), Some("authorization_code"));
//! // The next refresh is lost on its way back, an hour later.
//! emulator.advance(3600);
//! emulator.fault(Fault::token(FaultKind::Lost));
//! emulator.change(|script| script.tokens.lifetime_s = 60);
//! # Ok(())
//! # }
//! ```

mod api;
mod app;
mod authentication;
mod authorize;
pub mod browser;
mod call;
mod clients;
mod clock;
mod credentials;
mod devices;
mod discovery;
mod document;
mod faults;
mod grants;
mod hmac;
mod refusals;
mod register;
mod revoke;
mod routes;
mod schemes;
mod script;
mod sigv4;
mod state;
mod token;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

pub use clients::{Authentication, Client};
pub use credentials::{AwsKeys, Credentials};
pub use faults::{Fault, FaultKind};
pub use script::{
    Authorization, Denial, Devices, Discovery, Echo, Encoding, ExpiresIn, Poll, Protected, Refresh,
    Registration, Rotation, Script, Tokens,
};

use crate::ledger::Ledger;
use crate::plain::{self, Config, Upstream};
use app::App;
use state::{Access, Grant, Verdict};

/// The public client of [`Script::default`], which takes every loopback
/// redirect.
pub const PUBLIC_CLIENT: &str = "emulator-public";
/// The confidential one.
pub const CONFIDENTIAL_CLIENT: &str = "emulator confidential/ü";
/// Its secret, which breaks where it is not form-encoded.
pub const CONFIDENTIAL_SECRET: &str = "secret-96bc:%+/&= ü";

/// A running emulator; ends when dropped.
#[derive(Debug)]
pub struct Emulator {
    pub addr: SocketAddr,
    /// Every request.
    pub ledger: Ledger,
    app: Arc<App>,
    _upstream: Upstream,
}

impl Emulator {
    /// Where it is, without a slash at the end: `http://127.0.0.1:4000`.
    pub fn origin(&self) -> &str {
        &self.app.origin
    }

    /// Who issues its tokens: the origin and the script's `issuer_path`.
    pub fn issuer(&self) -> String {
        format!("{}{}", self.app.origin, self.app.script().issuer_path)
    }

    /// Changes the script for the requests that follow. No request is answered
    /// while `change` runs, and it must ask nothing of the emulator but
    /// [`Self::origin`].
    pub fn change(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.app.script());
    }

    /// Makes the next requests that fit misbehave.
    pub fn fault(&self, fault: Fault) {
        self.app.faults.add(fault);
    }

    /// Takes back every fault that was asked for.
    pub fn clear_faults(&self) {
        self.app.faults.clear();
    }

    /// Sends the answers that [`FaultKind::Held`] holds back now.
    pub fn release(&self) {
        self.app.release.send_modify(|releases| *releases += 1);
    }

    /// Moves the emulator's clock, by which codes and tokens expire.
    pub fn advance(&self, seconds: i64) {
        self.app.clock.advance(seconds);
    }

    /// Says yes for whoever sits before the device that shows `user_code`;
    /// false where there is none.
    pub fn approve_device(&self, user_code: &str) -> bool {
        self.app.state().decide_device(user_code, Verdict::Approved)
    }

    /// Says no.
    pub fn deny_device(&self, user_code: &str) -> bool {
        self.app.state().decide_device(user_code, Verdict::Denied)
    }

    /// An access token that no client asked for.
    pub fn give_token(&self, scopes: &[&str]) -> String {
        // Before the state: requests take both in this order.
        let lifetime_s = self.app.script().tokens.lifetime_s;
        let mut state = self.app.state();
        let grant = Grant {
            client: "nobody".to_owned(),
            scopes: scopes.iter().map(|one| (*one).to_owned()).collect(),
            resources: Vec::new(),
            family: state.next_number(),
            kind: "given",
        };
        let token = state.next_secret("access", ".~+/==");
        let expires_at_ms = self.app.clock.now_ms() + lifetime_s * 1000;
        state.access.insert(token.clone(), Access { grant, expires_at_ms, revoked: false });
        token
    }

    /// Ends a token as `/revoke` does; false where there is none.
    pub fn revoke(&self, token: &str) -> bool {
        self.app.state().revoke(token)
    }

    /// Ends every access token, and none that refreshes.
    pub fn revoke_access(&self) {
        self.app.state().access.values_mut().for_each(|one| one.revoked = true);
    }

    /// The names of what `POST /items` made.
    pub fn items(&self) -> Vec<String> {
        self.app.state().items.clone()
    }

    /// Every code, token and client secret that was given out so far, none of
    /// which may be seen by anybody but the client.
    pub fn secrets(&self) -> Vec<String> {
        self.app.state().secrets.clone()
    }
}

/// Starts an emulator.
///
/// # Errors
/// Where no port can be bound, or no thread be had.
pub async fn start(script: Script) -> io::Result<Emulator> {
    let mut made = None;
    let upstream = plain::start_at(Config::default(), |addr| {
        let app = Arc::new(App::new(format!("http://{addr}"), script));
        made = Some(Arc::clone(&app));
        move |request: &plain::Request<'_>| routes::answer(&app, request)
    })?;
    let app = made.ok_or_else(|| io::Error::other("the handler was not made"))?;
    Ok(Emulator { addr: upstream.addr, ledger: upstream.ledger.clone(), app, _upstream: upstream })
}
