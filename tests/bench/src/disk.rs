//! The disk alone: what a promise to have written something costs at least.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::rounds::timed;

/// Appends 4 KiB to one file and waits until the disk has them.
pub(crate) fn syncing(directory: &Path) -> Result<impl FnMut(usize) -> Result<Duration> + use<>> {
    let mut file = File::create(directory.join("fdatasync"))?;
    Ok(move |number: usize| {
        let bytes = [number.to_le_bytes()[0]; 4096];
        let (took, ()) = timed(|| -> Result<()> {
            file.write_all(&bytes)?;
            Ok(file.sync_data()?)
        })?;
        Ok(took)
    })
}
