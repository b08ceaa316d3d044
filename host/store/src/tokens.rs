//! The tokens of clients, by the digests of their secrets, in `executor.db`.

use rusqlite::params;

use crate::digest::Digest;
use crate::error::{Fault, Result, StoreError};
use crate::identifiers::TokenId;
use crate::installation::Installation;
use crate::once::{self, Once, OnceRow};
use crate::sql::{self, Columns};

pub(crate) const TABLE: &str = "
CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL UNIQUE,
    account TEXT NOT NULL REFERENCES accounts (name),
    capabilities TEXT NOT NULL,
    toolkit TEXT,
    created_ms INTEGER NOT NULL,
    last_used_ms INTEGER
) STRICT;
";

/// Names are unique within an account: nobody learns from a name that is
/// taken what others have.
pub(crate) const NAMES_OF_ACCOUNTS: &str = "
ALTER TABLE tokens RENAME TO tokens_by_name;
CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    digest BLOB NOT NULL UNIQUE,
    account TEXT NOT NULL REFERENCES accounts (name),
    capabilities TEXT NOT NULL,
    toolkit TEXT,
    created_ms INTEGER NOT NULL,
    last_used_ms INTEGER,
    UNIQUE (account, name)
) STRICT;
INSERT INTO tokens SELECT id, name, digest, account, capabilities, toolkit, created_ms, last_used_ms
    FROM tokens_by_name;
DROP TABLE tokens_by_name;
";

/// A client's token. Its secret is nowhere in the home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// Its id.
    pub id: TokenId,
    /// What its person calls it; unique within the account.
    pub name: String,
    /// SHA-256 of its secret, which is random: there is nothing to guess.
    pub digest: Digest,
    /// Whose it is.
    pub account: String,
    /// What it may do.
    pub capabilities: Vec<String>,
    /// The patterns of the tools that it may call; none: all.
    pub toolkit: Option<Vec<String>>,
    /// When it was made.
    pub created_ms: i64,
    /// When it was last shown, to the minute.
    pub last_used_ms: Option<i64>,
}

impl Installation {
    /// Adds a token.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when the name is taken.
    pub async fn add_token(&self, row: TokenRow, once: Option<Once>) -> Result<()> {
        let added = self.database().write("adding a token", move |connection| {
            let sql = "INSERT INTO tokens (id, name, digest, account, capabilities, toolkit, created_ms)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (account, name) DO NOTHING";
            let toolkit = row.toolkit.as_ref().map(sql::json);
            let capabilities = sql::json(&row.capabilities);
            let params =
                params![row.id, row.name, row.digest, row.account, capabilities, toolkit, row.created_ms];
            if sql::execute(connection, sql, params)? == 0 {
                let what = format!("there is a token {} already", row.name);
                return Err(Fault::from(StoreError::Conflict { what }));
            }
            once::put(connection, once.as_ref(), row.id.as_str())
        });
        added.await
    }

    /// The tokens, by name.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn tokens(&self) -> Result<Vec<TokenRow>> {
        self.database().read("listing tokens", |connection| {
            let sql = "SELECT id, name, digest, account, capabilities, toolkit, created_ms, last_used_ms
                FROM tokens ORDER BY name, account";
            sql::all(connection, sql, [], read_row)
        })
    }

    /// Removes a token; whether there was one.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn remove_token(&self, id: &TokenId) -> Result<bool> {
        let id = id.clone();
        let removed = self.database().write("removing a token", move |connection| {
            let sql = "DELETE FROM tokens WHERE id = ?1";
            Ok(sql::execute(connection, sql, [&id])? > 0)
        });
        removed.await
    }

    /// Records that a token was shown.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn touch_token(&self, id: &TokenId, now_ms: i64) -> Result<()> {
        let id = id.clone();
        let touched = self.database().write("recording a token's use", move |connection| {
            let sql = "UPDATE tokens SET last_used_ms = ?2 WHERE id = ?1";
            sql::execute(connection, sql, params![id, now_ms])?;
            Ok(())
        });
        touched.await
    }

    /// What was created under a key in this file.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn once(&self, once: &Once) -> Result<Option<OnceRow>> {
        self.database().read("looking for an idempotency key", |connection| once::get(connection, once))
    }
}

fn read_row(row: &mut Columns<'_, '_>) -> std::result::Result<TokenRow, Fault> {
    Ok(TokenRow {
        id: row.get()?,
        name: row.get()?,
        digest: row.get()?,
        account: row.get()?,
        capabilities: row.json()?,
        toolkit: match row.get::<Option<String>>()? {
            None => None,
            Some(text) => Some(
                serde_json::from_str(&text)
                    .map_err(|error| Fault::corrupt(format!("a token's toolkit: {error}")))?,
            ),
        },
        created_ms: row.get()?,
        last_used_ms: row.get()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::Keyring;
    use crate::testing;

    fn row(id: &str, name: &str) -> TokenRow {
        TokenRow {
            id: TokenId::new(1, id),
            name: name.into(),
            digest: Digest::of(id.as_bytes()),
            account: "local".into(),
            capabilities: vec!["call".into()],
            toolkit: Some(vec!["github.*".into()]),
            created_ms: 1,
            last_used_ms: None,
        }
    }

    #[tokio::test]
    async fn names_are_unique_and_a_key_creates_once() {
        let (_directory, home) = testing::home();
        let installation = Installation::open(&home, &Keyring::default(), 5).unwrap();
        let once = |request: &str| Once {
            key: "owner/k".into(),
            request: Digest::of(request.as_bytes()),
            at_ms: 10,
        };
        let first = row("aaaaaaa", "claude");
        installation.add_token(first.clone(), Some(once("a"))).await.unwrap();
        let same_name = installation.add_token(row("bbbbbbb", "claude"), None).await.unwrap_err();
        assert!(matches!(same_name, StoreError::Conflict { .. }), "{same_name}");
        let same_key = installation.add_token(row("ccccccc", "cursor"), Some(once("a"))).await.unwrap_err();
        assert!(matches!(same_key, StoreError::Conflict { .. }), "{same_key}");
        assert_eq!(
            installation.tokens().unwrap(),
            std::slice::from_ref(&first),
            "nothing of either was kept"
        );
        let found = installation.once(&once("other")).unwrap().unwrap();
        assert_eq!((found.created.as_str(), found.request), (first.id.as_str(), Digest::of(b"a")));
        let day_later = Once { at_ms: 10 + 24 * 60 * 60 * 1000 + 1, ..once("a") };
        assert_eq!(installation.once(&day_later).unwrap(), None);
        installation.touch_token(&first.id, 99).await.unwrap();
        assert_eq!(installation.tokens().unwrap()[0].last_used_ms, Some(99));
        assert!(installation.remove_token(&first.id).await.unwrap());
        assert!(!installation.remove_token(&first.id).await.unwrap());
    }
}
