//! Which workspace an MCP endpoint is about, and which tools it offers.

use axum::extract::Query;
use axum::http::Uri;
use serde::Deserialize;

use crate::http::Failure;

/// The workspace of an endpoint that names none.
const DEFAULT_WORKSPACE: &str = "default";

/// What an endpoint's URL says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) workspace: String,
    /// Whether the catalogue's own tools are offered: of these sources, or of
    /// all where none is named.
    pub(super) direct: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    workspace: Option<String>,
    tools: Option<String>,
}

impl Target {
    /// Reads `/mcp?workspace=NAME&tools=direct:SOURCE,SOURCE` or
    /// `/mcp/NAME?tools=direct`.
    pub(super) fn of(uri: &Uri) -> Result<Self, Failure> {
        let Query(parameters) = Query::<Parameters>::try_from_uri(uri).map_err(|rejection| {
            Failure::invalid_request(format!("the query can't be read: {}", rejection.body_text()))
        })?;
        let in_path = uri.path().strip_prefix("/mcp/").map(str::to_owned);
        let workspace = match (in_path, parameters.workspace) {
            (Some(_), Some(_)) => {
                return Err(Failure::invalid_request(
                    "the workspace is named twice: in the path and in the query".to_owned(),
                ));
            }
            (named, other) => named.or(other).unwrap_or_else(|| DEFAULT_WORKSPACE.to_owned()),
        };
        Ok(Self { workspace, direct: parameters.tools.as_deref().map(direct).transpose()? })
    }
}

fn direct(tools: &str) -> Result<Vec<String>, Failure> {
    let sources = match tools.split_once(':') {
        None if tools == "direct" => return Ok(Vec::new()),
        Some(("direct", sources)) => sources,
        _ => return Err(wrong(tools)),
    };
    let sources: Vec<String> = sources.split(',').map(|source| source.trim().to_owned()).collect();
    if sources.iter().any(String::is_empty) { Err(wrong(tools)) } else { Ok(sources) }
}

fn wrong(tools: &str) -> Failure {
    let shown: String = tools.chars().filter(|character| !character.is_control()).take(80).collect();
    Failure::invalid_request(format!(
        "tools={shown} is not known: it is `direct`, or `direct:` and the names of sources with commas between"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(uri: &str, expect: Option<(&str, Option<&[&str]>)>) {
        let target = Target::of(&uri.parse().unwrap()).ok();
        let expect = expect.map(|(workspace, direct)| Target {
            workspace: workspace.to_owned(),
            direct: direct.map(|sources| sources.iter().map(ToString::to_string).collect()),
        });
        assert_eq!(target, expect, "{uri}");
    }

    #[test]
    fn an_endpoint_names_its_workspace_and_tools() {
        check("/mcp", Some(("default", None)));
        check("/mcp/work", Some(("work", None)));
        check("/mcp?workspace=work", Some(("work", None)));
        check("/mcp?tools=direct", Some(("default", Some(&[]))));
        check("/mcp/work?tools=direct:github,%20pets", Some(("work", Some(&["github", "pets"]))));
        for uri in [
            "/mcp/a?workspace=b",
            "/mcp?tools=all",
            "/mcp?tools=direct:",
            "/mcp?tools=direct:a,,b",
            "/mcp?tool=direct",
        ] {
            check(uri, None);
        }
    }
}
