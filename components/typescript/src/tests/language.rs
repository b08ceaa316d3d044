//! TypeScript as it is written.

use serde_json::json;

use super::{check, check_error, compile_one};

#[test]
fn types_disappear() {
    check(
        "type Row = { id: number } & Record<string, unknown>;
        declare const unused: string;
        const rows = [{ id: 1 }, { id: 2 }] as const satisfies readonly Row[];
        let found!: Row;
        found = rows[0]!;
        const pick = <T,>(list: readonly T[], at: number): T | undefined => list[at];
        const other = <Row>rows[1];
        abstract class Base { protected constructor(public readonly x: number, private y = 2) {} get sum(): number { return this.x + this.y } }
        class Made extends Base { constructor() { super(3) } override get sum() { return super.sum * 2 } static #p = 1; }
        function is(x: unknown): x is string { return typeof x === 'string' }
        return [found.id, pick(rows, 1)?.id, other.id, new Made().sum, is('a')]",
        json!([1, 2, 2, 10, true]),
    );
}

#[test]
fn enums_and_namespaces_run() {
    check(
        "enum Color { Red, Green = 5, Blue } return [Color.Red, Color.Blue, Color[5]]",
        json!([0, 6, "Green"]),
    );
    check("const enum Level { Low = 'low' } return Level.Low", json!("low"));
    check("function f() { enum A { X = 1 } return A.X } return f()", json!(1));
    check(
        "namespace Tools { export const one = 1; export namespace Deep { export const two = 2 } } return Tools.one + Tools.Deep.two",
        json!(3),
    );
}

#[test]
fn modern_javascript_is_kept() {
    check("using x = { [Symbol.dispose]() {} }; return [1, 2, 3].at(-1) ?? 0", json!(3));
    check(
        "const { a, ...rest } = { a: 1, b: 2 }; label: for (;;) { break label } return { ...rest, [`k${a}`]: a ** 2 }",
        json!({ "b": 2, "k1": 1 }),
    );
    check("return new Set([1, 2]).union(new Set([3])).size", json!(3));
    check("return /(?<year>\\d{4})/v.exec('in 2024').groups.year", json!("2024"));
}

#[test]
fn jsx_and_angle_brackets_are_told_apart() {
    check("const id = <T>(x: T) => x; return id<number>(3)", json!(3));
    let jsx = "const view = <div a=\"1\">x</div>; return view";
    check_error(
        jsx,
        "main.ts:1:1 import-not-allowed: \"react/jsx-runtime\" can't be imported here (JSX is compiled to imports of it; it is allowed in views alone)",
    );
}

#[test]
fn what_cannot_run_is_refused() {
    check_error(
        "class A { accessor x = 1 }\nreturn 1",
        "main.ts:1:11 accessor: accessor fields are not supported (write a get and a set)",
    );
    check_error(
        "const fs = await import('fs'); return fs",
        "main.ts:1:18 dynamic-import: import(…) is not available: modules are fixed before a program starts (import it at the top of the file)",
    );
    check_error(
        "@sealed class A {}\nreturn 1",
        "main.ts:1:1 decorators: decorators are not supported (call the function on the class instead)",
    );
    check_error(
        "import { readFile } from 'node:fs';\nreturn readFile('x')",
        "main.ts:1:26 import-not-allowed: \"node:fs\" can't be imported here (nothing is imported in a program: APIs are reached by tools.<source>.<tool>(args); tools.search({ query }) finds them)",
    );
    check_error(
        "export * from './x'; export default 1",
        "main.ts:1:15 import-not-allowed: \"./x\" can't be imported here (nothing is imported in a program: APIs are reached by tools.<source>.<tool>(args); tools.search({ query }) finds them)",
    );
    check(
        "import type { A } from 'somewhere';\nimport { B } from 'elsewhere';\nconst b: A | B = 1; return b",
        json!(1),
    );
}

#[test]
fn allowed_imports_stay() {
    let mut request = super::loose("import { z } from 'zod';\nimport x from 'pkg/deep';\nreturn [z, x]");
    request.allowed_imports = vec!["zod".into(), "pkg/*".into()];
    let output = crate::compile(&request).unwrap();
    assert_eq!(output.modules[0].imports, ["zod", "pkg/deep"]);
    assert!(
        output.modules[0]
            .source
            .starts_with("import { z } from \"zod\";\nimport x from \"pkg/deep\";\nexport default async")
    );
    request.files[0].source = "import { z } from 'zodd';\nreturn z".into();
    assert_eq!(
        super::shown(crate::compile(&request)),
        "main.ts:1:19 import-not-allowed: \"zodd\" can't be imported here (did you mean \"zod\"?)"
    );
}

#[test]
fn comments_are_left_out() {
    assert_eq!(
        compile_one("// a\nreturn 1 /* b */").unwrap().source,
        "export default async (input) => {\nreturn 1;\n};\n"
    );
}
