//! `executor run`: TypeScript against the tools.

use clap::Args;
use serde_json::json;

use crate::api::Api;
use crate::context::Context;
use crate::execution::{self, Program};
use crate::failure::{Exit, Failure};
use crate::input;

/// The largest program that the daemon takes.
const CODE_LIMIT_BYTES: u64 = 1024 * 1024;
/// As much as still fits into the request beside the largest program.
const INPUT_LIMIT_BYTES: u64 = 1024 * 1024;

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// A file with TypeScript, or `-` for stdin
    #[arg(value_name = "FILE|-", required_unless_present = "code", conflicts_with = "code")]
    file: Option<String>,
    /// The program itself
    #[arg(long = "eval", short = 'e', value_name = "CODE")]
    code: Option<String>,
    /// What the program finds as `input`: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-")]
    input: Option<String>,
}

pub(crate) fn run(context: &Context, arguments: &RunArguments) -> Result<Exit, Failure> {
    let program = program(arguments)?;
    let mut body = json!({ "code": program.code, "name": program.name });
    if let Some(given) = &arguments.input {
        if given == "-" && arguments.file.as_deref() == Some("-") {
            return Err(Failure::usage("stdin can be the program or the input, not both"));
        }
        body["input"] = input::json(given, "--input", INPUT_LIMIT_BYTES)?;
    }
    let answer = Api::new(context).post(&context.path(&["executions"]), &body);
    let answer = answer.map_err(|failure| execution::broken_off(context, failure, None))?;
    execution::report(context, answer, &program)
}

fn program(arguments: &RunArguments) -> Result<Program, Failure> {
    if let Some(code) = &arguments.code {
        return Ok(Program { name: "code.ts".into(), code: code.clone() });
    }
    let file = arguments.file.as_deref().unwrap_or("-");
    let code = input::text(file, CODE_LIMIT_BYTES)?;
    let name = match file {
        "-" => "stdin.ts".into(),
        file => std::path::Path::new(file)
            .file_name()
            .map_or_else(|| "program.ts".into(), |name| name.to_string_lossy().into_owned()),
    };
    Ok(Program { name, code })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_after_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("report.ts");
        std::fs::write(&file, "return 1").unwrap();
        let arguments = |file: Option<&str>, code: Option<&str>| RunArguments {
            file: file.map(str::to_owned),
            code: code.map(str::to_owned),
            input: None,
        };
        let program = program(&arguments(file.to_str(), None)).unwrap();
        assert_eq!((program.name.as_str(), program.code.as_str()), ("report.ts", "return 1"));
        assert_eq!(super::program(&arguments(None, Some("1"))).unwrap().name, "code.ts");
        assert!(super::program(&arguments(Some("/missing"), None)).is_err());
    }
}
