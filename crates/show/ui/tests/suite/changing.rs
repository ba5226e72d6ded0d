//! Notes, tags, and runs that go.

use serde_json::json;
use weir_results::{NewRun, Outcome, RunFilter, Store, Table};

use crate::client::Ui;
use crate::described::conforms;
use crate::sample::{Sample, now, packets};

#[test]
fn notes_and_tags_come_back_as_they_were_given() {
    let mut sample = Sample::new();
    let run = sample.rtt("far.example");
    let ui = Ui::start(&sample.path);
    let path = format!("/api/v1/runs/{run}");
    let change = |body: &str| {
        let said = ui.change("PATCH", &path, body).expect(200).json();
        conforms("Run", &said);
        (said["note"].clone(), said["tags"].clone())
    };
    let both = json!({ "note": "first\nsecond ü <b>", "tags": ["good", "night", "good"] });
    assert_eq!(
        change(&both.to_string()),
        (both["note"].clone(), json!(["good", "night"]))
    );
    // What is left out stays.
    assert_eq!(change(r#"{"tags": []}"#), (both["note"].clone(), json!([])));
    assert_eq!(change(r#"{"note": ""}"#), (json!(""), json!([])));
    assert_eq!(
        change(r#"{"note": "x", "tags": ["y"]}"#),
        (json!("x"), json!(["y"]))
    );
    assert_eq!(change("{}"), (json!("x"), json!(["y"])));
    let kept = sample.store.run(run).unwrap();
    assert_eq!((kept.note.as_str(), &kept.tags[..]), ("x", &["y".to_owned()][..]));
    let list = ui.json("/api/v1/runs?tag=y");
    assert_eq!(list["runs"][0]["note"], "x");
}

#[test]
fn what_does_not_fit_changes_nothing() {
    let mut sample = Sample::new();
    let run = sample.rtt("far.example");
    let ui = Ui::start(&sample.path);
    let many: Vec<String> = (0..30).map(|number| format!("tag{number}")).collect();
    for body in [
        json!({ "note": "x".repeat(10_001), "tags": ["kept"] }),
        json!({ "note": "kept", "tags": ["two words"] }),
        json!({ "note": "kept", "tags": many }),
        json!({ "note": "\u{1b}[2J" }),
        json!({ "note": 1 }),
        json!({ "tags": "x" }),
        json!({ "note": "kept", "target": "other" }),
        json!([]),
        json!("x"),
    ] {
        let error = ui
            .change("PATCH", &format!("/api/v1/runs/{run}"), &body.to_string())
            .error(400);
        assert!(!error.contains('\n'), "{error}");
    }
    for body in ["", "{", "note=x", "\u{0}"] {
        ui.change("PATCH", &format!("/api/v1/runs/{run}"), body)
            .error(400);
    }
    let kept = sample.store.run(run).unwrap();
    assert_eq!(
        (kept.note.as_str(), kept.tags.len(), kept.target.as_str()),
        ("", 0, "far.example")
    );
}

#[test]
fn a_deleted_run_is_gone_with_its_parts_and_no_other() {
    let mut sample = Sample::new();
    let other = sample.rtt("far.example");
    let survey = sample.empty("survey", "far.example", None);
    let part = sample.begin("rtt", "far.example", Some(survey), json!({}));
    // More than one transaction takes.
    sample.store.append(part, &packets(5_000)).unwrap();
    sample.end(part);
    let ui = Ui::start(&sample.path);
    let path = format!("/api/v1/runs/{survey}");
    let answer = ui.change("DELETE", &path, "").expect(204);
    assert_eq!(answer.bytes(), b"");
    ui.change("DELETE", &path, "").error(404);
    ui.get(&format!("/api/v1/runs/{part}/data")).error(404);
    let left = sample.store.runs(&RunFilter::default()).unwrap();
    assert_eq!(left.iter().map(|run| run.id).collect::<Vec<_>>(), [other]);
    let rows: i64 = rusqlite::Connection::open(&sample.path)
        .unwrap()
        .query_row("SELECT count(*) FROM rtt_packets", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 100);
}

#[test]
fn a_run_that_is_recorded_stays_also_when_a_part_of_it_is() {
    let mut sample = Sample::new();
    let survey = sample.begin("survey", "far.example", None, json!({}));
    let part = sample.begin("rtt", "far.example", Some(survey), json!({}));
    sample.store.append(part, &packets(10)).unwrap();
    let ui = Ui::start(&sample.path);
    for run in [survey, part] {
        let error = ui.change("DELETE", &format!("/api/v1/runs/{run}"), "").error(409);
        assert!(error.contains("still being recorded"), "{error}");
    }
    assert!(
        sample
            .store
            .counts(part)
            .unwrap()
            .contains(&(Table::RttPackets, 10))
    );
    sample.end(part);
    ui.change("DELETE", &format!("/api/v1/runs/{survey}"), "")
        .error(409);
    sample.end(survey);
    ui.change("DELETE", &format!("/api/v1/runs/{survey}"), "")
        .expect(204);
}

#[test]
fn a_test_goes_on_while_a_long_run_is_deleted() {
    let mut sample = Sample::new();
    let long = sample.begin("rtt", "far.example", None, json!({}));
    sample.store.append(long, &packets(40_000)).unwrap();
    sample.end(long);
    let ui = Ui::start(&sample.path);
    let recorded = sample.begin("rtt", "far.example", None, json!({}));
    let mut writer = Store::open(&sample.path).unwrap();
    let deleted = std::thread::scope(|scope| {
        let deleting = scope.spawn(|| ui.change("DELETE", &format!("/api/v1/runs/{long}"), "").status);
        // Every write goes through, however the two fall together.
        let mut written = 0;
        while !deleting.is_finished() {
            writer.append(recorded, &packets(10)).unwrap();
            written += 10;
        }
        (deleting.join().unwrap(), written)
    });
    assert_eq!(deleted.0, 204);
    assert!(
        sample
            .store
            .counts(recorded)
            .unwrap()
            .contains(&(Table::RttPackets, deleted.1))
    );
    let reader = Store::open_read_only(&sample.path).unwrap();
    assert!(reader.run(long).is_err());
}

#[test]
fn a_run_without_a_sign_of_life_is_marked_and_can_be_deleted() {
    let sample = Sample::new();
    let run = sample
        .store
        .begin_run(&NewRun {
            kind: "rtt".into(),
            started_unix_ns: now(),
            ..NewRun::default()
        })
        .unwrap();
    rusqlite::Connection::open(&sample.path)
        .unwrap()
        .execute("UPDATE runs SET last_unix_ns = last_unix_ns - 60000000000", [])
        .unwrap();
    let ui = Ui::start(&sample.path);
    let list = ui.json("/api/v1/runs");
    assert_eq!(list["runs"][0]["outcome"], Outcome::Interrupted.as_str());
    assert!(list["runs"][0]["ended_unix_ns"].is_u64());
    ui.change("DELETE", &format!("/api/v1/runs/{run}"), "")
        .expect(204);
}
