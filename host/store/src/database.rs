//! One SQLite file: its connections, its migrations, its reads and writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::{Fault, Result, StoreError};
use crate::files;
use crate::home::{Claim, Home};
use crate::writer::{Durability, Job, SyncPolicy, Writer};

/// How long a statement waits for somebody who opened the file beside the
/// daemon, which the home's lock should prevent.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Page caches, negative for KiB: a daemon that idles keeps all of them.
const READER_CACHE: i64 = -1024;
const WRITER_CACHE: i64 = -2048;
/// Readers that are kept for the next read; more than that run at once only
/// for a moment.
const IDLE_READERS: usize = 3;
/// More than the statements that one file has.
const STATEMENTS: usize = 64;

/// What a file holds.
pub(crate) struct Plan {
    /// The SQL that leads from each version of the file to the next, from an
    /// empty file on; the version is the file's `user_version`.
    pub(crate) steps: &'static [&'static str],
    /// When a commit is synced.
    pub(crate) sync: SyncPolicy,
    /// The size of a page of a new file: rows that are as long as several
    /// pages want larger ones, small commits smaller ones.
    pub(crate) page_bytes: u32,
}

/// An open file.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
    // Before the writer, so that it is the last to close and leaves no log.
    readers: Mutex<Vec<Connection>>,
    writer: Writer,
    /// Keeps the home locked for as long as something may be written, and
    /// everybody else from opening this file.
    _claim: Claim,
}

impl Database {
    pub(crate) fn open(home: &Home, path: PathBuf, plan: &Plan) -> Result<Self> {
        let (database, ()) = Self::open_seeded(home, path, plan, |_| Ok(()))?;
        Ok(database)
    }

    /// Opens a file and does a first piece of work on it, before anybody else
    /// sees it; what its transactions commit is synced when this returns.
    pub(crate) fn open_seeded<T>(
        home: &Home,
        path: PathBuf,
        plan: &Plan,
        seed: impl FnOnce(&mut Connection) -> std::result::Result<T, Fault>,
    ) -> Result<(Self, T)> {
        let claim = home
            .claim(&path)
            .ok_or_else(|| StoreError::Conflict { what: format!("{} is open already", path.display()) })?;
        if !path.exists() {
            drop(files::create_private(&path)?);
        }
        let mut connection = connect(&path, plan.page_bytes).map_err(|fault| opening(&path, fault))?;
        migrate(&mut connection, &path, plan.steps)?;
        let seeded = seed(&mut connection).map_err(|fault| opening(&path, fault))?;
        let writer = Writer::start(connection, plan.sync, &path)?;
        let database = Self { path, readers: Mutex::new(Vec::new()), writer, _claim: claim };
        Ok((database, seeded))
    }

    /// Runs a short read. Several statements of it see several states, unless
    /// it opens a transaction.
    pub(crate) fn read<T>(
        &self,
        context: &'static str,
        work: impl FnOnce(&Connection) -> std::result::Result<T, Fault>,
    ) -> Result<T> {
        let idle = self.readers().pop();
        let reader = match idle {
            Some(reader) => reader,
            None => connect_reader(&self.path).map_err(|fault| fault.into_error(context))?,
        };
        let outcome = work(&reader).map_err(|fault| fault.into_error(context))?;
        let mut readers = self.readers();
        if readers.len() < IDLE_READERS {
            readers.push(reader);
        }
        Ok(outcome)
    }

    /// Runs a write as one transaction and answers when it is committed and
    /// synced. `work` may run more than once, if what ran before was undone.
    pub(crate) fn write<T, F>(
        &self,
        context: &'static str,
        mut work: F,
    ) -> impl Future<Output = Result<T>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> std::result::Result<T, Fault> + Send + 'static,
    {
        let slot = Arc::new(Mutex::new(None));
        let filled = Arc::clone(&slot);
        let job = Job::new(context, move |connection| {
            let value = work(connection)?;
            *filled.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
            Ok(())
        });
        let answer = self.writer.submit(job, Durability::Synced);
        async move {
            answer.await?;
            let value = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            Ok(value.expect("work that succeeded has left its value"))
        }
    }

    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    fn readers(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does work on a connection of one's own as one transaction.
pub(crate) fn in_transaction<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Connection) -> std::result::Result<T, Fault>,
) -> std::result::Result<T, Fault> {
    let transaction = connection.transaction()?;
    let value = work(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

fn opening(path: &Path, fault: Fault) -> StoreError {
    match fault.into_error("opening a database") {
        StoreError::Corrupt { what } => StoreError::Corrupt { what: format!("{}: {what}", path.display()) },
        error => error,
    }
}

fn connect(path: &Path, page_bytes: u32) -> std::result::Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    configure(&connection, WRITER_CACHE)?;
    connection.pragma_update(None, "page_size", page_bytes)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // What a burst left is given back at the next turn of the log.
    connection.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
    Ok(connection)
}

fn connect_reader(path: &Path) -> std::result::Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    configure(&connection, READER_CACHE)?;
    Ok(connection)
}

fn configure(connection: &Connection, cache: i64) -> std::result::Result<(), Fault> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update(None, "cache_size", cache)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    // The schema is read from the file, which a person can edit.
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(())
}

fn migrate(connection: &mut Connection, path: &Path, steps: &[&str]) -> Result<()> {
    let context = "bringing a database to the newest format";
    let found: u32 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(|error| opening(path, error.into()))?;
    let known = u32::try_from(steps.len()).expect("there are few steps");
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    if found > 0 && found < known {
        keep_copy(connection, path, found)?;
    }
    for (step, reached) in steps.iter().zip(1_u32..).skip(found as usize) {
        apply(connection, step, reached).map_err(|fault| fault.into_error(context))?;
    }
    Ok(())
}

