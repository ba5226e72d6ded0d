//! Processes that are killed, and processes that write to one file at once. The other processes are this test
//! binary again, controlled by an environment variable.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;
use weir_results::*;

use crate::sample;

const TASK: &str = "WEIR_RESULTS_TEST_TASK";
const DATABASE: &str = "WEIR_RESULTS_TEST_DATABASE";

fn start(task: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["processes::child", "--exact", "--nocapture"])
        .env(TASK, task)
        .env(DATABASE, path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn now_unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

fn second(received: u64) -> Record {
    Record::StreamSecond(
        Direction::Forward,
        StreamSecond {
            unix_ns: now_unix_ns(),
            received,
            ..Default::default()
        },
    )
}

/// Does nothing unless it was started by one of the tests below.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let path = std::env::var(DATABASE).unwrap();
    let store = Store::open(&path).unwrap();
    let run = store
        .begin_run(&NewRun {
            started_unix_ns: now_unix_ns(),
            ..sample::new_run()
        })
        .unwrap();
    let (recorder, handle) = Writer::spawn(&path, run).unwrap();
    match task.as_str() {
        "until killed" => loop {
            recorder.record(second(1));
            std::thread::sleep(Duration::from_millis(1));
        },
        "and finish" => {
            for _ in 0..2_000 {
                recorder.record(second(1));
                std::thread::sleep(Duration::from_micros(500));
            }
            assert_eq!(
                handle.finish().unwrap(),
                WriterReport {
                    written: 2_000,
                    merged: 0,
                    lost: 0
                }
            );
            store
                .end_run(
                    run,
                    Outcome::Finished,
                    None,
                    now_unix_ns(),
                    &serde_json::Value::Null,
                )
                .unwrap();
        }
        other => panic!("no such task: {other}"),
    }
}

#[test]
fn a_killed_run_is_readable_up_to_its_last_second() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weir.db");
    let mut child = start("until killed", &path);
    // Two seconds of recording, not of waiting for a busy machine to start a process.
    let rows = || {
        let connection = Connection::open(&path).ok()?;
        connection
            .query_row("SELECT count(*) FROM stream_seconds", [], |row| {
                row.get::<_, u64>(0)
            })
            .ok()
    };
    let give_up = Instant::now() + Duration::from_secs(60);
    while rows().unwrap_or(0) == 0 {
        assert!(Instant::now() < give_up, "the child stored nothing");
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_secs(2));
    child.kill().unwrap();
    let killed = now_unix_ns();
    child.wait().unwrap();

    let connection = Connection::open(&path).unwrap();
    let check: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
    let (rows, last): (u64, u64) = connection
        .query_row("SELECT count(*), max(unix_ns) FROM stream_seconds", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    let missing = Duration::from_nanos(killed.saturating_sub(last));
    assert!(
        missing < Duration::from_millis(2_500),
        "the last {missing:?} are missing"
    );
    assert!(rows > 100, "only {rows} rows");

    // A dead process looks like a silent one until the heartbeat is old enough.
    let store = Store::open_read_only(&path).unwrap();
    let run = || store.runs(&RunFilter::default()).unwrap().remove(0);
    let give_up = Instant::now() + Duration::from_secs(30);
    while run().outcome == Outcome::Running {
        assert!(Instant::now() < give_up, "the run still shows as running");
        std::thread::sleep(Duration::from_millis(200));
    }
    let run = run();
    assert_eq!(run.outcome, Outcome::Interrupted);
    assert!(now_unix_ns() - run.last_unix_ns > HEARTBEAT_LIMIT_NS);
    assert_eq!(run.ended_unix_ns, Some(run.last_unix_ns));
    assert!(run.last_unix_ns >= last);
    assert_eq!(store.records(run.id).unwrap().len() as u64, rows);
    drop(Store::open(&path).unwrap());
    assert_eq!(store.run(run.id).unwrap(), run);
}

#[test]
fn processes_that_start_and_write_at_once_all_store_everything() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weir.db");
    // The file does not exist yet: they also race to create it.
    let children: Vec<Child> = (0..4).map(|_| start("and finish", &path)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let store = Store::open(&path).unwrap();
    let runs = store.runs(&RunFilter::default()).unwrap();
    assert_eq!(runs.len(), 4);
    for run in runs {
        assert_eq!(
            (run.outcome, run.merged_records, run.lost_records),
            (Outcome::Finished, 0, 0)
        );
        let received: u64 = store
            .records(run.id)
            .unwrap()
            .iter()
            .map(|record| {
                if let Record::StreamSecond(_, row) = record {
                    row.received
                } else {
                    0
                }
            })
            .sum();
        assert_eq!(received, 2_000);
    }
}
