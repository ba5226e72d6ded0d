//! Records are read back as stored, the views match what an analysis script expects, runs end correctly.

use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::{Value, json};
use weir_results::*;

use crate::sample;

#[test]
fn every_record_comes_back_as_it_went_in() {
    let (_directory, path, run) = sample::database();
    let store = Store::open_read_only(&path).unwrap();
    let stored = store.records(run).unwrap();
    let counts = store.counts(run).unwrap();
    for table in Table::ALL {
        let of_table = |records: &[Record]| -> Vec<Record> {
            records
                .iter()
                .filter(|record| Table::of(record) == table)
                .cloned()
                .collect()
        };
        let expected = of_table(&sample::records());
        assert!(!expected.is_empty(), "the sample has no {table}");
        assert_eq!(of_table(&stored), expected, "{table}");
        assert!(counts.contains(&(table, expected.len() as u64)), "{counts:?}");
        assert_eq!(table.name().parse::<Table>().unwrap(), table);
    }
    let error = "packets".parse::<Table>().unwrap_err().to_string();
    assert!(
        error.contains("'packets'") && error.contains("rtt_packets"),
        "{error}"
    );
}

#[test]
fn appended_records_are_those_that_a_writer_stores_and_only_of_a_run_that_exists() {
    let (_directory, path, written) = sample::database();
    let mut store = Store::open(&path).unwrap();
    let appended = store.begin_run(&sample::new_run()).unwrap();
    store.append(appended, &sample::records()).unwrap();
    assert_eq!(store.records(appended).unwrap(), store.records(written).unwrap());
    assert_eq!(store.run(appended).unwrap().outcome, Outcome::Running);
    let nobody = RunId(appended.0 + 1);
    assert!(store.append(nobody, &sample::records()).is_err());
    assert_eq!(store.runs(&RunFilter::default()).unwrap().len(), 2);
}

#[test]
fn numbers_at_the_edge_are_kept_or_clamped_and_never_stop_the_writer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weir.db");
    let mut packet = RttPacket {
        sequence: u64::MAX,
        position: u32::MAX,
        rtt_ns: Some(u64::MAX),
        owd_forward_ns: Some(i64::MIN),
        delta_ttl: Some(i32::MIN),
        ..Default::default()
    };
    let mut host = HostSecond {
        cpu_weir: 0.5,
        ..HostSecond::default()
    };
    host.cpu_busy = f64::NAN;
    host.cpu_steal = f64::INFINITY;
    let run = sample::add_run(
        &path,
        &[Record::RttPacket(packet.clone()), Record::HostSecond(host)],
    );

    let stored = Store::open_read_only(&path).unwrap().records(run).unwrap();
    packet.sequence = i64::MAX as u64;
    packet.rtt_ns = Some(i64::MAX as u64);
    assert_eq!(stored[0], Record::RttPacket(packet));
    let Record::HostSecond(host) = &stored[1] else {
        panic!("{stored:?}")
    };
    assert!(host.cpu_busy.is_nan() && host.cpu_steal.is_nan());
    assert_eq!(host.cpu_weir, 0.5);
}

#[test]
fn words_that_no_table_takes_are_counted_as_lost_and_stop_neither_the_writer_nor_other_rows() {
    let (_directory, path, _) = sample::database();
    let mut store = Store::open(&path).unwrap();
    let run = store.begin_run(&sample::new_run()).unwrap();
    let change = |state: &str| {
        Record::FlowChange(FlowChange {
            state: state.into(),
            ..FlowChange::default()
        })
    };
    let event = |event: &str| {
        Record::MediaEvent(MediaEvent {
            event: event.into(),
            state: "happened".into(),
            ..MediaEvent::default()
        })
    };
    let (recorder, handle) = Writer::spawn(&path, run).unwrap();
    let records = [change("used"), change("gone"), event(""), event("stopped")];
    for record in records.clone() {
        recorder.record(record);
    }
    let report = handle.finish().unwrap();
    assert_eq!(
        report,
        WriterReport {
            written: 2,
            merged: 0,
            lost: 2
        }
    );
    let kept = [change("used"), event("stopped")];
    assert_eq!(store.records(run).unwrap(), kept);
    assert_eq!(store.run(run).unwrap().lost_records, 2);

    // `append` returns the error, and nothing is stored.
    assert!(store.append(run, &records).is_err());
    assert_eq!(store.records(run).unwrap(), kept);
}

/// The names of the columns of a query, and all its rows.
fn select(connection: &Connection, sql: &str) -> (String, Vec<Vec<Cell>>) {
    let mut statement = connection.prepare(sql).unwrap();
    let names = statement.column_names().join(" ");
    let columns = statement.column_count();
    let rows = statement
        .query_map([], |row| (0..columns).map(|index| row.get(index)).collect())
        .unwrap()
        .map(Result::unwrap)
        .collect();
    (names, rows)
}

fn cells<const N: usize>(values: [i64; N]) -> Vec<Cell> {
    values.into_iter().map(Cell::Integer).collect()
}

