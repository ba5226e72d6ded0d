//! What takes its time, or depends on how fast this machine is: `make soak`, on a machine that does nothing else. The other
//! tests of the built binary (`e2e`) bound real time from below only.

// Clippy allows unwrap in test functions only; here the functions that they call are tests as well.
#![allow(clippy::unwrap_used)]

mod carry_losses;
mod experiment_bench;
mod given_up;
mod lab_pacing;
mod lab_run;
mod load_capacity;
#[cfg(feature = "locust")]
mod load_locust_page;
mod load_options;
mod long_path;
mod neighbours;
mod origin_clients;
mod origin_mirror;
mod rtt;
