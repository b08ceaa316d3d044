//! What this crate's tests share.

use crate::home::Home;

/// A home of its own, for as long as the directory is kept.
pub(crate) fn home() -> (tempfile::TempDir, Home) {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let home = Home::open(&directory.path().join("home")).expect("a new home opens");
    (directory, home)
}
