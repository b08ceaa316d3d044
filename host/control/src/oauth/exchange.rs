//! Requests to authorization servers: through the one egress, to endpoints
//! that are pinned, without following anything.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use executor_runtime::{
    Credential, CredentialMethod, EgressError, Fetched, HostPort, Location, MethodRule, Origin, Outgoing,
    Placement, Scope, Secret,
};
use executor_store::SecretId;
use serde_json::Value;
use url::{Url, form_urlencoded};

use super::answer::{self, Refusal};
use super::grant::{Client, ClientAuth, Tokens};
use crate::problem::{Problem, ProblemKind};
use crate::workspace::Workspace;

/// Metadata documents and token answers are a few KiB.
const ANSWER_BYTES: usize = 512 * 1024;

/// Time for one request, answer included.
const TIMEOUT: Duration = Duration::from_secs(30);

const FORM: &[u8] = b"application/x-www-form-urlencoded";

/// A client with its secret in hand.
#[derive(Clone)]
pub(super) struct KnownClient {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    pub(super) auth: ClientAuth,
    /// Where executor registered it.
    pub(super) registered_at: Option<String>,
}

impl KnownClient {
    /// As a grant keeps it, its secret under `secret`.
    pub(super) fn kept(&self, secret: Option<SecretId>) -> Client {
        let registered_at = self.registered_at.clone();
        Client { id: self.id.clone(), auth: self.auth, secret, registered_at }
    }
}

/// The authorization servers of one source: where its hosts are granted, they
/// may be on this machine.
pub(super) struct Servers<'w> {
    workspace: &'w Workspace,
    hosts: Vec<HostPort>,
}

impl Workspace {
    pub(super) fn servers(&self, allowed_hosts: &[String]) -> Servers<'_> {
        let hosts = allowed_hosts.iter().filter_map(|host| HostPort::parse(host).ok()).collect();
        Servers { workspace: self, hosts }
    }
}

