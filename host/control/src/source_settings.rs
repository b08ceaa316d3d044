//! What a person sets on a source: its adapter's settings, and what its
//! requests may reach.

use executor_runtime::Origin;
use executor_store::{ComponentRow, SourceRow};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::problem::{Problem, ProblemKind};
use crate::sources::parse_hosts;
use crate::workspace::Workspace;

/// Where calls go, which the host reads too: every adapter may have it.
const BASE_URL: &str = "base_url";

/// What to change of a source; what is left out stays.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SourceSettings {
    /// Settings of the adapter; null takes one away.
    pub settings: Map<String, Value>,
    /// Hosts whose special addresses are granted beside the others.
    pub allow_hosts: Vec<String>,
    /// Origins that requests may go to beside the others.
    pub allow_origins: Vec<String>,
    /// Whether its own hints count.
    pub trusted: Option<bool>,
}

impl SourceSettings {
    /// Whether there is anything to change.
    pub(crate) fn is_empty(&self) -> bool {
        self.settings.is_empty()
            && self.allow_hosts.is_empty()
            && self.allow_origins.is_empty()
            && self.trusted.is_none()
    }

    /// A source with this changed. Where its requests may go widens by what is
    /// named here alone.
    pub(crate) fn applied(&self, source: SourceRow) -> Result<SourceRow, Problem> {
        let mut settings: Map<String, Value> = serde_json::from_str(&source.settings).unwrap_or_default();
        let base_before = base_origin(&settings)?;
        for (name, value) in &self.settings {
            match value {
                Value::Null => drop(settings.remove(name)),
                value => drop(settings.insert(name.clone(), value.clone())),
            }
        }
        let base = base_origin(&settings)?;
        let mut origins = source.origins.clone();
        if base != base_before {
            origins.retain(|origin| Some(origin) != base_before.as_ref());
            origins.extend(base);
        }
        for origin in &self.allow_origins {
            origins.push(parse_origin(origin)?);
        }
        let mut allowed_hosts = source.allowed_hosts.clone();
        allowed_hosts.extend(parse_hosts(&self.allow_hosts)?.iter().map(ToString::to_string));
        for list in [&mut origins, &mut allowed_hosts] {
            list.sort();
            list.dedup();
        }
        let (settings, trusted) =
            (Value::Object(settings).to_string(), self.trusted.unwrap_or(source.trusted));
        Ok(SourceRow { settings, origins, allowed_hosts, trusted, ..source })
    }
}

/// The origin of the setting [`BASE_URL`].
pub(crate) fn base_origin(settings: &Map<String, Value>) -> Result<Option<String>, Problem> {
    settings.get(BASE_URL).and_then(Value::as_str).map(parse_origin).transpose()
}

pub(crate) fn parse_origin(text: &str) -> Result<String, Problem> {
    let parsed = Origin::parse(text).map(|origin| origin.to_string());
    parsed.map_err(|error| Problem::invalid(error.to_string()))
}

impl Workspace {
    /// Refuses a setting that the adapter's schema does not name: a typo would
    /// change nothing, and be seen by nobody.
    pub(crate) async fn check_settings(
        &self,
        component: &ComponentRow,
        settings: &Map<String, Value>,
    ) -> Result<(), Problem> {
        if settings.is_empty() {
            return Ok(());
        }
        let info = self.adapter(&component.name).await?.describe(&self.share, self.no_reach()).await?;
        let schema: Value = serde_json::from_str(&info.config_schema).unwrap_or_default();
        let Some(known) = schema["properties"].as_object().filter(|known| !known.is_empty()) else {
            return Ok(());
        };
        let is_open = matches!(&schema["additionalProperties"], Value::Bool(true) | Value::Object(_));
        let is_known = |name: &str| is_open || name == BASE_URL || known.contains_key(name);
        let Some(unknown) = settings.keys().find(|name| !is_known(name)) else { return Ok(()) };
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let message = format!("sources of the kind {} have no setting {unknown:?}", info.kind);
        Err(Problem::new(ProblemKind::Unprocessable, "settings-invalid", message)
            .hint(format!("they have: {}", names.join(", "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refresh::tests::source_row;
    use serde_json::json;

    fn check(change: Value, expect: [&str; 3]) {
        let mut source = source_row();
        source.settings = r#"{"base_url":"https://old.test/v1","page_size":5}"#.into();
        source.origins = vec!["https://api.test".into(), "https://old.test".into()];
        let change: SourceSettings = serde_json::from_value(change).unwrap();
        let found = match change.applied(source) {
            Ok(row) => [row.settings, row.origins.join(" "), row.allowed_hosts.join(" ")],
            Err(problem) => [problem.message, String::new(), String::new()],
        };
        assert_eq!(found, expect);
    }

    #[test]
    fn what_is_left_out_stays() {
        let (settings, origins) =
            (r#"{"base_url":"https://old.test/v1","page_size":5}"#, "https://api.test https://old.test");
        check(json!({}), [settings, origins, ""]);
        check(json!({ "trusted": true }), [settings, origins, ""]);
        check(
            json!({ "settings": { "base_url": "https://new.test", "page_size": null } }),
            [r#"{"base_url":"https://new.test"}"#, "https://api.test https://new.test", ""],
        );
        check(json!({ "settings": { "base_url": null } }), [r#"{"page_size":5}"#, "https://api.test", ""]);
        check(
            json!({ "allow_origins": ["https://b.test/x", "https://api.test"], "allow_hosts": ["localhost:1"] }),
            [settings, "https://api.test https://b.test https://old.test", "localhost:1"],
        );
        check(json!({ "settings": { "base_url": "nowhere" } }), ["\"nowhere\" is not a URL", "", ""]);
    }
}
