//! The secrets of all workspaces, sealed, in `executor.db`.

use std::path::Path;

use rusqlite::{Connection, params};

use crate::error::{Fault, Result, StoreError};
use crate::home::Home;
use crate::identifiers::SecretId;
use crate::installation::Installation;
use crate::key_place;
use crate::keyring::Keyring;
use crate::names::WorkspaceName;
use crate::secret_key::{Place, Sealed, SecretKey, SecretValue, wrong};
use crate::sql;

/// What is sealed beside the secrets to know the right key by. It belongs to
/// no workspace: none has the empty name.
const CANARY: &[u8] = b"this key opens the secrets";
const CANARY_PLACE: Place<'static> = Place { workspace: "", id: "canary" };

/// Long enough for keys, certificates and their chains.
const VALUE_LIMIT_BYTES: usize = 64 * 1024;
const LABEL_LIMIT_BYTES: usize = 1024;

/// What may be shown of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretLabel {
    /// Its id.
    pub id: SecretId,
    /// What its person calls it.
    pub label: String,
    /// When it was first stored.
    pub created_ms: i64,
}

impl Installation {
    /// Stores a secret of at most 64 KiB, or gives the one of its id a new
    /// label and value. When this answers, value and key are synced.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`]; or the database could not be written.
    pub async fn put_secret(
        &self,
        workspace: &WorkspaceName,
        id: &SecretId,
        label: &str,
        value: &[u8],
        now_ms: i64,
    ) -> Result<()> {
        expect_bounded("a secret", value, VALUE_LIMIT_BYTES)?;
        expect_bounded("a secret's label", label.as_bytes(), LABEL_LIMIT_BYTES)?;
        // Only what is sealed is queued.
        let sealed = self.key().seal(&place(workspace, id), value)?;
        let key_id = self.key().id().to_owned();
        let (workspace, id, label) = (workspace.clone(), id.clone(), label.to_owned());
        let stored = self.database().write("storing a secret", move |connection| {
            let sql = "INSERT INTO secrets (workspace, id, label, key_id, nonce, ciphertext,
                created_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                ON CONFLICT DO UPDATE SET label = excluded.label, key_id = excluded.key_id,
                nonce = excluded.nonce, ciphertext = excluded.ciphertext";
            let Sealed { nonce, ciphertext } = &sealed;
            let params = params![workspace, id, label, key_id, nonce, ciphertext, now_ms];
            sql::execute(connection, sql, params)?;
            Ok(())
        });
        stored.await
    }

    /// A secret's value, or `None` if there is none of that id.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the row is not what was stored there.
    pub fn secret(&self, workspace: &WorkspaceName, id: &SecretId) -> Result<Option<SecretValue>> {
        let sealed = self.database().read("reading a secret", |connection| {
            let sql = "SELECT nonce, ciphertext FROM secrets WHERE workspace = ?1 AND id = ?2";
            sql::first(connection, sql, params![workspace, id], |row| {
                Ok(Sealed { nonce: row.get()?, ciphertext: row.get()? })
            })
        })?;
        let Some(sealed) = sealed else {
            return Ok(None);
        };
        let opened = self.key().open(&place(workspace, id), &sealed);
        opened.map(Some).ok_or_else(|| StoreError::Corrupt {
            what: format!("secret {id} of workspace {workspace} is not what was stored: set it again"),
        })
    }

    /// The labels of a workspace's secrets, by id.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn secrets(&self, workspace: &WorkspaceName) -> Result<Vec<SecretLabel>> {
        self.database().read("listing secrets", |connection| {
            let sql = "SELECT id, label, created_ms FROM secrets WHERE workspace = ?1 ORDER BY id";
            sql::all(connection, sql, [workspace], |row| {
                Ok(SecretLabel { id: row.get()?, label: row.get()?, created_ms: row.get()? })
            })
        })
    }

    /// Removes a secret; whether there was one.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn remove_secret(&self, workspace: &WorkspaceName, id: &SecretId) -> Result<bool> {
        let (workspace, id) = (workspace.clone(), id.clone());
        let removed = self.database().write("removing a secret", move |connection| {
            let sql = "DELETE FROM secrets WHERE workspace = ?1 AND id = ?2";
            Ok(sql::execute(connection, sql, params![workspace, id])? > 0)
        });
        removed.await
    }
}

fn place<'a>(workspace: &'a WorkspaceName, id: &'a SecretId) -> Place<'a> {
    Place { workspace: workspace.as_str(), id: id.as_str() }
}

