//! Our documents by MPEG's schemas, and documents of another implementation by ours. Both are in the folder that
//! `WEIR_SHARED_DATA` names, else in `../shared/data` beside the checkout.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use weir_rig::shared_data;

use crate::{read, shipped};

pub fn data() -> Option<PathBuf> {
    shared_data("nbmp", "MPEG's schemas")
}

fn json_of(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

/// References in the schemas that lead nowhere, and what they mean (docs/testbed.md lists them).
const SLIPS: [(&str, &str); 3] = [
    ("#/requirements", "#/requirement"),
    (
        "#/requirement/flowcontrol",
        "#/requirement/properties/flowcontrol",
    ),
    (
        "#/configuration/parameters",
        "#/configuration/properties/parameters",
    ),
];

/// Corrects the references, and moves them to where the definitions are in one document.
fn correct(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get_mut("$ref") {
                let local = reference.trim_start_matches("nbmp-schema-definitions.json");
                let meant = SLIPS
                    .iter()
                    .find(|(slip, _)| *slip == local)
                    .map_or(local, |(_, meant)| meant);
                *reference = meant.replace("#/", "#/$defs/");
            }
            map.values_mut().for_each(correct);
        }
        Value::Array(values) => values.iter_mut().for_each(correct),
        _ => {}
    }
}

/// MPEG's schema of a `workflow` or a `function`.
pub fn schema(data: &Path, what: &str) -> jsonschema::Validator {
    let mut schema = json_of(&data.join(format!("nbmp-{what}-schema.json")));
    let definitions = json_of(&data.join("nbmp-schema-definitions.json"));
    let mut definitions: Map<String, Value> = definitions.as_object().expect("an object").clone();
    // Names the draft once more, and functions of another file, which workflows do not use.
    definitions.retain(|name, definition| definition.is_object() && name != "capabilities");
    schema["$schema"] = json!("https://json-schema.org/draft/2019-09/schema");
    schema["$defs"] = Value::Object(definitions);
    correct(&mut schema);
    jsonschema::validator_for(&schema).expect("a schema")
}

#[track_caller]
pub fn assert_valid(schema: &jsonschema::Validator, name: &str, document: &Value) {
    let wrong: Vec<String> = schema
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{name}: {wrong:#?}");
}

#[test]
fn mpegs_schema_accepts_every_workflow_that_we_ship() {
    let Some(data) = data() else { return };
    let schema = schema(&data, "workflow");
    for path in shipped() {
        let (document, _) = read(&path).expect("a workflow");
        let document = serde_json::to_value(&document).expect("JSON");
        assert_valid(&schema, &path.display().to_string(), &document);
        for required in ["general", "input", "output", "processing", "requirement"] {
            let mut less = document.clone();
            less.as_object_mut().expect("an object").remove(required);
            assert!(!schema.is_valid(&less), "without {required}");
        }
    }
}

#[test]
fn workflows_of_another_implementation_are_read_and_their_functions_named() {
    let Some(data) = data() else { return };
    let samples = [
        (
            "samples/v2_nbmp_live.wdd",
            vec![
                "ClusterFunction/media-generate-testpattern",
                "ClusterFunction/data-discard",
            ],
        ),
        (
            "samples/01-minimal-ladder.wdd",
            vec![
                "ClusterFunction/script-lua",
                "ClusterFunction/media-encode",
                "ClusterFunction/data-copy",
                "ClusterFunction/data-discard",
            ],
        ),
    ];
    for (name, functions) in samples {
        let error = read(&data.join(name))
            .expect_err("functions that are not ours")
            .to_string();
        assert!(!error.contains('\n'), "{error}");
        for function in functions {
            assert!(error.contains(function), "{function} in: {error}");
        }
    }
}
