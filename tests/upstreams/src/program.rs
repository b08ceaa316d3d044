//! Where the emulators that are programs lie.

use std::path::PathBuf;

/// An emulator that is a program, `stdio-emulator`, beside the tests that need
/// it.
///
/// # Panics
/// It has not been built.
pub fn path(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap_or_default();
    let found = test.ancestors().skip(1).map(|place| place.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{name} is missing: run `cargo build -p executor-upstreams`"))
}
