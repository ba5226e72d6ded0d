//! What the tests of the built `weir` stand on: namespaces, processes that end with their test, an agent, servers, packet
//! filters that count, waits. It knows the commands of `weir` and nothing of the crates behind them; no product code uses it.

// Clippy allows unwrap in test functions only; everything here is called by tests.
#![allow(clippy::unwrap_used)]

mod agent;
pub mod carry;
mod database;
pub mod film;
mod isolation;
mod json;
mod lab_run;
mod left;
mod link;
pub mod locust;
mod nginx;
mod noise;
pub mod origin;
mod port;
mod process;
mod relay;
mod report_file;
mod shared_data;

use std::time::Duration;

pub use agent::Agent;
pub use database::Database;
pub use isolation::{SCRATCH, Weight, enter, see_own_processes};
pub use json::{count, counts, flow_on_port, quantiles_ascend};
pub use lab_run::lab_run;
pub use left::{nothing_is_left, other_processes};
pub use link::{
    FAR_IPV4, FAR_IPV6, Host, NEAR_IPV4, interface_bytes, join_by_veth, nft, nft_counter, udp_ports_in_use,
};
pub use nginx::nginx;
pub use noise::Noise;
pub use port::OwnPort;
pub use process::{
    Finished, Running, binary, engine, ran, run, run_within, started, wait_until, weir, weir_line,
};
pub use relay::{Datagram, HELLO_ACK, MTU_PROBE, RTT_REPLY, RTT_REQUEST, Relay};
pub use report_file::unpacked;
pub use shared_data::shared_data;

/// What takes longer hangs: several times what anything takes on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(180);

/// Moves the calling test into namespaces of its own: the test goes on behind this line there, and returns here.
/// `heavy` tests, which load the machine or are sensitive to load, run one at a time; so do those that need `root`.
#[macro_export]
macro_rules! isolated {
    () => {
        $crate::isolated!($crate::Weight::Light)
    };
    (heavy) => {
        $crate::isolated!($crate::Weight::Heavy)
    };
    (root) => {
        $crate::isolated!($crate::Weight::Root)
    };
    ($weight:expr) => {{
        fn marker() {}
        if !$crate::enter(std::any::type_name_of_val(&marker), $weight) {
            return;
        }
    }};
}

/// A file or directory of this test; it vanishes with the test's namespaces.
pub fn path(name: &str) -> String {
    format!("{SCRATCH}/{name}")
}
