//! The key that seals the secrets as something to write down: where the key is
//! lost, this is what is left of them.

use std::path::Path;

use zeroize::Zeroizing;

use crate::database::Database;
use crate::digest::Digest;
use crate::error::{Result, StoreError};
use crate::home::Home;
use crate::installation::PLAN;
use crate::key_place;
use crate::keyring::Keyring;
use crate::secret_key::{KEY_BYTES, KeyBytes, SecretKey};
use crate::secrets::{expect_right, find_canary};

/// Crockford's base 32: none of its letters is taken for another.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const CHECK_BYTES: usize = 4;
/// Letters between two dashes.
const GROUP: usize = 6;
/// What the letters of a whole code come to.
const CODE_LETTERS: usize = ((KEY_BYTES + CHECK_BYTES) * 8).div_ceil(5);

/// A text that is no recovery code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecoveryError {
    /// It has another length.
    #[error("a recovery code has {CODE_LETTERS} letters and digits, and this has {0}")]
    Length(usize),
    /// It holds what no code does.
    #[error("{0:?} is in no recovery code (it has digits and letters, without I, L, O and U)")]
    Letter(char),
    /// It is not what was printed.
    #[error("a letter of it is wrong: the check at its end does not fit")]
    Check,
}

/// Why a key was not restored; then nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The code is none.
    #[error(transparent)]
    Code(#[from] RecoveryError),
    /// The home can't take it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The recovery code of a home's key. Whoever has it and the home has every
/// secret in it.
///
/// # Errors
/// [`StoreError::NotFound`] where the home has no key; others when it can't be
/// read, or is none.
pub fn recovery_code(home: &Path, keyring: &Keyring) -> Result<Zeroizing<String>> {
    let none = || {
        let path = Home::secret_key_file_of(home);
        StoreError::NotFound { what: format!("the key {}", path.display()) }
    };
    let (_, key) = key_place::read(home, keyring)?.ok_or_else(none)?;
    Ok(encode(&key))
}

/// Puts the key of a recovery code into the file of a home that has lost it,
/// has another one, or keeps it in a keyring that can't be asked. No daemon
/// runs, since the home is owned here.
///
/// # Errors
/// The code is none, or [`StoreError::Conflict`] where the home needs none or
/// another one.
pub fn restore_key(home: &Home, keyring: &Keyring, code: &str) -> std::result::Result<(), RestoreError> {
    let key = decode(code)?;
    let path = home.secret_key_file();
    let database = Database::open(home, home.installation_file(), &PLAN)?;
    let canary = database.read("reading which key the secrets need", find_canary)?;
    let canary = canary.ok_or_else(|| StoreError::Conflict {
        what: "this home has no secrets yet, so there is no key to restore".to_owned(),
    })?;
    let conflict = |_| StoreError::Conflict {
        what: "this code is the key of another home: it does not open the secrets of this one".to_owned(),
    };
    expect_right(&canary, &SecretKey::of(&key), &path).map_err(conflict)?;
    if let Ok(Some((_, present))) = key_place::read(home.path(), keyring)
        && expect_right(&canary, &SecretKey::of(&present), &path).is_ok()
    {
        let what = "the key of this home is in its place".to_owned();
        return Err(StoreError::Conflict { what }.into());
    }
    Ok(key_place::write(home.path(), &key)?)
}

fn check(key: &[u8; KEY_BYTES]) -> [u8; CHECK_BYTES] {
    let mut named = Zeroizing::new(b"executor recovery code 1\0".to_vec());
    named.extend_from_slice(key);
    let digest = Digest::of(&named);
    let mut check = [0; CHECK_BYTES];
    check.copy_from_slice(&digest.as_bytes()[..CHECK_BYTES]);
    check
}

fn encode(key: &[u8; KEY_BYTES]) -> Zeroizing<String> {
    let bytes = Zeroizing::new([key.as_slice(), &check(key)].concat());
    let mut code = Zeroizing::new(String::with_capacity(2 * CODE_LETTERS));
    for place in 0..CODE_LETTERS {
        if place > 0 && place % GROUP == 0 {
            code.push('-');
        }
        let bit = |offset: usize| {
            let at = place * 5 + offset;
            bytes.get(at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1)
        };
        let value = (0..5).fold(0, |value, offset| value << 1 | usize::from(bit(offset)));
        code.push(char::from(LETTERS[value]));
    }
    code
}

fn decode(code: &str) -> std::result::Result<KeyBytes, RecoveryError> {
    let mut bytes = Zeroizing::new([0_u8; KEY_BYTES + CHECK_BYTES]);
    let mut count = 0;
    for letter in code.chars().filter(|letter| !letter.is_whitespace() && *letter != '-') {
        let value = value_of(letter).ok_or(RecoveryError::Letter(letter))?;
        for offset in 0..5 {
            let at = count * 5 + offset;
            let bit = value >> (4 - offset) & 1;
            match bytes.get_mut(at / 8) {
                Some(byte) => *byte |= bit << (7 - at % 8),
                None if bit == 1 && count < CODE_LETTERS => return Err(RecoveryError::Check),
                None => {}
            }
        }
        count += 1;
    }
    if count != CODE_LETTERS {
        return Err(RecoveryError::Length(count));
    }
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    key.copy_from_slice(&bytes[..KEY_BYTES]);
    if bytes[KEY_BYTES..] != check(&key) {
        return Err(RecoveryError::Check);
    }
    Ok(key)
}

/// What a letter stands for; those that are taken for others are read as
/// these.
fn value_of(letter: char) -> Option<u8> {
    let letter = match letter.to_ascii_uppercase() {
        'I' | 'L' => '1',
        'O' => '0',
        other => other,
    };
    let place = LETTERS.iter().position(|known| char::from(*known) == letter)?;
    u8::try_from(place).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identifiers::SecretId;
    use crate::installation::Installation;
    use crate::names::WorkspaceName;
    use crate::testing;

    #[test]
    fn a_code_is_read_as_people_write_it_and_a_wrong_letter_is_found() {
        let key: [u8; KEY_BYTES] = std::array::from_fn(|place| (place * 37) as u8);
        let code = encode(&key);
        assert_eq!(code.split('-').map(str::len).collect::<Vec<_>>(), [6, 6, 6, 6, 6, 6, 6, 6, 6, 4]);
        assert_eq!(*decode(&code).unwrap(), key);
        let sloppy = code.to_lowercase().replace('-', " ").replace('0', "o").replace('1', "l");
        assert_eq!(*decode(&format!("  {sloppy}\n")).unwrap(), key);
        for place in 0..code.len() {
            let mut wrong: Vec<char> = code.chars().collect();
            if wrong[place] == '-' {
                continue;
            }
            wrong[place] = if wrong[place] == '7' { '8' } else { '7' };
            let wrong: String = wrong.into_iter().collect();
            assert_eq!(decode(&wrong), Err(RecoveryError::Check), "{place}");
        }
        assert_eq!(decode(&code[..code.len() - 1]), Err(RecoveryError::Length(57)));
        assert_eq!(decode(&format!("{}0", code.as_str())), Err(RecoveryError::Length(59)));
        assert_eq!(decode(""), Err(RecoveryError::Length(0)));
        assert_eq!(decode("u"), Err(RecoveryError::Letter('u')));
    }

    #[tokio::test]
    async fn a_lost_key_comes_back_by_its_code_alone() {
        let (_directory, home) = testing::home();
        let installation = Installation::open(&home, &Keyring::default(), 1).unwrap();
        let (workspace, id) = (WorkspaceName::parse("default").unwrap(), SecretId::new(1, [1; 8]));
        installation.put_secret(&workspace, &id, "token", b"a value", 2).await.unwrap();
        let code = recovery_code(home.path(), &Keyring::default()).unwrap();
        drop(installation);
        let said = restore_key(&home, &Keyring::default(), &code).unwrap_err().to_string();
        assert!(said.contains("is in its place"), "{said}");

        let path = home.secret_key_file();
        for lost in [None, Some("another key"), Some("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")] {
            std::fs::remove_file(&path).unwrap();
            if let Some(other) = lost {
                std::fs::write(&path, other).unwrap();
                use std::os::unix::fs::PermissionsExt as _;
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            }
            assert!(Installation::open(&home, &Keyring::default(), 3).is_err(), "{lost:?}");
            let foreign = encode(&[7; KEY_BYTES]);
            let said = restore_key(&home, &Keyring::default(), &foreign).unwrap_err().to_string();
            assert!(said.contains("another home"), "{said}");
            restore_key(&home, &Keyring::default(), &code).unwrap();
            let installation = Installation::open(&home, &Keyring::default(), 4).unwrap();
            assert_eq!(installation.secret(&workspace, &id).unwrap().unwrap().bytes(), b"a value");
        }
        let (_directory, empty) = testing::home();
        assert!(recovery_code(empty.path(), &Keyring::default()).is_err());
        let said = restore_key(&empty, &Keyring::default(), &code).unwrap_err().to_string();
        assert!(said.contains("no secrets yet"), "{said}");
    }
}
