//! Moving the key of a home between its file and the user's keyring.

use crate::database::Database;
use crate::error::{Result, StoreError};
use crate::home::Home;
use crate::installation::PLAN;
use crate::key_place::{self, KeyPlace, KeyTarget};
use crate::keyring::{Keyring, KeyringError};
use crate::secret_key::SecretKey;
use crate::secrets::{expect_right, find_canary};

/// What a move came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// The key is where it was asked to be.
    Done,
    /// It was there before.
    Already,
    /// The key is in the file, and the keyring's item could not be removed.
    LeftBehind(KeyringError),
}

/// Brings the key of a home to another place. It is at the old one until it
/// was read back from the new one. No daemon runs, since the home is owned
/// here.
///
/// # Errors
/// [`StoreError::Conflict`] where the home has no key yet,
/// [`StoreError::WrongKey`] and the like where what is there is not its key;
/// [`StoreError::KeyringRefused`]. Nothing was moved then.
pub fn move_key(home: &Home, keyring: &Keyring, target: KeyTarget) -> Result<Moved> {
    let database = Database::open(home, home.installation_file(), &PLAN)?;
    let canary = database.read("reading which key the secrets need", find_canary)?;
    let none =
        || StoreError::Conflict { what: "this home has no key yet: its first start makes it".to_owned() };
    let canary = canary.ok_or_else(none)?;
    let path = home.secret_key_file();
    let (place, key) = key_place::read(home.path(), keyring)?.ok_or_else(none)?;
    expect_right(&canary, &SecretKey::of(&key), &path)?;
    match (place, target) {
        (KeyPlace::File(_), KeyTarget::File) => {
            // A move that was cut off after the file has left its item.
            Ok(if keyring.remove(SecretKey::of(&key).id()) == Ok(true) {
                Moved::Done
            } else {
                Moved::Already
            })
        }
        (KeyPlace::Keyring(_), KeyTarget::Keyring) => Ok(Moved::Already),
        (KeyPlace::File(_), KeyTarget::Keyring) => {
            key_place::move_into_keyring(home.path(), keyring, &key)?;
            Ok(Moved::Done)
        }
        (KeyPlace::Keyring(_), KeyTarget::File) => {
            let stays = key_place::move_into_file(home.path(), keyring, &key)?;
            Ok(stays.map_or(Moved::Done, Moved::LeftBehind))
        }
    }
}
