//! The built `weir` binary as a user runs it, for what only a kernel or a real process can show: clients against agents over
//! namespaces that the tests make, with losses, copies and delays that somebody else than Weir counts; signals; programs of
//! others at the other end. Logic is tested where it is, in the `suite` of its crate.
//!
//! Each test runs in namespaces of its own (see `weir_rig::enter`), so that tests share no port, no packet filter and no file,
//! need no root (those of meshes do, see `mesh`), and leave nothing behind. They need `unshare` (util-linux), `ip` and `ss`
//! (iproute2), `nft` (nftables) and `python3`.

// Clippy allows unwrap in test functions only; here the functions that they call are tests as well.
#![allow(clippy::unwrap_used)]

mod agent;
mod bad_input;
mod carry;
mod counted;
mod demo;
mod deploy;
mod doctor;
mod documented_json;
mod ended;
mod hostile;
mod lab;
mod load;
#[cfg(feature = "locust")]
mod locust;
mod mesh;
mod origin;
mod population;
mod results;
mod stamp;
mod survey;
mod tcp;
mod testbed;
mod watch;

use serde_json::Value;

use documented_json::{schemas, strictness};

/// Holds what a command printed against its schema, and takes it apart: the schema has to notice all that is missing or new.
#[track_caller]
fn documented(name: &str, printed: &Value) {
    let validator = schemas::validator(name);
    schemas::assert_documented(name, &validator, printed);
    strictness::assert_strict(name, &validator, printed);
}