fn expect_bounded(what: &str, bytes: &[u8], limit: usize) -> Result<()> {
    if bytes.len() <= limit {
        return Ok(());
    }
    Err(StoreError::TooLarge { what: what.to_owned(), limit_bytes: limit as u64 })
}

/// The canary of the key that secrets were stored with.
pub(crate) struct Canary {
    key_id: String,
    sealed: Sealed,
}

/// Reads the key and makes sure that it is the one the secrets were stored
/// with; without a canary, which is planted last, nothing was stored yet, and
/// where there is no key it is made, synced before anything is sealed.
pub(crate) fn settle_key(home: &Home, keyring: &Keyring, canary: Option<&Canary>) -> Result<SecretKey> {
    let found = key_place::read(home.path(), keyring)?;
    match (canary, found) {
        (Some(canary), Some((_, key))) => {
            let key = SecretKey::of(&key);
            expect_right(canary, &key, &home.secret_key_file())?;
            Ok(key)
        }
        (Some(canary), None) => {
            let what = format!("the file is missing, and was key {}", canary.key_id);
            Err(wrong(&home.secret_key_file(), what))
        }
        // A start that made the key and was cut off before the canary.
        (None, Some((_, key))) => Ok(SecretKey::of(&key)),
        (None, None) => {
            let key = key_place::create(home.path(), keyring)?;
            Ok(SecretKey::of(&key))
        }
    }
}

pub(crate) fn find_canary(connection: &Connection) -> std::result::Result<Option<Canary>, Fault> {
    let sql = "SELECT id, nonce, canary FROM secret_keys";
    sql::first(connection, sql, [], |row| {
        Ok(Canary { key_id: row.get()?, sealed: Sealed { nonce: row.get()?, ciphertext: row.get()? } })
    })
}

pub(crate) fn expect_right(canary: &Canary, key: &SecretKey, path: &Path) -> Result<()> {
    if canary.key_id != key.id() {
        return Err(wrong(path, format!("it is key {}, and they need key {}", key.id(), canary.key_id)));
    }
    match key.open(&CANARY_PLACE, &canary.sealed) {
        Some(opened) if opened.bytes() == CANARY => Ok(()),
        _ => Err(StoreError::Corrupt { what: "the canary of the secrets in executor.db".to_owned() }),
    }
}

