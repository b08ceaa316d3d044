use std::time::Instant;

use super::queue::{PENDING_BYTES, PENDING_JOBS};
use super::*;
use crate::database::{Database, Plan};
use crate::home::Home;
use crate::{sql, testing};

const PLAN: Plan = Plan {
    page_bytes: 4096,
    steps: &["CREATE TABLE items (name TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
         CREATE TABLE mark (count INTEGER NOT NULL) STRICT;
         INSERT INTO mark VALUES (0);"],
    sync: SyncPolicy::OnDemand {
        mark: "UPDATE mark SET count = count + 1",
        delay: Duration::from_millis(50),
    },
};

fn open(home: &Home) -> Database {
    Database::open(home, home.path().join("test.db"), &PLAN).unwrap()
}

fn insert(name: impl Into<String>, body: impl Into<String>) -> Job {
    let (name, body) = (name.into(), body.into());
    Job::new("adding an item", move |connection| {
        let sql = "INSERT INTO items VALUES (?1, ?2)";
        sql::execute(connection, sql, [&name, &body])?;
        Ok(())
    })
}

fn nothing() -> Job {
    Job::new("waiting", |_| Ok(()))
}

/// Holds the thread, from when this returns until the sender is dropped, so
/// that what is queued meanwhile becomes one batch.
fn hold(database: &Database) -> std::sync::mpsc::Sender<()> {
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let (begun, held) = std::sync::mpsc::channel::<()>();
    let job = Job::new("holding", move |_| {
        let _ = begun.send(());
        let _ = receiver.recv();
        Ok(())
    });
    database.writer().submit_behind(job).unwrap();
    held.recv().unwrap();
    sender
}

fn names(database: &Database) -> Vec<String> {
    database
        .read("listing items", |connection| {
            sql::all(connection, "SELECT name FROM items ORDER BY name", [], |row| row.get())
        })
        .unwrap()
}

fn marks(database: &Database) -> i64 {
    database
        .read("reading the mark", |connection| {
            sql::first(connection, "SELECT count FROM mark", [], |row| row.get())
        })
        .unwrap()
        .unwrap()
}

#[tokio::test]
async fn a_job_that_fails_in_the_middle_of_a_batch_is_undone_alone() {
    let (_directory, home) = testing::home();
    let database = open(&home);
    let held = hold(&database);
    let writer = database.writer();
    let first = writer.submit(insert("a", ""), Durability::Behind);
    let failing = Job::new("adding two", |connection| {
        sql::execute(connection, "INSERT INTO items VALUES ('b', '')", [])?;
        sql::execute(connection, "INSERT INTO items VALUES ('a', '')", [])?;
        Ok(())
    });
    let second = writer.submit(failing, Durability::Synced);
    let third = writer.submit(insert("c", ""), Durability::Synced);
    drop(held);
    first.await.unwrap();
    let error = second.await.unwrap_err();
    assert!(matches!(error, StoreError::Database { context: "adding two", .. }), "{error}");
    third.await.unwrap();
    assert_eq!(names(&database), ["a", "c"]);
    assert_eq!(writer.health(), Health::default());
}

#[tokio::test]
async fn a_failure_that_nobody_waits_for_shows_in_the_health() {
    let (_directory, home) = testing::home();
    let database = open(&home);
    let writer = database.writer();
    writer.submit_behind(insert("a", "")).unwrap();
    writer.submit_behind(insert("a", "")).unwrap();
    writer.submit(nothing(), Durability::Behind).await.unwrap();
    let health = writer.health();
    assert_eq!(health.failed, 1);
    assert!(health.last_failure.unwrap().starts_with("adding an item: "));
    assert_eq!(health.stopped, None);
}

#[tokio::test]
async fn what_is_behind_is_synced_once_within_its_delay() {
    let (_directory, home) = testing::home();
    let database = open(&home);
    let writer = database.writer();
    let begun = Instant::now();
    writer.submit_behind(insert("a", "")).unwrap();
    writer.submit(nothing(), Durability::Behind).await.unwrap();
    if begun.elapsed() < Duration::from_millis(50) {
        assert_eq!(marks(&database), 0);
    }
    while marks(&database) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(10));
        tokio::task::yield_now().await;
    }
    assert!(begun.elapsed() >= Duration::from_millis(49));
    // A sync that is asked for takes the place of the one that is due, and
    // where nothing is behind there is nothing to mark.
    writer.submit_behind(insert("b", "")).unwrap();
    writer.submit(nothing(), Durability::Synced).await.unwrap();
    let after = marks(&database);
    writer.submit(nothing(), Durability::Synced).await.unwrap();
    writer.submit(insert("c", ""), Durability::Synced).await.unwrap();
    assert_eq!(marks(&database), after);
}