/// A file that is about to change its format is kept as it was beside it.
fn keep_copy(connection: &Connection, path: &Path, version: u32) -> Result<()> {
    let context = "copying a database before its format changes";
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".format-{version}"));
    let copy = path.with_file_name(name);
    if copy.exists() {
        fs::remove_file(&copy).map_err(|source| StoreError::io(&copy, source))?;
    }
    // The copy takes the mode of a file that is there already, and is empty.
    drop(files::create_private(&copy)?);
    let Some(target) = copy.to_str() else {
        return Err(StoreError::Database { context, source: rusqlite::Error::InvalidPath(copy) });
    };
    connection.execute("VACUUM INTO ?1", [target]).map_err(|error| Fault::from(error).into_error(context))?;
    files::sync_file(&copy)?;
    Ok(())
}

fn apply(connection: &mut Connection, step: &str, reached: u32) -> std::result::Result<(), Fault> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(step)?;
    transaction.pragma_update(None, "user_version", reached)?;
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use std::os::unix::fs::MetadataExt;

    const FIRST: &str = "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT";
    const SECOND: &str = "ALTER TABLE items ADD COLUMN size INTEGER NOT NULL DEFAULT 7";

    fn plan(steps: &'static [&'static str]) -> Plan {
        Plan { steps, sync: SyncPolicy::Always, page_bytes: 4096 }
    }

    fn insert(database: &Database, name: &'static str) -> impl Future<Output = Result<usize>> {
        database.write("adding an item", move |connection| {
            crate::sql::execute(connection, "INSERT INTO items (name) VALUES (?1)", [name])
        })
    }

    fn size(database: &Database) -> Result<Option<i64>> {
        database.read("reading an item", |connection| {
            crate::sql::first(connection, "SELECT size FROM items", [], |row| row.get())
        })
    }

    #[tokio::test]
    async fn an_older_file_is_copied_and_brought_forward_and_a_newer_one_refused() {
        let (_directory, home) = testing::home();
        let path = home.path().join("test.db");
        let database = Database::open(&home, path.clone(), &plan(&[FIRST])).unwrap();
        insert(&database, "one").await.unwrap();
        drop(database);
        let database = Database::open(&home, path.clone(), &plan(&[FIRST, SECOND])).unwrap();
        assert_eq!(size(&database).unwrap(), Some(7));
        drop(database);
        let copy = home.path().join("test.db.format-1");
        assert_eq!(fs::metadata(&copy).unwrap().mode() & 0o777, 0o600);
        let error = Database::open(&home, path, &plan(&[FIRST])).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 2, known: 1, .. }), "{error}");
        let old = Database::open(&home, copy, &plan(&[FIRST])).unwrap();
        assert!(matches!(size(&old), Err(StoreError::Database { .. })));
    }

    #[tokio::test]
    async fn a_step_that_fails_leaves_the_file_at_its_version() {
        let (_directory, home) = testing::home();
        let path = home.path().join("test.db");
        drop(Database::open(&home, path.clone(), &plan(&[FIRST])).unwrap());
        let broken = "CREATE TABLE more (id INTEGER) STRICT; SELECT nonsense";
        let leaked: &'static [&'static str] = vec![FIRST, broken].leak();
        Database::open(&home, path.clone(), &plan(leaked)).unwrap_err();
        let database = Database::open(&home, path, &plan(&[FIRST, SECOND])).unwrap();
        let tables: Option<i64> = database
            .read("counting", |connection| {
                let sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'more'";
                crate::sql::first(connection, sql, [], |row| row.get())
            })
            .unwrap();
        assert_eq!(tables, Some(0));
    }

    #[test]
    fn a_file_is_opened_by_one_at_a_time() {
        let (_directory, home) = testing::home();
        let path = home.path().join("test.db");
        let database = Database::open(&home, path.clone(), &plan(&[FIRST])).unwrap();
        let error = Database::open(&home, path.clone(), &plan(&[FIRST])).unwrap_err();
        assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
        drop(database);
        Database::open(&home, path, &plan(&[FIRST])).unwrap();
    }

    #[test]
    fn a_file_that_is_no_database_is_named() {
        let (_directory, home) = testing::home();
        let path = home.path().join("test.db");
        fs::write(&path, "x".repeat(8192)).unwrap();
        let error = Database::open(&home, path, &plan(&[FIRST])).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains("test.db"), "{error}");
    }

    #[tokio::test]
    async fn files_are_private_and_closing_leaves_no_log() {
        let (_directory, home) = testing::home();
        let path = home.path().join("test.db");
        let database = Database::open(&home, path.clone(), &plan(&[FIRST, SECOND])).unwrap();
        insert(&database, "one").await.unwrap();
        size(&database).unwrap();
        let log = home.path().join("test.db-wal");
        for file in [&path, &log] {
            assert_eq!(fs::metadata(file).unwrap().mode() & 0o777, 0o600);
        }
        drop(database);
        assert!(!log.exists());
    }

    #[tokio::test]
    async fn reads_within_reads_do_not_wait_for_each_other() {
        let (_directory, home) = testing::home();
        let path = home.path().join("test.db");
        let database = Database::open(&home, path, &plan(&[FIRST, SECOND])).unwrap();
        insert(&database, "one").await.unwrap();
        fn nested(database: &Database, depth: u32) -> Result<Option<i64>> {
            if depth == 0 {
                return size(database);
            }
            database.read("nesting", |_| Ok(nested(database, depth - 1)?))
        }
        assert_eq!(nested(&database, 10).unwrap(), Some(7));
        assert!(database.readers().len() <= IDLE_READERS);
    }
}
