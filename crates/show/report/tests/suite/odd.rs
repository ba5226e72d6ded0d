//! Runs that are not as they should be, and databases that are not ours to read.

use rusqlite::Connection;
use serde_json::{Value, json};
use weir_diagnose::Options;
use weir_report::{ReportError, report_data};
use weir_results::*;
use weir_stats::FlowCounts;

use crate::sample::{SECOND, START, Sample, column, packets, quantiles, stream};

#[test]
fn an_empty_run_has_no_series_and_says_why_there_is_no_diagnosis() {
    let mut sample = Sample::new();
    let run = sample.run("rtt", None, &[]);
    let document = sample.document(&[run]);
    assert_eq!(document["format"], "weir-report-data");
    assert_eq!(
        (&document["version"], &document["made_unix_ns"]),
        (&json!(1), &json!(START + 60 * SECOND))
    );
    let shown = &document["runs"][0];
    assert_eq!(
        (&shown["series"], &shown["diagnosis"]),
        (&json!({}), &Value::Null)
    );
    assert!(
        shown["no_diagnosis"]
            .as_str()
            .unwrap()
            .contains("nothing to diagnose")
    );
    assert_eq!(shown["clock_steps"], json!([]));
    assert_eq!((&shown["note"], &shown["tags"]), (&json!(""), &json!([])));
}

#[test]
fn a_run_whose_packets_were_all_lost_has_no_distribution_and_no_quantiles() {
    let mut sample = Sample::new();
    let lost: Vec<Record> = packets()
        .into_iter()
        .map(|record| match record {
            Record::RttPacket(packet) => Record::RttPacket(RttPacket {
                rtt_ns: None,
                network_rtt_ns: None,
                lost: true,
                ..packet
            }),
            other => other,
        })
        .collect();
    let run = sample.run("rtt", None, &lost);
    let document = sample.document(&[run]);
    let series = document["runs"][0]["series"].as_object().unwrap();
    let names: Vec<&String> = series.keys().collect();
    assert_eq!(names, ["rtt_by_length", "rtt_by_position", "rtt_seconds"]);
    assert_eq!(column(&document, "rtt_by_length", "lost"), [Some(100); 3]);
    assert_eq!(column(&document, "rtt_by_length", "rtt_p90_ns"), [None; 3]);
    assert_eq!(column(&document, "rtt_seconds", "rtt_min_ns"), [None; 3]);
}

#[test]
fn a_run_without_an_end_is_read_up_to_its_last_row_and_a_dead_one_is_interrupted() {
    let mut sample = Sample::new();
    let run = sample.run("flows", None, &stream());
    Connection::open(&sample.path)
        .unwrap()
        .execute_batch(
            "UPDATE runs SET outcome = 'running', ended_unix_ns = NULL, summary = NULL,
                             last_unix_ns = started_unix_ns + 100000000000",
        )
        .unwrap();
    let document = sample.document(&[run]);
    let shown = &document["runs"][0];
    assert_eq!(shown["outcome"], "interrupted");
    assert_eq!(shown["ended_unix_ns"], shown["last_unix_ns"]);
    assert!(shown["diagnosis"].is_object());
    assert_eq!(column(&document, "flow_totals", "flow").len(), 6);
    sample.store.heartbeat(run).unwrap();
    Connection::open(&sample.path)
        .unwrap()
        .execute_batch("UPDATE runs SET outcome = 'running', ended_unix_ns = NULL")
        .unwrap();
    let document = sample.document(&[run]);
    assert_eq!(
        (
            &document["runs"][0]["outcome"],
            &document["runs"][0]["ended_unix_ns"]
        ),
        (&json!("running"), &Value::Null)
    );
}

