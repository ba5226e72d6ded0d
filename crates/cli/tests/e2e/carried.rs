//! `weir runs`, `weir report` and `weir diagnose` of media that was carried, from a database that the test fills.

use serde_json::{Value, json};
use weir_carry::recv::RecvSummary;
use weir_carry::send::SendSummary;
use weir_results::{
    FlowChange, FrameSecond, MediaEvent, NewRun, Outcome, Record, RecvSecond, RunId, SendSecond, Store,
};
use weir_stats::Quantiles;

use crate::assert_documented;
use weir_rig::{Finished, LIMIT, count, isolated, run_within, weir};

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_700_000_000 * SECOND;
/// Markup in a sentence that a far host may have had a hand in.
const EVIL: &str = "</script><img src=x onerror=alert(1)>\u{202e}";

/// Ten seconds of a sender, or of a receiver.
fn records(kind: &str) -> Vec<Record> {
    let mut records = Vec::new();
    for second in 0..10 {
        let unix_ns = START + (second + 1) * SECOND;
        if kind == "send" {
            records.push(Record::SendSecond(SendSecond {
                unix_ns,
                duration_ns: SECOND,
                receiver_rtt_ns: (second > 0).then_some(3_000_000),
                frames: 60,
                sources: 38_400,
                bytes: 311_040_000,
                fec_sources: (second > 4).then_some(12),
                fec_window: (second > 4).then_some(96),
                ..SendSecond::default()
            }));
            continue;
        }
        records.push(Record::RecvSecond(RecvSecond {
            unix_ns,
            duration_ns: SECOND,
            received: 38_400,
            lost: second,
            recovered: second,
            ..RecvSecond::default()
        }));
        records.push(Record::FrameSecond(FrameSecond {
            unix_ns,
            duration_ns: SECOND,
            frames: 60,
            budget_ns: 20_000_000,
            used: Quantiles {
                count: if second == 3 { 0 } else { 60 },
                p50: 4_000_000,
                ..Quantiles::default()
            },
            ..FrameSecond::default()
        }));
    }
    records.extend(FlowChange::STATES.map(|state| {
        Record::FlowChange(FlowChange {
            unix_ns: START + SECOND,
            flow: 3,
            state: state.into(),
            ..FlowChange::default()
        })
    }));
    records.extend(MediaEvent::EVENTS.map(|event| {
        Record::MediaEvent(MediaEvent {
            unix_ns: START,
            sender: (event != "format").then_some(0),
            event: event.into(),
            detail: EVIL.into(),
        })
    }));
    records
}

/// As the commands keep them.
fn parameters(kind: &str) -> Value {
    if kind == "send" {
        return json!({
            "input": "test pattern", "format": "1920x1080@59.94:st2110-20", "packing": null, "pace": "frame_rate",
            "flows": 16, "length": null, "fec": "12/96", "arq": true, "source_ports": false, "gso": true,
        });
    }
    json!({
        "from": ["far.example"], "join": "merge", "latency_ns": 20_000_000, "verify": false, "output": null,
        "packing": null, "conceal": "repeat", "receive_buffer": null, "gro": true, "on_event": [],
    })
}

/// What they end with.
fn summary(kind: &str) -> Value {
    let summary = if kind == "send" {
        serde_json::to_value(SendSummary {
            frames: 600,
            ..SendSummary::default()
        })
    } else {
        serde_json::to_value(RecvSummary {
            frames: 600,
            ..RecvSummary::default()
        })
    };
    summary.expect("JSON")
}

/// A finished run of that kind.
fn carried(database: &str, kind: &str) -> RunId {
    let mut store = Store::open(database).expect("a database");
    let run = store
        .begin_run(&NewRun {
            kind: kind.into(),
            target: "far.example".into(),
            parameters: parameters(kind),
            local_host: json!({
                "name": "near", "kernel": "6.1", "cpu": "one", "cores": 2, "interface": null, "driver": null,
                "interface_rate": null, "mtu": null, "rmem_max": null, "wmem_max": null, "cloud": null,
                "region": null, "instance_type": null,
            }),
            started_unix_ns: START,
            weir_version: "0.1.0".into(),
            ..NewRun::default()
        })
        .expect("a run");
    store.append(run, &records(kind)).expect("rows");
    store
        .end_run(run, Outcome::Finished, None, START + 10 * SECOND, &summary(kind))
        .expect("an end");
    run
}

#[test]
fn runs_of_carried_media_are_listed_shown_exported_and_drawn_and_not_diagnosed() {
    isolated!();
    let database = weir_rig::path("carried.db");
    let command = |arguments: &[&str]| -> Finished {
        run_within(LIMIT, weir(&[arguments, &["--db", &database]].concat()))
    };
    let json_lines = |text: &str| -> Vec<Value> {
        text.lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    };
    for kind in ["send", "recv"] {
        let run = carried(&database, kind).to_string();
        let listed = command(&["runs", "list", "--kind", kind, "--json"]).expect_code(0);
        let listed = json_lines(&listed.stdout);
        assert_eq!((listed.len(), &listed[0]["kind"]), (1, &json!(kind)));
        assert_documented("runs-list", &listed[0]);
        let shown = command(&["runs", "show", &run, "--json"]).expect_code(0).json();
        assert_documented("runs-show", &shown);
        let wanted = records(kind).len() as u64;
        let rows = shown["rows"].as_object().expect("rows");
        assert_eq!(rows.values().map(count).sum::<u64>(), wanted);
        let human = command(&["runs", "show", &run]).expect_code(0).stdout;
        let way = if kind == "recv" { "from" } else { "of" };
        assert!(human.contains(&format!("{kind} {way} far.example")), "{human}");
        assert!(human.contains("9 rows in media_events"), "{human}");

        let lines = command(&["runs", "export", &run, "--as", "jsonl"]).expect_code(0);
        let lines = json_lines(&lines.stdout);
        assert_eq!(lines.len() as u64, 1 + wanted);
        for line in &lines {
            assert_documented("runs-export", line);
        }
        let events = lines.iter().filter(|line| line["table"] == "media_events");
        assert!(events.clone().all(|line| line["detail"] == EVIL));
        let table = if kind == "send" {
            "send_seconds"
        } else {
            "recv_seconds"
        };
        let csv = command(&["runs", "export", &run, "--as", "csv", "--table", table]).expect_code(0);
        assert_eq!(csv.stdout.lines().count(), 11, "{}", csv.stdout);

        let data = command(&["runs", "export", &run]).expect_code(0).json();
        assert_documented("report-data", &data);
        let (said, missing) = (&data["runs"][0]["diagnosis"], &data["runs"][0]["no_diagnosis"]);
        assert_eq!((said, missing), (&Value::Null, &Value::Null));
        let file = weir_rig::path(&format!("{kind}.html"));
        command(&["report", &run, "-o", &file]).expect_code(0);
        let page = std::fs::read_to_string(&file).expect("a report");
        assert!(!page.contains("onerror=alert"), "what events say stays data");

        let refused = command(&["diagnose", &run]);
        assert_ne!(refused.code(), 0);
        let error = refused.one_error();
        assert!(error.contains(&format!("'weir report {run}'")), "{error}");
    }
    let deleted = command(&["runs", "delete", "1", "--json"]).expect_code(0).json();
    assert_eq!(deleted["deleted"], json!([1]));
    let left = weir_rig::Database::open(&database);
    assert_eq!(left.one::<i64>("SELECT count(*) FROM send_seconds"), 0);
    assert_eq!(left.one::<i64>("SELECT count(*) FROM media_events"), 9);
}
