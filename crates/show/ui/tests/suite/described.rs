//! The description of the API against the server.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use weir_ui::{OPENAPI, routes};

pub fn description() -> Value {
    serde_json::from_str(OPENAPI).unwrap()
}

/// Panics with every difference between `value` and a schema of the description.
#[track_caller]
pub fn conforms(schema: &str, value: &Value) {
    let schema = json!({
        "$ref": format!("#/components/schemas/{schema}"),
        "components": description()["components"],
    });
    assert_valid(&schema, value);
}

/// The same for a schema of its own.
#[track_caller]
pub fn assert_valid(schema: &Value, value: &Value) {
    let validator = jsonschema::draft202012::new(schema).unwrap();
    let said: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("at '{}': {error}", error.instance_path()))
        .collect();
    assert!(said.is_empty(), "{said:#?}\n{value}");
}

#[test]
fn it_has_the_routes_that_are_served_and_no_others() {
    let served: BTreeSet<(String, String)> = routes()
        .into_iter()
        .map(|(method, path)| (method.to_lowercase(), path.to_owned()))
        .collect();
    let description = description();
    let described: BTreeSet<(String, String)> = description["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys();
            methods.map(move |method| (method.clone(), path.clone()))
        })
        .collect();
    assert_eq!(described, served);
    assert_eq!(routes().len(), served.len(), "a route comes twice");
}

#[test]
fn its_references_lead_somewhere_and_its_schemas_are_schemas() {
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let description = description();
    assert_eq!(description["openapi"], "3.1.0");
    let mut found = Vec::new();
    references(&description, &mut found);
    assert!(found.len() > 20);
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(description.pointer(pointer).is_some(), "{reference}");
    }
    for (name, schema) in description["components"]["schemas"].as_object().unwrap() {
        assert!(jsonschema::meta::is_valid(schema), "{name} is no schema");
    }
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let what = format!("{method} {path}");
            assert!(operation["operationId"].is_string(), "{what} has no name");
            let names: Vec<&str> = operation["parameters"]
                .as_array()
                .map(|all| all.iter().filter_map(|one| one["name"].as_str()).collect())
                .unwrap_or_default();
            assert_eq!(path.contains("{run_id}"), names.contains(&"run_id"), "{what}");
            assert_eq!(method != "get", names.contains(&"X-Weir"), "{what}");
            for (status, answer) in operation["responses"].as_object().unwrap() {
                if status.starts_with('2') {
                    continue;
                }
                let reference = format!("#/components/responses/E{status}");
                assert_eq!(answer["$ref"], reference.as_str(), "{what} {status}");
            }
        }
    }
}
