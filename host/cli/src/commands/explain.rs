//! `executor explain`: the page of an error code.

use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::nearest::nearest;
use crate::pages;

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The code, as in an error; without one the codes are listed
    code: Option<String>,
}

pub(crate) fn run(context: &Context, arguments: &ExplainArguments) -> Result<Exit, Failure> {
    let Some(code) = &arguments.code else {
        let listed: Vec<_> =
            pages::PAGES.iter().map(|page| json!({ "code": page.code, "title": page.title() })).collect();
        if context.output.json {
            context.output.print_json(&json!({ "items": listed }))?;
        } else {
            context.output.print(&index())?;
        }
        return Ok(Exit::Ok);
    };
    let page = pages::page(code).ok_or_else(|| unknown(code))?;
    if context.output.json {
        context.output.print_json(&json!({ "code": page.code, "text": page.text }))?;
    } else {
        context.output.print(page.text)?;
    }
    Ok(Exit::Ok)
}

fn index() -> String {
    let width = pages::PAGES.iter().map(|page| page.code.len()).max().unwrap_or(0);
    let lines: Vec<String> =
        pages::PAGES.iter().map(|page| format!("{:width$}  {}", page.code, page.title())).collect();
    lines.join("\n")
}

fn unknown(code: &str) -> Failure {
    let shown = crate::text::line(code, 80);
    let failure = Failure::usage(format!("there is no error code `{shown}`"));
    match nearest(code, pages::PAGES.iter().map(|page| page.code)) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("`executor explain` lists them all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_code_is_proposed() {
        assert_eq!(unknown("out-of-feul").hints, ["did you mean `out-of-fuel`?"]);
        assert_eq!(unknown("zebra").hints, ["`executor explain` lists them all"]);
        assert!(index().contains("out-of-fuel"));
    }
}
