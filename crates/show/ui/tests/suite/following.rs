//! Runs that another connection records while the test listens.

use std::time::Duration;

use serde_json::{Value, json};
use weir_results::{Direction, NewRun, Outcome, Record, RecvSecond, RunId, Store, StreamSecond, TcpSecond};
use weir_stats::ArrivalCounters;
use weir_ui::Limits;

use crate::client::{Answer, Ui};
use crate::described::conforms;
use crate::sample::{SECOND, START, Sample, now, packets, stream_second};

fn quick() -> Limits {
    Limits {
        refresh: Duration::from_millis(50),
        ..Limits::default()
    }
}

/// A run that begins now.
fn begin(store: &Store, kind: &str, parent: Option<RunId>, parameters: Value) -> RunId {
    let new = NewRun {
        kind: kind.into(),
        target: "far.example".into(),
        parent,
        parameters,
        started_unix_ns: now(),
        ..NewRun::default()
    };
    store.begin_run(&new).unwrap()
}

fn end(store: &Store, run: RunId, outcome: Outcome) {
    store.end_run(run, outcome, None, now(), &Value::Null).unwrap();
}

/// Reads until there is a progress as looked for.
#[track_caller]
fn until(events: &mut Answer, look: impl Fn(&Value) -> bool) -> Value {
    loop {
        let (name, data) = events.event().expect("the stream goes on");
        assert_eq!(name, "progress", "{data}");
        conforms("Progress", &data);
        if look(&data) {
            return data;
        }
    }
}

/// Reads on to the end.
#[track_caller]
fn ended(events: &mut Answer) -> Value {
    loop {
        let (name, data) = events.event().expect("the stream goes on");
        if name == "ended" {
            conforms("Ended", &data);
            assert_eq!(events.event(), None);
            return data;
        }
    }
}

/// For received media the loss is the residual loss, and the rate is the sum of all senders.
#[test]
fn media_that_is_received_is_followed_after_repair() {
    let sample = Sample::new();
    let mut store = Store::open(&sample.path).unwrap();
    let run = begin(&store, "recv", None, json!({ "from": ["a", "b"] }));
    let ui = Ui::start_with(&sample.path, None, quick());
    let mut events = ui.get(&format!("/api/v1/runs/{run}/events")).expect(200);
    let second = |sender, [received, lost, unrepaired]: [u64; 3]| {
        Record::RecvSecond(RecvSecond {
            unix_ns: START + SECOND,
            duration_ns: SECOND,
            sender,
            counts: ArrivalCounters {
                received,
                bytes: received * 1_000,
                lost,
                recovered: lost - unrepaired,
                unrepaired,
                ..ArrivalCounters::default()
            },
            ..RecvSecond::default()
        })
    };
    store
        .append(run, &[second(0, [950, 50, 0]), second(1, [900, 100, 5])])
        .unwrap();
    let seen = until(&mut events, |data| data["loss"].is_number());
    assert_eq!(
        (&seen["rate_bits"], &seen["loss"]),
        (&json!(1_850 * 8_000), &json!(5.0 / 2_000.0))
    );
    end(&store, run, Outcome::Finished);
    assert_eq!(ended(&mut events)["outcome"], "finished");
    let list = ui.json("/api/v1/runs?kind=recv");
    conforms("List", &list);
    assert_eq!(
        (&list["runs"][0]["run_id"], &list["runs"][0]["verdict"]),
        (&json!(run.0), &Value::Null)
    );
    let data = ui.json(&format!("/api/v1/runs/{run}/data"));
    assert_eq!(data["runs"][0]["series"]["recv_seconds"]["rows"], 2);
}

#[test]
fn what_is_recorded_is_seen_until_the_run_ends() {
    let sample = Sample::new();
    let mut store = Store::open(&sample.path).unwrap();
    let run = begin(&store, "flows", None, json!({ "duration_ns": 3_600 * SECOND }));
    let ui = Ui::start_with(&sample.path, None, quick());
    let mut events = ui.get(&format!("/api/v1/runs/{run}/events")).expect(200);
    assert_eq!(events.header("content-type"), Some("text/event-stream"));
    let (name, first) = events.event().unwrap();
    assert_eq!(name, "progress");
    conforms("Progress", &first);
    assert_eq!(
        (&first["rate_bits"], &first["loss"]),
        (&Value::Null, &Value::Null)
    );
    let (elapsed, left) = (
        first["elapsed_ns"].as_u64().unwrap(),
        first["left_ns"].as_u64().unwrap(),
    );
    assert_eq!(elapsed + left, 3_600 * SECOND);

    store.append(run, &[stream_second(1, 0)]).unwrap();
    let seen = until(&mut events, |data| data["loss"] == 0.0);
    assert_eq!(seen["rate_bits"], 10_000_000);
    store.append(run, &[stream_second(2, 10)]).unwrap();
    let seen = until(&mut events, |data| data["rate_bits"] == 9_900_000);
    assert_eq!(seen["loss"], 0.005);
    store
        .append(run, &[stream_second(3, 0), stream_second(4, 1_000)])
        .unwrap();
    let seen = until(&mut events, |data| data["rate_bits"] == 0);
    assert_eq!(seen["loss"], 0.2525);
    assert!(seen["elapsed_ns"].as_u64().unwrap() > elapsed);
    end(&store, run, Outcome::Interrupted);
    assert_eq!(ended(&mut events), json!({ "outcome": "interrupted" }));
}

