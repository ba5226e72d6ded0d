//! The built `weir` binary as a user runs it: clients against agents, over loopback and over namespaces that the
//! tests make, with losses, copies and delays that somebody else than Weir counts.
//!
//! Each test runs in namespaces of its own (see `lab`), so that tests share no port, no packet filter and no file,
//! need no root (those of meshes do, see `mesh`), and leave nothing behind. They need `unshare` (util-linux), `ip` and `ss` (iproute2), `nft`
//! (nftables) and `python3`.

// Clippy allows unwrap in test functions only; here the functions that they call are tests as well.
#![allow(clippy::unwrap_used)]

mod agent_limits;
mod answer;
mod attribution;
mod bad_input;
mod carried;
mod carry;
mod demo;
mod directions;
mod documented_json;
mod experiment;
mod floors;
mod flows_exact;
mod given_up;
mod hostile;
mod kills;
mod lab_link;
mod lab_run;
mod lab_traps;
mod listening;
mod load;
mod load_causes;
#[cfg(feature = "locust")]
mod load_locust;
mod mesh;
mod mesh_aws;
mod neighbours;
mod origin;
mod origin_demo;
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
mod volume;

use serde_json::Value;

use documented_json::schemas;

/// Holds what a command printed against its schema.
#[track_caller]
fn assert_documented(name: &str, printed: &Value) {
    schemas::assert_documented(name, &schemas::validator(name), printed);
}
