//! Auth methods: how a source's adapter says that one signs in, and how a
//! connection's values become what the egress places.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use executor_runtime::{CredentialMethod, Location, Placement, Secret, Signing};
use executor_store::AuthMethodRow;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::commands::ENVIRONMENT;
use crate::oauth::{FlowView, OauthConfig, discovered_from, flows};
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
    /// Whether a person authorizes executor instead of giving values.
    pub oauth: bool,
    /// The scopes that it declares, with what each is for.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub scopes: serde_json::Map<String, serde_json::Value>,
    /// Whether its adapter takes it to be the one that is meant where several
    /// fit and nobody says which.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub default: bool,
    /// Where its values go; nothing for a local program, which has them in its
    /// environment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PlaceView>,
    /// The flows of OAuth that its document describes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowView>,
    /// Where the endpoints of OAuth are found out when somebody signs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovered_from: Option<String>,
}

/// A place of a request that a credential goes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct PlaceView {
    /// `header`, `query`, `cookie`, `path` or `form`.
    pub r#in: String,
    /// The name of the header, parameter, cookie, placeholder or field.
    pub name: String,
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
    /// Whether it may be left out.
    pub optional: bool,
}

/// `auth-method.config`, as adapters write it.
#[derive(Debug, Clone, Default, Deserialize)]
struct Config {
    #[serde(default)]
    placements: Vec<PlacementConfig>,
    #[serde(default)]
    variables: Vec<VariableConfig>,
    #[serde(default)]
    oauth: OauthConfig,
    /// The service's name in signatures of AWS.
    #[serde(default)]
    service: Option<String>,
    /// Whether it is the one that is meant where nobody says which.
    #[serde(default)]
    default: bool,
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
    #[serde(default)]
    optional: bool,
}

fn secret() -> bool {
    true
}

/// A value that a connection needs.
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) optional: bool,
}

/// The values that some methods need together. Where two of them have one of
/// the same name, they are two values, and each is called `METHOD.NAME`.
pub(crate) fn wanted(methods: &[&AuthMethod]) -> Vec<Wanted> {
    let of = |method: &'_ &AuthMethod, name: &str| method.variables().any(|other| other == name);
    let wants = |method: &AuthMethod| {
        let called = |name: &str| match methods.iter().filter(|other| of(other, name)).count() {
            0 | 1 => name.to_owned(),
            _ => qualified(&method.id, name),
        };
        let variables = method.config.variables.iter();
        let wanted =
            variables.map(|variable| Wanted { name: called(&variable.name), optional: variable.optional });
        wanted.collect::<Vec<_>>()
    };
    methods.iter().flat_map(|method| wants(method)).collect()
}

/// Whether two methods place the same values in the same way. What a server
/// says of its OAuth may have changed.
pub(crate) fn places_alike(one: &AuthMethodRow, other: &AuthMethodRow) -> bool {
    let places = |row: &AuthMethodRow| {
        let config: Value = serde_json::from_str(&row.config).unwrap_or_default();
        ["placements", "variables", "service"].map(|member| config[member].clone())
    };
    one.kind == other.kind && places(one) == places(other)
}

