//! `executor blobs`: files for calls, and files of answers.

use std::io::{self, IsTerminal};

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::api::{Answer, Api};
use crate::context::Context;
use crate::downloads;
use crate::failure::{Exit, Failure};
use crate::style::Style;
use crate::table::Table;
use crate::text;
use crate::uploads::{FILE, Uploads};
use crate::view::{field, list, number, time};

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List the files that the workspace holds, the newest first
    List,
    /// Put a file into the workspace, and print its reference
    Put(PutArguments),
    /// Write a file of the workspace, to stdout where no file is named
    Get(GetArguments),
}

#[derive(Debug, Args)]
pub(crate) struct PutArguments {
    /// The file, or `-` for stdin
    #[arg(value_name = "FILE|-")]
    file: String,
    /// The name to keep it under; else its own
    #[arg(long)]
    name: Option<String>,
    /// What it is, as `text/csv`; else what the ending of its name says
    #[arg(long, value_name = "MEDIA_TYPE")]
    media_type: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GetArguments {
    /// Its reference, as it stands under `$file` in an answer
    #[arg(value_name = "REFERENCE")]
    reference: String,
    /// Where to write it, or `-` for stdout
    #[arg(long, short, value_name = "FILE|-")]
    output: Option<String>,
}

pub(crate) fn run(context: &Context, action: Action) -> Result<Exit, Failure> {
    match action {
        Action::List => {
            let answer = Api::new(context).list(&context.path(&["blobs"]))?;
            context.output.answer(&answer, render_list)?;
        }
        Action::Put(arguments) => put(context, &arguments)?,
        Action::Get(arguments) => get(context, &arguments)?,
    }
    Ok(Exit::Ok)
}

fn put(context: &Context, arguments: &PutArguments) -> Result<(), Failure> {
    let (name, media_type) = (arguments.name.as_deref(), arguments.media_type.as_deref());
    let value = Uploads::new(context, false).put(&arguments.file, name, media_type)?;
    let answer = Answer { value };
    context.output.answer(&answer, |file, _| field(file, FILE))
}

fn get(context: &Context, arguments: &GetArguments) -> Result<(), Failure> {
    let target = match &arguments.output {
        Some(target) => target,
        None if io::stdout().is_terminal() => {
            return Err(Failure::usage("a file's bytes are not for a terminal")
                .hint("`-o FILE` writes them to a file, `-o -` to the terminal nevertheless"));
        }
        None => "-",
    };
    downloads::save(context, &arguments.reference, target)
}

fn render_list(page: &Value, style: Style) -> String {
    let mut table = Table::new(&["NAME", "SIZE", "MEDIA TYPE", "SINCE", "REFERENCE"]);
    for item in list(page, "items") {
        let reference = field(item, FILE);
        table.row([
            &field(item, "name"),
            &text::bytes(number(item, "size")),
            &field(item, "mediaType"),
            &time(item, "created_at"),
            &reference,
        ]);
    }
    table.render(style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reference_is_shown_whole() {
        let reference = format!("blob:{}", "a".repeat(64));
        let page = json!({ "items": [{ "$file": reference, "size": 2048, "name": "a\u{1b}[31m.txt",
            "created_at": "2026-01-02T03:04:05Z" }] });
        let rendered = render_list(&page, Style::default());
        assert!(rendered.contains(&reference) && !rendered.contains('\u{1b}'), "{rendered}");
    }
}
