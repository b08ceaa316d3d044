//! Errors at run time point at the author's own text.

use serde_json::{Value, json};

use super::run;

#[track_caller]
fn check_place(source: &str, line: u32, column: u32) {
    let failure = run(source).expect_err(source);
    let details: Value =
        serde_json::from_str(&failure.details.clone().unwrap_or_default()).unwrap_or_default();
    let place = (&details["path"], &details["line"], &details["column"]);
    assert_eq!(place, (&json!("main.ts"), &json!(line), &json!(column)), "{source}\n{failure:?}");
}

#[test]
fn every_form_keeps_its_lines() {
    check_place("throw new Error('x')", 1, 11);
    check_place("interface A { x: number }\n\n  throw new Error('x')", 3, 13);
    let cast =
        "const a: number = 1;\nconst f = (x: unknown) => {\n    return (x as any).y.z;\n};\nreturn f(a)";
    check_place(cast, 3, 13);
    check_place("async (input: unknown) => {\n  throw new TypeError('x')\n}", 2, 13);
    check_place("// comment\nasync function (input) {\n  throw new Error('x')\n}", 3, 13);
    check_place("export default async () => {\n  throw new Error('x')\n}", 2, 13);
    check_place("function main() {\n  throw new Error('x')\n}", 2, 13);
    let prose = "Some prose.\n\n```ts\nconst a = 1;\n  throw new Error('x')\n```\n";
    check_place(prose, 5, 13);
    let blocks = "```ts\nfunction f() { throw new Error('x') }\n```\ntext\n```ts\n\nf()\n```\n";
    check_place(blocks, 2, 26);
    check_place("enum E { A }\nthrow new Error('x')", 2, 11);
}

#[test]
fn a_stack_names_the_authors_functions() {
    let source = "function inner(x: any) {\n  return x.missing.y;\n}\nconst outer = () => {\n  return inner({}) + 1;\n};\nreturn outer()";
    let failure = run(source).unwrap_err();
    assert_eq!(
        failure.stack.as_deref(),
        Some(
            "TypeError: cannot read property 'y' of undefined\n    at inner (main.ts:2:10)\n    at outer (main.ts:5:10)\n    at main.ts:7:8"
        )
    );
}
