//! What takes its time, or depends on how fast this machine is: `make soak`, on a machine that does nothing else. The other
//! tests of the built binary (`e2e`) bound real time from below only.

// Clippy allows unwrap in test functions only; here the functions that they call are tests as well.
#![allow(clippy::unwrap_used)]

#[path = "../e2e/mesh/aws_server.rs"]
mod aws_server;
mod carry_losses;
#[path = "../e2e/mesh/engines.rs"]
mod engines;
mod given_up;
// Links and agents are for meshes.
#[allow(dead_code)]
#[path = "../e2e/mesh/hosts.rs"]
mod hosts;
mod lab_pacing;
mod lab_run;
mod launch_kills;
mod long_path;
mod neighbours;
mod networks;
mod origin_clients;
mod rtt;
mod tcp_windows;
mod testbed_kills;
mod watch_changes;
mod watch_kills;
