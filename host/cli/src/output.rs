//! The only writer: data to stdout, talk to stderr.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

use crate::api::Answer;
use crate::arguments::{ColorChoice, Globals};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::style::Style;
use crate::text;

/// Where and how the command speaks.
#[derive(Debug)]
pub(crate) struct Output {
    /// Data is the HTTP API's answer.
    pub(crate) json: bool,
    /// Talk that is no error or question is left out.
    pub(crate) quiet: bool,
    /// A progress bar may be drawn.
    pub(crate) progress: bool,
    /// How data is styled.
    pub(crate) data: Style,
    /// How talk is styled.
    pub(crate) talk: Style,
}

impl Output {
    pub(crate) fn new(globals: &Globals, environment: &Environment) -> Self {
        let colored = |terminal: bool| match globals.color {
            Some(ColorChoice::Always) => true,
            Some(ColorChoice::Never) => false,
            _ => {
                let wanted = environment.force_color || terminal && !environment.dumb_terminal;
                wanted && !environment.no_color
            }
        };
        let talks = io::stderr().is_terminal();
        Self {
            json: globals.json,
            quiet: globals.quiet,
            progress: talks && !environment.dumb_terminal && !globals.quiet && !globals.no_progress,
            data: Style::new(colored(io::stdout().is_terminal())),
            talk: Style::new(colored(talks)),
        }
    }

    /// Before anything is known about how to speak.
    pub(crate) fn plain() -> Self {
        Self { json: false, quiet: false, progress: false, data: Style::default(), talk: Style::default() }
    }

    /// Writes data, which ends with a line break then.
    pub(crate) fn print(&self, data: &str) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        let ending: &[u8] = if data.ends_with('\n') || data.is_empty() { b"" } else { b"\n" };
        stdout
            .write_all(data.as_bytes())
            .and_then(|()| stdout.write_all(ending))
            .and_then(|()| stdout.flush())
            .map_err(|error| Failure::writing(&error))
    }

    /// Writes an answer: as it came with `--json`, else as `render` says.
    pub(crate) fn answer(
        &self,
        answer: &Answer,
        render: impl FnOnce(&Value, Style) -> String,
    ) -> Result<(), Failure> {
        if self.json {
            return self.print_json(&answer.value);
        }
        self.print(&render(&answer.value, self.data))
    }

    /// JSON: on one line for programs, on several for people.
    pub(crate) fn print_json(&self, value: &Value) -> Result<(), Failure> {
        if io::stdout().is_terminal() {
            self.print(&text::pretty_json(value))
        } else {
            self.print(&text::compact_json(value))
        }
    }

    /// Says something that is good to know.
    pub(crate) fn say(&self, message: &str) {
        if !self.quiet {
            self.tell(message);
        }
    }

    /// Says something that must be seen: a question, what it is about.
    pub(crate) fn tell(&self, message: &str) {
        // With stderr gone there is nobody to tell.
        let _ = writeln!(io::stderr().lock(), "{message}");
    }

    pub(crate) fn warn(&self, message: &str) {
        self.say(&format!("{} {message}", self.talk.yellow("warning:")));
    }

    pub(crate) fn hint(&self, message: &str) {
        self.say(&format!("{} {message}", self.talk.cyan("hint:")));
    }

    /// Tells a failure, and gives its exit code.
    pub(crate) fn failure(&self, failure: &Failure) -> Exit {
        if self.json
            && let Some(answer) = &failure.answer
        {
            // The exit code says it as well.
            let _ = self.print_json(answer);
        }
        if !failure.message.is_empty() {
            self.tell(&error_text(&failure.message, &failure.hints, self.talk));
        }
        failure.exit
    }
}

/// `error: …`, and after a blank line what to do.
pub(crate) fn error_text(message: &str, hints: &[String], style: Style) -> String {
    let mut told = format!("{} {message}", style.red("error:"));
    if !hints.is_empty() {
        told.push('\n');
    }
    for hint in hints {
        told.push_str(&format!("\n{} {hint}", style.cyan("hint:")));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_and_its_hints_stand_apart() {
        let hints = ["do this".to_owned(), "or that".to_owned()];
        insta::assert_snapshot!(error_text("it broke", &hints, Style::default()), @r"
        error: it broke

        hint: do this
        hint: or that
        ");
        assert_eq!(error_text("it broke", &[], Style::default()), "error: it broke");
        assert_eq!(error_text("x", &[], Style::new(true)), "\u{1b}[1;31merror:\u{1b}[0m x");
    }

    #[test]
    fn colour_is_what_was_asked_for() {
        let colored = |choice, environment: Environment| {
            let globals = Globals { color: choice, ..Globals::default() };
            Output::new(&globals, &environment).data.bold("x") != "x"
        };
        let force = Environment { force_color: true, ..Environment::default() };
        let both = Environment { no_color: true, ..force.clone() };
        assert!(colored(None, force));
        assert!(!colored(None, both.clone()));
        assert!(colored(Some(ColorChoice::Always), both));
        assert!(!colored(
            Some(ColorChoice::Never),
            Environment { force_color: true, ..Environment::default() }
        ));
    }
}
