//! What is well with a daemon and what is not.

use serde::Serialize;
use utoipa::ToSchema;

use crate::control::Control;

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Check {
    /// What.
    pub name: String,
    /// `ok`, `warning` or `error`.
    pub status: &'static str,
    /// What was found.
    pub message: String,
    /// How to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Check {
    fn ok(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self { name: name.into(), status: "ok", message: message.into(), hint: None }
    }

    fn bad(
        name: impl Into<String>,
        status: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), status, message: message.into(), hint: Some(hint.into()) }
    }
}

impl Control {
    /// Looks at disk, components, journals and sources.
    pub async fn doctor(&self) -> Vec<Check> {
        let mut checks = vec![self.disk()];
        let workspaces = self.all_workspaces();
        // One workspace alone need not be named.
        let several = workspaces.len() > 1;
        for workspace in workspaces {
            let named = |what: &str| match several {
                true => format!("{}: {what}", workspace.name),
                false => what.to_owned(),
            };
            for (name, result) in [
                ("quickjs", workspace.sandbox().await.map(|_| ())),
                ("typescript", workspace.compiler().await.map(|_| ())),
            ] {
                checks.push(match result {
                    Ok(()) => Check::ok(named(&format!("component {name}")), "ready"),
                    Err(problem) => Check::bad(
                        named(&format!("component {name}")),
                        "error",
                        problem.message,
                        "install the binary again; it carries its components",
                    ),
                });
            }
            checks.push(match workspace.executions().verify_audit() {
                Ok(records) => {
                    Check::ok(named("audit"), format!("the chain of records is whole ({records})"))
                }
                Err(fault) => Check::bad(
                    named("audit"),
                    "error",
                    fault.to_string(),
                    "somebody or something changed executions.db; compare it with a backup",
                ),
            });
            match workspace.sources() {
                Ok(sources) => checks.extend(sources.into_iter().map(|source| {
                    let name = named(&format!("source {}", source.name));
                    Check::ok(name, format!("tools: {}", source.tool_count))
                })),
                Err(problem) => {
                    checks.push(Check::bad(named("sources"), "error", problem.message, "restart the daemon"))
                }
            }
        }
        checks
    }

    fn disk(&self) -> Check {
        match self.shared().check_disk() {
            Ok(()) => Check::ok("disk", "there is space"),
            Err(problem) => Check::bad("disk", "error", problem.message, problem.hint.unwrap_or_default()),
        }
    }
}
