//! `docs/cli.md`: the reference, made from the command line's definition.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::arguments::Arguments;

/// With `UPDATE=1` in the environment the file is written, else compared.
#[test]
fn the_reference_is_what_the_program_takes() {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md"));
    let made = reference();
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == made, "docs/cli.md is out of date: run this test with UPDATE=1");
}

fn reference() -> String {
    let mut root = Arguments::command().term_width(100);
    root.build();
    let mut text = String::from(
        "# Command line\n\nMade from the program itself; a test fails where they differ. \
         Data goes to stdout, talk to stderr.\n",
    );
    section(&mut text, &root, "executor", 2);
    text
}

fn section(text: &mut String, command: &Command, name: &str, level: usize) {
    let _ = write!(text, "\n{} `{name}`\n\n", "#".repeat(level));
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        let _ = write!(text, "{about}\n\n");
    }
    let usage = command.clone().render_usage().to_string();
    let _ = writeln!(text, "```text\n{}\n```", usage.trim_start_matches("Usage: ").trim());
    let root = level == 2;
    let shown = |argument: &&Arg| {
        let common = argument.is_global_set() || matches!(argument.get_action(), ArgAction::Help);
        !argument.is_hide_set() && (root || !common)
    };
    let arguments: Vec<&Arg> = command.get_arguments().filter(shown).collect();
    if !arguments.is_empty() {
        text.push('\n');
    }
    for argument in arguments {
        let _ = writeln!(text, "- `{}`: {}", shape(argument), help(argument));
    }
    if let Some(after) = command.get_after_long_help() {
        let _ = write!(text, "\n```text\n{}\n```\n", after.to_string().trim());
    }
    for subcommand in
        command.get_subcommands().filter(|command| command.get_name() != "help" && !command.is_hide_set())
    {
        section(text, subcommand, &format!("{name} {}", subcommand.get_name()), (level + 1).min(4));
    }
}

fn shape(argument: &Arg) -> String {
    let names: Vec<String> =
        argument.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let value = if argument.get_action().takes_values() { names.join(" ") } else { String::new() };
    match (argument.get_short(), argument.get_long()) {
        (None, None) => format!("<{value}>"),
        (short, Some(long)) => {
            let short = short.map(|short| format!("-{short}, ")).unwrap_or_default();
            let value = if value.is_empty() { value } else { format!(" <{value}>") };
            format!("{short}--{long}{value}")
        }
        (Some(short), None) => format!("-{short} <{value}>"),
    }
}

fn help(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut help = help.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && argument.get_action().takes_values() {
        let _ = write!(help, " (default: `{}`)", defaults.join(" "));
    }
    let values: Vec<String> =
        argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    if !values.is_empty() && argument.get_action().takes_values() {
        let _ = write!(help, " (one of {})", values.join(", "));
    }
    help
}