/// What a method's value is called among several.
pub(crate) fn qualified(method: &str, name: &str) -> String {
    format!("{method}.{name}")
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
            optional: false,
        };
        if config.variables.is_empty() {
            config.variables = match row.kind.as_str() {
                "http-basic" => {
                    vec![
                        standard("username", "User name", false),
                        VariableConfig { optional: true, ..standard("password", "Password", true) },
                    ]
                }
                "http-bearer" => vec![standard("token", "Token", true)],
                "oauth2" | "openid-connect" => vec![standard("token", "Access token", true)],
                "aws-sigv4" => vec![
                    standard("access_key_id", "Access key id", false),
                    standard("secret_access_key", "Secret access key", true),
                    VariableConfig { optional: true, ..standard("session_token", "Session token", true) },
                    VariableConfig { optional: true, ..standard("region", "Region", false) },
                    VariableConfig { optional: true, ..standard("service", "Service", false) },
                ],
                _ => Vec::new(),
            };
        }
        if config.placements.is_empty()
            && matches!(row.kind.as_str(), "http-bearer" | "oauth2" | "openid-connect")
        {
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

    /// Whether a person authorizes executor; a token that they have will do as
    /// well.
    pub(crate) fn is_oauth(&self) -> bool {
        matches!(self.kind.as_str(), "oauth2" | "openid-connect")
    }

    /// Where its values go.
    fn places(&self) -> Vec<PlaceView> {
        let authorization = PlaceView { r#in: "header".into(), name: "Authorization".into() };
        if self.kind == "http-basic" {
            return vec![authorization];
        }
        let placed = self
            .config
            .placements
            .iter()
            .map(|placement| PlaceView { r#in: placement.r#in.clone(), name: placement.name.clone() });
        placed.chain((self.kind == "aws-sigv4").then_some(authorization)).collect()
    }

    /// What it says of OAuth.
    pub(crate) fn oauth(&self) -> &OauthConfig {
        &self.config.oauth
    }

    /// Whether a credential of it can be made.
    pub(crate) fn check_supported(&self) -> Result<(), Problem> {
        let known = |placement: &PlacementConfig| location(&placement.r#in).is_some();
        let placed = matches!(self.kind.as_str(), "http-basic" | "aws-sigv4")
            || (!self.config.placements.is_empty() && self.config.placements.iter().all(known));
        let plain = !matches!(self.kind.as_str(), "hmac" | "mtls");
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
            let (username, password) = self.basic_values(value)?;
            // A key that is given as a user name is no less a secret.
            if password.is_empty() {
                secrets.push(Secret::new(username.clone()));
            }
            let encoded = BASE64.encode(format!("{username}:{password}"));
            secrets.push(Secret::new(encoded.clone()));
            let placement = Placement {
                location: Location::Header,
                name: "Authorization".into(),
                value: Secret::new(format!("Basic {encoded}")),
            };
            let method = CredentialMethod { id: self.id.clone(), placements: vec![placement], signing: None };
            return Ok((method, secrets));
        }
        let placements = self.config.placements.iter().map(|placement| self.placement(placement, value));
        let placements = placements.collect::<Result<_, _>>()?;
        let signing = if self.kind == "aws-sigv4" { Some(self.signing(value)?) } else { None };
        Ok((CredentialMethod { id: self.id.clone(), placements, signing }, secrets))
    }

    fn signing(&self, value: &dyn Fn(&str) -> Option<String>) -> Result<Signing, Problem> {
        let needed = |name: &str| value(name).ok_or_else(|| self.missing(name));
        let given = |name: &str| value(name).filter(|text| !text.is_empty());
        Ok(Signing {
            access_key_id: needed("access_key_id")?,
            secret_access_key: Secret::new(needed("secret_access_key")?),
            session_token: given("session_token").map(Secret::new),
            region: given("region"),
            service: given("service").or_else(|| self.config.service.clone()),
        })
    }

    /// RFC 7617.
    fn basic_values(&self, value: &dyn Fn(&str) -> Option<String>) -> Result<(String, String), Problem> {
        let username = value("username").ok_or_else(|| self.missing("username"))?;
        Ok((username, value("password").unwrap_or_default()))
    }

    fn placement(
        &self,
        placement: &PlacementConfig,
        value: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Placement, Problem> {
        let location = location(&placement.r#in).ok_or_else(|| {
            Problem::new(
                ProblemKind::Unprocessable,
                "auth-unsupported",
                format!(
                    "the auth method {:?} places a value into {:?}, which is no place for one",
                    self.id, placement.r#in
                ),
            )
        })?;
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

fn location(place: &str) -> Option<Location> {
    match place {
        "header" => Some(Location::Header),
        "query" => Some(Location::Query),
        "cookie" => Some(Location::Cookie),
        "path" => Some(Location::Path),
        "form" => Some(Location::Form),
        _ => None,
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
    let oauth = method.is_oauth();
    let scopes = method.config.oauth.all().find(|one| !one.scopes.is_empty());
    let scopes = scopes.map(|one| one.scopes.clone()).unwrap_or_default();
    let (places, default) = (method.places(), method.config.default);
    let (flows, discovered_from) = match oauth {
        true => (flows(&method.config.oauth), discovered_from(&method.config.oauth)),
        false => (Vec::new(), None),
    };
    let variables = method.config.variables.into_iter().map(|variable| VariableView {
        label: variable.label.unwrap_or_else(|| variable.name.clone()),
        name: variable.name,
        secret: variable.secret,
        optional: variable.optional,
    });
    let variables = variables.collect();
    AuthMethodView {
        id: method.id,
        kind: method.kind,
        label: method.label,
        variables,
        oauth,
        scopes,
        default,
        places,
        flows,
        discovered_from,
    }
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

    #[test]
    fn what_a_server_says_of_its_oauth_moves_no_value() {
        let row = |kind: &str, config: &str| AuthMethodRow {
            id: "m".into(),
            kind: kind.into(),
            label: "M".into(),
            config: config.into(),
            meta: None,
        };
        let placed =
            |place: &str| format!(r#"{{"placements":[{{"in":"{place}","name":"k"}}],"oauth":{{}}}}"#);
        let header = row("api-key", &placed("header"));
        assert!(places_alike(&header, &row("api-key", &placed("header").replace("{}", r#"{"scope":"a"}"#))));
        assert!(!places_alike(&header, &row("api-key", &placed("query"))));
        assert!(!places_alike(&header, &row("http-bearer", &placed("header"))));
    }

    #[test]
    fn values_of_one_name_are_two() {
        let other = |id: &str, kind: &str| AuthMethod { id: id.into(), ..method(kind, "{}") };
        let names = |methods: &[&AuthMethod]| {
            let told = |one: Wanted| if one.optional { format!("{}?", one.name) } else { one.name };
            wanted(methods).into_iter().map(told).collect::<Vec<_>>().join(" ")
        };
        let (one, two, basic) =
            (other("h", "http-bearer"), other("q", "http-bearer"), other("b", "http-basic"));
        assert_eq!(names(&[&one]), "token");
        assert_eq!(names(&[&one, &basic]), "token username password?");
        assert_eq!(names(&[&one, &two, &basic]), "h.token q.token username password?");
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
    fn a_view_says_where_values_go() {
        let places = |kind: &str, config: &str| {
            let places = method(kind, config).places().into_iter();
            places.map(|place| format!("{} {}", place.r#in, place.name)).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(places("http-basic", "{}"), "header Authorization");
        assert_eq!(places("aws-sigv4", "{}"), "header Authorization");
        assert_eq!(places("oauth2", "{}"), "header Authorization");
        assert_eq!(
            places("api-key", r#"{"placements":[{"in":"query","name":"key","template":"{k}"}]}"#),
            "query key"
        );
        assert_eq!(places("environment", r#"{"variables":[{"name":"KEY"}]}"#), "");
    }

    #[test]
    fn templates() {
        assert_eq!(fill_template("Bearer {token}", &values), Ok("Bearer t0ken".into()));
        assert_eq!(fill_template("{username}:{token}!", &values), Ok("ada:t0ken!".into()));
        assert_eq!(fill_template("{open", &values), Ok("{open".into()));
        assert_eq!(fill_template("{nope}", &values), Err("nope".into()));
    }
}
