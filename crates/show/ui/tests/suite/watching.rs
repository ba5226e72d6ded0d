//! Watched paths: all, one, those of a host, at any time.

use serde_json::{Value, json};
use weir_results::{Span, WatchCell, WatchChange, WatchEvent};

use crate::client::Ui;
use crate::described::{assert_valid, conforms};
use crate::sample::Sample;

/// 2026-01-01 00:00:00 UTC.
const START_S: u64 = 1_767_225_600;
const SECOND_NS: u64 = 1_000_000_000;
const HOURS: u64 = 48;

/// Paths with a packet of 10 ms or 20 ms a minute, and a watcher's run.
fn watched() -> Sample {
    let mut sample = Sample::new();
    let parameters =
        json!({ "here": "lon", "pairs": [["lon", "ams"], ["lon", "par"]], "zones": { "par": "west" } });
    let run = sample.begin("watch", "ams, par", None, parameters);
    sample.end(run);
    for (far, rtt_ms) in [("ams", 10), ("par", 20)] {
        let path = sample.store.watch_path("lon", far).unwrap();
        let cell = |start_s: u64, packets: u64| {
            let mut cell = WatchCell {
                start_s,
                sent: packets + 1,
                lost: 1,
                ..WatchCell::default()
            };
            (0..packets).for_each(|_| cell.rtt.record(rtt_ms * 1_000_000));
            cell
        };
        let hours: Vec<_> = (0..HOURS)
            .map(|hour| (path, cell(START_S + hour * 3_600, 60)))
            .collect();
        let minutes: Vec<_> = (0..HOURS * 60)
            .map(|minute| (path, cell(START_S + minute * 60, 1)))
            .collect();
        sample.store.put_watch_cells(Span::Hour, &hours).unwrap();
        sample.store.put_watch_cells(Span::Minute, &minutes).unwrap();
        let change = WatchChange {
            metric: "p90".to_owned(),
            since_unix_ns: (START_S + 40 * 3_600) * SECOND_NS,
            found_unix_ns: (START_S + 41 * 3_600) * SECOND_NS,
            before: 9e6,
            after: 10e6,
            low: 9.9e6,
            high: 10.1e6,
            ..WatchChange::default()
        };
        sample.store.put_watch_change(path, &change).unwrap();
        let event = WatchEvent {
            unix_ns: (START_S + 30 * 3_600) * SECOND_NS,
            event: "unreachable".to_owned(),
            state: "raised".to_owned(),
            detail: "words".to_owned(),
            ..WatchEvent::default()
        };
        sample.store.put_watch_events(&[(path, event)], &[]).unwrap();
    }
    sample
}

fn column<'a>(document: &'a Value, series: &str, name: &str) -> &'a Vec<Value> {
    document["series"][series]["columns"][name]["values"]
        .as_array()
        .unwrap()
}

/// The history and the series have schemas of their own.
#[track_caller]
fn documented(document: &Value) {
    conforms("Watched", document);
    let read = |name: &str| -> Value {
        let file = format!(
            "{}/../../../docs/schemas/{name}.schema.json",
            env!("CARGO_MANIFEST_DIR")
        );
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
    };
    assert_valid(&read("watch-history"), &document["history"]);
    let known = &read("report-data")["properties"]["runs"]["items"]["properties"]["series"]["properties"];
    for (name, series) in document["series"].as_object().unwrap() {
        assert_valid(&known[name], series);
    }
}

#[test]
fn a_span_has_the_quantiles_changes_and_alarms_of_the_paths_that_were_asked_for() {
    let sample = watched();
    let ui = Ui::start(&sample.path);
    // The last day, since nothing else is asked for.
    let all = ui.json("/api/v1/watch");
    documented(&all);
    let end_ns = (START_S + HOURS * 3_600) * SECOND_NS;
    assert_eq!(
        (&all["until_unix_ns"], &all["last_unix_ns"]),
        (&json!(end_ns), &json!(end_ns))
    );
    assert_eq!(all["first_unix_ns"], START_S * SECOND_NS);
    assert_eq!(
        all["paths"][1],
        json!({ "from": "lon", "to": "par", "from_zone": null, "to_zone": "west" })
    );
    let p50: Vec<&Value> = all["history"]["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| &pair["p50_ns"])
        .collect();
    assert_eq!(p50, [10_000_000, 20_000_000]);
    assert_eq!(all["history"]["faults"][0]["name"], "host lon");

    let one = ui.json("/api/v1/watch?from=lon&to=par&over=172800");
    documented(&one);
    assert_eq!(one["history"]["pairs"].as_array().unwrap().len(), 1);
    let sent: u64 = column(&one, "watch_history", "sent")
        .iter()
        .filter_map(Value::as_u64)
        .sum();
    assert_eq!(sent, 2 * HOURS * 60, "each packet once");
    assert!(
        column(&one, "watch_history", "rtt_p50_ns")
            .iter()
            .all(|rtt| *rtt == 20_000_000)
    );
    assert_eq!(
        column(&one, "watch_changes", "at_ns"),
        &[json!(40 * 3_600 * SECOND_NS)]
    );
    assert_eq!(column(&one, "watch_alarms", "detail"), &[json!("words")]);

    // Ten minutes of the past, before the change and the alarm.
    let past = ui.json(&format!(
        "/api/v1/watch?host=par&until={}&over=600",
        START_S + 7_200
    ));
    documented(&past);
    assert_eq!(past["history"]["pairs"][0]["sent"], 20);
    assert!(past["series"].get("watch_changes").is_none());
    assert_eq!(
        ui.json("/api/v1/watch?host=nobody")["history"]["pairs"],
        json!([])
    );
    for wrong in ["from=lon", "over=0", "until=yesterday", "more=1"] {
        ui.get(&format!("/api/v1/watch?{wrong}")).error(400);
    }
}

#[test]
fn a_store_that_no_watcher_has_written_has_no_paths_and_a_watchers_run_has_its_own() {
    let mut empty = Sample::new();
    empty.rtt("far.example");
    let ui = Ui::start(&empty.path);
    let none = ui.json("/api/v1/watch");
    documented(&none);
    assert_eq!(
        (&none["paths"], &none["last_unix_ns"]),
        (&json!([]), &Value::Null)
    );

    let mut sample = watched();
    let run = sample.begin(
        "watch",
        "ams",
        None,
        json!({ "here": "lon", "pairs": [["lon", "ams"]] }),
    );
    // From the first minute to the last, as a watcher that has gone on all the time.
    let other = rusqlite::Connection::open(&sample.path).unwrap();
    let times = [START_S, START_S + HOURS * 3_600].map(|seconds| (seconds * SECOND_NS) as i64);
    other
        .execute(
            "UPDATE runs SET started_unix_ns = ?1, last_unix_ns = ?2 WHERE run_id = ?3",
            rusqlite::params![times[0], times[1], run.0],
        )
        .unwrap();
    let test = sample.empty("flows", "ams", Some(run));
    let ui = Ui::start(&sample.path);
    let data = ui.json(&format!("/api/v1/runs/{run}/data"));
    let runs = data["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1, "without its test, run {test}");
    let pairs = column(&runs[0], "watch_history", "pair");
    assert!(!pairs.is_empty() && pairs.iter().all(|pair| pair == "lon..ams"));
}
