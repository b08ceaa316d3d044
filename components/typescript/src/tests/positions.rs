//! Errors at run time point at the author's own text.

use serde_json::{Value, json};

use super::run;

#[track_caller]
fn check_place(source: &str, line: u32, column: u32) {
    let failure = run(source).expect_err(source);
    let details: Value =
        serde_json::from_str(&failure.details.clone().unwrap_or_default()).unwrap_or_default();
    let place = (&details["path"], &details["line"], &details["column"]);
    assert_eq!(
        place,
        (&json!("main.ts"), &json!(line), &json!(column)),
        "{source}\n{failure:?}"
    );
}

#[test]
fn every_form_keeps_its_lines() {
    check_place("throw new Error('x')", 1, 7);
    check_place("interface A { x: number }\n\n  throw new Error('x')", 3, 9);
    check_place(
        "const a: number = 1;\nconst f = (x: unknown) => {\n    return (x as any).y.z;\n};\nreturn f(a)",
        3,
        22,
    );
    check_place(
        "async (input: unknown) => {\n  throw new TypeError('x')\n}",
        2,
        9,
    );
    check_place(
        "// comment\nasync function (input) {\n  throw new Error('x')\n}",
        3,
        9,
    );
    check_place(
        "export default async () => {\n  throw new Error('x')\n}",
        2,
        9,
    );
    check_place("function main() {\n  throw new Error('x')\n}", 2, 9);
    check_place(
        "Some prose.\n\n```ts\nconst a = 1;\n  throw new Error('x')\n```\n",
        5,
        9,
    );
    check_place(
        "```ts\nfunction f() { throw new Error('x') }\n```\ntext\n```ts\n\nf()\n```\n",
        2,
        22,
    );
    check_place("enum E { A }\nthrow new Error(E.A + '')", 2, 7);
}

#[test]
fn a_stack_names_the_authors_functions() {
    let source = "function inner(x: any) {\n  return x.missing.y;\n}\nconst outer = () => {\n  return inner({}) + 1;\n};\nreturn outer()";
    let failure = run(source).unwrap_err();
    assert_eq!(
        failure.stack.as_deref(),
        Some(
            "TypeError: cannot read property 'y' of undefined\n    at inner (main.ts:2:19)\n    at outer (main.ts:5:15)\n    at main.ts:7:13"
        )
    );
}
