//! Accounts: who can sign in, in `executor.db`.

use rusqlite::{Connection, params};

use crate::error::{Fault, Result};
use crate::installation::Installation;
use crate::names::AccountName;
use crate::organizations::{self, Kept};
use crate::sql;

pub(crate) const PASSWORDS: &str = "
ALTER TABLE accounts ADD COLUMN password TEXT;
";

/// Somebody who can sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRow {
    /// The name, unique in the installation.
    pub name: AccountName,
    /// Whether there is a password.
    pub has_password: bool,
    /// When it was made.
    pub created_ms: i64,
}

impl Installation {
    /// The accounts, by name.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn accounts(&self) -> Result<Vec<AccountRow>> {
        self.database().read("listing accounts", |connection| {
            let sql = "SELECT name, password IS NOT NULL, created_ms FROM accounts ORDER BY name";
            sql::all(connection, sql, [], |row| {
                Ok(AccountRow { name: row.get()?, has_password: row.get()?, created_ms: row.get()? })
            })
        })
    }

    /// An account's password as a PHC string; none where there is no such
    /// account, or it has no password.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn password(&self, account: &str) -> Result<Option<String>> {
        self.database().read("reading a password", |connection| {
            let sql = "SELECT password FROM accounts WHERE name = ?1";
            Ok(sql::first(connection, sql, [account], |row| row.get())?.flatten())
        })
    }

    /// Adds an account; whether it is new.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn add_account(
        &self,
        name: &AccountName,
        password: Option<String>,
        now_ms: i64,
    ) -> Result<bool> {
        let name = name.clone();
        let added = self.database().write("adding an account", move |connection| {
            put(connection, &name, password.as_deref(), now_ms)
        });
        added.await
    }

    /// Gives an account a password, and ends its sessions but one; whether
    /// there is such an account.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn set_password(
        &self,
        account: &str,
        password: String,
        kept_session: Option<String>,
    ) -> Result<bool> {
        let account = account.to_owned();
        let set = self.database().write("setting a password", move |connection| {
            let sql = "UPDATE accounts SET password = ?2 WHERE name = ?1";
            if sql::execute(connection, sql, params![account, password])? == 0 {
                return Ok(false);
            }
            let sql = "DELETE FROM sessions WHERE account = ?1 AND id IS NOT ?2";
            sql::execute(connection, sql, params![account, kept_session])?;
            Ok(true)
        });
        set.await
    }

    /// Removes an account with its memberships, sessions and tokens.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn remove_account(&self, account: &str) -> Result<Kept> {
        let account = account.to_owned();
        let removed = self.database().write("removing an account", move |connection| {
            let sql = "SELECT organization FROM memberships WHERE account = ?1";
            let all: Vec<String> = sql::all(connection, sql, [&account], |row| row.get())?;
            for organization in &all {
                if organizations::is_last_owner(connection, organization, &account)? {
                    return Ok(Kept::LastOwner);
                }
            }
            sql::execute(connection, "DELETE FROM memberships WHERE account = ?1", [&account])?;
            forget(connection, &account)?;
            let gone = sql::execute(connection, "DELETE FROM accounts WHERE name = ?1", [&account])?;
            Ok(if gone == 0 { Kept::Unknown } else { Kept::Done })
        });
        removed.await
    }
}

pub(crate) fn put(
    connection: &Connection,
    name: &AccountName,
    password: Option<&str>,
    now_ms: i64,
) -> std::result::Result<bool, Fault> {
    let sql = "INSERT INTO accounts (name, password, created_ms) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
    Ok(sql::execute(connection, sql, params![name, password, now_ms])? > 0)
}

/// Takes away all by which an account can show itself but its password.
pub(crate) fn forget(connection: &Connection, account: &str) -> std::result::Result<(), Fault> {
    sql::execute(connection, "DELETE FROM sessions WHERE account = ?1", [account])?;
    sql::execute(connection, "DELETE FROM tokens WHERE account = ?1", [account])?;
    Ok(())
}