#[test]
fn the_view_rtt_has_a_row_per_packet_and_nulls_for_lost_ones() {
    let (_directory, path, run) = sample::database();
    let connection = Connection::open(&path).unwrap();
    let (names, rows) = select(&connection, "SELECT * FROM rtt");
    assert_eq!(
        names,
        "id sequence_number window_size packet_length rtt delta_ttl run_id"
    );
    assert_eq!(rows.len(), 21);
    assert_eq!(rows[0], cells([1, 0, 7, 100, 100, 0, run.0]));
    assert_eq!(rows[1], cells([2, 1, 7, 100, 800, 1, run.0]));
    let lost = [cells([6, 5]), vec![Cell::Null; 4], cells([run.0])].concat();
    assert_eq!(rows[5], lost);
    assert_eq!(rows[20], cells([21, 20, 7, 1400, 800, 1, run.0]));
}

#[test]
fn the_view_drops_counts_on_per_run_and_direction() {
    let (_directory, path, run) = sample::database();
    let other = sample::add_run(&path, &sample::records());
    let connection = Connection::open(&path).unwrap();
    let (names, rows) = select(&connection, "SELECT * FROM drops");
    assert_eq!(
        names,
        "x packets_dropped packets_total duplicates media_rate timestamp run_id"
    );
    // Received 100 + 200 + 50 forward and 40 in reverse; each packet of the sample is 10 Mbit.
    let row = |x, [dropped, total, duplicates]: [i64; 3], rate, timestamp, run: RunId| {
        let counts = cells([x, dropped, total, duplicates]);
        [counts, vec![Cell::Real(rate)], cells([timestamp, run.0])].concat()
    };
    assert_eq!(
        rows,
        [
            row(1, [5, 100, 1], 1.0, 2_000, run),
            row(2, [7, 40, 0], 0.4, 2_000, run),
            row(3, [5, 300, 3], 2.0, 3_000, run),
            row(4, [15, 350, 7], 0.5, 4_000, run),
            row(5, [5, 100, 1], 1.0, 2_000, other),
            row(6, [7, 40, 0], 0.4, 2_000, other),
            row(7, [5, 300, 3], 2.0, 3_000, other),
            row(8, [15, 350, 7], 0.5, 4_000, other),
        ]
    );
    // Asked for one run, SQLite reads that run by its index and not the whole table.
    let (_, plan) = select(
        &connection,
        &format!("EXPLAIN QUERY PLAN SELECT * FROM drops WHERE run_id = {other}"),
    );
    let plan = format!("{plan:?}");
    assert!(
        plan.contains("SEARCH stream_seconds USING INDEX stream_seconds_by_run"),
        "{plan}"
    );
}

#[test]
fn the_burst_views_have_a_row_per_burst() {
    let (_directory, path, run) = sample::database();
    let connection = Connection::open(&path).unwrap();
    let (names, rows) = select(&connection, "SELECT * FROM bursts");
    assert_eq!(
        names,
        "x port packets_received bytes_received burst_errors burst_length timestamp run_id"
    );
    assert_eq!(
        rows,
        [
            cells([1, 5678, 20, 20_000, 1, 3, 1_500, run.0]),
            cells([2, 5679, 21, 21_000, 1, 2, 1_510, run.0]),
            cells([3, 5679, 30, 30_000, 2, 1, 1_900, run.0]),
            cells([4, 5679, 55, 55_000, 3, 8, 2_400, run.0]),
            cells([5, 5678, 180, 180_000, 2, 2, 3_500, run.0]),
        ]
    );
    let (names, rows) = select(&connection, "SELECT * FROM sbursts");
    assert_eq!(names, "x burst_length timestamp run_id");
    assert_eq!(
        rows,
        [
            cells([1, 5, 1_500, run.0]),
            cells([2, 7, 1_600, run.0]),
            cells([3, 10, 3_500, run.0])
        ]
    );
}

#[test]
fn the_view_flows_counts_on_per_flow() {
    let (_directory, path, run) = sample::database();
    let connection = Connection::open(&path).unwrap();
    let (names, rows) = select(&connection, "SELECT * FROM flows");
    assert_eq!(
        names,
        "x port burst_count reverses duplicates longest_burst sequence_breaks timestamp run_id"
    );
    assert_eq!(
        rows,
        [
            cells([1, 5678, 1, 0, 2, 3, 1, 2_000, run.0]),
            cells([2, 5679, 2, 1, 2, 2, 5, 2_000, run.0]),
            cells([3, 5678, 1, 4, 4, 3, 9, 3_000, run.0]),
            cells([4, 5679, 3, 1, 4, 8, 6, 3_000, run.0]),
            cells([5, 5678, 2, 4, 6, 3, 10, 4_000, run.0]),
        ]
    );
}

#[test]
fn seconds_without_delays_or_time_give_null_not_zero() {
    let (_directory, path, _) = sample::database();
    let connection = Connection::open(&path).unwrap();
    let (_, rows) = select(
        &connection,
        "SELECT owd_count, owd_p50_ns, owd_max_ns FROM flow_seconds WHERE flow = 1",
    );
    assert_eq!(rows[0], [Cell::Integer(0), Cell::Null, Cell::Null]);
    connection
        .execute("UPDATE stream_seconds SET duration_ns = 0", [])
        .unwrap();
    let (_, rows) = select(&connection, "SELECT media_rate FROM drops");
    assert_eq!(rows[0], [Cell::Null]);
}

