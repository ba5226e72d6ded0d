//! Which files are opened and which are refused, and the errors.

use std::fs;

use rusqlite::Connection;
use weir_results::*;

use crate::sample;

#[test]
fn a_new_database_has_the_settings_and_version_that_it_should() {
    let (_directory, path, _) = sample::database();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.path(), path);
    let connection = Connection::open(&path).unwrap();
    let pragma = |name: &str| -> String {
        let value: rusqlite::types::Value = connection
            .query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
            .unwrap();
        format!("{value:?}")
    };
    assert_eq!(SCHEMA_VERSION, 7);
    assert_eq!(pragma("user_version"), "Integer(7)");
    assert_eq!(pragma("journal_mode"), "Text(\"wal\")");
    assert_eq!(pragma("integrity_check"), "Text(\"ok\")");
}

#[test]
fn other_versions_are_refused_in_one_line_and_left_alone() {
    let (_directory, path, _) = sample::database();
    for (version, advice) in [
        (1, "export its runs with the Weir that wrote it"),
        (6, "export its runs with the Weir that wrote it"),
        (8, "use a newer Weir"),
    ] {
        Connection::open(&path)
            .unwrap()
            .pragma_update(None, "user_version", version)
            .unwrap();
        let before = fs::read(&path).unwrap();
        for error in [
            Store::open(&path).unwrap_err(),
            Store::open_existing(&path).unwrap_err(),
            Store::open_read_only(&path).unwrap_err(),
            Writer::spawn(&path, RunId(1)).unwrap_err(),
        ] {
            let found = match error {
                StoreError::NewerVersion { found, known: 7, .. } => found,
                StoreError::OlderVersion { found, known: 7, .. } => found,
                other => panic!("{other:?}"),
            };
            assert_eq!(found, version);
            let line = error.to_string();
            assert!(line.contains(advice) && !line.contains('\n'), "{line}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

/// A database that the last code of several schema steps wrote, with runs of three kinds.
const VERSION_7: &str = include_str!("../data/version_7.sql");

/// The structure of a database: every table, view and index with its columns.
fn structure(connection: &Connection) -> Vec<[rusqlite::types::Value; 8]> {
    let sql = "SELECT m.type, m.tbl_name, m.name, c.name, c.type, c.\"notnull\", c.dflt_value, c.pk
               FROM sqlite_master AS m LEFT JOIN pragma_table_info(m.name) AS c ORDER BY m.type, m.name, c.name";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement
        .query_map([], |row| {
            let mut columns = [const { rusqlite::types::Value::Null }; 8];
            for (index, column) in columns.iter_mut().enumerate() {
                *column = row.get(index)?;
            }
            Ok(columns)
        })
        .unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn a_database_of_the_last_version_is_read_as_it_is_and_written() {
    let (directory, new, _) = sample::database();
    let path = directory.path().join("old.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(VERSION_7).unwrap();
    let before = structure(&connection);

    let store = Store::open_read_only(&path).unwrap();
    let runs = store.runs(&RunFilter::default()).unwrap();
    let seen: Vec<_> = runs
        .iter()
        .map(|run| (run.id.0, run.kind.as_str(), run.note.as_str()))
        .collect();
    assert_eq!(
        seen,
        [(3, "mesh", ""), (2, "flows", ""), (1, "rtt", "before the move")]
    );
    assert_eq!(runs[2].tags, ["office"]);
    let records = store.records(RunId(1)).unwrap();
    assert_eq!(records.len(), 6, "4 packets, and a second of each host");
    let Record::RttPacket(packet) = &records[0] else {
        panic!("{records:?}")
    };
    assert_eq!(
        (packet.rtt_ns, packet.owd_reverse_ns),
        (Some(74_369), Some(6_268))
    );
    let records = store.records(RunId(2)).unwrap();
    assert_eq!(records.len(), 23);
    let marks = records.iter().filter_map(|record| match record {
        Record::FlowSecond(_, second) => Some(second.counts.ecn_marked),
        _ => None,
    });
    assert!(
        marks.clone().count() > 0 && marks.sum::<u64>() == 0,
        "a counter that came later"
    );
    assert_eq!(structure(&connection), before, "it was only read");
    let tests = store.mesh_tests(&MeshFilter::default()).unwrap();
    assert_eq!((tests[0].0, tests[0].1.to.cloud.as_str()), (RunId(3), "gcp"));
    let verdict = store.verdict(RunId(2), "0.1.0").unwrap().flatten().unwrap();
    assert_eq!((verdict.faults, verdict.notices), (0, 1));

    let run = sample::add_run(&path, &sample::records());
    assert_eq!(
        structure(&connection),
        structure(&Connection::open(&new).unwrap())
    );
    let store = Store::open_read_only(&path).unwrap();
    assert_eq!(store.records(run).unwrap().len(), sample::records().len());
}

#[test]
fn what_is_no_database_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    for garbage in ["short".to_string(), "not a database, ".repeat(1_000)] {
        fs::write(&path, &garbage).unwrap();
        for result in [
            Store::open(&path),
            Store::open_existing(&path),
            Store::open_read_only(&path),
        ] {
            let error = result.unwrap_err();
            assert!(matches!(error, StoreError::NotADatabase { .. }), "{error:?}");
            assert!(
                error.to_string().contains("notes.txt is not a database"),
                "{error}"
            );
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), garbage);
    }
}

#[test]
fn databases_of_other_programs_are_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("other.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE runs (a)")
        .unwrap();
    let before = fs::read(&path).unwrap();
    for result in [
        Store::open(&path),
        Store::open_existing(&path),
        Store::open_read_only(&path),
    ] {
        let error = result.unwrap_err();
        assert!(matches!(error, StoreError::NotWeir { .. }), "{error:?}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn nothing_to_read_is_said_plainly_and_makes_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weir.db");
    for result in [Store::open_existing(&path), Store::open_read_only(&path)] {
        let error = result.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { .. }), "{error:?}");
        assert!(error.to_string().contains("run a measurement first"), "{error}");
    }
    assert!(!path.exists());
    let error = Store::open(directory.path().join("nowhere/weir.db")).unwrap_err();
    assert!(
        error.to_string().contains("check that its directory exists"),
        "{error}"
    );

    // An empty file, as `touch` or `mktemp` leaves it, is good to write to and nothing to read.
    fs::write(&path, "").unwrap();
    let empty = Store::open_read_only(&path).unwrap_err();
    assert!(matches!(empty, StoreError::Empty { .. }), "{empty:?}");
    // While somebody creates its tables, a reader waits for them.
    let reader = std::thread::spawn({
        let path = path.clone();
        move || Store::open_read_only(&path).map(drop)
    });
    Store::open(&path).unwrap();
    reader.join().unwrap().unwrap();
}

#[test]
fn a_reader_shows_a_dead_run_as_interrupted_and_the_next_writer_marks_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weir.db");
    let run = Store::open(&path).unwrap().begin_run(&sample::new_run()).unwrap();
    let connection = Connection::open(&path).unwrap();
    let outcome = || -> String {
        connection
            .query_row("SELECT outcome FROM runs", [], |row| row.get(0))
            .unwrap()
    };
    let fresh = Store::open(&path).unwrap();
    assert_eq!(
        fresh.run(run).unwrap().outcome,
        Outcome::Running,
        "a heartbeat of just now is no death"
    );

    connection
        .execute("UPDATE runs SET last_unix_ns = last_unix_ns - 11000000000", [])
        .unwrap();
    let reader = Store::open_read_only(&path).unwrap();
    let shown = reader.run(run).unwrap();
    assert_eq!(shown.outcome, Outcome::Interrupted);
    assert_eq!(shown.ended_unix_ns, Some(shown.last_unix_ns));
    assert_eq!(
        reader.runs(&RunFilter::default()).unwrap(),
        std::slice::from_ref(&shown)
    );
    assert_eq!(outcome(), "running", "a reader writes nothing");

    drop(Store::open_existing(&path).unwrap());
    assert_eq!(outcome(), "interrupted");
    assert_eq!(reader.run(run).unwrap(), shown);
}
