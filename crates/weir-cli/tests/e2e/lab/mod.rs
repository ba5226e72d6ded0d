//! What the tests stand on: namespaces, processes that end with their test, an agent, packet filters that count.

mod agent;
mod database;
mod isolation;
mod link;
mod nginx;
mod noise;
mod process;
mod relay;

pub use agent::Agent;
pub use database::Database;
pub use isolation::{SCRATCH, Weight, enter, see_own_processes};
pub use link::{
    FAR_IPV4, FAR_IPV6, Host, NEAR_IPV4, interface_bytes, join_by_veth, nft, nft_counter, udp_ports_in_use,
};
pub use nginx::nginx;
pub use noise::Noise;
pub use process::{Finished, Running, run, run_within, wait_until, weir};
pub use relay::{Datagram, HELLO_ACK, MTU_PROBE, RTT_REPLY, RTT_REQUEST, Relay, UDP_PORTS};

/// Moves the calling test into namespaces of its own: the test goes on behind this line there, and returns here.
/// `heavy` tests, which load the machine or are sensitive to load, run one at a time; so do those that need `root`.
macro_rules! isolated {
    () => {
        isolated!($crate::lab::Weight::Light)
    };
    (heavy) => {
        isolated!($crate::lab::Weight::Heavy)
    };
    (root) => {
        isolated!($crate::lab::Weight::Root)
    };
    ($weight:expr) => {{
        fn marker() {}
        if !$crate::lab::enter(std::any::type_name_of_val(&marker), $weight) {
            return;
        }
    }};
}
pub(crate) use isolated;

/// A file or directory of this test; it vanishes with the test's namespaces.
pub fn path(name: &str) -> String {
    format!("{SCRATCH}/{name}")
}
