use super::*;
use crate::digest::Digest;
use crate::error::StoreError;
use crate::{sql, testing};

fn open(home: &Home) -> Executions {
    Executions::open(home, home.path()).unwrap()
}

fn id(time: i64) -> ExecutionId {
    ExecutionId::new(time, [7; 8])
}

fn execution(time: i64, status: &str) -> ExecutionRow {
    ExecutionRow {
        id: id(time),
        kind: "code".to_owned(),
        status: status.to_owned(),
        surface: "cli".to_owned(),
        client: "test".to_owned(),
        account: "local".to_owned(),
        title: format!("number {time}"),
        code: Some("return 1".to_owned()),
        compiled: Some("return 1;".to_owned()),
        source_map: Some("{}".to_owned()),
        engine: Some(Digest::of(b"engine")),
        input: Some("{}".to_owned()),
        created_ms: time,
        settled_ms: None,
        result: None,
        error: None,
        fuel: 0,
        memory_bytes: 0,
        truncated: false,
        token: None,
        toolkit: None,
        spans: None,
    }
}

fn call(time: i64, scope: u64, ordinal: u64) -> CallRow {
    CallRow {
        id: id(time),
        scope,
        ordinal,
        root: "tools".to_owned(),
        path: "github.issues.create".to_owned(),
        args: "{}".to_owned(),
        options: None,
        write: true,
        idempotent: false,
        intent_ms: time,
        outcome: None,
        outcome_ms: None,
        delivery: None,
    }
}

fn question(time: i64) -> InteractionRow {
    InteractionRow {
        id: InteractionId::new(time, [3; 8]),
        execution: id(time),
        scope: 0,
        ordinal: 4,
        kind: "approval".to_owned(),
        message: "May it?".to_owned(),
        request: "{}".to_owned(),
        status: "pending".to_owned(),
        answer: None,
        created_ms: time,
        answered_ms: None,
        answered_by: None,
    }
}

fn answer(time: i64, status: &str) -> Change {
    Change::Answer {
        interaction: question(time).id,
        expected: "pending".to_owned(),
        status: status.to_owned(),
        answer: Some("{\"ok\":true}".to_owned()),
        answered_by: "local".to_owned(),
        at_ms: time + 5,
    }
}

fn settle(time: i64) -> Change {
    Change::Settle {
        id: id(time),
        status: "completed".to_owned(),
        result: Some("1".to_owned()),
        error: None,
        settled_ms: time + 9,
        fuel: u64::MAX,
        memory_bytes: 64,
        truncated: true,
        spans: Some("{}".to_owned()),
    }
}

fn audit(text: &str) -> Change {
    Change::Audit(AuditRecord { at_ms: 1, body: text.to_owned() })
}

