//! Lists, data, reports and the page.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use weir_report::{PAGE, report_data};
use weir_results::{Outcome, RunId};

use crate::client::Ui;
use crate::described::{assert_valid, conforms};
use crate::sample::{SECOND, START, Sample};

/// Numbers of the runs in a list.
fn numbers(list: &Value) -> Vec<i64> {
    conforms("List", list);
    let runs = list["runs"].as_array().unwrap();
    runs.iter().map(|run| run["run_id"].as_i64().unwrap()).collect()
}

#[test]
fn the_list_has_runs_that_are_no_parts_the_newest_first() {
    let mut sample = Sample::new();
    let first = sample.rtt("far.example");
    let survey = sample.empty("survey", "far.example", None);
    let part = sample.empty("mtu", "far.example", Some(survey));
    sample
        .store
        .set_remote_host(survey, &json!({ "name": "far", "kernel": "6.1" }))
        .unwrap();
    let failed = sample.begin("flows", "far.example", None, Value::Null);
    sample
        .store
        .end_run(
            failed,
            Outcome::Failed,
            Some("lost the agent"),
            START,
            &Value::Null,
        )
        .unwrap();
    let running = sample.begin("rtt", "other.example", None, Value::Null);
    let ui = Ui::start(&sample.path);
    let list = ui.json("/api/v1/runs");
    assert_eq!(numbers(&list), [running.0, failed.0, survey.0, first.0]);
    assert_eq!(list["more"], false);
    let began = START + 2 * 60 * SECOND;
    assert_eq!(
        list["runs"][2],
        json!({
            "run_id": survey.0, "parent_run_id": null, "kind": "survey", "target": "far.example", "local_name": "near",
            "remote_name": "far", "started_unix_ns": began, "ended_unix_ns": began + 10 * SECOND,
            "outcome": "finished", "reason": null, "verdict": null, "note": "", "tags": [],
        })
    );
    assert_eq!(list["runs"][1]["reason"], "lost the agent");
    assert_eq!(
        (&list["runs"][0]["outcome"], &list["runs"][0]["ended_unix_ns"]),
        (&json!("running"), &Value::Null)
    );
    // Of the kinds of which there are parts only, the parts.
    assert_eq!(numbers(&ui.json("/api/v1/runs?kind=mtu")), [part.0]);
}

#[test]
fn the_verdict_is_what_diagnosis_counts_and_is_stored() {
    let mut sample = Sample::new();
    let run = sample.rtt("far.example");
    let empty = sample.empty("flows", "far.example", None);
    let diagnosis = weir_diagnose::diagnose(&weir_diagnose::load(&sample.store, run).unwrap());
    let expected = serde_json::to_value(diagnosis.verdict()).unwrap();
    assert_eq!(expected["answer"], "cannot_say", "an RTT test has no flows");
    let ui = Ui::start(&sample.path);
    let verdict = ui.until("/api/v1/runs", |list| {
        conforms("List", list);
        let verdict = &list["runs"][1]["verdict"];
        verdict.is_object().then(|| verdict.clone())
    });
    assert_eq!(verdict, expected);
    let stored = sample.store.verdict(run, env!("CARGO_PKG_VERSION")).unwrap();
    assert_eq!(serde_json::to_value(stored).unwrap(), expected);
    // One that cannot be diagnosed has none.
    let list = ui.json("/api/v1/runs");
    assert_eq!(
        (&list["runs"][0]["run_id"], &list["runs"][0]["verdict"]),
        (&json!(empty), &Value::Null)
    );
    assert_eq!(list["kinds"], json!(["flows", "rtt"]));
}

#[test]
fn lists_are_filtered_and_come_in_pages() {
    let mut sample = Sample::new();
    let a = sample.empty("rtt", "alpha.example", None);
    let b = sample.empty("flows", "beta.example", None);
    let c = sample.empty("rtt", "beta.example", None);
    sample.store.set_note(b, "Nach dem ÜBERGANG & so").unwrap();
    sample.store.set_tags(c, &["good".into(), "50%".into()]).unwrap();
    sample.store.set_tags(a, &["go".into()]).unwrap();
    sample
        .store
        .set_remote_host(a, &json!({ "name": "Far-One" }))
        .unwrap();
    let ui = Ui::start(&sample.path);
    for (query, wanted) in [
        ("", vec![c, b, a]),
        ("kind=rtt", vec![c, a]),
        ("kind=", vec![c, b, a]),
        ("kind=nonsense", vec![]),
        ("search=beta", vec![c, b]),
        ("search=BETA&kind=rtt", vec![c]),
        ("search=beta+%C3%BCbergang", vec![b]),
        ("search=%26", vec![b]),
        ("search=far-one", vec![a]),
        ("search=near", vec![c, b, a]),
        ("search=%25", vec![c]),
        ("search=_", vec![]),
        ("search='", vec![]),
        ("tag=go", vec![a]),
        ("tag=good", vec![c]),
        ("tag=goo", vec![]),
        ("before=3", vec![b, a]),
        ("before=1", vec![]),
        ("before=99", vec![c, b, a]),
    ] {
        let list = ui.json(&format!("/api/v1/runs?{query}"));
        let wanted: Vec<i64> = wanted.iter().map(|run| run.0).collect();
        assert_eq!(numbers(&list), wanted, "{query}");
        assert_eq!(list["more"], false, "{query}");
    }
    let page = ui.json("/api/v1/runs?limit=2");
    assert_eq!((numbers(&page), &page["more"]), (vec![c.0, b.0], &json!(true)));
    let page = ui.json(&format!("/api/v1/runs?limit=2&before={b}"));
    assert_eq!((numbers(&page), &page["more"]), (vec![a.0], &json!(false)));
    for bad in [
        "limit=0",
        "limit=501",
        "limit=x",
        "before=x",
        "unknown=1",
        "limit=1&limit=2",
    ] {
        let error = ui.get(&format!("/api/v1/runs?{bad}")).error(400);
        assert!(!error.is_empty() && !error.contains('\n'), "{bad}: {error}");
    }
}