impl Servers<'_> {
    /// A URL that tokens may travel to: https, or a host that was granted.
    pub(super) fn checked(&self, text: &str) -> Result<Url, Problem> {
        let unusable = |what: String| {
            Problem::new(ProblemKind::Unprocessable, "authorization-invalid", what)
                .hint("ask whoever publishes the API; a token that you have can be given with --set token=-")
        };
        let url = Url::parse(text)
            .map_err(|_| unusable(format!("the OAuth endpoint {:?} is not a URL", answer::shown(text))))?;
        let origin = Origin::of(&url)
            .map_err(|error| unusable(format!("the OAuth endpoint {:?}: {error}", answer::shown(text))))?;
        if url.scheme() != "https" && !self.hosts.contains(&origin.host_port()) {
            let what = format!(
                "the OAuth endpoint {} is not https: tokens would travel in the open",
                answer::shown(text)
            );
            return Err(unusable(what).hint(format!(
                "where you mean a server of your own there: `executor sources set NAME --allow-host {}`",
                origin.host_port()
            )));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(unusable(format!("the OAuth endpoint at {origin} has a user name in it")));
        }
        Ok(url)
    }

    /// A JSON document; none where there is none.
    pub(super) async fn document(&self, text: &str) -> Result<Option<Value>, Problem> {
        let url = self.checked(text)?;
        let outgoing = Outgoing { method: "GET".into(), ..request(&url) };
        let fetched = self.send(&url, outgoing, None).await.map_err(|error| unreachable(&url, error))?;
        match fetched.status {
            200..=299 => Ok(serde_json::from_slice(&fetched.body).ok()),
            status if status >= 500 => Err(Problem::new(
                ProblemKind::Upstream,
                "authorization-unavailable",
                format!("{url} answered {status}"),
            )
            .hint("try again in a while")),
            _ => Ok(None),
        }
    }

    /// Posts JSON and gives the answer.
    pub(super) async fn post_json(&self, text: &str, body: &Value) -> Result<Fetched, Problem> {
        let url = self.checked(text)?;
        let mut outgoing = Outgoing { body: body.to_string().into_bytes(), ..request(&url) };
        outgoing.headers.push(("content-type".into(), b"application/json".to_vec()));
        self.send(&url, outgoing, None).await.map_err(|error| unreachable(&url, error))
    }

    /// Posts a form as a client.
    pub(super) async fn post_form(
        &self,
        url: &Url,
        client: &KnownClient,
        fields: &[(&str, &str)],
    ) -> Result<Fetched, Refusal> {
        let (body, basic) = form(client, fields);
        let mut outgoing = Outgoing { body, ..request(url) };
        outgoing.headers.push(("content-type".into(), FORM.to_vec()));
        self.send(url, outgoing, basic).await.map_err(|error| match error.code {
            code if code.starts_with("denied") => Refusal::Garbage { message: error.message },
            _ => Refusal::Transient { message: error.message, retry_after_ms: None },
        })
    }

    /// Asks a token endpoint.
    pub(super) async fn tokens(
        &self,
        url: &Url,
        client: &mut KnownClient,
        fields: &[(&str, &str)],
        asked: &[String],
    ) -> Result<Tokens, Refusal> {
        let now_ms = self.workspace.shared.now_ms();
        self.ask_as(url, client, fields, |fetched| answer::tokens(fetched, asked, now_ms)).await
    }

    /// Asks as a client. A server whose way to know its clients is not known is
    /// asked by the form where it refuses HTTP Basic.
    pub(super) async fn ask_as<T>(
        &self,
        url: &Url,
        client: &mut KnownClient,
        fields: &[(&str, &str)],
        read: impl Fn(&Fetched) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let told = |client: &KnownClient, refusal: Refusal| refusal.without(&sent_secrets(client, fields));
        let fetched = self.post_form(url, client, fields).await?;
        let first = read(&fetched).map_err(|refusal| told(client, refusal));
        if !(is_unknown_client(&first) && client.auth == ClientAuth::ClientSecretBasic) {
            return first;
        }
        let other = KnownClient { auth: ClientAuth::ClientSecretPost, ..client.clone() };
        let fetched = self.post_form(url, &other, fields).await?;
        let second = read(&fetched).map_err(|refusal| told(client, refusal));
        if is_unknown_client(&second) {
            return first;
        }
        *client = other;
        second
    }

    async fn send(
        &self,
        url: &Url,
        outgoing: Outgoing,
        basic: Option<Secret>,
    ) -> Result<Fetched, EgressError> {
        let origin = Origin::of(url).ok();
        let pool = format!("{}/oauth", self.workspace.name);
        let mut scope = Scope::new(pool, origin.iter().cloned().collect(), self.hosts.clone());
        scope.methods = MethodRule::Any;
        scope.credential = basic.map(|value| Credential {
            origins: origin.into_iter().collect(),
            methods: vec![CredentialMethod {
                id: "client".into(),
                placements: vec![Placement {
                    location: Location::Header,
                    name: "Authorization".into(),
                    value,
                }],
                signing: None,
            }],
            default_methods: vec!["client".into()],
            ..Credential::default()
        });
        self.workspace.shared.runtime.egress().ask(&scope, outgoing, ANSWER_BYTES, TIMEOUT).await
    }
}

/// The form of a client, and the header beside it.
fn form(client: &KnownClient, fields: &[(&str, &str)]) -> (Vec<u8>, Option<Secret>) {
    let mut form = form_urlencoded::Serializer::new(String::new());
    for (name, value) in fields {
        form.append_pair(name, value);
    }
    let mut basic = None;
    match (client.auth, &client.secret) {
        (ClientAuth::ClientSecretBasic, Some(secret)) => basic = Some(basic_header(&client.id, secret)),
        (ClientAuth::ClientSecretPost, Some(secret)) => {
            form.append_pair("client_id", &client.id).append_pair("client_secret", secret);
        }
        _ => {
            form.append_pair("client_id", &client.id);
        }
    }
    (form.finish().into_bytes(), basic)
}

fn is_unknown_client<T>(answered: &Result<T, Refusal>) -> bool {
    matches!(answered, Err(Refusal::Refused { error, .. }) if error == "invalid_client")
}

