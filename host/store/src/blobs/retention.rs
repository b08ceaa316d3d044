//! How long blobs are kept.

use std::collections::HashSet;

use super::{BlobRow, Blobs};
use crate::digest::Digest;
use crate::error::Result;
use crate::sql;

/// A use within so much of the last one is not written down.
const USE_MS: i64 = 24 * 60 * 60 * 1000;
/// Blobs that are removed at once.
const BATCH: usize = 500;

impl Blobs {
    /// Says that a blob is used, so that it is kept on.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn mark_used(&self, row: &BlobRow, now_ms: i64) -> Result<()> {
        if now_ms.saturating_sub(row.used_ms) < USE_MS {
            return Ok(());
        }
        let digest = row.digest;
        let marked = self.inner.database.write("marking a blob as used", move |connection| {
            let sql = "UPDATE blobs SET used_ms = ?2 WHERE digest = ?1 AND used_ms < ?2";
            sql::execute(connection, sql, (digest, now_ms))
        });
        marked.await.map(drop)
    }

    /// Removes blobs that were neither stored nor used since a time, but for
    /// those that sources are made of: at most 500, and says how many.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn forget_unused(&self, before_ms: i64) -> Result<usize> {
        let removed = self.inner.database.write("removing blobs that nobody uses", move |connection| {
            let mut needed = HashSet::new();
            sql::all(connection, "SELECT document, files FROM sources", [], |row| {
                needed.extend(row.get::<Option<Digest>>()?);
                let files: Vec<(String, Digest)> = row.json()?;
                needed.extend(files.into_iter().map(|(_, digest)| digest));
                Ok(())
            })?;
            let sql = "SELECT digest FROM blobs WHERE used_ms < ?1 ORDER BY used_ms";
            let mut unused: Vec<Digest> = sql::all(connection, sql, [before_ms], |row| row.get())?;
            unused.retain(|digest| !needed.contains(digest));
            unused.truncate(BATCH);
            for digest in &unused {
                sql::execute(connection, "DELETE FROM blobs WHERE digest = ?1", [digest])?;
            }
            Ok(unused)
        });
        let removed = removed.await?;
        for digest in &removed {
            self.remove_file(*digest).await?;
        }
        Ok(removed.len())
    }
}