#[tokio::test]
async fn a_record_comes_back_as_it_was_put_and_settled() {
    let (_directory, home) = testing::home();
    let executions = open(&home);
    let row = execution(5, "running");
    executions.commit(vec![Change::Put(Box::new(row.clone()))]).await.unwrap();
    assert_eq!(executions.execution(&id(5)).unwrap(), Some(row.clone()));
    let moved = |expected: &str, status: &str| Change::Status {
        id: id(5),
        expected: expected.to_owned(),
        status: status.to_owned(),
        at_ms: 6,
    };
    let status = moved("running", "waiting_for_interaction");
    executions.commit(vec![status]).await.unwrap();
    assert!(executions.unsettled().unwrap().is_empty());
    assert_eq!(executions.unsettled_engines().unwrap(), [Digest::of(b"engine")], "it waits for it");
    executions.commit(vec![settle(5)]).await.unwrap();
    assert!(executions.unsettled_engines().unwrap().is_empty());
    for late in [moved("waiting_for_interaction", "running"), settle(5)] {
        let error = executions.commit(vec![late]).await.unwrap_err();
        assert!(matches!(error, StoreError::Conflict { .. }), "what has ended stays ended: {error}");
    }
    let expected = ExecutionRow {
        status: "completed".to_owned(),
        result: Some("1".to_owned()),
        settled_ms: Some(14),
        fuel: u64::MAX,
        memory_bytes: 64,
        truncated: true,
        spans: Some("{}".to_owned()),
        ..row
    };
    assert_eq!(executions.execution(&id(5)).unwrap(), Some(expected));
    assert_eq!(executions.execution(&id(6)).unwrap(), None);
    for change in [settle(6), answer(6, "accepted")] {
        let error = executions.commit(vec![change]).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_list_is_newest_first_pages_and_filters() {
    let (_directory, home) = testing::home();
    let executions = open(&home);
    for time in 1..=9 {
        let status = if time % 2 == 0 { "running" } else { "failed" };
        executions.commit_behind(vec![Change::Put(Box::new(execution(time, status)))]).unwrap();
    }
    executions.written().await.unwrap();
    let times =
        |rows: Vec<ExecutionRow>| -> Vec<i64> { rows.into_iter().map(|row| row.created_ms).collect() };
    let list = |limit, before: Option<ExecutionId>, status| {
        times(executions.list(limit, before.as_ref(), status).unwrap())
    };
    assert_eq!(list(3, None, None), [9, 8, 7]);
    assert_eq!(list(3, Some(id(7)), None), [6, 5, 4]);
    assert_eq!(list(100, Some(id(5)), Some("running")), [4, 2]);
    assert_eq!(times(executions.unsettled().unwrap()), [2, 4, 6, 8]);
    assert_eq!(executions.unsettled_engines().unwrap(), [Digest::of(b"engine")], "each once");
    let row = &executions.list(1, None, None).unwrap()[0];
    assert_eq!((&row.code, row.engine), (&None, Some(Digest::of(b"engine"))));
}

#[tokio::test]
async fn a_journal_comes_back_in_order_and_an_outcome_is_never_replaced() {
    let (_directory, home) = testing::home();
    let executions = open(&home);
    let read = CallRow {
        outcome: Some("[]".to_owned()),
        outcome_ms: Some(3),
        delivery: Some(0),
        write: false,
        ..call(1, 0, 0)
    };
    let changes = [call(1, u64::MAX - 1, 0), call(1, 0, 1), read.clone()];
    executions.commit(changes.into_iter().map(Change::Intent).collect()).await.unwrap();
    let outcome = |ordinal, text: &str| Change::Outcome {
        id: id(1),
        scope: 0,
        ordinal,
        outcome: text.to_owned(),
        at_ms: 8,
    };
    let delivery = Change::Delivery { id: id(1), scope: 0, ordinal: 1, delivery: 1 };
    executions.commit(vec![outcome(1, "{}"), delivery]).await.unwrap();
    let error = executions.commit(vec![outcome(1, "other")]).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    let error = executions.commit(vec![Change::Intent(call(1, 0, 1))]).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    let error = executions.commit(vec![Change::Pause(call(1, 0, 1))]).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    let error = executions.commit(vec![outcome(2, "{}")]).await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    let journal = executions.journal(&id(1)).unwrap();
    let settled =
        CallRow { outcome: Some("{}".to_owned()), outcome_ms: Some(8), delivery: Some(1), ..call(1, 0, 1) };
    assert!(journal.contains(&call(1, u64::MAX - 1, 0)));
    let scope: Vec<_> = journal.into_iter().filter(|row| row.scope == 0).collect();
    assert_eq!(scope, [read, settled]);
}

#[tokio::test]
async fn values_and_output_keep_what_was_first() {
    let (_directory, home) = testing::home();
    let executions = open(&home);
    let value = |value: &str| Change::Value {
        id: id(1),
        kind: "now".to_owned(),
        ordinal: 0,
        value: value.to_owned(),
    };
    let output = |body: &str| Change::Output {
        id: id(1),
        sequence: 2,
        kind: "log".to_owned(),
        level: Some("warn".to_owned()),
        body: body.to_owned(),
        at_ms: 4,
    };
    executions.commit(vec![value("5"), output("one")]).await.unwrap();
    executions.commit(vec![value("6"), output("two")]).await.unwrap();
    let values = executions.values(&id(1)).unwrap();
    assert_eq!(values, [("now".to_owned(), 0, "5".to_owned())]);
    let expected = OutputRow {
        sequence: 2,
        kind: "log".to_owned(),
        level: Some("warn".to_owned()),
        body: "one".to_owned(),
        at_ms: 4,
    };
    assert_eq!(executions.output(&id(1)).unwrap(), [expected]);
}

#[tokio::test]
async fn a_second_answer_is_a_conflict_and_undoes_its_own_transaction_alone() {
    let (_directory, home) = testing::home();
    let executions = open(&home);
    let asked = vec![Change::Put(Box::new(execution(1, "running"))), Change::Ask(question(1))];
    executions.commit(asked).await.unwrap();
    assert_eq!(executions.pending_interactions(5).unwrap(), [question(1)]);
    let first = executions.commit(vec![answer(1, "accepted"), audit("first")]);
    let second = executions.commit(vec![
        audit("second"),
        Change::Put(Box::new(execution(2, "running"))),
        answer(1, "declined"),
    ]);
    let third = executions.commit(vec![Change::Put(Box::new(execution(3, "running"))), audit("third")]);
    first.await.unwrap();
    let error = second.await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    assert!(error.to_string().contains("is accepted, not pending"), "{error}");
    third.await.unwrap();
    assert_eq!(executions.execution(&id(2)).unwrap(), None);
    assert!(executions.execution(&id(3)).unwrap().is_some());
    let answered = executions.interaction(&question(1).id).unwrap().unwrap();
    assert_eq!(answered.status, "accepted");
    assert_eq!(answered.answered_ms, Some(6));
    assert_eq!(executions.interactions(&id(1)).unwrap(), [answered]);
    assert!(executions.pending_interactions(5).unwrap().is_empty());
    let bodies: Vec<_> = executions.audit(0, 9).unwrap().into_iter().map(|row| row.body).collect();
    assert_eq!(bodies, ["first", "third"]);
    assert_eq!(executions.verify_audit(), Ok(2));
}

/// Makes a chain of 2,500 records, damages it, and says where that shows.
async fn damaged(sql: &'static str) -> Option<u64> {
    let (_directory, home) = testing::home();
    let executions = open(&home);
    for number in 1..=2500 {
        executions.commit_behind(vec![audit(&format!("record {number}"))]).unwrap();
    }
    executions.synced().await.unwrap();
    assert_eq!(executions.verify_audit(), Ok(2500));
    let damage = executions.database.write("damaging", move |connection| {
        connection.execute_batch(sql)?;
        Ok(())
    });
    damage.await.unwrap();
    executions.verify_audit().err().map(|fault| fault.sequence)
}

#[tokio::test]
async fn the_chain_shows_what_was_changed_removed_moved_or_added() {
    let cases = [
        ("UPDATE audit SET body = 'else' WHERE sequence = 1700", 1700),
        ("UPDATE audit SET at_ms = 2 WHERE sequence = 3", 3),
        ("UPDATE audit SET hash = zeroblob(32) WHERE sequence = 2500", 2500),
        ("DELETE FROM audit WHERE sequence = 1000", 1000),
        ("DELETE FROM audit WHERE sequence = 2500", 2500),
        ("DELETE FROM audit WHERE sequence > 5", 6),
        (
            "UPDATE audit SET sequence = -1 WHERE sequence = 7;
             UPDATE audit SET sequence = 7 WHERE sequence = 8;
             UPDATE audit SET sequence = 8 WHERE sequence = -1;",
            7,
        ),
        ("INSERT INTO audit SELECT 2501, at_ms, hash, body FROM audit WHERE sequence = 1", 2501),
        ("UPDATE audit_head SET hash = zeroblob(32)", 2500),
    ];
    for (sql, sequence) in cases {
        assert_eq!(damaged(sql).await, Some(sequence), "{sql}");
    }
    assert_eq!(damaged("SELECT 1").await, None);
}

#[tokio::test]
async fn a_record_that_was_rewritten_with_a_fitting_hash_breaks_the_next() {
    let (_directory, home) = testing::home();
    let executions = open(&home);
    let records = vec![audit("one"), audit("two"), audit("three")];
    executions.commit(records).await.unwrap();
    let first = executions.audit(0, 1).unwrap()[0].hash;
    let forged = audit::chained(&first, 2, 1, "forged");
    let damage = executions.database.write("damaging", move |connection| {
        let sql = "UPDATE audit SET body = 'forged', hash = ?1 WHERE sequence = 2";
        sql::execute(connection, sql, [forged])
    });
    assert_eq!(damage.await.unwrap(), 1);
    let fault = executions.verify_audit().unwrap_err();
    assert_eq!(fault.sequence, 3);
}

#[tokio::test]
async fn the_chain_goes_on_after_it_is_opened_again() {
    let (_directory, home) = testing::home();
    let executions = open(&home);
    executions.commit(vec![audit("one")]).await.unwrap();
    drop(executions);
    let executions = open(&home);
    executions.commit(vec![audit("two"), audit("three")]).await.unwrap();
    assert_eq!(executions.verify_audit(), Ok(3));
    let last = executions.audit(2, 9).unwrap();
    assert_eq!((last.len(), last[0].sequence), (1, 3));
}

/// A child of this test's own binary writes and is gone without a farewell.
#[test]
fn what_was_acknowledged_survives_the_death_of_the_process() {
    if let Ok(path) = std::env::var("EXECUTOR_TEST_ABORTING_HOME") {
        write_and_abort(Path::new(&path));
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("home");
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--test-threads=1"])
        .arg("executions::tests::what_was_acknowledged_survives_the_death_of_the_process")
        .env("EXECUTOR_TEST_ABORTING_HOME", &path)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), None, "it ends by a signal");
    let executions = open(&Home::open(&path).unwrap());
    let rows = executions.list(1000, None, None).unwrap();
    let times: Vec<i64> = rows.iter().map(|row| row.created_ms).rev().collect();
    assert_eq!(times, (1..=202).collect::<Vec<_>>());
    assert_eq!(executions.verify_audit(), Ok(1));
}

fn write_and_abort(path: &Path) -> ! {
    let executions = open(&Home::open(path).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let put = |time| Change::Put(Box::new(execution(time, "running")));
    for time in 1..=100 {
        executions.commit_behind(vec![put(time)]).unwrap();
    }
    runtime.block_on(executions.commit(vec![put(101), audit("one")])).unwrap();
    for time in 102..=202 {
        executions.commit_behind(vec![put(time)]).unwrap();
    }
    runtime.block_on(executions.written()).unwrap();
    std::process::abort()
}

#[test]
fn closing_writes_what_still_waits() {
    let (_directory, home) = testing::home();
    let executions = open(&home);
    for time in 1..=500 {
        executions.commit_behind(vec![Change::Put(Box::new(execution(time, "running")))]).unwrap();
    }
    drop(executions);
    let count = open(&home).read("counting", |connection| {
        sql::first(connection, "SELECT count(*) FROM executions", [], |row| row.get::<i64>())
    });
    assert_eq!(count.unwrap(), Some(500));
}

#[tokio::test]
async fn spans_are_kept_while_it_waits_and_stay_when_it_is_settled_without() {
    let (_directory, home) = testing::home();
    let executions = open(&home);
    executions.commit(vec![Change::Put(Box::new(execution(5, "running")))]).await.unwrap();
    let spans = |time: i64| Change::Spans { id: id(time), spans: "[1]".to_owned() };
    executions.commit(vec![spans(5), spans(6)]).await.unwrap();
    assert_eq!(executions.execution(&id(6)).unwrap(), None, "spans alone make no record");
    let kept = || executions.execution(&id(5)).unwrap().unwrap().spans;
    assert_eq!(kept().as_deref(), Some("[1]"));
    let Change::Settle { id, status, settled_ms, fuel, memory_bytes, .. } = settle(5) else { unreachable!() };
    let bare = Change::Settle {
        id,
        status,
        result: None,
        error: None,
        settled_ms,
        fuel,
        memory_bytes,
        truncated: false,
        spans: None,
    };
    executions.commit(vec![bare]).await.unwrap();
    assert_eq!(kept().as_deref(), Some("[1]"));
    assert!(executions.list(10, None, None).unwrap().iter().all(|row| row.spans.is_none()));
    assert_eq!((executions.count("completed").unwrap(), executions.count("running").unwrap()), (1, 0));
}
