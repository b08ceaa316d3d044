//! GraphQL answers of which parts failed: where in the answer, and how a person
//! gets the rest.

use serde_json::Value;

use crate::context::{Context, quoted};
use crate::failure::telling_code;
use crate::text;
use crate::view::{field, list, prose, scalar};

const CODE: &str = "upstream-partial";

/// Failed parts that are named.
const SHOWN: usize = 8;

/// The details of such an error; a program's error has the tool's in its own.
fn details(error: &Value) -> Option<&Value> {
    if telling_code(error) != CODE {
        return None;
    }
    let details = &error["details"];
    let within = &details["details"];
    Some(if within["errors"].is_array() { within } else { details })
}

/// A line for each part: its path, and why.
pub(crate) fn places(error: &Value) -> Vec<String> {
    let Some(details) = details(error) else { return Vec::new() };
    let errors = list(details, "errors");
    let mut lines: Vec<String> = errors.iter().take(SHOWN).map(place).collect();
    if errors.len() > SHOWN {
        lines.push(format!("… and {} more", errors.len() - SHOWN));
    }
    lines
}

fn place(error: &Value) -> String {
    let path: Vec<String> = list(error, "path").iter().map(scalar).collect();
    let path = if path.is_empty() { "the answer".to_owned() } else { path.join(".") };
    format!("{}: {}", text::line(&path, 120), text::line(&prose(error, "message"), 200))
}

/// What a person can do: what came is kept, and need not be asked for again.
pub(crate) fn hints(context: &Context, execution: &Value) -> Vec<String> {
    if details(&execution["error"]).is_none() {
        return Vec::new();
    }
    let id = quoted(&field(execution, "id"));
    let show = context.command(&format!("executions show {id} --json"));
    let mut hints = vec![format!("`{show}` prints what came, with all else that is known of it")];
    if execution["kind"] == "call" {
        hints.push(
            "`--select` without these fields gives an answer; `--raw` prints data and errors".to_owned(),
        );
    }
    hints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Globals;
    use crate::environment::Environment;
    use serde_json::json;

    fn errors() -> Value {
        json!([
            { "message": "secret is for admins\u{1b}[2J", "path": ["pets", 0, "secret"] },
            { "message": "down" }
        ])
    }

    #[test]
    fn each_part_is_named_wherever_the_details_stand() {
        let expect = ["pets.0.secret: secret is for admins", "the answer: down"];
        let direct = json!({ "code": CODE, "details": { "data": {}, "errors": errors() } });
        assert_eq!(places(&direct), expect);
        let tool = json!({ "code": CODE, "details": { "data": null, "errors": errors() } });
        let whole = json!({ "code": CODE, "details": { "code": CODE, "details": { "errors": errors() } } });
        let program = json!({ "code": "tool", "details": whole["details"].clone() });
        for error in [tool, whole, program] {
            assert_eq!(places(&error), expect, "{error}");
        }
        assert!(places(&json!({ "code": "upstream-error", "details": { "errors": errors() } })).is_empty());
        let many: Vec<Value> = (0..20).map(|number| json!({ "message": number.to_string() })).collect();
        assert_eq!(places(&json!({ "code": CODE, "details": { "errors": many } })).len(), SHOWN + 1);
    }

    #[test]
    fn a_person_is_told_how_to_get_the_rest() {
        let environment = Environment { user_home: Some("/u".into()), ..Environment::default() };
        let context = Context::new(&Globals::default(), environment).unwrap();
        let error = json!({ "code": CODE, "details": { "errors": errors() } });
        let call = json!({ "id": "exe_1", "kind": "call", "error": error });
        let told = hints(&context, &call);
        assert!(told[0].contains("executor executions show exe_1 --json"), "{told:?}");
        assert!(told[1].contains("--select") && told[1].contains("--raw"), "{told:?}");
        assert!(hints(&context, &json!({ "id": "exe_1", "error": { "code": "thrown" } })).is_empty());
    }
}
