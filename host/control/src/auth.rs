//! Auth methods: how a source's adapter says that one signs in, and how a
//! connection's values become what the egress places.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use executor_runtime::{CredentialMethod, Location, Placement, Secret};
use executor_store::AuthMethodRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::commands::ENVIRONMENT;
use crate::problem::{Problem, ProblemKind};

/// One way to sign in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuthMethodView {
    /// Its id.
    pub id: String,
    /// `api-key`, `http-bearer`, `http-basic`, `oauth2`, …
    pub kind: String,
    /// For people.
    pub label: String,
    /// What it needs.
    pub variables: Vec<VariableView>,
}

/// A value that an auth method needs.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct VariableView {
    /// Its name.
    pub name: String,
    /// For people.
    pub label: String,
    /// Whether it is kept secret.
    pub secret: bool,
}

/// `auth-method.config`, as adapters write it.
#[derive(Debug, Clone, Default, Deserialize)]
struct Config {
    #[serde(default)]
    placements: Vec<PlacementConfig>,
    #[serde(default)]
    variables: Vec<VariableConfig>,
}

#[derive(Debug, Clone, Deserialize)]
struct PlacementConfig {
    r#in: String,
    name: String,
    template: String,
}

#[derive(Debug, Clone, Deserialize)]
struct VariableConfig {
    name: String,
    #[serde(default)]
    label: Option<String>,
    /// What nothing is said of is a secret.
    #[serde(default = "secret")]
    secret: bool,
}

fn secret() -> bool {
    true
}

/// An auth method, understood.
pub(crate) struct AuthMethod {
    pub(crate) id: String,
    kind: String,
    label: String,
    config: Config,
}

impl AuthMethod {
    pub(crate) fn read(row: &AuthMethodRow) -> Self {
        let mut config: Config = serde_json::from_str(&row.config).unwrap_or_default();
        let standard = |name: &str, label: &str, secret| VariableConfig {
            name: name.into(),
            label: Some(label.into()),
            secret,
        };
        if config.variables.is_empty() {
            config.variables = match row.kind.as_str() {
                "http-basic" => {
                    vec![standard("username", "User name", false), standard("password", "Password", true)]
                }
                "http-bearer" => vec![standard("token", "Token", true)],
                _ => Vec::new(),
            };
        }
        if config.placements.is_empty() && row.kind == "http-bearer" {
            config.placements.push(PlacementConfig {
                r#in: "header".into(),
                name: "Authorization".into(),
                template: "Bearer {token}".into(),
            });
        }
        Self { id: row.id.clone(), kind: row.kind.clone(), label: row.label.clone(), config }
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        self.config.variables.iter().map(|variable| variable.name.as_str())
    }

