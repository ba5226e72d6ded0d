//! A database that goes away, comes back, is another one, or is held by somebody.

use rusqlite::Connection;
use weir_results::{SCHEMA_VERSION, Store};
use weir_ui::{Config, Limits, Server};

use crate::client::Ui;
use crate::sample::Sample;

fn bound(path: &std::path::Path) -> Result<(), String> {
    let server = Server::bind(Config {
        database: path.to_owned(),
        listen: "127.0.0.1:0".parse().unwrap(),
        token: None,
        limits: Limits::default(),
    });
    server.map(drop).map_err(|error| error.to_string())
}

#[test]
fn a_database_that_is_missing_strange_or_of_another_version_is_said_at_once() {
    let sample = Sample::new();
    let missing = sample.path.with_file_name("missing.db");
    let error = bound(&missing).unwrap_err();
    assert!(error.contains("missing.db") && !error.contains('\n'), "{error}");
    assert!(!missing.exists());
    let strange = sample.path.with_file_name("strange.db");
    std::fs::write(
        &strange,
        "no database at all, and long enough to be read as one".repeat(50),
    )
    .unwrap();
    assert!(bound(&strange).unwrap_err().contains("not a database"));
    for (version, advice) in [(SCHEMA_VERSION + 1, "newer Weir"), (2, "export its runs")] {
        let connection = Connection::open(&sample.path).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
        assert!(bound(&sample.path).unwrap_err().contains(advice));
    }
}

#[test]
fn the_page_outlives_its_database() {
    let mut sample = Sample::new();
    let run = sample.rtt("far.example");
    let ui = Ui::start(&sample.path);
    assert_eq!(ui.json("/api/v1/runs")["runs"][0]["run_id"], run.0);
    let away = sample.path.with_file_name("away.db");
    for (from, to) in [("weir.db", "away.db"), ("weir.db-wal", "away.db-wal")] {
        std::fs::rename(sample.path.with_file_name(from), sample.path.with_file_name(to)).unwrap();
    }
    std::fs::remove_file(sample.path.with_file_name("weir.db-shm")).unwrap();
    for path in [
        "/api/v1/runs".to_owned(),
        format!("/api/v1/runs/{run}/data"),
        format!("/api/v1/runs/{run}/events"),
    ] {
        let answer = ui.get(&path);
        assert_eq!(answer.header("retry-after"), Some("2"));
        let error = answer.error(503);
        assert!(error.contains("weir.db"), "{error}");
    }
    ui.change("DELETE", &format!("/api/v1/runs/{run}"), "").error(503);
    assert_eq!(ui.get("/").status, 200);
    // Another one in its place.
    let store = Store::open(&sample.path).unwrap();
    assert_eq!(ui.json("/api/v1/runs")["runs"].as_array().unwrap().len(), 0);
    drop(store);
    // And a newer one.
    Connection::open(&sample.path)
        .unwrap()
        .pragma_update(None, "user_version", SCHEMA_VERSION + 1)
        .unwrap();
    std::fs::rename(&sample.path, sample.path.with_file_name("newer.db")).unwrap();
    std::fs::copy(sample.path.with_file_name("newer.db"), &sample.path).unwrap();
    let error = ui.get("/api/v1/runs").error(503);
    assert!(error.contains("newer Weir"), "{error}");
    assert!(away.exists());
}

#[test]
fn a_database_that_is_held_is_read_and_not_written() {
    let mut sample = Sample::new();
    let run = sample.rtt("far.example");
    let ui = Ui::start(&sample.path);
    let holder = Connection::open(&sample.path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let path = format!("/api/v1/runs/{run}");
    assert_eq!(ui.json("/api/v1/runs")["runs"][0]["run_id"], run.0);
    let answer = ui.change("PATCH", &path, r#"{"note": "x"}"#);
    assert_eq!(answer.header("retry-after"), Some("2"));
    let error = answer.error(503);
    assert!(error.contains("locked"), "{error}");
    holder.execute_batch("ROLLBACK").unwrap();
    ui.change("PATCH", &path, r#"{"note": "x"}"#).expect(200);
}
