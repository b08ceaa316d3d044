//! The stack that QuickJS counts is the shadow stack in linear memory, so it
//! has to be larger than the limit that the engine sets on it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("wasm32") {
        println!("cargo:rustc-link-arg-cdylib=-zstack-size=524288");
    }
}
