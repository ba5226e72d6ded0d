//! The writer under failures: a full disk, a permanent lock, a backlog. These tests need small limits.

use super::*;
use weir_record::Direction;

use crate::store::{NewRun, Store};
use crate::{Outcome, RunFilter};
use weir_record::{FlowSecond, RttPacket};
use weir_stats::FlowCounts;

#[path = "backlog_tests.rs"]
mod backlog;

fn database() -> (tempfile::TempDir, PathBuf, Store) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weir.db");
    let store = Store::open(&path).unwrap();
    (directory, path, store)
}

/// A connection that holds the lock of the database until it commits.
fn locked(path: &Path) -> Connection {
    let other = Connection::open(path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    other
}

/// The number that a pragma of SQLite returns.
fn pragma(store: &Store, name: &str) -> u32 {
    let sql = format!("PRAGMA {name}");
    store.connection.query_row(&sql, [], |row| row.get(0)).unwrap()
}

fn new_run(store: &Store) -> RunId {
    let new = NewRun {
        kind: "flows".into(),
        target: "far".into(),
        ..NewRun::default()
    };
    store.begin_run(&new).unwrap()
}

fn flow_second(unix_ns: u64, flow: u16, received: u64) -> Record {
    Record::FlowSecond(
        Direction::Forward,
        FlowSecond {
            unix_ns,
            flow,
            port: 5000 + flow,
            counts: FlowCounts {
                received,
                bytes: received * 100,
                ..FlowCounts::default()
            },
            ..Default::default()
        },
    )
}

fn packet(sequence: u64) -> Record {
    Record::RttPacket(RttPacket {
        sequence,
        ..Default::default()
    })
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < give_up, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn sum_of(store: &Store, column: &str, table: &str) -> u64 {
    let sql = format!("SELECT coalesce(sum({column}), 0) FROM {table}");
    store.connection.query_row(&sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_locked_database_holds_nobody_up_and_counts_what_it_merges() {
    let (_directory, path, store) = database();
    let run = new_run(&store);
    let limits = Limits {
        channel: 16,
        uncommitted: 64,
        backlog: 32,
        ..Limits::default()
    };
    let (recorder, handle) = Writer::spawn_with(&path, run, limits).unwrap();

    let other = locked(&path);
    // All of these return although the lock is still held when the loop ends: none can have waited for it.
    for second in 0..5_000 {
        for flow in 0..8 {
            recorder.record(flow_second(second, flow, 3));
        }
    }
    wait_until("the trouble to show", || handle.failure().is_some());
    let failure = handle.failure().unwrap();
    assert!(
        failure.contains("locked") && failure.contains("weir.db"),
        "{failure}"
    );
    other.execute_batch("COMMIT").unwrap();
    wait_until("the trouble to end", || handle.failure().is_none());

    let report = handle.finish().unwrap();
    assert!(report.merged > 0, "{report:?}");
    assert_eq!(report.lost, 0);
    assert_eq!(report.written + report.merged, 40_000);
    assert_eq!(sum_of(&store, "received", "flow_seconds"), 120_000);
    assert_eq!(sum_of(&store, "bytes", "flow_seconds"), 12_000_000);
    for flow in 0..8 {
        let sql = "SELECT sum(received) FROM flow_seconds WHERE flow = ?1";
        let received: u64 = store.connection.query_row(sql, [flow], |row| row.get(0)).unwrap();
        assert_eq!(received, 15_000, "flow {flow}");
    }
    assert_eq!(store.run(run).unwrap().merged_records, report.merged);
}

#[test]
fn events_that_find_no_room_are_counted_as_lost() {
    let (_directory, path, store) = database();
    let run = new_run(&store);
    let limits = Limits {
        channel: 8,
        uncommitted: 16,
        backlog: 8,
        ..Limits::default()
    };
    let (recorder, handle) = Writer::spawn_with(&path, run, limits).unwrap();

    let other = locked(&path);
    for sequence in 0..1_000 {
        recorder.record(packet(sequence));
    }
    other.execute_batch("COMMIT").unwrap();

    let report = handle.finish().unwrap();
    assert!(report.lost > 0, "{report:?}");
    assert_eq!(report.merged, 0);
    assert_eq!(report.written + report.lost, 1_000);
    let run = store.run(run).unwrap();
    assert_eq!((run.merged_records, run.lost_records), (0, report.lost));
    assert_eq!(sum_of(&store, "1", "rtt_packets"), report.written);
}

#[test]
fn a_lock_that_stays_ends_in_an_error_that_says_so() {
    let (_directory, path, store) = database();
    let run = new_run(&store);
    let limits = Limits {
        patience: Duration::from_millis(100),
        ..Limits::default()
    };
    let (recorder, handle) = Writer::spawn_with(&path, run, limits).unwrap();
    let _other = locked(&path);
    recorder.record(packet(0));
    let error = handle.finish().unwrap_err();
    assert!(
        matches!(error, StoreError::Unwritten { unwritten: 1, .. }),
        "{error:?}"
    );
    let words = error.to_string();
    assert!(
        words.contains("UTC") && words.contains("another program"),
        "{words}"
    );
}

#[test]
fn a_full_disk_keeps_what_is_stored_and_goes_on_when_there_is_room() {
    let (_directory, path, store) = database();

    // An old run whose deletion frees space.
    let old = new_run(&store);
    let (recorder, handle) = Writer::spawn(&path, old).unwrap();
    for sequence in 0..20_000 {
        recorder.record(packet(sequence));
        if sequence % 2_000 == 0 {
            thread::sleep(Duration::from_millis(20));
        }
    }
    let first = handle.finish().unwrap();
    store
        .end_run(
            old,
            Outcome::Finished,
            None,
            now_unix_ns(),
            &serde_json::Value::Null,
        )
        .unwrap();
    let pages = pragma(&store, "page_count");

    let run = new_run(&store);
    let limits = Limits {
        max_pages: Some(pages + 20),
        ..Limits::default()
    };
    let (recorder, handle) = Writer::spawn_with(&path, run, limits.clone()).unwrap();
    for sequence in 0..100 {
        recorder.record(packet(sequence));
    }
    let of_run = format!("rtt_packets WHERE run_id = {run}");
    wait_until("the first rows", || sum_of(&store, "1", &of_run) == 100);
    for sequence in 100..5_000 {
        recorder.record(packet(sequence));
    }
    wait_until("the disk to be full", || handle.failure().is_some());
    let failure = handle.failure().unwrap();
    assert!(
        failure.contains("full") && failure.contains("free some space"),
        "{failure}"
    );
    assert_eq!(
        sum_of(&store, "1", &of_run),
        100,
        "earlier rows stay, a failed commit leaves none"
    );

    store.delete_run(old).unwrap();
    wait_until("the trouble to end", || handle.failure().is_none());
    let report = handle.finish().unwrap();
    assert_eq!(report.written + report.lost, 5_000);
    assert_eq!(report.lost, 0, "{report:?}; the old run had {first:?}");
    assert_eq!(sum_of(&store, "1", &of_run), 5_000);
    let check: String = store
        .connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");

    stays_full(&store, &path, &of_run, limits);
    assert_eq!(store.runs(&RunFilter::default()).unwrap().len(), 2);
}

/// Full again, and no space is freed: one error, and all stored records remain.
fn stays_full(store: &Store, path: &Path, of_run: &str, limits: Limits) {
    let pages = pragma(store, "page_count");
    let free = pragma(store, "freelist_count");
    let last = new_run(store);
    let limits = Limits {
        max_pages: Some(pages),
        patience: Duration::from_millis(100),
        channel: free as usize * 200 + 10_000,
        uncommitted: 1_000_000,
        ..limits
    };
    let (recorder, handle) = Writer::spawn_with(path, last, limits).unwrap();
    // More rows than the free pages hold.
    let total = u64::from(free) * 200 + 5_000;
    for sequence in 0..total {
        recorder.record(packet(sequence));
    }
    let words = handle.finish().unwrap_err().to_string();
    assert!(
        words.contains(&format!("run {last} is stored in")) && words.contains("full"),
        "{words}"
    );
    assert_eq!(sum_of(store, "1", of_run), 5_000);
    let stored = sum_of(store, "1", &format!("rtt_packets WHERE run_id = {last}"));
    assert_eq!(
        stored + store.run(last).unwrap().lost_records,
        total,
        "the run is marked"
    );
}

#[test]
fn a_writer_gives_the_run_and_those_above_it_a_heartbeat_without_records() {
    let (_directory, path, store) = database();
    let top = new_run(&store);
    let part = store
        .begin_run(&NewRun {
            parent: Some(top),
            ..NewRun::default()
        })
        .unwrap();
    // As if both had long been silent and somebody else had opened the database.
    store
        .connection
        .execute("UPDATE runs SET last_unix_ns = 1", [])
        .unwrap();
    drop(Store::open(&path).unwrap());
    assert_eq!(store.run(top).unwrap().outcome, Outcome::Interrupted);
    assert_eq!(store.run(top).unwrap().ended_unix_ns, Some(1));

    let (_recorder, handle) = Writer::spawn(&path, part).unwrap();
    for run in [top, part] {
        wait_until("a heartbeat", || store.run(run).unwrap().last_unix_ns > 1);
        let run = store.run(run).unwrap();
        assert_eq!(
            (run.outcome, run.ended_unix_ns, run.reason),
            (Outcome::Running, None, None)
        );
    }
    // An ended run stays ended, in any order of calls.
    store
        .end_run(
            part,
            Outcome::Interrupted,
            Some("Ctrl-C"),
            7,
            &serde_json::Value::Null,
        )
        .unwrap();
    handle.finish().unwrap();
    assert_eq!(store.run(part).unwrap().ended_unix_ns, Some(7));
    assert_eq!(store.run(part).unwrap().reason.as_deref(), Some("Ctrl-C"));
}

#[test]
fn a_dropped_handle_still_stores() {
    let (_directory, path, store) = database();
    let run = new_run(&store);
    let (recorder, handle) = Writer::spawn(&path, run).unwrap();
    recorder.record(packet(0));
    drop(handle);
    assert_eq!(sum_of(&store, "1", "rtt_packets"), 1);
    // Too late, and no panic.
    recorder.record(packet(1));
    assert_eq!(recorder.shared.lost.load(Ordering::Relaxed), 1);
}
