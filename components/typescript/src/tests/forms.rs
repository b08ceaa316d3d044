//! Every form in which a program may be written.

use serde_json::json;

use super::{check, check_error, compile_one, run};

#[test]
fn statements_with_return_and_await() {
    check("return 1 + 1", json!(2));
    check("const a: number = await Promise.resolve(2);\nreturn a + input.n", json!(9));
    check(
        "// first\n/* second */\nlet sum = 0;\nfor await (const x of [1, 2]) sum += x;\nif (sum > 2) return { sum };\nreturn null",
        json!({ "sum": 3 }),
    );
    check("const x = 1;", json!(null));
    check("'use strict'; return typeof this", json!("undefined"));
    check(
        "try { await Promise.reject(new Error('x')) } catch (e: any) { return e.message } finally { }",
        json!("x"),
    );
}

#[test]
fn functions_of_every_spelling() {
    check("async (input) => { return input.n }", json!(7));
    check("(input: { n: number }) => input.n * 2", json!(14));
    check("async () => 5;", json!(5));
    check("(async (input) => input.n)", json!(7));
    check("// a comment\nasync function (input) { return input.n }", json!(7));
    check("function (input) { return input.n };", json!(7));
    check("/* x */ async function* () { yield 1 }", json!({}));
    check("function <T>(input: T): T { return input }", json!({ "n": 7 }));
    check("function named(input) { return input.n }", json!(7));
    check("async function named(input: { n: number }): Promise<number> { return input.n }", json!(7));
    check(
        "interface In { n: number }\ntype Out = number;\nasync function work(input: In): Promise<Out> { return input.n }",
        json!(7),
    );
    check("const work = async (input) => input.n;", json!(7));
    check("function over(a: string): string;\nfunction over(a: any) { return a.n }", json!(7));
    check("function helper(n) { return n * 2 }\nfunction main(input) { return helper(input.n) }", json!(14));
}

#[test]
fn default_exports() {
    check("export default async (input) => input.n", json!(7));
    check("export default async function (input) { return input.n }", json!(7));
    check("export default function named(input) { return input.n }", json!(7));
    check("export default { a: [1] }", json!({ "a": [1] }));
    check("const x = await Promise.resolve(3);\nexport default x + 1", json!(4));
    check("const f = () => 6;\nexport { f as default };", json!(6));
    check(
        "const helper = () => 1;\nexport const other = 2;\nexport default () => helper() + other",
        json!(3),
    );
}

#[test]
fn one_expression_is_its_value() {
    check("1 + 1", json!(2));
    check("(async () => { return await Promise.resolve(4) })()", json!(4));
    check("await Promise.resolve([1])", json!([1]));
    check("({ a: 1 })", json!({ "a": 1 }));
    check("interface X {}\n5 as number", json!(5));
}

#[test]
fn code_in_markdown() {
    check("```ts\nreturn 1\n```", json!(1));
    check(
        "Here is what I would run:\n\n```typescript\nconst a: number = 2;\nreturn a\n```\n\nIt returns two.",
        json!(2),
    );
    check("```js\nasync (input) => input.n\n```", json!(7));
    check("Result\n```ts\nconst a = 1;\n```\nand then\n```ts\nreturn a + 1\n```\n", json!(2));
    check("```json\n{\"not\": \"code\"}\n```\n```ts\nexport default 3\n```", json!(3));
    check("```\nreturn 4\n```", json!(4));
    check("```ts\nfunction (input) { return input.n }\n```", json!(7));
    check("return `\\`\\`\\`ts\\nx\\n\\`\\`\\``.length", json!(11));
}

#[test]
fn the_authors_own_input_is_theirs() {
    check("const input = 1; return input", json!(1));
    check("const { a: input } = { a: 2 }; return input", json!(2));
    check("function input() { return 3 } return input()", json!(3));
    check("class input { static x = 4 } return input.x", json!(4));
    check("{ const input = 5 } return input.n", json!(7));
}

#[test]
fn forms_that_mean_nothing_say_so() {
    check_error("", "main.ts:1:1 no-code: there is no code to run");
    check_error(" \n\n", "main.ts:1:1 no-code: there is no code to run");
    check_error("```ts\n```", "main.ts:1:1 no-code: there is no code to run");
    check_error(
        "```python\nx\n```",
        "main.ts:1:1 no-code: the document has no TypeScript: its blocks are python (mark the block to run with ```ts)",
    );
    check_error(
        "export const a = 1;",
        "main.ts:1:1 no-default-export: the program exports names and has no default export to run (write export default async (input) => { … }, or drop the exports)",
    );
    check_error(
        "function a() {}\nfunction b() {}",
        "main.ts:2:1 no-entry: the functions a, b are declared and none is called (call one and return its result, name one main, or export default one)",
    );
    check_error(
        "export default 1;\nreturn 2",
        "main.ts:2:1 TS(1108): A 'return' statement can only be used within a function body.",
    );
}

#[test]
fn the_module_goes_by_the_files_name() {
    let module = compile_one("return 1").unwrap();
    assert_eq!((module.specifier.as_str(), module.imports.len()), ("main.ts", 0));
    assert!(module.source.starts_with("export default async (input) => {"), "{}", module.source);
    assert!(run("throw 1").is_err());
}
