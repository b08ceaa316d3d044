//! `executor.db` of a home: who and which workspaces there are.

use std::sync::Arc;

use rusqlite::{Connection, params};

use crate::accounts;
use crate::database::{Database, Plan, in_transaction};
use crate::error::{Fault, Result, StoreError};
use crate::home::Home;
use crate::keyring::Keyring;
use crate::names::{OrganizationName, WorkspaceName};
use crate::once;
use crate::organizations;
use crate::secret_key::SecretKey;
use crate::secrets;
use crate::sessions;
use crate::sql;
use crate::tokens;
use crate::writer::{Health, SyncPolicy};

pub(crate) const PLAN: Plan = Plan {
    steps: &[
        FORMAT_1,
        tokens::TABLE,
        once::TABLE,
        accounts::PASSWORDS,
        organizations::ROLES,
        sessions::TABLE,
        tokens::NAMES_OF_ACCOUNTS,
    ],
    page_bytes: 4096,
    sync: SyncPolicy::Always,
};

const FORMAT_1: &str = "
CREATE TABLE installation (
    id TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE accounts (
    name TEXT PRIMARY KEY,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE organizations (
    name TEXT PRIMARY KEY,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE memberships (
    organization TEXT NOT NULL REFERENCES organizations (name),
    account TEXT NOT NULL REFERENCES accounts (name),
    PRIMARY KEY (organization, account)
) STRICT;

CREATE TABLE workspaces (
    name TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (name),
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE secret_keys (
    id TEXT PRIMARY KEY,
    nonce BLOB NOT NULL,
    canary BLOB NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE secrets (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    label TEXT NOT NULL,
    key_id TEXT NOT NULL REFERENCES secret_keys (id),
    nonce BLOB NOT NULL,
    ciphertext BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    PRIMARY KEY (workspace, id)
) STRICT;
";

/// The one account, its organization and its workspace of a first start
/// (ARCHITECTURE.md, "Words").
pub const FIRST_ACCOUNT: &str = "local";
/// The organization of the first start; its owners run the installation.
pub const FIRST_ORGANIZATION: &str = "personal";
const FIRST_WORKSPACE: &str = "default";

/// A workspace, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceRow {
    /// Its name.
    pub name: WorkspaceName,
    /// The organization that it belongs to.
    pub organization: OrganizationName,
}

/// An open installation. Clones share it.
#[derive(Debug, Clone)]
pub struct Installation {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    id: String,
    database: Database,
    key: SecretKey,
}

impl Installation {
    /// Opens a home's installation; on the first start makes it, with the
    /// account `local`, the organization `personal` and the workspace
    /// `default`.
    ///
    /// # Errors
    /// [`StoreError::WrongKey`] when the key does not open the stored secrets,
    /// [`StoreError::KeyringUnavailable`] when it is in a keyring that can't be
    /// asked; others when the file is damaged or was written by a newer
    /// executor.
    pub fn open(home: &Home, keyring: &Keyring, now_ms: i64) -> Result<Self> {
        let proposed = random_id()?;
        let path = home.installation_file();
        let (database, (id, key)) = Database::open_seeded(home, path, &PLAN, |connection| {
            let (id, canary) = in_transaction(connection, |connection| {
                Ok((seed(connection, &proposed, now_ms)?, secrets::find_canary(connection)?))
            })?;
            // A keyring may take its time: no transaction is open meanwhile.
            let key = secrets::settle_key(home, keyring, canary.as_ref())?;
            if canary.is_none() {
                in_transaction(connection, |connection| secrets::plant_canary(connection, &key, now_ms))?;
            }
            Ok((id, key))
        })?;
        Ok(Self { inner: Arc::new(Inner { id, database, key }) })
    }

    /// The installation's own id: 32 hexadecimal characters, made at random.
    pub fn id(&self) -> String {
        self.inner.id.clone()
    }

    /// The workspaces, by name.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn workspaces(&self) -> Result<Vec<WorkspaceRow>> {
        self.inner.database.read("listing workspaces", |connection| {
            let sql = "SELECT name, organization FROM workspaces ORDER BY name";
            sql::all(connection, sql, [], |row| {
                Ok(WorkspaceRow { name: row.get()?, organization: row.get()? })
            })
        })
    }

    /// Adds a workspace to an organization; whether it is new.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn add_workspace(&self, row: &WorkspaceRow, now_ms: i64) -> Result<bool> {
        let row = row.clone();
        let added = self.inner.database.write("adding a workspace", move |connection| {
            let sql = "INSERT INTO workspaces (name, organization, created_ms) VALUES (?1, ?2, ?3)
                ON CONFLICT DO NOTHING";
            let params = params![row.name, row.organization, now_ms];
            Ok(sql::execute(connection, sql, params)? > 0)
        });
        added.await
    }

    /// How the writer of `executor.db` is doing.
    pub fn health(&self) -> Health {
        self.inner.database.writer().health()
    }

    pub(crate) fn database(&self) -> &Database {
        &self.inner.database
    }

    pub(crate) fn key(&self) -> &SecretKey {
        &self.inner.key
    }
}

fn random_id() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(StoreError::Random)?;
    Ok(hex::encode(bytes))
}

/// Makes what a first start makes, unless it is there; returns the id.
fn seed(connection: &Connection, proposed: &str, now_ms: i64) -> std::result::Result<String, Fault> {
    let sql = "SELECT id FROM installation";
    if let Some(id) = sql::first(connection, sql, [], |row| row.get())? {
        return Ok(id);
    }
    let sql = "INSERT INTO installation VALUES (?1, ?2)";
    sql::execute(connection, sql, params![proposed, now_ms])?;
    let sql = "INSERT INTO accounts (name, created_ms) VALUES (?1, ?2)";
    sql::execute(connection, sql, params![FIRST_ACCOUNT, now_ms])?;
    let sql = "INSERT INTO organizations VALUES (?1, ?2)";
    sql::execute(connection, sql, params![FIRST_ORGANIZATION, now_ms])?;
    let sql = "INSERT INTO memberships (organization, account, role) VALUES (?1, ?2, 'owner')";
    sql::execute(connection, sql, [FIRST_ORGANIZATION, FIRST_ACCOUNT])?;
    let sql = "INSERT INTO workspaces VALUES (?1, ?2, ?3)";
    sql::execute(connection, sql, params![FIRST_WORKSPACE, FIRST_ORGANIZATION, now_ms])?;
    Ok(proposed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[tokio::test]
    async fn a_first_start_makes_an_installation_and_later_ones_keep_it() {
        let (_directory, home) = testing::home();
        let installation = Installation::open(&home, &Keyring::default(), 5).unwrap();
        let id = installation.id();
        assert_eq!(id.len(), 32);
        let names = |installation: &Installation| -> Vec<String> {
            let workspaces = installation.workspaces().unwrap();
            workspaces.into_iter().map(|row| String::from(row.name)).collect()
        };
        assert_eq!(names(&installation), ["default"]);
        let work = WorkspaceRow {
            name: WorkspaceName::parse("work").unwrap(),
            organization: OrganizationName::parse(FIRST_ORGANIZATION).unwrap(),
        };
        assert!(installation.add_workspace(&work, 6).await.unwrap());
        assert!(!installation.add_workspace(&work, 7).await.unwrap());
        drop(installation);
        let installation = Installation::open(&home, &Keyring::default(), 8).unwrap();
        assert_eq!(installation.id(), id);
        assert_eq!(names(&installation), ["default", "work"]);
    }

    #[test]
    fn a_newer_file_is_refused() {
        let (_directory, home) = testing::home();
        drop(Installation::open(&home, &Keyring::default(), 5).unwrap());
        let connection = Connection::open(home.installation_file()).unwrap();
        connection.pragma_update(None, "user_version", 9).unwrap();
        drop(connection);
        let error = Installation::open(&home, &Keyring::default(), 6).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 9, known: 7, .. }), "{error}");
        assert!(error.to_string().contains("executor.db"), "{error}");
    }
}
