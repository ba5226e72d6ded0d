//! The built `weir` binary as a user runs it: clients against agents, over loopback and over namespaces that the
//! tests make, with losses, copies and delays that somebody else than Weir counts.
//!
//! Each test runs in namespaces of its own (see `lab`), so that tests share no port, no packet filter and no file,
//! need no root (those of meshes do, see `mesh`), and leave nothing behind. They need `unshare` (util-linux), `ip` and `ss` (iproute2), `nft`
//! (nftables) and `python3`.

// Clippy allows unwrap in test functions only; here the functions that they call are tests as well.
#![allow(clippy::unwrap_used)]

#[path = "../documented_json/schemas.rs"]
mod schemas;

mod lab;

mod agent_limits;
mod attribution;
mod bad_input;
mod carried;
mod carry;
mod directions;
mod experiment;
mod experiment_bench;
mod flows_exact;
mod given_up;
mod hostile;
mod kills;
mod lab_link;
mod lab_pacing;
mod lab_run;
mod lab_traps;
mod listening;
mod load;
mod load_capacity;
mod load_causes;
mod load_locust;
mod load_locust_page;
mod load_options;
mod long_path;
mod mesh;
mod neighbours;
mod origin;
mod origin_clients;
mod origin_demo;
mod origin_mirror;
mod origin_s3;
mod origin_shields;
mod origin_titles;
mod origin_tls;
mod relayed;
mod report;
mod routed;
mod rtt;
mod runs;
mod stamp;
mod store;
mod survey;
mod thresholds;
mod ui;

use std::time::Duration;

use serde_json::Value;

/// A run of a command that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(30);

/// A count in a JSON result.
#[track_caller]
fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// Holds what a command printed against its schema.
#[track_caller]
fn assert_documented(name: &str, printed: &Value) {
    schemas::assert_documented(name, &schemas::validator(name), printed);
}

/// Checks that there are values and that their quantiles ascend.
#[track_caller]
fn quantiles_ascend(quantiles: &Value) {
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
fn flow_on_port(direction: &Value, port: u16) -> &Value {
    let flows = direction["per_flow"].as_array().expect("flows");
    flows
        .iter()
        .find(|flow| flow["port"] == port)
        .unwrap_or_else(|| panic!("no flow has port {port}: {direction}"))
}