/// What of a request a server should not repeat, and may.
fn sent_secrets<'a>(client: &'a KnownClient, fields: &[(&str, &'a str)]) -> Vec<&'a str> {
    let secret = ["code", "code_verifier", "refresh_token", "device_code", "token"];
    let fields = fields.iter().filter(|(name, _)| secret.contains(name)).map(|(_, value)| *value);
    client.secret.as_deref().into_iter().chain(fields).collect()
}

fn request(url: &Url) -> Outgoing {
    Outgoing {
        method: "POST".into(),
        url: url.to_string(),
        headers: vec![
            ("accept".into(), b"application/json".to_vec()),
            ("user-agent".into(), b"executor".to_vec()),
        ],
        ..Outgoing::default()
    }
}

/// Id and secret are escaped as in a form before they are joined (RFC 6749,
/// section 2.3.1).
fn basic_header(id: &str, secret: &str) -> Secret {
    let escaped = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let joined = BASE64.encode(format!("{}:{}", escaped(id), escaped(secret)));
    Secret::new(format!("Basic {joined}"))
}

fn unreachable(url: &Url, error: EgressError) -> Problem {
    let host = Origin::of(url).map(|origin| origin.host_port().to_string()).unwrap_or_default();
    if error.code == "denied-address" {
        let message = error.message.split(": `executor sources set").next().unwrap_or_default().to_owned();
        return Problem::new(ProblemKind::Denied, "denied-address", message)
            .hint(format!("if you mean that host: `executor sources set NAME --allow-host {host}`"));
    }
    Problem::new(
        ProblemKind::Upstream,
        "authorization-unavailable",
        format!("the authorization server can't be asked: {}", error.message),
    )
    .hint("try again in a while; `executor doctor` checks the network")
}

/// What a refusal says to a person.
pub(super) fn refused(url: &Url, refusal: Refusal) -> Problem {
    let server = Origin::of(url).map(|origin| origin.to_string()).unwrap_or_default();
    match refusal {
        Refusal::Refused { error, description } => {
            let why = description.map(|text| format!(": {text}")).unwrap_or_default();
            let hint = match error.as_str() {
                "invalid_client" | "unauthorized_client" => {
                    "check the client id and secret, and that the application may use this flow"
                }
                "invalid_scope" => "choose others with --scope",
                "access_denied" => "somebody said no; begin again if that was a mistake",
                _ => "begin again; `executor explain authorization-refused` tells more",
            };
            Problem::new(
                ProblemKind::Unprocessable,
                "authorization-refused",
                format!("{server} refused ({error}){why}"),
            )
            .hint(hint)
        }
        Refusal::Transient { message, retry_after_ms } => {
            let when = match retry_after_ms {
                Some(wait) => format!("try again in {} s", wait.div_ceil(1000)),
                None => "try again in a while".to_owned(),
            };
            Problem::new(
                ProblemKind::Upstream,
                "authorization-unavailable",
                format!("{server} gives no token now: {message}"),
            )
            .hint(when)
        }
        Refusal::Garbage { message } => Problem::new(
            ProblemKind::Upstream,
            "authorization-invalid",
            format!("{server} gives no token that can be used: {message}"),
        )
        .hint("check that the endpoints are those of the API's own documentation"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_escaped_before_it_is_joined() {
        let header = basic_header("a:b", "c d");
        assert_eq!(header, Secret::new(format!("Basic {}", BASE64.encode("a%3Ab:c+d"))));
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let url = Url::parse("https://as.example/token").unwrap();
        let refusal =
            Refusal::Refused { error: "invalid_client".into(), description: Some("no such".into()) };
        let problem = refused(&url, refusal);
        assert_eq!(problem.message, "https://as.example refused (invalid_client): no such");
        assert!(problem.hint.unwrap().contains("client id"));
        let later = Refusal::Transient { message: "it answered 503".into(), retry_after_ms: Some(1_500) };
        assert_eq!(refused(&url, later).hint.as_deref(), Some("try again in 2 s"));
    }
}
