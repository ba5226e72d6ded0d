//! The schemas in `docs/schemas`, and what holds a document against one.

use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::Value;

pub fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

pub fn schema(name: &str) -> Value {
    let path = docs().join(format!("schemas/{name}.schema.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn validator(name: &str) -> Validator {
    jsonschema::draft202012::new(&schema(name)).unwrap_or_else(|error| panic!("schema of {name}: {error}"))
}

/// Panics with every difference between `document` and the schema.
pub fn assert_documented(what: &str, validator: &Validator, document: &Value) {
    let said: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("at '{}': {error}", error.instance_path()))
        .collect();
    assert!(
        said.is_empty(),
        "{what} is not as documented: {said:#?}\n{document}"
    );
}
