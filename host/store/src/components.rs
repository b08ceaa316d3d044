//! The bytes of components, by digest, shared by the home's workspaces.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::digest::Digest;
use crate::error::{Result, StoreError};
use crate::files::{self, At};
use crate::home::Home;

/// Stores a component's bytes; once this answers, they are synced.
///
/// # Errors
/// The file could not be written.
pub fn put_component(home: &Home, bytes: &[u8]) -> Result<Digest> {
    let digest = Digest::of(bytes);
    let path = path(home, &digest);
    // A file that is damaged is replaced.
    let stored = fs::read(&path).is_ok_and(|stored| stored == bytes);
    if !stored {
        files::create_private_directory(&home.components_directory())?;
        files::write_durably(&path, bytes)?;
    }
    Ok(digest)
}

/// A component's bytes, or `None` if they are not stored.
///
/// # Errors
/// [`StoreError::Corrupt`] when the stored bytes are others.
pub fn component_bytes(home: &Home, digest: &Digest) -> Result<Option<Vec<u8>>> {
    let path = path(home, digest);
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes.at(&path)?,
    };
    if Digest::of(&bytes) != *digest {
        return Err(StoreError::Corrupt {
            what: format!("component {digest}: its bytes are others; add it again"),
        });
    }
    Ok(Some(bytes))
}

/// Whether a component's bytes are stored; whether they are sound,
/// [`component_bytes`] says.
pub fn component_is_stored(home: &Home, digest: &Digest) -> bool {
    path(home, digest).is_file()
}

/// The digests of all components whose bytes are stored.
///
/// # Errors
/// The directory could not be read.
pub fn stored_components(home: &Home) -> Result<Vec<Digest>> {
    let directory = home.components_directory();
    let entries = match fs::read_dir(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.at(&directory)?,
    };
    let digest = |entry: io::Result<fs::DirEntry>| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        Digest::parse(&format!("sha256:{}", name.strip_suffix(".wasm")?)).ok()
    };
    Ok(entries.filter_map(digest).collect())
}

/// Removes a component's bytes; whether they were stored. No workspace may
/// have it pinned.
///
/// # Errors
/// The file could not be removed.
pub fn remove_component_bytes(home: &Home, digest: &Digest) -> Result<bool> {
    let path = path(home, digest);
    match fs::remove_file(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => {
            removed.at(&path)?;
            Ok(true)
        }
    }
}

fn path(home: &Home, digest: &Digest) -> PathBuf {
    home.components_directory().join(format!("{}.wasm", digest.hex()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn bytes_come_back_and_damaged_ones_do_not() {
        let (_directory, home) = testing::home();
        assert!(!component_is_stored(&home, &Digest::of(b"\0asm")));
        let digest = put_component(&home, b"\0asm").unwrap();
        assert!(component_is_stored(&home, &digest));
        assert_eq!(put_component(&home, b"\0asm").unwrap(), digest);
        assert_eq!(component_bytes(&home, &digest).unwrap().unwrap(), b"\0asm");
        fs::write(path(&home, &digest), b"\0as").unwrap();
        let error = component_bytes(&home, &digest).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        put_component(&home, b"\0asm").unwrap();
        assert_eq!(component_bytes(&home, &digest).unwrap().unwrap(), b"\0asm");
        assert!(remove_component_bytes(&home, &digest).unwrap());
        assert!(!remove_component_bytes(&home, &digest).unwrap());
        assert_eq!(component_bytes(&home, &digest).unwrap(), None);
    }
}
