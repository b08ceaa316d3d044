//! `executor mcp`: MCP on stdin and stdout, for clients that start their
//! servers themselves.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::api;
use crate::bridge::{self, Endpoint};
use crate::context::Context;
use crate::failure::{Exit, Failure};

/// Bytes of a token's file.
const TOKEN_LIMIT: usize = 4096;

/// Speak MCP on stdin and stdout
///
/// For clients that start their servers themselves: what comes on stdin goes
/// to the daemon, which is started if none runs and found again when it was
/// restarted; its answers go to stdout, and nothing else does.
#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    /// Offer the catalogue's tools themselves: `direct` for all of them, or names of sources
    #[arg(long, value_name = "direct|SOURCE,…")]
    tools: Option<String>,
    /// Act as the token in this file, not as the owner [env: EXECUTOR_TOKEN]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// What this client is called in records, where no token names it
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
}

pub(crate) fn run(context: &Context, arguments: &McpArguments) -> Result<Exit, Failure> {
    let token = match &arguments.token_file {
        Some(file) => Some(read_token(file)?),
        None => context.environment.token.clone(),
    };
    let token = token.as_deref().map(checked).transpose()?;
    let client = arguments.client.as_deref().map(named).transpose()?;
    bridge::run(context, Endpoint { target: target(context, arguments.tools.as_deref()), token, client })
}

/// The path and query of the endpoint.
fn target(context: &Context, tools: Option<&str>) -> String {
    let tools = tools.map(|tools| match tools.trim() {
        "direct" => "direct".to_owned(),
        sources => format!("direct:{}", sources.strip_prefix("direct:").unwrap_or(sources)),
    });
    let workspace = Some(context.workspace.clone());
    format!("/mcp{}", api::query(&[("workspace", workspace), ("tools", tools)]))
}

fn read_token(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("the token file {} can't be read: {error}", file.display())))
}

/// A name that can stand in a header.
fn named(client: &str) -> Result<String, Failure> {
    let sound =
        !client.is_empty() && client.len() <= 64 && client.bytes().all(|byte| byte.is_ascii_graphic());
    if sound {
        return Ok(client.to_owned());
    }
    Err(Failure::usage("--client takes a name of at most 64 plain characters, without spaces"))
}

/// A token that can stand in a header.
fn checked(token: &str) -> Result<String, Failure> {
    let token = token.trim();
    if token.is_empty() || token.len() > TOKEN_LIMIT || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::usage("the token is none: it is one line of plain characters").hint(
            "a token is what `--token-file` or EXECUTOR_TOKEN holds, without a name or a scheme before it",
        ));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Globals;
    use crate::environment::Environment;

    #[test]
    fn the_endpoint_is_what_was_said() {
        let environment = Environment { user_home: Some("/u".into()), ..Environment::default() };
        let globals = Globals { workspace: Some("wörk".into()), ..Globals::default() };
        let context = Context::new(&globals, environment).unwrap();
        assert_eq!(target(&context, None), "/mcp?workspace=w%C3%B6rk");
        assert!(target(&context, Some("direct")).ends_with("&tools=direct"));
        for tools in ["github,pets", "direct:github,pets"] {
            assert!(target(&context, Some(tools)).ends_with("&tools=direct%3Agithub%2Cpets"), "{tools}");
        }
    }

    #[test]
    fn a_client_has_a_plain_name() {
        assert_eq!(named("claude-code").unwrap(), "claude-code");
        for name in ["", "a b", "a\r\nx: y", "ü", &"x".repeat(65)] {
            assert!(named(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_token_is_one_line() {
        assert_eq!(checked(" exr_abc\n").unwrap(), "exr_abc");
        for token in ["", " \n", "a b", "a\nx: y", "ü"] {
            assert!(checked(token).is_err(), "{token:?}");
        }
        let missing = read_token(Path::new("/nonexistent/token")).unwrap_err();
        assert_eq!(missing.exit, Exit::Usage);
    }
}