/// The document as the library makes it, with the time of another.
fn document(sample: &Sample, run: RunId, like: &Value) -> Value {
    let made = like["made_unix_ns"].as_u64().unwrap();
    let data = report_data(&sample.store, &[run], made, &weir_simulate::BY_TRIAL).unwrap();
    serde_json::from_str(&serde_json::to_string(&data).unwrap()).unwrap()
}

#[test]
fn data_are_the_document_of_reports_compressed_or_not() {
    let mut sample = Sample::new();
    let run = sample.rtt("far.example");
    let ui = Ui::start(&sample.path);
    let path = format!("/api/v1/runs/{run}/data");
    let plain = ui.get(&path).expect(200);
    assert_eq!(plain.header("content-encoding"), None);
    assert_eq!(plain.header("content-type"), Some("application/json"));
    let plain = plain.json();
    assert_eq!(plain, document(&sample, run, &plain));
    conforms("Data", &plain);
    let schema = include_str!("../../../../../docs/schemas/report-data.schema.json");
    assert_valid(&serde_json::from_str(schema).unwrap(), &plain);

    let packed = ui
        .open("GET", &path, &[("Accept-Encoding", "gzip, deflate, br")], b"")
        .expect(200);
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert_eq!(packed.header("vary"), Some("accept-encoding"));
    let mut text = String::new();
    GzDecoder::new(&packed.bytes()[..])
        .read_to_string(&mut text)
        .unwrap();
    let unpacked: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(unpacked, document(&sample, run, &unpacked));
}

#[test]
fn a_report_is_a_file_with_the_document_in_the_page() {
    let mut sample = Sample::new();
    let run = sample.rtt("far.example");
    let ui = Ui::start(&sample.path);
    let answer = ui.get(&format!("/api/v1/runs/{run}/report")).expect(200);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let name = format!("attachment; filename=\"weir-run-{run}.html\"");
    assert_eq!(answer.header("content-disposition"), Some(name.as_str()));
    let file = String::from_utf8(answer.bytes()).unwrap();
    let (before, rest) = file.split_once(r#"id="weir-data">"#).unwrap();
    let (packed, after) = rest.split_once("</script>").unwrap();
    assert_eq!(format!("{before}id=\"weir-data\"></script>{after}"), PAGE);
    let mut text = String::new();
    GzDecoder::new(&STANDARD.decode(packed).unwrap()[..])
        .read_to_string(&mut text)
        .unwrap();
    let data: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(data, document(&sample, run, &data));
}

#[test]
fn the_page_and_the_description_are_what_is_built_in() {
    let sample = Sample::new();
    let ui = Ui::start(&sample.path);
    let page = ui.get("/").expect(200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.bytes(), PAGE.as_bytes());
    assert_eq!(ui.json("/api/v1/openapi.json"), crate::described::description());
    assert_eq!(ui.open("HEAD", "/", &[], b"").status, 200);
}

#[test]
fn what_does_not_exist_is_said_so() {
    let mut sample = Sample::new();
    sample.rtt("far.example");
    let ui = Ui::start(&sample.path);
    for run in ["2", "0", "-1", "x", "99999999999999999999", "1%20", "%ff"] {
        let one = format!("/api/v1/runs/{run}");
        for part in ["data", "events", "report"] {
            ui.get(&format!("{one}/{part}")).error(404);
        }
        ui.change("PATCH", &one, r#"{"note": "x"}"#).error(404);
        ui.change("DELETE", &one, "").error(404);
    }
    for path in [
        "/nothing",
        "/api",
        "/api/v1",
        "/api/v2/runs",
        "/api/v1/runs/",
        "/api/v1/runs/1/nothing",
        "/../etc/passwd",
        "//",
    ] {
        ui.get(path).error(404);
    }
    let answer = ui.get("/api/v1/runs/1");
    assert!(answer.header("allow").is_some());
    answer.error(405);
    for (method, path) in [
        ("POST", "/api/v1/runs"),
        ("PUT", "/"),
        ("DELETE", "/api/v1/runs"),
        ("OPTIONS", "/api/v1/runs"),
    ] {
        ui.change(method, path, "").error(405);
    }
}

#[test]
fn names_and_notes_with_html_in_them_are_data() {
    let mut sample = Sample::new();
    let evil = "\"</script><script>alert(1)</script><img src=x onerror=alert(2)>\\";
    let run = sample.rtt(evil);
    sample.store.set_note(run, evil).unwrap();
    sample.store.set_tags(run, &["<b>tag</b>".into()]).unwrap();
    sample
        .store
        .set_remote_host(run, &json!({ "name": evil }))
        .unwrap();
    let ui = Ui::start(&sample.path);
    let list = ui.json("/api/v1/runs");
    let shown = &list["runs"][0];
    for field in ["target", "note", "remote_name"] {
        assert_eq!(shown[field], evil);
    }
    assert_eq!(shown["tags"], json!(["<b>tag</b>"]));
    let data = ui.json(&format!("/api/v1/runs/{run}/data"));
    assert_eq!(data["runs"][0]["target"], evil);
    let file = ui.get(&format!("/api/v1/runs/{run}/report")).expect(200).bytes();
    assert!(!String::from_utf8(file).unwrap().contains("alert(1)"));
    // What somebody else wrote comes back in errors too, as JSON that no browser takes for a page.
    let answer = ui.get("/api/v1/runs?limit=%3Cscript%3E");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    answer.error(400);
}
