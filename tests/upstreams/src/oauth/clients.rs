//! Those that may ask for tokens.

use url::{Host, Url};

/// How a client proves who it is at `/token` and `/revoke`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// By its id in the form, with nothing to prove.
    None,
    /// By HTTP basic, both parts form-encoded before (RFC 6749, section 2.3.1).
    SecretBasic,
    /// By `client_id` and `client_secret` in the form.
    SecretPost,
}

impl Authentication {
    /// As metadata and registrations name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::SecretBasic => "client_secret_basic",
            Self::SecretPost => "client_secret_post",
        }
    }

    pub(crate) const ALL: [Self; 3] = [Self::None, Self::SecretBasic, Self::SecretPost];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// A client that the authorization server knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// A name, or the URL of a client id metadata document, which the emulator
    /// does not fetch.
    pub id: String,
    /// None for a public client.
    pub secret: Option<String>,
    /// When the secret ends, in seconds since 1970; never where it is none.
    pub secret_expires_at_s: Option<i64>,
    /// Every way that is accepted; any other is answered `invalid_client`.
    pub authentication: Vec<Authentication>,
    /// The exact URIs, but for the port of a loopback one (RFC 8252, section
    /// 7.3). Where there is none, every loopback URI is taken.
    pub redirects: Vec<String>,
    /// The grant types that it may use; every one where none is named.
    pub grants: Vec<String>,
}

impl Client {
    /// One without a secret.
    pub fn public(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            secret: None,
            secret_expires_at_s: None,
            authentication: vec![Authentication::None],
            redirects: Vec::new(),
            grants: Vec::new(),
        }
    }

    /// One with a secret, by basic or in the form.
    pub fn confidential(id: &str, secret: &str) -> Self {
        Self {
            secret: Some(secret.to_owned()),
            authentication: vec![Authentication::SecretBasic, Authentication::SecretPost],
            ..Self::public(id)
        }
    }

    /// Accepts this way to authenticate and no other.
    pub fn only(mut self, authentication: Authentication) -> Self {
        self.authentication = vec![authentication];
        self
    }

    /// Adds a redirect URI.
    pub fn redirect(mut self, uri: &str) -> Self {
        self.redirects.push(uri.to_owned());
        self
    }

    /// Adds a grant type.
    pub fn grant(mut self, name: &str) -> Self {
        self.grants.push(name.to_owned());
        self
    }

    pub(crate) fn may_use(&self, grant: &str) -> bool {
        self.grants.is_empty() || self.grants.iter().any(|one| one == grant)
    }

    pub(crate) fn takes_redirect(&self, uri: &str) -> bool {
        let Ok(asked) = Url::parse(uri) else {
            return false;
        };
        if asked.fragment().is_some() {
            return false;
        }
        match self.redirects.is_empty() {
            true => is_loopback(&asked),
            false => self.redirects.iter().any(|known| known == uri || same_but_for_port(known, &asked)),
        }
    }
}

/// True of `http` at 127.0.0.1, `[::1]` or localhost.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let local = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    url.scheme() == "http" && local
}

fn same_but_for_port(known: &str, asked: &Url) -> bool {
    let Ok(mut known) = Url::parse(known) else {
        return false;
    };
    is_loopback(&known) && known.set_port(asked.port()).is_ok() && known == *asked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_exact_but_for_a_loopback_port() {
        let any = Client::public("a");
        assert!(any.takes_redirect("http://127.0.0.1:4000/x"));
        assert!(any.takes_redirect("http://[::1]/x"));
        assert!(!any.takes_redirect("http://127.0.0.1:4000/x#y"));
        assert!(!any.takes_redirect("https://evil.example/x"));
        assert!(!any.takes_redirect("http://127.0.0.1.evil.example/x"));
        assert!(!any.takes_redirect("nonsense"));
        let one = Client::public("a").redirect("http://127.0.0.1/cb").redirect("https://app.example/cb?x=1");
        assert!(one.takes_redirect("http://127.0.0.1:4000/cb"));
        assert!(one.takes_redirect("https://app.example/cb?x=1"));
        assert!(!one.takes_redirect("http://127.0.0.1:4000/cb/"));
        assert!(!one.takes_redirect("http://localhost:4000/cb"));
        assert!(!one.takes_redirect("https://app.example:8443/cb?x=1"));
        assert!(!one.takes_redirect("https://app.example/cb"));
    }
}
