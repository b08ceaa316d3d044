//! Sessions of people who signed in, by the digests of their secrets, in
//! `executor.db`.

use rusqlite::params;

use crate::digest::Digest;
use crate::error::{Fault, Result};
use crate::identifiers::SessionId;
use crate::installation::Installation;
use crate::sql::{self, Columns};

pub(crate) const TABLE: &str = "
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    account TEXT NOT NULL REFERENCES accounts (name),
    client TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    last_used_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
) STRICT;
";

/// A person's session. Its secret is nowhere in the home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// SHA-256 of its secret, which is random: there is nothing to guess.
    pub digest: Digest,
    /// Whose it is.
    pub account: String,
    /// Through which client.
    pub client: String,
    /// When it began.
    pub created_ms: i64,
    /// When it was last shown, to the minute.
    pub last_used_ms: i64,
    /// From when on it is worth nothing.
    pub expires_ms: i64,
}

impl Installation {
    /// Adds a session, and forgets those that have expired.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn add_session(&self, row: SessionRow) -> Result<()> {
        let added = self.database().write("adding a session", move |connection| {
            sql::execute(connection, "DELETE FROM sessions WHERE expires_ms <= ?1", [row.created_ms])?;
            let sql =
                "INSERT INTO sessions (id, digest, account, client, created_ms, last_used_ms, expires_ms)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            let params = params![
                row.id,
                row.digest,
                row.account,
                row.client,
                row.created_ms,
                row.last_used_ms,
                row.expires_ms
            ];
            sql::execute(connection, sql, params)?;
            Ok(())
        });
        added.await
    }

    /// The sessions, oldest first.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn sessions(&self) -> Result<Vec<SessionRow>> {
        self.database().read("listing sessions", |connection| {
            let sql = "SELECT id, digest, account, client, created_ms, last_used_ms, expires_ms
                FROM sessions ORDER BY id";
            sql::all(connection, sql, [], read_row)
        })
    }

    /// Removes a session; whether there was one.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn remove_session(&self, id: &SessionId) -> Result<bool> {
        let id = id.clone();
        let removed = self.database().write("removing a session", move |connection| {
            Ok(sql::execute(connection, "DELETE FROM sessions WHERE id = ?1", [&id])? > 0)
        });
        removed.await
    }

    /// Records that a session was shown.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn touch_session(&self, id: &SessionId, now_ms: i64) -> Result<()> {
        let id = id.clone();
        let touched = self.database().write("recording a session's use", move |connection| {
            let sql = "UPDATE sessions SET last_used_ms = ?2 WHERE id = ?1";
            sql::execute(connection, sql, params![id, now_ms])?;
            Ok(())
        });
        touched.await
    }
}

fn read_row(row: &mut Columns<'_, '_>) -> std::result::Result<SessionRow, Fault> {
    Ok(SessionRow {
        id: row.get()?,
        digest: row.get()?,
        account: row.get()?,
        client: row.get()?,
        created_ms: row.get()?,
        last_used_ms: row.get()?,
        expires_ms: row.get()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::Keyring;
    use crate::names::{AccountName, OrganizationName};
    use crate::organizations::Kept;
    use crate::testing;

    fn row(secret: &str, account: &str) -> SessionRow {
        SessionRow {
            id: SessionId::new(1, secret),
            digest: Digest::of(secret.as_bytes()),
            account: account.into(),
            client: "browser".into(),
            created_ms: 5,
            last_used_ms: 5,
            expires_ms: 100,
        }
    }

    #[tokio::test]
    async fn sessions_end_with_what_they_stand_on() {
        let (_directory, home) = testing::home();
        let installation = Installation::open(&home, &Keyring::default(), 1).unwrap();
        let ada = AccountName::parse("ada").unwrap();
        let team = OrganizationName::parse("team").unwrap();
        installation.add_account(&ada, Some("$old".into()), 1).await.unwrap();
        installation.add_organization(&team, &ada, 1).await.unwrap();
        for secret in ["a", "b"] {
            installation.add_session(row(secret, "ada")).await.unwrap();
        }
        installation.add_session(row("l", "local")).await.unwrap();
        installation.touch_session(&row("a", "ada").id, 9).await.unwrap();
        assert_eq!(installation.sessions().unwrap().len(), 3);
        let kept = Some(row("a", "ada").id.to_string());
        assert!(installation.set_password("ada", "$new".into(), kept).await.unwrap());
        assert!(!installation.set_password("nobody", "$new".into(), None).await.unwrap());
        assert_eq!(installation.password("ada").unwrap().as_deref(), Some("$new"));
        let left = installation.sessions().unwrap();
        assert_eq!(left.len(), 2, "another password ends the other sessions");
        assert!(left.iter().any(|session| session.last_used_ms == 9));
        let later = SessionRow { created_ms: 100, expires_ms: 300, ..row("c", "local") };
        installation.add_session(later).await.unwrap();
        assert_eq!(installation.sessions().unwrap().len(), 1, "the others have expired");
        assert!(installation.remove_session(&row("c", "local").id).await.unwrap());
        assert!(!installation.remove_session(&row("c", "local").id).await.unwrap());
        assert_eq!(installation.remove_account("ada").await.unwrap(), Kept::LastOwner);
    }
}
