//! The document is as `docs/schemas/report-data.schema.json` and `docs/report-data.md` say.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::mesh::mesh_tests;
use crate::sample::{Sample, load, media, others, packets, stream};

fn docs(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../docs")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A document with every series.
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
    sample.document(&[run, empty])
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
