//! The compiler seam, against the TypeScript component.

use std::fmt::Write as _;

use executor_runtime::{CompileError, Compiler, Share};
use executor_telemetry::Place;
use tokio::sync::OnceCell;

use crate::fixture::{identity, runtime};

async fn compiler() -> &'static Compiler {
    static COMPILER: OnceCell<Compiler> = OnceCell::const_new();
    let bundled = executor_bundle::TYPESCRIPT;
    COMPILER
        .get_or_init(|| async { runtime().compiler(identity(bundled), bundled.bytes.into()).await.unwrap() })
        .await
}

#[tokio::test]
async fn types_go_and_a_source_map_comes() {
    let module = compiler()
        .await
        .compile_loose(
            &Share::default(),
            &Place::default(),
            "main.ts",
            "const x: number = 1;\nreturn x as unknown",
        )
        .await
        .unwrap();
    assert!(!module.source.contains(": number"), "{}", module.source);
    assert!(module.source.contains("export default"), "{}", module.source);
    assert!(module.source_map.is_some_and(|map| map.contains("mappings")));
}

#[tokio::test]
async fn a_syntax_error_has_its_place() {
    let error = compiler()
        .await
        .compile_loose(&Share::default(), &Place::default(), "a.ts", "const x = 1;\nconst y = ;")
        .await;
    let Err(CompileError::Diagnostics(found)) = error else { panic!("{error:?}") };
    assert_eq!((found[0].path.as_str(), found[0].line), ("a.ts", 2), "{found:?}");
}

#[tokio::test]
async fn hostile_nesting_ends_in_an_error() {
    for source in [
        format!("return {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        "[".repeat(1_000_000),
        format!("type A = {}1{}", "[".repeat(50_000), "]".repeat(50_000)),
    ] {
        let result =
            compiler().await.compile_loose(&Share::default(), &Place::default(), "deep.ts", &source).await;
        assert!(result.is_err(), "it can't have compiled");
    }
}

#[tokio::test]
async fn a_long_program_is_compiled() {
    let mut source = String::new();
    for line in 0..5_000 {
        writeln!(source, "const value{line}: number = {line} as number;").unwrap();
    }
    source.push_str("return value4999");
    assert!(
        compiler()
            .await
            .compile_loose(&Share::default(), &Place::default(), "long.ts", &source)
            .await
            .is_ok()
    );
}
