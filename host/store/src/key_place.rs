//! Where the key of a home is: in its file `secret.key`, or in the user's
//! keyring, which the file then says.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::error::{Result, StoreError};
use crate::files::{self, At};
use crate::home::Home;
use crate::keyring::{Asking, Item, Keyring, KeyringError, KeyringUse};
use crate::secret_key::{KeyBytes, SecretKey, wrong};

const FILE_LIMIT_BYTES: u64 = 1024;
/// What the file of a key in the keyring begins with; the key's id follows.
const IN_KEYRING: &str = "keyring ";
const ID_CHARACTERS: usize = 16;

/// Where a key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPlace {
    /// In a file.
    File(PathBuf),
    /// In the keyring, under its id.
    Keyring(String),
}

/// A place to bring a key to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyTarget {
    /// The file of the home.
    File,
    /// The keyring of the user.
    Keyring,
}

/// What the file says.
enum Said {
    Key(KeyBytes),
    InKeyring(String),
}

/// Where the key of a home is, after it was read there, or `None` where the
/// home has none.
///
/// # Errors
/// [`StoreError::WrongKey`] where it is not where the file says, or
/// [`StoreError::KeyringUnavailable`] where that can't be known.
pub fn find_key(home: &Path, keyring: &Keyring) -> Result<Option<KeyPlace>> {
    Ok(read(home, keyring)?.map(|(place, _)| place))
}

/// The key of a home, wherever it is.
pub(crate) fn read(home: &Path, keyring: &Keyring) -> Result<Option<(KeyPlace, KeyBytes)>> {
    let path = Home::secret_key_file_of(home);
    match said(&path)? {
        None => Ok(None),
        Some(Said::Key(key)) => Ok(Some((KeyPlace::File(path), key))),
        Some(Said::InKeyring(id)) => {
            let key = fetch(&path, keyring, &id)?;
            Ok(Some((KeyPlace::Keyring(id), key)))
        }
    }
}

/// Makes the key of a new home and puts it where it is wanted; when this
/// returns, a crash can't lose it.
pub(crate) fn create(home: &Path, keyring: &Keyring) -> Result<KeyBytes> {
    let asking = match keyring.wanted() {
        KeyringUse::Auto => Asking::Glancing,
        KeyringUse::On => Asking::Needing,
        KeyringUse::Off => return create_in_file(home),
    };
    let key = SecretKey::random()?;
    match put(home, keyring, &key, asking) {
        Ok(()) => Ok(key),
        // Another one, since the keyring may have kept that after all.
        Err(Unput::Keyring(why)) if asking == Asking::Glancing => {
            tracing::debug!(%why, "the key of the secrets goes into a file");
            create_in_file(home)
        }
        Err(Unput::Keyring(why)) => Err(StoreError::KeyringRefused { why }),
        Err(Unput::Store(error)) => Err(error),
    }
}

fn create_in_file(home: &Path) -> Result<KeyBytes> {
    let key = SecretKey::random()?;
    write(home, &key)?;
    Ok(key)
}

/// Writes a key into the home's file; when this returns, a crash can't lose
/// it.
pub(crate) fn write(home: &Path, key: &KeyBytes) -> Result<()> {
    Ok(files::write_durably(&Home::secret_key_file_of(home), SecretKey::text(key).as_bytes())?)
}

enum Unput {
    Keyring(KeyringError),
    Store(StoreError),
}

/// The file changes once the keyring has given the key back.
fn put(home: &Path, keyring: &Keyring, key: &KeyBytes, asking: Asking) -> std::result::Result<(), Unput> {
    let (id, text) = (SecretKey::of(key).id().to_owned(), SecretKey::text(key));
    let label = format!("executor: the key of {}", home.display());
    keyring.put(&Item { id: &id, label: &label, text: &text }, asking).map_err(Unput::Keyring)?;
    let path = Home::secret_key_file_of(home);
    let written = files::write_durably(&path, format!("{IN_KEYRING}{id}\n").as_bytes());
    written.map_err(|error| Unput::Store(error.into()))
}

/// Brings a key from the file into the keyring.
pub(crate) fn move_into_keyring(home: &Path, keyring: &Keyring, key: &KeyBytes) -> Result<()> {
    put(home, keyring, key, Asking::Needing).map_err(|fault| match fault {
        Unput::Keyring(why) => StoreError::KeyringRefused { why },
        Unput::Store(error) => error,
    })
}

/// Brings a key from the keyring into the file. The keyring's item goes last;
/// why it stays, where it does.
pub(crate) fn move_into_file(home: &Path, keyring: &Keyring, key: &KeyBytes) -> Result<Option<KeyringError>> {
    write(home, key)?;
    let path = Home::secret_key_file_of(home);
    match said(&path)? {
        Some(Said::Key(there)) if there == *key => {}
        _ => return Err(wrong(&path, "it does not hold what was written to it")),
    }
    Ok(keyring.remove(SecretKey::of(key).id()).err())
}

fn said(path: &Path) -> Result<Option<Said>> {
    let Some(text) = files::read_text(path, FILE_LIMIT_BYTES)?.map(Zeroizing::new) else {
        return Ok(None);
    };
    if fs::metadata(path).at(path)?.mode() & 0o077 != 0 {
        return Err(wrong(path, "other users can read it (set its mode to 600)"));
    }
    if let Some(id) = text.strip_prefix(IN_KEYRING).map(str::trim) {
        let is_id = id.len() == ID_CHARACTERS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        return if is_id {
            Ok(Some(Said::InKeyring(id.to_owned())))
        } else {
            Err(wrong(path, "it says that the key is in the keyring, and not which"))
        };
    }
    let key = SecretKey::bytes_of(&text).ok_or_else(|| wrong(path, "it holds no key"))?;
    Ok(Some(Said::Key(key)))
}

fn fetch(path: &Path, keyring: &Keyring, id: &str) -> Result<KeyBytes> {
    let texts = keyring.get(id).map_err(|why| StoreError::KeyringUnavailable { why })?;
    let none = texts.is_empty();
    let keys = texts.iter().filter_map(|text| SecretKey::bytes_of(text));
    keys.into_iter().find(|key| SecretKey::of(key).id() == id).ok_or_else(|| {
        let what = if none {
            format!("it says that key {id} is in the keyring, and the keyring has no such item")
        } else {
            format!("it says that key {id} is in the keyring, and the item there holds another one")
        };
        wrong(path, what)
    })
}