    /// Whether values alone make a credential; OAuth and signatures need more.
    pub(crate) fn check_supported(&self) -> Result<(), Problem> {
        let known =
            |placement: &PlacementConfig| matches!(placement.r#in.as_str(), "header" | "query" | "cookie");
        let placed = self.kind == "http-basic"
            || (!self.config.placements.is_empty() && self.config.placements.iter().all(known));
        let plain =
            !matches!(self.kind.as_str(), "oauth2" | "openid-connect" | "aws-sigv4" | "hmac" | "mtls");
        // The values of a local program go into its environment.
        if placed && plain || self.kind == ENVIRONMENT {
            return Ok(());
        }
        Err(Problem::new(
            ProblemKind::Unprocessable,
            "auth-unsupported",
            format!("the auth method {:?} ({}) can't be used yet", self.id, self.kind),
        )
        .hint("use another of the source's methods with --auth; `executor sources show` lists them"))
    }

    /// What the egress places, and the secrets in it.
    pub(crate) fn fill(
        &self,
        value: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(CredentialMethod, Vec<Secret>), Problem> {
        let mut secrets = Vec::new();
        for variable in self.config.variables.iter().filter(|variable| variable.secret) {
            secrets.extend(value(&variable.name).map(Secret::new));
        }
        if self.kind == "http-basic" {
            let placement = self.basic(value)?;
            secrets.push(placement.value.clone());
            return Ok((CredentialMethod { id: self.id.clone(), placements: vec![placement] }, secrets));
        }
        let placements = self.config.placements.iter().map(|placement| self.placement(placement, value));
        let placements = placements.collect::<Result<_, _>>()?;
        Ok((CredentialMethod { id: self.id.clone(), placements }, secrets))
    }

    /// RFC 7617.
    fn basic(&self, value: &dyn Fn(&str) -> Option<String>) -> Result<Placement, Problem> {
        let username = value("username").ok_or_else(|| self.missing("username"))?;
        let password = value("password").unwrap_or_default();
        let encoded = BASE64.encode(format!("{username}:{password}"));
        Ok(Placement {
            location: Location::Header,
            name: "Authorization".into(),
            value: Secret::new(format!("Basic {encoded}")),
        })
    }

    fn placement(
        &self,
        placement: &PlacementConfig,
        value: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Placement, Problem> {
        let location = match placement.r#in.as_str() {
            "header" => Location::Header,
            "query" => Location::Query,
            "cookie" => Location::Cookie,
            other => {
                return Err(Problem::new(
                    ProblemKind::Unprocessable,
                    "auth-unsupported",
                    format!(
                        "the auth method {:?} places a value into {other}, which can't be done yet",
                        self.id
                    ),
                ));
            }
        };
        let filled = fill_template(&placement.template, value).map_err(|variable| self.missing(&variable))?;
        Ok(Placement { location, name: placement.name.clone(), value: Secret::new(filled) })
    }

    fn missing(&self, variable: &str) -> Problem {
        Problem::new(
            ProblemKind::Unprocessable,
            "connection-incomplete",
            format!("the auth method {:?} needs a value for {variable:?}", self.id),
        )
        .hint(format!("--set {variable}=- reads it from standard input"))
    }
}

/// Fills `{name}` in a template; the name of a variable without a value
/// otherwise.
fn fill_template(template: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        filled.push_str(before);
        filled.push_str(&value(name).ok_or_else(|| name.to_owned())?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

pub(crate) fn auth_method_view(row: &AuthMethodRow) -> AuthMethodView {
    let method = AuthMethod::read(row);
    let variables = method.config.variables.into_iter().map(|variable| VariableView {
        label: variable.label.unwrap_or_else(|| variable.name.clone()),
        name: variable.name,
        secret: variable.secret,
    });
    AuthMethodView { id: method.id, kind: method.kind, label: method.label, variables: variables.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(kind: &str, config: &str) -> AuthMethod {
        AuthMethod::read(&AuthMethodRow {
            id: "m".into(),
            kind: kind.into(),
            label: "M".into(),
            config: config.into(),
            meta: None,
        })
    }

    fn values(name: &str) -> Option<String> {
        match name {
            "token" => Some("t0ken".into()),
            "username" => Some("ada".into()),
            "password" => Some("love:lace".into()),
            _ => None,
        }
    }

    fn check(kind: &str, config: &str, expect: &str) {
        let found = match method(kind, config).fill(&values) {
            Ok((method, _)) => {
                let placed = method.placements.iter().map(|placement| {
                    format!("{:?} {}: {:?}", placement.location, placement.name, placement.value)
                });
                placed.collect::<Vec<_>>().join(", ")
            }
            Err(problem) => problem.message,
        };
        assert_eq!(found, expect);
    }

    #[test]
    fn fills_and_places_without_showing() {
        check("http-bearer", "{}", "Header Authorization: [secret]");
        check("http-basic", "{}", "Header Authorization: [secret]");
        check(
            "api-key",
            r#"{"placements":[{"in":"query","name":"key","template":"{token}"}]}"#,
            "Query key: [secret]",
        );
        check(
            "api-key",
            r#"{"placements":[{"in":"header","name":"X","template":"{other}"}]}"#,
            "the auth method \"m\" needs a value for \"other\"",
        );
    }

    #[test]
    fn templates() {
        assert_eq!(fill_template("Bearer {token}", &values), Ok("Bearer t0ken".into()));
        assert_eq!(fill_template("{username}:{token}!", &values), Ok("ada:t0ken!".into()));
        assert_eq!(fill_template("{open", &values), Ok("{open".into()));
        assert_eq!(fill_template("{nope}", &values), Err("nope".into()));
    }
}
