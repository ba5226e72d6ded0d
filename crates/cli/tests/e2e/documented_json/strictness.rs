//! How strict a schema is: whether it notices fields that are missing or new, and describes all that it has.

use jsonschema::Validator;
use serde_json::{Map, Value};

/// Objects whose keys are numbers, causes, directions, or names of hosts or parameters, and not fields.
const MAPS: [&str; 10] = [
    "burst_lengths",
    "windows_by_flows_losing",
    "failures",
    "figures",
    "distributions",
    "hosts",
    "lost_hosts",
    "varied",
    "hops",
    "tested",
];

/// Takes each field of `document` away and adds one to each of its objects: the schema has to notice all of it.
pub fn assert_strict(what: &str, validator: &Validator, document: &Value) {
    for pointer in objects(document) {
        let fields: Vec<String> = document
            .pointer(&pointer)
            .and_then(Value::as_object)
            .map(|object| object.keys().cloned().collect())
            .unwrap_or_default();
        let valid_after = |change: &dyn Fn(&mut Map<String, Value>)| {
            let mut copy = document.clone();
            if let Some(object) = copy.pointer_mut(&pointer).and_then(Value::as_object_mut) {
                change(object);
            }
            validator.is_valid(&copy)
        };
        let unnoticed = valid_after(&|object| {
            object.insert("undocumented".to_owned(), Value::Null);
        });
        assert!(
            !unnoticed,
            "{what}: a field can be added to '{pointer}' unnoticed"
        );
        if MAPS.iter().any(|map| pointer.ends_with(map)) {
            continue;
        }
        for field in fields {
            let unnoticed = valid_after(&|object| {
                object.remove(&field);
            });
            assert!(!unnoticed, "{what}: '{pointer}/{field}' can go missing unnoticed");
        }
    }
}

/// JSON pointers of all objects in `document`; of the items of an array, the first stands for all.
fn objects(document: &Value) -> Vec<String> {
    fn collect(value: &Value, pointer: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                found.push(pointer.to_owned());
                for (name, value) in fields {
                    collect(value, &format!("{pointer}/{name}"), found);
                }
            }
            Value::Array(items) => {
                if let Some(first) = items.first() {
                    collect(first, &format!("{pointer}/0"), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect(document, "", &mut found);
    found
}

/// Names in all `properties` of a schema but those of its conditions, and whether they have a description.
pub fn fields(schema: &Value) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    match schema {
        Value::Object(keywords) => {
            for (keyword, value) in keywords
                .iter()
                .filter(|(name, _)| *name != "if" && *name != "then")
            {
                if let ("properties", Some(properties)) = (keyword.as_str(), value.as_object()) {
                    let described = |property: &Value| property.get("description").is_some();
                    found.extend(
                        properties
                            .iter()
                            .map(|(name, value)| (name.clone(), described(value))),
                    );
                }
                found.extend(fields(value));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| found.extend(fields(item))),
        _ => {}
    }
    found
}
