//! YAML: no text may panic the reader; what it refuses it refuses in one short line, and the JSON of what it accepts is of bounded
//! size, and is read back as the same.

use crate::checks::in_a_line;
use serde_json::Value;

pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    match weir_yaml::read(text) {
        Ok(node) => {
            let json = node.json();
            assert!(values(&json) <= 500_000);
            // A key that is empty, or the merge key, is written differently by JSON.
            if let Ok(again) = weir_yaml::read(&json.to_string()) {
                assert_eq!(again.json(), json);
            }
        }
        Err(error) => in_a_line(error, 2500),
    }
}

fn values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(entries) => entries.values().map(values).sum::<usize>(),
        _ => 0,
    }
}