#[tokio::test]
async fn a_sync_that_fails_is_tried_again_after_its_delay_and_seen() {
    let (_directory, home) = testing::home();
    let SyncPolicy::OnDemand { delay, .. } = PLAN.sync else {
        panic!("the plan of these tests is on demand");
    };
    let plan = Plan { sync: SyncPolicy::OnDemand { mark: "UPDATE nowhere SET count = 1", delay }, ..PLAN };
    let database = Database::open(&home, home.path().join("test.db"), &plan).unwrap();
    let writer = database.writer();
    let begun = Instant::now();
    writer.submit_behind(insert("a", "")).unwrap();
    while writer.health().failed < 3 {
        assert!(begun.elapsed() < Duration::from_secs(10));
        tokio::task::yield_now().await;
    }
    assert!(begun.elapsed() >= 3 * delay);
    let health = writer.health();
    assert!(health.last_failure.unwrap().starts_with("syncing"));
    assert_eq!(health.stopped, None);
    let synced = writer.submit(nothing(), Durability::Synced).await;
    assert!(matches!(synced, Err(StoreError::Database { .. })));
    assert_eq!(names(&database), ["a"]);
}

#[tokio::test]
async fn a_full_disk_loses_only_what_does_not_fit_and_the_writer_lives_on() {
    let (_directory, home) = testing::home();
    let database = open(&home);
    let writer = database.writer();
    let limit = Job::new("limiting", |connection| {
        connection.pragma_update(None, "max_page_count", 40)?;
        Ok(())
    });
    writer.submit(limit, Durability::Synced).await.unwrap();
    let held = hold(&database);
    let first = writer.submit(insert("a", ""), Durability::Synced);
    let large = "x".repeat(1_000_000);
    let second = writer.submit(insert("b", &large), Durability::Synced);
    let bare = writer.submit(insert("c", &large).one_statement(), Durability::Synced);
    let last = writer.submit(insert("d", ""), Durability::Synced);
    drop(held);
    first.await.unwrap();
    assert!(matches!(second.await, Err(StoreError::DiskFull)));
    assert!(matches!(bare.await, Err(StoreError::DiskFull)));
    last.await.unwrap();
    assert_eq!(names(&database), ["a", "d"]);
    let unlimit = Job::new("unlimiting", |connection| {
        connection.pragma_update(None, "max_page_count", 100_000)?;
        Ok(())
    });
    writer.submit(unlimit, Durability::Synced).await.unwrap();
    writer.submit(insert("b", &large), Durability::Synced).await.unwrap();
    assert_eq!(names(&database), ["a", "b", "d"]);
}

#[tokio::test]
async fn an_input_output_error_stops_the_writer_for_good_and_keeps_what_was_before() {
    let (_directory, home) = testing::home();
    let database = open(&home);
    let writer = database.writer();
    writer.submit(insert("before", ""), Durability::Synced).await.unwrap();
    let held = hold(&database);
    let same_batch = writer.submit(insert("same", ""), Durability::Synced);
    let broken = Job::new("syncing", |_| {
        let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_FSYNC);
        Err(rusqlite::Error::SqliteFailure(error, None).into())
    });
    let broken = writer.submit(broken, Durability::Synced);
    let behind = writer.submit(insert("behind", ""), Durability::Behind);
    drop(held);
    for waiting in [same_batch.await, broken.await, behind.await] {
        assert!(matches!(waiting, Err(StoreError::Stopped)), "{waiting:?}");
    }
    let later = writer.submit(insert("later", ""), Durability::Synced).await;
    assert!(matches!(later, Err(StoreError::Stopped)));
    let later = writer.submit_behind(insert("later", ""));
    assert!(matches!(later, Err(StoreError::Stopped)));
    assert!(writer.health().stopped.is_some());
    assert_eq!(names(&database), ["before"]);
    drop(database);
    let database = open(&home);
    assert_eq!(names(&database), ["before"]);
    database.writer().submit(insert("a", ""), Durability::Synced).await.unwrap();
}

#[tokio::test]
async fn a_panic_of_a_job_undoes_that_job_alone() {
    let (_directory, home) = testing::home();
    let database = open(&home);
    let writer = database.writer();
    let held = hold(&database);
    let panicking = |name: &'static str| {
        Job::new("panicking", move |connection| {
            crate::sql::execute(connection, "INSERT INTO items VALUES (?1, '')", [name])?;
            panic!("a test's own panic")
        })
    };
    let before = writer.submit(insert("a", ""), Durability::Synced);
    let first = writer.submit(panicking("b"), Durability::Synced);
    let second = writer.submit(panicking("c").one_statement(), Durability::Synced);
    let after = writer.submit(insert("d", ""), Durability::Synced);
    drop(held);
    for broken in [first.await, second.await] {
        assert!(matches!(broken, Err(StoreError::Broken { context: "panicking" })), "{broken:?}");
    }
    before.await.unwrap();
    after.await.unwrap();
    writer.submit(insert("e", ""), Durability::Synced).await.unwrap();
    assert_eq!(names(&database), ["a", "d", "e"]);
    assert_eq!(writer.health().stopped, None);
}