#[test]
fn a_run_tells_what_it_was_and_how_it_ended() {
    let (_directory, path, id) = sample::database();
    let store = Store::open_existing(&path).unwrap();
    let run = store.run(id).unwrap();
    assert_eq!(
        (run.kind.as_str(), run.target.as_str()),
        ("survey", "far.example:5678")
    );
    assert_eq!((run.started_unix_ns, run.ended_unix_ns), (1_000, Some(9_000)));
    assert_eq!((run.outcome, run.reason), (Outcome::Finished, None));
    assert_eq!(run.parameters, json!({"flows": 2, "rate": 1_000_000_000u64}));
    assert_eq!(run.local_host, json!({"host_name": "near"}));
    assert_eq!(run.remote_host, json!({"host_name": "far", "mtu": 9001}));
    assert_eq!(run.summary, json!({"loss": 0.25}));
    assert_eq!(
        (run.weir_version.as_str(), run.merged_records, run.lost_records),
        ("0.1.0", 0, 0)
    );

    let second = store
        .begin_run(&NewRun {
            parent: Some(id),
            started_unix_ns: 2_000,
            ..sample::new_run()
        })
        .unwrap();
    assert_eq!(store.run(second).unwrap().outcome, Outcome::Running);
    store
        .end_run(second, Outcome::Failed, Some("no answer"), 3_000, &Value::Null)
        .unwrap();
    let failed = store.run(second).unwrap();
    assert_eq!(
        (failed.outcome, failed.reason.as_deref()),
        (Outcome::Failed, Some("no answer"))
    );
    assert_eq!((failed.parent, failed.remote_host), (Some(id), Value::Null));

    let third = store
        .begin_run(&NewRun {
            kind: "rtt".into(),
            started_unix_ns: 3_000,
            ..sample::new_run()
        })
        .unwrap();
    let listed = |filter: fn(&mut RunFilter, RunId)| -> Vec<RunId> {
        let mut wanted = RunFilter::default();
        filter(&mut wanted, id);
        let runs = store.runs(&wanted).unwrap();
        runs.into_iter().map(|run| run.id).collect()
    };
    assert_eq!(listed(|_, _| ()), [third, second, id]);
    assert_eq!(listed(|filter, _| filter.limit = Some(1)), [third]);
    let surveys = listed(|filter, _| filter.kinds = vec!["survey".into()]);
    assert_eq!(surveys, [second, id]);
    let both = listed(|filter, _| filter.kinds = vec!["rtt".into(), "survey".into()]);
    assert_eq!(both.len(), 3);
    assert_eq!(listed(|filter, id| filter.parent = Some(id)), [second]);
    store.heartbeat(third).unwrap();

    let error = store
        .end_run(third, Outcome::Running, None, 1, &Value::Null)
        .unwrap_err();
    assert!(matches!(error, StoreError::NotAnEnd { .. }));
    for error in [
        store.run(RunId(99)).unwrap_err(),
        store.counts(RunId(99)).unwrap_err(),
        store.records(RunId(99)).unwrap_err(),
        store.set_remote_host(RunId(99), &Value::Null).unwrap_err(),
        store
            .end_run(RunId(99), Outcome::Finished, None, 1, &Value::Null)
            .unwrap_err(),
        store.delete_run(RunId(99)).unwrap_err(),
        Writer::spawn(&path, RunId(99)).unwrap_err(),
    ] {
        assert!(
            matches!(error, StoreError::RunNotFound { run: RunId(99), .. }),
            "{error:?}"
        );
    }
}

#[test]
fn deletion_takes_records_and_parts_along_and_spares_what_runs() {
    let (_directory, path, id) = sample::database();
    let store = Store::open(&path).unwrap();
    let kept = sample::add_run(&path, &sample::records());
    let part = store
        .begin_run(&NewRun {
            parent: Some(id),
            ..sample::new_run()
        })
        .unwrap();
    let error = store.delete_runs(&[kept, id]).unwrap_err();
    assert!(
        matches!(error, StoreError::StillRunning { run, .. } if run == part),
        "{error}"
    );
    assert!(store.run(kept).is_ok(), "all or none");
    store
        .end_run(part, Outcome::Interrupted, None, 5, &Value::Null)
        .unwrap();

    store.delete_runs(&[id, part]).unwrap();
    let connection = Connection::open(&path).unwrap();
    for table in Table::ALL {
        let (_, rows) = select(&connection, &format!("SELECT DISTINCT run_id FROM {table}"));
        assert_eq!(rows, [cells([kept.0])], "{table}");
    }
    assert_eq!(store.runs(&RunFilter::default()).unwrap().len(), 1);
    store.delete_run(kept).unwrap();
    let next = store.begin_run(&sample::new_run()).unwrap();
    assert!(next > part, "a number is not used twice");
}
