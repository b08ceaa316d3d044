//! What the components that come with the daemon can reach, read from their
//! bytes: the sandbox has the bridge and no WASI at all.

use executor_runtime::inspect;

fn check(bundled: executor_bundle::Bundled, expect: &[&str]) {
    let artifact = inspect(bundled.bytes).unwrap();
    assert_eq!(artifact.imports, expect, "{}", bundled.name);
}

#[test]
fn the_engine_imports_the_bridge_alone() {
    check(executor_bundle::QUICKJS, &["executor:sandbox/bridge@0.1.0"]);
}

#[test]
fn the_compiler_imports_nothing() {
    check(executor_bundle::TYPESCRIPT, &[]);
}

/// What waiting needs, and telling requests apart: an adapter that does both
/// has no other way to them.
const TIME: [&str; 3] = ["wasi:clocks/", "wasi:io/poll@", "wasi:random/random@"];

#[test]
fn the_adapters_import_their_seam_alone() {
    for bundled in executor_bundle::ADAPTERS {
        let artifact = inspect(bundled.bytes).unwrap();
        let foreign: Vec<_> = artifact
            .imports
            .iter()
            .filter(|import| !import.starts_with("executor:adapter/"))
            .filter(|import| bundled.name != "mcp" || !TIME.iter().any(|wasi| import.starts_with(wasi)))
            .collect();
        assert!(foreign.is_empty(), "{}: {foreign:?}", bundled.name);
    }
}