#[tokio::test]
async fn a_queue_that_is_full_lets_callers_wait_and_loses_nothing() {
    let (_directory, home) = testing::home();
    let database = open(&home);
    let held = hold(&database);
    let writer = database.writer();
    for index in 0..PENDING_JOBS {
        writer.room().await;
        writer.submit_behind(insert(format!("{index:06}"), "")).unwrap();
    }
    let mut room = std::pin::pin!(writer.room());
    assert!(tokio::time::timeout(Duration::from_millis(20), &mut room).await.is_err());
    writer.submit_behind(insert("over", "")).unwrap();
    drop(held);
    room.await;
    drop(database);
    assert_eq!(names(&open(&home)).len(), PENDING_JOBS + 1);
}

#[tokio::test]
async fn a_queue_is_also_bounded_by_what_it_weighs() {
    let (_directory, home) = testing::home();
    let database = open(&home);
    let held = hold(&database);
    let writer = database.writer();
    writer.room().await;
    writer.submit_behind(nothing().weighing(PENDING_BYTES)).unwrap();
    let mut room = std::pin::pin!(writer.room());
    assert!(tokio::time::timeout(Duration::from_millis(20), &mut room).await.is_err());
    drop(held);
    room.await;
}

#[tokio::test]
async fn a_writer_that_stopped_makes_nobody_wait() {
    let (_directory, home) = testing::home();
    let database = open(&home);
    let held = hold(&database);
    let writer = database.writer();
    let failing = Job::new("failing", |_| {
        let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR);
        Err(rusqlite::Error::SqliteFailure(error, None).into())
    });
    writer.submit_behind(failing.weighing(PENDING_BYTES)).unwrap();
    let mut room = std::pin::pin!(writer.room());
    assert!(tokio::time::timeout(Duration::from_millis(20), &mut room).await.is_err());
    drop(held);
    room.await;
    while writer.health().stopped.is_none() {
        tokio::task::yield_now().await;
    }
    writer.room().await;
    assert!(matches!(writer.submit_behind(nothing()), Err(StoreError::Stopped)));
}

#[tokio::test]
async fn a_long_log_is_copied_into_the_database() {
    let (_directory, home) = testing::home();
    let database = open(&home);
    let writer = database.writer();
    let body = "x".repeat(100_000);
    for index in 0..600 {
        let job = insert(format!("{index}"), &body);
        writer.submit(job, Durability::Behind).await.unwrap();
    }
    writer.submit(nothing(), Durability::Behind).await.unwrap();
    let log = std::fs::metadata(home.path().join("test.db-wal")).unwrap();
    assert!(log.len() < 24_000_000, "{}", log.len());
}

/// A limit on the size of files makes SQLite's own write fail, which a test
/// can't ask of a disk. The limit holds for a whole process: a child's. A row
/// over the size of the page cache fails in its statement, smaller ones fail
/// in the commit that takes the log past the limit.
#[test]
fn a_write_that_the_system_refuses_stops_the_writer() {
    if let Ok(path) = std::env::var("EXECUTOR_TEST_LIMITED_HOME") {
        let bytes = std::env::var("EXECUTOR_TEST_ROW_BYTES").unwrap();
        return write_past_the_limit(Path::new(&path), bytes.parse().unwrap());
    }
    for (row_bytes, expected_rows) in [(8 << 20, 0..1), (300_000, 1..20)] {
        let (_directory, home) = testing::home();
        let path = home.path().to_owned();
        drop(home);
        let output = std::process::Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f 2048; exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "--test-threads=1"])
            .arg("writer::tests::a_write_that_the_system_refuses_stops_the_writer")
            .env("EXECUTOR_TEST_LIMITED_HOME", &path)
            .env("EXECUTOR_TEST_ROW_BYTES", row_bytes.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}{errors}");
        let (_, count) = text.split_once("acknowledged ").unwrap();
        let count: usize = count.lines().next().unwrap().parse().unwrap();
        assert!(expected_rows.contains(&count), "{count} of {row_bytes} bytes");
        let database = open(&Home::open(&path).unwrap());
        assert_eq!(names(&database).len(), count);
    }
}

/// Writes rows until that fails, and says how many were acknowledged.
fn write_past_the_limit(path: &Path, row_bytes: usize) {
    let home = Home::open(path).unwrap();
    let database = open(&home);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let submit = |job| runtime.block_on(database.writer().submit(job, Durability::Synced));
    let body = "x".repeat(row_bytes);
    let mut count = 0;
    let error = loop {
        match submit(insert(format!("{count}"), &body)) {
            Ok(()) => count += 1,
            Err(error) => break error,
        }
        assert!(count < 100);
    };
    assert!(matches!(error, StoreError::Stopped), "{error}");
    let error = submit(insert("later", "")).unwrap_err();
    assert!(matches!(error, StoreError::Stopped), "{error}");
    assert_eq!(names(&database).len(), count);
    println!("acknowledged {count}");
}