pub(crate) fn plant_canary(
    connection: &Connection,
    key: &SecretKey,
    now_ms: i64,
) -> std::result::Result<(), Fault> {
    let sealed = key.seal(&CANARY_PLACE, CANARY)?;
    let sql = "INSERT INTO secret_keys (id, nonce, canary, created_ms) VALUES (?1, ?2, ?3, ?4)";
    let params = params![key.id(), sealed.nonce, sealed.ciphertext, now_ms];
    sql::execute(connection, sql, params)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    const VALUE: &[u8] = b"hunter2-hunter2-hunter2";

    fn workspace(name: &str) -> WorkspaceName {
        WorkspaceName::parse(name).unwrap()
    }

    fn id(number: u8) -> SecretId {
        SecretId::new(1, [number; 8])
    }

    fn open(home: &Home) -> Installation {
        Installation::open(home, &Keyring::default(), 1).unwrap()
    }

    async fn damage(installation: &Installation, sql: &'static str) {
        let damaged = installation.database().write("damaging", move |connection| {
            connection.execute_batch(sql)?;
            Ok(())
        });
        damaged.await.unwrap();
    }

    #[tokio::test]
    async fn a_secret_comes_back_and_its_value_is_nowhere_to_be_seen() {
        let (_directory, home) = testing::home();
        let installation = open(&home);
        let (main, other) = (workspace("default"), workspace("other"));
        installation.put_secret(&main, &id(1), "GitHub", VALUE, 5).await.unwrap();
        let value = installation.secret(&main, &id(1)).unwrap().unwrap();
        assert_eq!(value.bytes(), VALUE);
        assert_eq!(format!("{value:?}"), "SecretValue(…)");
        assert!(installation.secret(&other, &id(1)).unwrap().is_none());
        installation.put_secret(&main, &id(1), "Hub", b"new", 9).await.unwrap();
        let label = SecretLabel { id: id(1), label: "Hub".to_owned(), created_ms: 5 };
        assert_eq!(installation.secrets(&main).unwrap(), [label]);
        drop(installation);
        let installation = open(&home);
        assert_eq!(installation.secret(&main, &id(1)).unwrap().unwrap().bytes(), b"new");
        assert!(installation.remove_secret(&main, &id(1)).await.unwrap());
        assert!(!installation.remove_secret(&main, &id(1)).await.unwrap());
        assert!(installation.secret(&main, &id(1)).unwrap().is_none());
        let mode = fs::metadata(home.secret_key_file()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for file in [home.installation_file(), home.path().join("executor.db-wal")] {
            let bytes = fs::read(file).unwrap();
            assert!(!bytes.windows(VALUE.len()).any(|window| window == VALUE));
        }
    }

    #[tokio::test]
    async fn values_and_labels_are_bounded() {
        let (_directory, home) = testing::home();
        let installation = open(&home);
        let main = workspace("default");
        let largest = vec![7; VALUE_LIMIT_BYTES];
        installation.put_secret(&main, &id(1), "", &largest, 5).await.unwrap();
        let value = installation.secret(&main, &id(1)).unwrap().unwrap();
        assert_eq!(value.bytes(), largest);
        let larger = vec![7; VALUE_LIMIT_BYTES + 1];
        let error = installation.put_secret(&main, &id(1), "", &larger, 5).await.unwrap_err();
        assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
        let label = "l".repeat(LABEL_LIMIT_BYTES + 1);
        let error = installation.put_secret(&main, &id(1), &label, b"", 5).await.unwrap_err();
        assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
    }

    #[tokio::test]
    async fn a_row_that_was_tampered_with_or_moved_does_not_open() {
        let damages = [
            "UPDATE secrets SET ciphertext = zeroblob(39)",
            "UPDATE secrets SET ciphertext = substr(ciphertext, 2)",
            "UPDATE secrets SET ciphertext = zeroblob(0)",
            "UPDATE secrets SET nonce = zeroblob(24)",
            "UPDATE secrets SET nonce = zeroblob(3)",
            // The two rows change places.
            "UPDATE secrets SET id = 'x' WHERE label = 'one';
             UPDATE secrets SET id = (SELECT id FROM secrets_copy WHERE label = 'one')
             WHERE label = 'two';
             UPDATE secrets SET id = (SELECT id FROM secrets_copy WHERE label = 'two')
             WHERE label = 'one';",
            // Another workspace takes it for its own.
            "UPDATE secrets SET workspace = 'other'",
        ];
        for sql in damages {
            let (_directory, home) = testing::home();
            let installation = open(&home);
            let (main, other) = (workspace("default"), workspace("other"));
            installation.put_secret(&main, &id(1), "one", VALUE, 5).await.unwrap();
            installation.put_secret(&main, &id(2), "two", VALUE, 5).await.unwrap();
            damage(&installation, "CREATE TABLE secrets_copy AS SELECT * FROM secrets").await;
            damage(&installation, sql).await;
            for number in [1, 2] {
                let main = installation.secret(&main, &id(number));
                let other = installation.secret(&other, &id(number));
                let refused =
                    [main, other].into_iter().filter(|read| matches!(read, Err(StoreError::Corrupt { .. })));
                assert_eq!(refused.count(), 1, "{sql}");
            }
        }
    }

    #[tokio::test]
    async fn a_key_that_is_wrong_missing_or_unreadable_is_said_at_open() {
        let (_directory, home) = testing::home();
        let installation = open(&home);
        let main = workspace("default");
        installation.put_secret(&main, &id(1), "one", VALUE, 5).await.unwrap();
        drop(installation);
        let path = home.secret_key_file();
        let right = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let expect_refusal = |part: &str| {
            let error = Installation::open(&home, &Keyring::default(), 1).unwrap_err();
            assert!(matches!(error, StoreError::WrongKey { .. }), "{error}");
            assert!(error.to_string().contains(part), "{error}");
        };
        expect_refusal("missing");
        assert!(!path.exists(), "no other key takes its place");
        key_place::create(home.path(), &Keyring::default()).unwrap();
        expect_refusal("they need key");
        fs::write(&path, "short").unwrap();
        expect_refusal("holds no key");
        fs::write(&path, &right).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        expect_refusal("mode to 600");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let installation = open(&home);
        assert_eq!(installation.secret(&main, &id(1)).unwrap().unwrap().bytes(), VALUE);
        damage(&installation, "UPDATE secret_keys SET canary = zeroblob(40)").await;
        drop(installation);
        let error = Installation::open(&home, &Keyring::default(), 1).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    }

    #[test]
    fn a_start_that_was_cut_off_after_the_key_is_completed() {
        let (_directory, home) = testing::home();
        key_place::create(home.path(), &Keyring::default()).unwrap();
        let key = fs::read(home.secret_key_file()).unwrap();
        open(&home);
        open(&home);
        assert_eq!(fs::read(home.secret_key_file()).unwrap(), key);
    }
}
