//! Which scopes to ask for, where the person names none.

use std::collections::BTreeSet;

use serde_json::Value;

use super::discover::Discovered;
use super::grant::Flow;
use crate::oauth::config::OauthConfig;
use crate::problem::{Problem, ProblemKind};
use crate::workspace::Workspace;
use executor_store::SourceName;

/// A consent page with more than this is not read by anybody.
const SCOPES: usize = 40;

/// Without it many servers give no refresh token (OpenID Connect Core 1.0,
/// section 11).
pub(super) const OFFLINE: &str = "offline_access";

/// The scopes that a tool needs from a method, by its adapter's word.
pub(crate) fn of_tool(meta: Option<&str>, method: &str) -> Vec<String> {
    let meta: Value = meta.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let scopes = meta.get("scopes_by_method").and_then(|by| by.get(method)).and_then(Value::as_array);
    scopes.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

impl Workspace {
    /// The scopes that a source's tools name, as far as a method serves them;
    /// those that the document declares where no tool names any.
    pub(super) fn default_scopes(
        &self,
        source: &SourceName,
        method: &str,
        config: &OauthConfig,
        found: &Discovered,
        flow: Flow,
    ) -> Result<Vec<String>, Problem> {
        let mut scopes = BTreeSet::new();
        if found.scopes.is_empty() {
            self.store.each_tool_auth(source, &mut |_, auth, meta| {
                if auth.iter().flatten().any(|id| id == method) {
                    scopes.extend(of_tool(meta, method));
                }
            })?;
            if scopes.is_empty() {
                let declared = config.all().flat_map(|one| one.scopes.keys());
                scopes.extend(declared.cloned());
            }
        } else {
            scopes.extend(found.scopes.iter().cloned());
        }
        if scopes.len() > SCOPES {
            let few: Vec<&str> = scopes.iter().take(8).map(String::as_str).collect();
            return Err(Problem::new(
                ProblemKind::Unprocessable,
                "scopes-needed",
                format!("the tools of {source} name {} scopes: choose those that you want", scopes.len()),
            )
            .hint(format!("repeat --scope SCOPE; there are {} …", few.join(", ")))
            .details(serde_json::json!({ "scopes": scopes })));
        }
        let offered = found.metadata.as_ref().map(|metadata| metadata.scopes_supported.as_slice());
        let offers = |name: &str| offered.unwrap_or_default().iter().any(|scope| scope == name);
        if flow != Flow::ClientCredentials && offers(OFFLINE) {
            scopes.insert(OFFLINE.to_owned());
        }
        Ok(scopes.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tools_scopes_are_those_of_the_method() {
        let meta = r#"{"scopes_by_method":{"oauth":["a","b"],"other":["c"]}}"#;
        assert_eq!(of_tool(Some(meta), "oauth"), ["a", "b"]);
        assert!(of_tool(Some(meta), "none").is_empty());
        assert!(of_tool(Some("{"), "oauth").is_empty() && of_tool(None, "oauth").is_empty());
    }
}
