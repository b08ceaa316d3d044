//! Where spans go to, by the variables that OpenTelemetry names.

use std::path::PathBuf;
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::Sampler;

/// How long one request to the collector may take, where nothing is said.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long a span may wait for others, where nothing is said.
const DELAY: Duration = Duration::from_secs(5);

/// The variables, as they were found. Who reads the environment is not this
/// crate's affair.
#[derive(Clone, Default)]
pub struct Variables {
    /// `OTEL_SDK_DISABLED`
    pub disabled: Option<String>,
    /// `OTEL_TRACES_EXPORTER`
    pub exporter: Option<String>,
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`
    pub endpoint: Option<String>,
    /// `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`
    pub traces_endpoint: Option<String>,
    /// `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL` or `OTEL_EXPORTER_OTLP_PROTOCOL`
    pub protocol: Option<String>,
    /// `OTEL_EXPORTER_OTLP_TRACES_HEADERS` or `OTEL_EXPORTER_OTLP_HEADERS`
    pub headers: Option<String>,
    /// `OTEL_EXPORTER_OTLP_TRACES_TIMEOUT` or `OTEL_EXPORTER_OTLP_TIMEOUT`
    pub timeout: Option<String>,
    /// `OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE` or `OTEL_EXPORTER_OTLP_CERTIFICATE`
    pub certificate: Option<String>,
    /// `OTEL_SERVICE_NAME`
    pub service_name: Option<String>,
    /// `OTEL_RESOURCE_ATTRIBUTES`
    pub resource_attributes: Option<String>,
    /// `OTEL_TRACES_SAMPLER`
    pub sampler: Option<String>,
    /// `OTEL_TRACES_SAMPLER_ARG`
    pub sampler_argument: Option<String>,
    /// `OTEL_BSP_SCHEDULE_DELAY`
    pub delay: Option<String>,
}

impl std::fmt::Debug for Variables {
    /// Without what they say, which may be a secret.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Variables").finish_non_exhaustive()
    }
}

/// How to export spans.
#[derive(Clone, PartialEq)]
pub struct Config {
    /// The whole URL that spans are posted to.
    pub endpoint: String,
    /// Headers of each request; their values may be secrets.
    pub headers: Vec<(String, String)>,
    /// How long one request may take.
    pub timeout: Duration,
    /// How long a span may wait for others.
    pub delay: Duration,
    /// Certificate authorities to trust instead of the machine's, PEM.
    pub certificate: Option<PathBuf>,
    /// What the daemon calls itself.
    pub service_name: String,
    /// What else is said of it.
    pub attributes: Vec<(String, String)>,
    /// Which executions are exported.
    pub sampling: Sampling,
}

impl std::fmt::Debug for Config {
    /// Without the values of headers.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        formatter
            .debug_struct("Config")
            .field("endpoint", &self.endpoint)
            .field("headers", &names)
            .field("service_name", &self.service_name)
            .field("sampling", &self.sampling)
            .finish_non_exhaustive()
    }
}

/// Which executions are exported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// The share of those that no client's span decides of.
    pub ratio: f64,
    /// Whether the span of the client that asked decides, where there is one.
    pub by_parent: bool,
}

/// Why nothing is exported though an endpoint is named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The endpoint is no URL that can be posted to.
    #[error("{variable} is no http or https URL")]
    Endpoint {
        /// Which variable.
        variable: &'static str,
    },
    /// A protocol that is not spoken.
    #[error("OTEL_EXPORTER_OTLP_PROTOCOL is {found:?}; spans are sent as http/protobuf alone")]
    Protocol {
        /// What it says.
        found: String,
    },
    /// An exporter that there is not.
    #[error("OTEL_TRACES_EXPORTER is {found:?}; there are otlp and none")]
    Exporter {
        /// What it says.
        found: String,
    },
    /// A value that can't be read.
    #[error("{variable} can't be read: it takes {expected}")]
    Value {
        /// Which variable.
        variable: &'static str,
        /// What it may be.
        expected: &'static str,
    },
}

impl Config {
    /// What the variables say; nothing where they name no collector, or turn
    /// the export off.
    ///
    /// # Errors
    /// When what they say can't be followed.
    pub fn of(variables: &Variables) -> Result<Option<Self>, ConfigError> {
        let said = |value: &Option<String>| {
            value.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        if said(&variables.disabled).is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let endpoint = match (said(&variables.traces_endpoint), said(&variables.endpoint)) {
            (Some(whole), _) => checked(whole, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")?,
            (None, Some(base)) => {
                let base = checked(base, "OTEL_EXPORTER_OTLP_ENDPOINT")?;
                format!("{}/v1/traces", base.trim_end_matches('/'))
            }
            (None, None) => return Ok(None),
        };
        match said(&variables.exporter).as_deref() {
            None | Some("otlp") => {}
            Some("none") => return Ok(None),
            Some(found) => return Err(ConfigError::Exporter { found: shown(found) }),
        }
        match said(&variables.protocol).as_deref() {
            None | Some("http/protobuf") => {}
            Some(found) => return Err(ConfigError::Protocol { found: shown(found) }),
        }
        let attributes = match said(&variables.resource_attributes) {
            Some(text) => pairs(&text, "OTEL_RESOURCE_ATTRIBUTES")?,
            None => Vec::new(),
        };
        let named = attributes.iter().find(|(key, _)| key == "service.name").map(|(_, name)| name.clone());
        Ok(Some(Self {
            endpoint,
            headers: match said(&variables.headers) {
                Some(text) => pairs(&text, "OTEL_EXPORTER_OTLP_HEADERS")?,
                None => Vec::new(),
            },
            timeout: milliseconds(said(&variables.timeout), "OTEL_EXPORTER_OTLP_TIMEOUT", TIMEOUT)?,
            delay: milliseconds(said(&variables.delay), "OTEL_BSP_SCHEDULE_DELAY", DELAY)?,
            certificate: said(&variables.certificate).map(PathBuf::from),
            service_name: said(&variables.service_name).or(named).unwrap_or_else(|| "executor".into()),
            attributes,
            sampling: Sampling::of(said(&variables.sampler), said(&variables.sampler_argument))?,
        }))
    }

    pub(super) fn resource(&self) -> Resource {
        let said = self.attributes.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
        Resource::builder_empty()
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .with_attribute(KeyValue::new("process.pid", i64::from(std::process::id())))
            .with_attribute(KeyValue::new("telemetry.sdk.language", "rust"))
            .with_attribute(KeyValue::new("telemetry.sdk.name", "opentelemetry"))
            .with_attributes(said)
            .with_service_name(self.service_name.clone())
            .build()
    }
}

impl Sampling {
    fn of(name: Option<String>, argument: Option<String>) -> Result<Self, ConfigError> {
        let name = name.unwrap_or_else(|| "parentbased_always_on".into());
        let (base, by_parent) = match name.strip_prefix("parentbased_") {
            Some(base) => (base, true),
            None => (name.as_str(), false),
        };
        let ratio = match base {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => argument.as_deref().unwrap_or("1.0").parse().ok().filter(in_range).ok_or(
                ConfigError::Value { variable: "OTEL_TRACES_SAMPLER_ARG", expected: "a number from 0 to 1" },
            )?,
            _ => {
                return Err(ConfigError::Value {
                    variable: "OTEL_TRACES_SAMPLER",
                    expected: "always_on, always_off or traceidratio, each also after parentbased_",
                });
            }
        };
        Ok(Self { ratio, by_parent })
    }

    pub(super) fn sampler(self) -> Sampler {
        let root = Sampler::TraceIdRatioBased(self.ratio);
        if self.by_parent { Sampler::ParentBased(Box::new(root)) } else { root }
    }
}

fn in_range(ratio: &f64) -> bool {
    (0.0..=1.0).contains(ratio)
}

fn checked(url: String, variable: &'static str) -> Result<String, ConfigError> {
    let rest = ["http://", "https://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let sound = rest.is_some_and(|rest| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        !authority.is_empty() && !authority.contains('@') && rest.bytes().all(|byte| byte.is_ascii_graphic())
    });
    if sound { Ok(url) } else { Err(ConfigError::Endpoint { variable }) }
}

fn milliseconds(
    text: Option<String>,
    variable: &'static str,
    default: Duration,
) -> Result<Duration, ConfigError> {
    let Some(text) = text else { return Ok(default) };
    let parsed = text.parse().ok().filter(|milliseconds| (1..=600_000).contains(milliseconds));
    parsed
        .map(Duration::from_millis)
        .ok_or(ConfigError::Value { variable, expected: "milliseconds, from 1 to 600000" })
}

/// `key=value,key=value`, the values percent-encoded (W3C Baggage).
fn pairs(text: &str, variable: &'static str) -> Result<Vec<(String, String)>, ConfigError> {
    let expected = "key=value pairs with commas between them";
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        Some((key.trim().to_owned(), decoded(value.trim())?)).filter(|(key, _)| !key.is_empty())
    };
    text.split(',')
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(|text| pair(text).ok_or(ConfigError::Value { variable, expected }))
        .collect()
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

fn shown(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn local() -> Variables {
        Variables { endpoint: said("http://127.0.0.1:4318/"), ..Variables::default() }
    }

    #[test]
    fn nothing_is_exported_unless_a_collector_is_named() {
        assert_eq!(Config::of(&Variables::default()), Ok(None));
        assert_eq!(Config::of(&Variables { disabled: said("TRUE"), ..local() }), Ok(None));
        assert_eq!(Config::of(&Variables { exporter: said("none"), ..local() }), Ok(None));
        let config = Config::of(&local()).unwrap().unwrap();
        assert_eq!(config.endpoint, "http://127.0.0.1:4318/v1/traces");
        assert_eq!((config.service_name.as_str(), config.delay), ("executor", DELAY));
        assert_eq!(config.sampling, Sampling { ratio: 1.0, by_parent: true });
        let whole = Variables { traces_endpoint: said("https://collector.test/x"), ..local() };
        assert_eq!(Config::of(&whole).unwrap().unwrap().endpoint, "https://collector.test/x");
    }

    #[test]
    fn what_is_said_counts() {
        let config = Config::of(&Variables {
            headers: said("authorization=Bearer%20secret, x-team = a%2Cb"),
            service_name: said("mine"),
            resource_attributes: said("service.name=other,deployment.environment.name=test"),
            sampler: said("traceidratio"),
            sampler_argument: said("0.25"),
            timeout: said("1500"),
            delay: said("100"),
            ..local()
        })
        .unwrap()
        .unwrap();
        let headers = [("authorization", "Bearer secret"), ("x-team", "a,b")];
        assert_eq!(config.headers, headers.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!((config.timeout, config.delay), (Duration::from_millis(1500), Duration::from_millis(100)));
        assert_eq!(config.sampling, Sampling { ratio: 0.25, by_parent: false });
        let resource = config.resource();
        let value = |key: &'static str| resource.get(&key.into()).unwrap().to_string();
        assert_eq!(
            (value("service.name"), value("deployment.environment.name")),
            ("mine".into(), "test".into())
        );
        assert!(!format!("{config:?}").contains("secret"), "{config:?}");
    }

    #[test]
    fn what_cannot_be_followed_is_named_without_its_value() {
        for (variables, expect) in [
            (Variables { endpoint: said("collector:4318"), ..local() }, "OTEL_EXPORTER_OTLP_ENDPOINT"),
            (
                Variables { endpoint: said("http://user:canary@host"), ..local() },
                "OTEL_EXPORTER_OTLP_ENDPOINT",
            ),
            (Variables { traces_endpoint: said("ftp://x"), ..local() }, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
            (Variables { protocol: said("grpc"), ..local() }, "http/protobuf"),
            (Variables { exporter: said("zipkin"), ..local() }, "OTEL_TRACES_EXPORTER"),
            (Variables { headers: said("canary"), ..local() }, "OTEL_EXPORTER_OTLP_HEADERS"),
            (Variables { headers: said("a=%zz"), ..local() }, "OTEL_EXPORTER_OTLP_HEADERS"),
            (Variables { sampler: said("sometimes"), ..local() }, "OTEL_TRACES_SAMPLER"),
            (
                Variables { sampler: said("traceidratio"), sampler_argument: said("2"), ..local() },
                "OTEL_TRACES_SAMPLER_ARG",
            ),
            (Variables { timeout: said("soon"), ..local() }, "OTEL_EXPORTER_OTLP_TIMEOUT"),
        ] {
            let error = Config::of(&variables).unwrap_err().to_string();
            assert!(error.contains(expect) && !error.contains("canary"), "{error}");
        }
    }
}
