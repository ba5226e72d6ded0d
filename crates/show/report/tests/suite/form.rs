//! The document is as `docs/schemas/report-data.schema.json` and `docs/report-data.md` say.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use weir_results::{NewRun, Outcome, RunId, Span, WatchCell, WatchChange, WatchEvent};

use crate::mesh::mesh_tests;
use crate::sample::{SECOND, START, Sample, load, media, others, packets, stream};

fn docs(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../docs")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A run of a watcher with a cell, a change and an alarm.
fn watched(sample: &Sample) -> RunId {
    let new = NewRun {
        kind: "watch".into(),
        parameters: json!({ "here": "lon", "pairs": [["lon", "ams"]] }),
        started_unix_ns: START,
        ..NewRun::default()
    };
    let (store, ended_ns) = (&sample.store, START + 60 * SECOND);
    let run = store.begin_run(&new).unwrap();
    store
        .end_run(run, Outcome::Finished, None, ended_ns, &Value::Null)
        .unwrap();
    let path = store.watch_path("lon", "ams").unwrap();
    let mut cell = WatchCell {
        start_s: START / SECOND + 1,
        sent: 1,
        ..WatchCell::default()
    };
    cell.rtt.record(20_000_000);
    store.put_watch_cells(Span::Second, &[(path, cell)]).unwrap();
    let change = WatchChange {
        metric: "p50".into(),
        found_unix_ns: START + SECOND,
        ..WatchChange::default()
    };
    store.put_watch_change(path, &change).unwrap();
    let alarm = WatchEvent {
        unix_ns: START + SECOND,
        event: "unreachable".into(),
        state: "raised".into(),
        ..WatchEvent::default()
    };
    store.put_watch_events(&[(path, alarm)], &[]).unwrap();
    run
}

/// A document with every series in its first run.
fn full() -> Value {
    let mut sample = Sample::new();
    let mut records = packets();
    records.extend(stream());
    records.extend(others());
    records.extend(media());
    records.extend(load());
    let run = sample.run("flows", None, &records);
    sample.store.add_mesh_tests(run, &mesh_tests()).unwrap();
    let empty = sample.run("rtt", None, &[]);
    let watched = watched(&sample);
    let mut document = sample.document(&[run, empty, watched]);
    let of_paths = document["runs"][2]["series"].as_object().unwrap().clone();
    document["runs"][0]["series"]
        .as_object_mut()
        .unwrap()
        .extend(of_paths);
    document
}

fn schema() -> Value {
    serde_json::from_str(&docs("schemas/report-data.schema.json")).unwrap()
}

#[test]
fn the_document_is_valid_and_a_change_of_any_series_is_noticed() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let document = full();
    let said: Vec<String> = validator
        .iter_errors(&document)
        .map(|error| format!("at '{}': {error}", error.instance_path()))
        .collect();
    assert!(said.is_empty(), "{said:#?}");
    let described = schema()["properties"]["runs"]["items"]["properties"]["series"]["properties"].clone();
    let shown = document["runs"][0]["series"].as_object().unwrap();
    let names = |object: &serde_json::Map<String, Value>| object.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(shown), names(described.as_object().unwrap()));
    for (series, value) in shown {
        for column in value["columns"].as_object().unwrap().keys() {
            let mut without = document.clone();
            let columns = &mut without["runs"][0]["series"][series]["columns"];
            columns.as_object_mut().unwrap().remove(column);
            assert!(
                !validator.is_valid(&without),
                "{column} of {series} can go missing unnoticed"
            );
        }
        let mut with = document.clone();
        with["runs"][0]["series"][series]["columns"]["undocumented"] = json!({ "unit": null, "values": [] });
        assert!(!validator.is_valid(&with), "{series} can get a column unnoticed");
    }
}

#[test]
fn columns_of_a_series_are_of_one_length_and_entries_ascend() {
    let document = full();
    for (name, series) in document["runs"][0]["series"].as_object().unwrap() {
        let lengths: BTreeSet<usize> = series["columns"]
            .as_object()
            .unwrap()
            .values()
            .map(|column| column["values"].as_array().unwrap().len())
            .collect();
        assert_eq!(lengths.len(), 1, "{name}: {lengths:?}");
        assert!(!lengths.contains(&0), "{name} is empty and there");
    }
}

#[test]
fn the_page_names_every_series_and_every_column() {
    let page = docs("report-data.md");
    for (name, series) in full()["runs"][0]["series"].as_object().unwrap() {
        let line = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")))
            .unwrap_or_else(|| panic!("no line for {name}"));
        for column in series["columns"].as_object().unwrap().keys() {
            assert!(line.contains(&format!("`{column}`")), "{name} lacks {column}");
        }
    }
}
