//! Values in what `weir` prints as JSON.

use serde_json::Value;

/// A count in a JSON result.
#[track_caller]
pub fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// Several counts of an object.
#[track_caller]
pub fn counts<const N: usize>(object: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| count(&object[name]))
}

/// Checks that there are values and that their quantiles ascend.
#[track_caller]
pub fn quantiles_ascend(quantiles: &Value) {
    assert!(count(&quantiles["count"]) > 0, "{quantiles}");
    let values: Vec<i64> = ["min", "p50", "p90", "p99", "p999", "max"]
        .iter()
        .map(|name| {
            quantiles[name]
                .as_i64()
                .unwrap_or_else(|| panic!("{name} in {quantiles}"))
        })
        .collect();
    assert!(values.is_sorted(), "{quantiles}");
}

/// The flow with that destination port.
#[track_caller]
pub fn flow_on_port(direction: &Value, port: u16) -> &Value {
    let flows = direction["per_flow"].as_array().expect("flows");
    flows
        .iter()
        .find(|flow| flow["port"] == port)
        .unwrap_or_else(|| panic!("no flow has port {port}: {direction}"))
}
