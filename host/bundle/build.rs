//! Finds the first-party components that `make components` built and hands
//! their paths to the crate, which embeds them.

use std::env;
use std::path::{Path, PathBuf};

const COMPONENTS: [&str; 4] = ["mcp", "openapi", "quickjs", "typescript"];

fn main() {
    let directory = directory();
    for name in COMPONENTS {
        let path = directory.join(format!("executor_{name}.wasm"));
        println!("cargo::rerun-if-changed={}", path.display());
        if !path.is_file() {
            println!(
                "cargo::error=the component {name} is not built ({} is missing): run `make components`",
                path.display()
            );
        }
        println!("cargo::rustc-env=EXECUTOR_COMPONENT_{}={}", name.to_uppercase(), path.display());
    }
    println!("cargo::rerun-if-env-changed=EXECUTOR_COMPONENTS");
}

/// `$EXECUTOR_COMPONENTS`, else where cargo puts them in the target directory
/// that this build writes to.
fn directory() -> PathBuf {
    if let Some(directory) = env::var_os("EXECUTOR_COMPONENTS") {
        return directory.into();
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let target = out
        .ancestors()
        .find(|directory| directory.join("CACHEDIR.TAG").is_file())
        .map_or_else(|| out.ancestors().nth(4).unwrap_or(&out).to_owned(), Path::to_owned);
    target.join("wasm32-unknown-unknown").join("component")
}
