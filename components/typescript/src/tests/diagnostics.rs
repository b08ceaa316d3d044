//! What is told about programs that do not compile, and hostile ones.

use super::{check_error, compile_one, loose, shown};
use crate::compile;
use crate::limits::{DIAGNOSTICS, FILE_BYTES, NESTING};

#[test]
fn syntax_errors_have_their_place() {
    check_error("const x = ;", "main.ts:1:11 syntax: Unexpected token");
    check_error(
        "\n\n  const ü = 'a' 'b'",
        "main.ts:3:16 syntax: Expected a semicolon or an implicit semicolon after a statement, but found none (Try inserting a semicolon here)",
    );
    check_error("```ts\nreturn (\n```", "main.ts:3:1 syntax: Expected `)` but found `EOF` (`)` expected)");
    check_error(
        "Text.\n\n```ts\nconst a = 1;\nconst a = 2;\n```",
        "main.ts:4:7 syntax: Identifier `a` has already been declared (`a` has already been declared here)",
    );
    check_error("return await", "main.ts:1:13 syntax: Unexpected token");
    check_error(
        "return /(/",
        "main.ts:1:9 syntax: Invalid regular expression: Unterminated capturing group (Add the missing closing delimiter)",
    );
    check_error(
        "break",
        "main.ts:1:1 syntax: Illegal break statement (A `break` statement can only be used within an enclosing iteration or switch statement.)",
    );
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let mut two = loose("return 1");
    two.files.push(super::file("b.ts", ""));
    assert_eq!(shown(compile(&two)), ":1:1 request: a loose program is one file, not 2");
    for (options, message) in [
        ("[]", ":1:1 request: the options are not a JSON object"),
        ("{", ":1:1 request: the options are not a JSON object"),
        (r#"{"minify":true}"#, ":1:1 request: there is no option \"minify\" of this kind"),
    ] {
        let mut request = loose("return 1");
        request.options = Some(options.into());
        assert_eq!(shown(compile(&request)), message);
    }
}

#[test]
fn size_is_bounded() {
    check_error(
        &"x".repeat(FILE_BYTES + 1),
        "main.ts:1:1 too-large: the file has 4194305 bytes, more than 4194304",
    );
    let mut request = loose("");
    request.loose = false;
    request.files = (0..2000).map(|index| super::file(&format!("{index}.ts"), "")).collect();
    assert_eq!(shown(compile(&request)), ":1:1 too-large: 2000 files are more than the 1024 of one request");
    request.files =
        (0..5).map(|index| super::file(&format!("{index}.ts"), &" ".repeat(FILE_BYTES))).collect();
    assert_eq!(
        shown(compile(&request)),
        ":1:1 too-large: the files have 20971520 bytes in all, more than 16777216"
    );
}

#[test]
fn depth_is_bounded() {
    check_error(
        &format!("return\n {}", "[".repeat(100_000)),
        &format!(
            "main.ts:2:{} nested-too-deeply: nested too deeply: more than 2000 brackets are open here",
            NESTING + 2
        ),
    );
    // The component's stack holds what passes; a native test thread's does not.
    let deep = format!("return {}1{}", "(".repeat(NESTING - 1), ")".repeat(NESTING - 1));
    let compiled =
        std::thread::Builder::new().stack_size(256 << 20).spawn(move || compile_one(&deep).is_ok()).unwrap();
    assert!(compiled.join().unwrap());
}

#[test]
fn what_is_printed_stays_in_proportion() {
    let source = format!("{}{}{}", "{".repeat(200), "f();".repeat(1000), "}".repeat(200));
    let printed = compile_one(&source).unwrap().source.len();
    assert!(printed < 2 * source.len(), "{printed}");
}

#[test]
fn many_errors_are_a_bounded_list() {
    let source = "const a = 1;\n".repeat(1000);
    let found = compile(&loose(&source)).unwrap_err();
    assert_eq!(found.len(), DIAGNOSTICS);
}

#[test]
fn odd_texts_do_not_panic() {
    for source in [
        "\u{feff}return 1",
        "\0",
        "return '\u{2028}'",
        "`",
        "/*",
        "```",
        "```ts",
        "~~~",
        "async",
        "function",
        "async function (",
        "export default",
        "import",
        "return 1\r\nreturn 2",
        "#!/bin/sh\nreturn 1",
        "<",
        "<>",
        "</>",
        "@",
        "({",
        "enum",
        "namespace",
        "😀",
        "a\u{200d}b",
        "export default function",
        "function () {",
        "function () {} function () {}",
        "// only a comment",
        "'directive'",
        ";",
        ";;",
        "export {}",
        "declare const x: 1",
        "type A = 1",
        "import x = require('y'); return x",
        "export = 1",
        "export as namespace X",
        "declare module 'x' {}",
        "declare global {}",
    ] {
        let _ = compile_one(source);
        let mut set = loose(source);
        set.loose = false;
        let _ = compile(&set);
    }
}
