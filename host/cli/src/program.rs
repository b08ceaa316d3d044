//! Sources that are programs: what follows `--`, as the daemon is told of it
//! and as people see it.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::credentials;
use crate::failure::Failure;
use crate::text;
use crate::view::{list, scalar};

/// `command`, with the `environment` that its program gets.
///
/// # Errors
/// There is no program, or a value can't be had.
pub(crate) fn body(
    context: &Context,
    command: &[String],
    directory: Option<&Path>,
    environment: &[String],
) -> Result<Map<String, Value>, Failure> {
    let (program, rest) = command
        .split_first()
        .filter(|(program, _)| !program.is_empty())
        .ok_or_else(|| Failure::usage("no program follows `--`"))?;
    let absolute = |path: &str| {
        std::path::absolute(path)
            .map(|path| path.to_string_lossy().into_owned())
            .map_err(|error| Failure::usage(format!("{} can't be used: {error}", text::line(path, 200))))
    };
    // A path is as seen from here, where the person is.
    let program = if program.contains('/') { absolute(program)? } else { program.clone() };
    let mut command = json!({ "program": program, "args": rest });
    if let Some(directory) = directory {
        command["directory"] = json!(absolute(&directory.to_string_lossy())?);
    }
    let mut body = Map::from_iter([("command".to_owned(), command)]);
    let environment = credentials::program_environment(context, environment)?;
    if !environment.is_empty() {
        body.insert("environment".into(), json!(environment));
    }
    Ok(body)
}

/// What to do where a program failed that was given a path which is one here,
/// and not where the program starts.
pub(crate) fn misplaced(command: &[String], directory: Option<&Path>) -> Option<String> {
    let is_near = |argument: &&String| {
        Path::new(argument.as_str()).is_relative() && Path::new(argument.as_str()).exists()
    };
    let argument = command.iter().skip(1).find(is_near).filter(|_| directory.is_none())?;
    let argument = text::line(argument, 200);
    Some(format!(
        "the program starts in your home, where {argument} is looked for: give the whole path, or `--directory .`"
    ))
}

/// What is run, in quotes where a shell would want them.
pub(crate) fn line(command: &Value) -> String {
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./:=@,+%".contains(c))
    };
    let quoted = |word: String| match plain(&word) {
        true => word,
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    let words = [&command["program"]].into_iter().chain(list(command, "args"));
    let words = words.filter(|word| word.is_string()).map(|word| quoted(scalar(word)));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Globals;
    use crate::environment::Environment;

    #[test]
    fn a_request_names_a_program() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("key");
        std::fs::write(&file, "canary\n").unwrap();
        let user = Environment { user_home: Some("/u".into()), ..Environment::default() };
        let context = Context::new(&Globals::default(), user).unwrap();
        let asked = |command: &[&str]| {
            let command: Vec<String> = command.iter().map(ToString::to_string).collect();
            let environment = [format!("KEY=@{}", file.display())];
            body(&context, &command, Some(Path::new("/srv/../srv")), &environment)
        };
        let made = asked(&["npx", "-y", "server one"]).unwrap();
        assert_eq!(made["command"]["args"], json!(["-y", "server one"]));
        assert_eq!(made["environment"], json!({ "KEY": "canary" }));
        assert!(made["command"]["directory"].as_str().unwrap().starts_with("/srv"));
        assert_eq!(line(&made["command"]), "npx -y 'server one'");
        let near = asked(&["./server"]).unwrap();
        assert!(near["command"]["program"].as_str().unwrap().starts_with('/'), "{near:?}");
        let given = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let here = given(&["node", "-v", "Cargo.toml"]);
        assert!(misplaced(&here, None).unwrap().contains("where Cargo.toml is looked for"));
        assert_eq!(misplaced(&here, Some(Path::new("."))), None);
        assert_eq!(misplaced(&given(&["Cargo.toml", "-v", "/", "no/such/file"]), None), None);
        for nothing in [&[""][..], &[]] {
            assert!(asked(nothing).unwrap_err().message.contains("no program"));
        }
    }
}