/// The clock goes back by three seconds after the second second, to before the start.
#[test]
fn a_clock_that_steps_back_gives_negative_times_in_order_and_loses_nothing() {
    let mut sample = Sample::new();
    let ends = [1, 2, -1i64, 0, 1, 2].map(|second| START.saturating_add_signed(second * SECOND as i64));
    let mut records: Vec<Record> = ends
        .iter()
        .enumerate()
        .flat_map(|(number, unix_ns)| {
            let stream = StreamSecond {
                unix_ns: *unix_ns,
                duration_ns: SECOND,
                received: 1 << number,
                owd: quantiles(1, 10),
                ..StreamSecond::default()
            };
            let flow = FlowSecond {
                unix_ns: *unix_ns,
                owd: quantiles(1, 10),
                counts: FlowCounts {
                    lost: 1 << number,
                    received: 5,
                    ..FlowCounts::default()
                },
                ..FlowSecond::default()
            };
            [
                Record::StreamSecond(Direction::Forward, stream),
                Record::FlowSecond(Direction::Forward, flow),
            ]
        })
        .collect();
    records.extend(ends.iter().enumerate().map(|(sequence, unix_ns)| {
        Record::RttPacket(RttPacket {
            sequence: sequence as u64,
            sent_unix_ns: unix_ns + 5,
            rtt_ns: Some(100 + sequence as u64),
            ..RttPacket::default()
        })
    }));
    let run = sample.run("flows", None, &records);
    let document = sample.document(&[run]);
    // The stream's third second began at -2, when 2 had been reached; the third packet left at -1.
    let step = |unix_ns: u64, seconds: u64| json!({ "unix_ns": unix_ns, "back_ns": seconds * SECOND });
    assert_eq!(
        document["runs"][0]["clock_steps"],
        json!([step(START - 2 * SECOND, 4), step(START - SECOND + 5, 3)])
    );
    let seconds = |seconds: &[i64]| -> Vec<Option<i64>> {
        seconds
            .iter()
            .map(|second| Some(second * SECOND as i64))
            .collect()
    };
    assert_eq!(
        column(&document, "stream_seconds", "at_ns"),
        seconds(&[-2, -1, 0, 0, 1, 1])
    );
    assert_eq!(
        column(&document, "stream_seconds", "received"),
        [4, 8, 1, 16, 2, 32].map(Some)
    );
    assert_eq!(
        column(&document, "flow_events", "at_ns"),
        seconds(&[-2, -1, 0, 0, 1, 1])
    );
    assert_eq!(
        column(&document, "flow_bins", "lost"),
        [4, 8, 1, 16, 2, 32].map(Some)
    );
    assert_eq!(column(&document, "rtt_seconds", "at_ns"), seconds(&[-1, 0, 1, 2]));
    assert_eq!(column(&document, "rtt_seconds", "sent"), [1, 1, 2, 2].map(Some));
    assert_eq!(
        column(&document, "rtt_seconds", "rtt_max_ns"),
        [102, 103, 104, 105].map(Some)
    );
}

#[test]
fn a_survey_comes_with_its_parts_in_their_order_and_every_run_once() {
    let mut sample = Sample::new();
    let survey = sample.run("survey", None, &[]);
    let rtt = sample.run("rtt", Some(survey), &packets());
    let flows = sample.run("flows", Some(survey), &stream());
    let other = sample.run("rtt", None, &packets());
    let ids = |document: &Value| -> Vec<i64> {
        let runs = document["runs"].as_array().unwrap();
        runs.iter().map(|run| run["run_id"].as_i64().unwrap()).collect()
    };
    let document = sample.document(&[other, survey, other]);
    assert_eq!(ids(&document), [other.0, survey.0, rtt.0, flows.0]);
    let diagnosed: Vec<bool> = document["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["diagnosis"].is_object())
        .collect();
    assert_eq!(diagnosed, [true, true, false, false]);
    assert_eq!(document["runs"][2]["no_diagnosis"], Value::Null);
    assert_eq!(document["runs"][2]["parent_run_id"], json!(survey.0));
    // A part that is asked for by itself is diagnosed.
    let document = sample.document(&[flows]);
    assert_eq!(ids(&document), [flows.0]);
    assert!(document["runs"][0]["diagnosis"].is_object());
}

#[test]
fn runs_that_are_not_there_and_newer_databases_are_refused() {
    let mut sample = Sample::new();
    let run = sample.run("rtt", None, &packets());
    let error = report_data(&sample.store, &[run, RunId(9)], 0, &Options::default()).unwrap_err();
    assert!(
        matches!(
            &error,
            ReportError::Store(StoreError::RunNotFound { run: RunId(9), .. })
        ),
        "{error:?}"
    );
    assert!(error.to_string().contains("has no run 9"), "{error}");
    Connection::open(&sample.path)
        .unwrap()
        .pragma_update(None, "user_version", SCHEMA_VERSION + 1)
        .unwrap();
    let error = ReportError::from(Store::open_read_only(&sample.path).unwrap_err());
    assert!(error.to_string().contains("use a newer Weir"), "{error}");
}