#[test]
fn of_a_survey_the_newest_step_is_seen() {
    let sample = Sample::new();
    let mut store = Store::open(&sample.path).unwrap();
    let survey = begin(&store, "survey", None, json!({ "step_ns": SECOND }));
    let ui = Ui::start_with(&sample.path, None, quick());
    let mut events = ui.get(&format!("/api/v1/runs/{survey}/events")).expect(200);
    let rtt = begin(
        &store,
        "rtt",
        Some(survey),
        json!({ "rtt": { "duration_ns": 9 * SECOND } }),
    );
    store.append(rtt, &packets(94)).unwrap();
    let seen = until(&mut events, |data| data["loss"].is_number());
    assert_eq!(seen["loss"], 2.0 / 94.0);
    assert_eq!(
        (&seen["left_ns"], &seen["rate_bits"]),
        (&Value::Null, &Value::Null)
    );
    store.append(rtt, &packets(46)).unwrap();
    until(&mut events, |data| data["loss"] == 2.0 / 140.0);
    // The step by itself has a plan.
    let mut step = ui.get(&format!("/api/v1/runs/{rtt}/events")).expect(200);
    let (_, data) = step.event().unwrap();
    assert!(
        data["left_ns"].as_u64().is_some_and(|left| left <= 9 * SECOND),
        "{data}"
    );
    end(&store, rtt, Outcome::Finished);
    ended(&mut step);

    let tcp = begin(&store, "tcp", Some(survey), json!({}));
    let second = |unix_ns: u64, stream: u16| {
        Record::TcpSecond(
            Direction::Forward,
            TcpSecond {
                unix_ns,
                duration_ns: SECOND / 2,
                streams: 2,
                stream,
                bytes: 1_000_000,
                retransmits: 0,
                rtt_ns: 0,
                cwnd_bytes: 0,
                congestion_control: "cubic".into(),
            },
        )
    };
    let records: Vec<Record> = (1..4)
        .flat_map(|n| [second(START + n * SECOND, 0), second(START + n * SECOND + 9, 1)])
        .collect();
    store.append(tcp, &records).unwrap();
    let seen = until(&mut events, |data| data["rate_bits"].is_number());
    assert_eq!(
        (&seen["rate_bits"], &seen["loss"]),
        (&json!(32_000_000), &Value::Null)
    );
    end(&store, tcp, Outcome::Finished);
    end(&store, survey, Outcome::Failed);
    assert_eq!(ended(&mut events), json!({ "outcome": "failed" }));
}

#[test]
fn both_directions_are_added_where_both_are_measured() {
    let sample = Sample::new();
    let mut store = Store::open(&sample.path).unwrap();
    let run = begin(&store, "flows", None, json!({}));
    let reverse = Record::StreamSecond(
        Direction::Reverse,
        StreamSecond {
            unix_ns: START + SECOND + 4,
            duration_ns: 2 * SECOND,
            received: 90,
            bytes: 1_000_000,
            lost: 10,
            ..StreamSecond::default()
        },
    );
    store.append(run, &[stream_second(1, 0), reverse]).unwrap();
    let ui = Ui::start_with(&sample.path, None, quick());
    let mut events = ui.get(&format!("/api/v1/runs/{run}/events")).expect(200);
    let (_, data) = events.event().unwrap();
    assert_eq!(
        (&data["rate_bits"], &data["left_ns"]),
        (&json!(14_000_000), &Value::Null)
    );
    assert_eq!(data["loss"], 10.0 / 1_100.0);
}

#[test]
fn a_run_that_has_ended_says_so_at_once() {
    let mut sample = Sample::new();
    let run = sample.rtt("far.example");
    let ui = Ui::start(&sample.path);
    let mut events = ui.get(&format!("/api/v1/runs/{run}/events")).expect(200);
    let (name, data) = events.event().unwrap();
    assert_eq!((name.as_str(), data), ("ended", json!({ "outcome": "finished" })));
    assert_eq!(events.event(), None);
}

#[test]
fn a_server_that_ends_ends_its_streams_without_an_end_of_the_run() {
    let sample = Sample::new();
    let run = begin(&sample.store, "rtt", None, json!({}));
    let mut ui = Ui::start(&sample.path);
    let mut events = ui.get(&format!("/api/v1/runs/{run}/events")).expect(200);
    assert_eq!(events.event().unwrap().0, "progress");
    ui.stop();
    while let Some((name, _)) = events.event() {
        assert_eq!(name, "progress");
    }
}

#[test]
fn so_many_are_followed_and_no_more() {
    let sample = Sample::new();
    let run = begin(&sample.store, "rtt", None, json!({}));
    let limits = Limits {
        streams: 2,
        ..quick()
    };
    let ui = Ui::start_with(&sample.path, None, limits);
    let path = format!("/api/v1/runs/{run}/events");
    let mut first = ui.get(&path).expect(200);
    let second = ui.get(&path).expect(200);
    let error = ui.get(&path).error(503);
    assert!(error.contains("2 runs are being followed"), "{error}");
    // A listener that leaves makes room.
    drop(second);
    let deadline = std::time::Instant::now() + crate::client::LIMIT;
    while ui.get(&path).status != 200 {
        assert!(std::time::Instant::now() < deadline);
    }
    assert!(first.event().is_some());
}
