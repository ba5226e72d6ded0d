//! Which files are opened and which are refused, and with what words.

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
    assert_eq!(SCHEMA_VERSION, 6);
    assert_eq!(pragma("user_version"), "Integer(6)");
    assert_eq!(pragma("journal_mode"), "Text(\"wal\")");
    assert_eq!(pragma("integrity_check"), "Text(\"ok\")");
}

#[test]
fn a_newer_version_is_refused_and_left_alone() {
    let (_directory, path, _) = sample::database();
    Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", 7)
        .unwrap();
    for error in [
        Store::open(&path).unwrap_err(),
        Store::open_existing(&path).unwrap_err(),
        Store::open_read_only(&path).unwrap_err(),
        Writer::spawn(&path, RunId(1)).unwrap_err(),
    ] {
        assert!(
            matches!(
                error,
                StoreError::NewerVersion {
                    found: 7,
                    known: 6,
                    ..
                }
            ),
            "{error:?}"
        );
        assert!(error.to_string().contains("use a newer Weir"), "{error}");
    }
}

/// A file as version 1 made it: its tables, and the two numbers by which it is known.
#[test]
fn a_file_of_version_1_is_brought_up_to_date_by_the_first_reader_and_keeps_its_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weir.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(include_str!("../../src/schema_v1.sql"))
        .unwrap();
    connection
        .execute_batch(
            "PRAGMA user_version = 1; PRAGMA application_id = 0x57454952;
             INSERT INTO runs (kind, target, started_unix_ns, last_unix_ns, outcome, parameters, local_host,
                               weir_version)
             VALUES ('mtu', 'far', 1000, 2000, 'finished', '{}', '{}', '0.1.0');
             INSERT INTO mtu_probes (run_id, direction, unix_ns, size, acknowledged, refused_locally)
             VALUES (1, 'forward', 1500, 9000, 1, 0);",
        )
        .unwrap();
    drop(connection);
    let rows = Store::open_read_only(&path).unwrap().records(RunId(1)).unwrap();
    assert!(matches!(rows[..], [Record::MtuProbe(..)]), "{rows:?}");

    let run = sample::add_run(&path, &sample::records());
    let store = Store::open_read_only(&path).unwrap();
    assert_eq!(store.records(RunId(1)).unwrap().len(), 1);
    let links = store.records(run).unwrap();
    assert!(
        links
            .iter()
            .any(|record| matches!(record, Record::LinkSecond(..)))
    );
}

/// A file as version 2 made it.
#[test]
fn a_file_of_version_2_gets_empty_notes_and_no_tags_and_keeps_its_runs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weir.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(concat!(
            include_str!("../../src/schema_v1.sql"),
            include_str!("../../src/schema_v2.sql"),
            "PRAGMA user_version = 2; PRAGMA application_id = 0x57454952;
             INSERT INTO runs (kind, target, started_unix_ns, last_unix_ns, outcome, parameters, local_host,
                               weir_version)
             VALUES ('lab', 'far', 1000, 2000, 'finished', '{}', '{}', '0.1.0');"
        ))
        .unwrap();
    drop(connection);

    let store = Store::open_existing(&path).unwrap();
    let run = store.run(RunId(1)).unwrap();
    assert_eq!(
        (run.kind.as_str(), run.note.as_str(), run.tags.len()),
        ("lab", "", 0)
    );
    store.set_note(RunId(1), "before the move").unwrap();
    store.set_tags(RunId(1), &["old".to_string()]).unwrap();
    let run = Store::open_read_only(&path).unwrap().run(RunId(1)).unwrap();
    assert_eq!(
        (run.note.as_str(), run.tags),
        ("before the move", vec!["old".to_string()])
    );
}

/// A file as version 3 made it, by one who may only read it.
#[test]
fn a_file_of_version_3_gets_the_tables_of_carried_media() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weir.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(concat!(
            include_str!("../../src/schema_v1.sql"),
            include_str!("../../src/schema_v2.sql"),
            include_str!("../../src/schema_v3.sql"),
            "PRAGMA user_version = 3; PRAGMA application_id = 0x57454952;
             INSERT INTO runs (kind, target, started_unix_ns, last_unix_ns, outcome, parameters, local_host,
                               weir_version, note)
             VALUES ('rtt', 'far', 1000, 2000, 'finished', '{}', '{}', '0.1.0', 'kept');"
        ))
        .unwrap();
    drop(connection);
    let store = Store::open_read_only(&path).unwrap();
    assert_eq!(store.run(RunId(1)).unwrap().note, "kept");
    assert!(store.counts(RunId(1)).unwrap().contains(&(Table::SendSeconds, 0)));
    let run = sample::add_run(&path, &sample::records());
    let counts = store.counts(run).unwrap();
    for table in [Table::RecvSeconds, Table::FrameSeconds, Table::MediaEvents] {
        assert!(!counts.contains(&(table, 0)), "{counts:?}");
    }
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
    assert!(matches!(
        Store::open_read_only(&path).unwrap_err(),
        StoreError::NotWeir { .. }
    ));
    Store::open(&path).unwrap();
    Store::open_read_only(&path).unwrap();
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
