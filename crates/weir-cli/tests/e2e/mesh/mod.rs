//! A mesh on one machine: its hosts are network namespaces with an SSH server each, that Weir finds as it finds machines.
//!
//! These tests need root, because sshd changes users, and `ssh` and `sshd` (openssh-client, openssh-server).

mod firewall;
mod hosts;
mod launch;
mod over_ssh;
mod sweep_aws;
mod wrong;

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::lab::{self, Finished, SCRATCH, run, run_within};

/// The longest that a command may take which makes tests between hosts, or waits for machines.
const LONG: Duration = Duration::from_secs(150);

/// A `weir` whose files are the test's, and of whose programs for machines the same holds.
fn weir(arguments: &[&str]) -> Command {
    let mut command = lab::weir(arguments);
    command
        .env("HOME", SCRATCH)
        .env_remove("XDG_STATE_HOME")
        .env("WEIR_TEST_FOLDER", SCRATCH)
        .env("WEIR_TEST_BINARY", env!("CARGO_BIN_EXE_weir"));
    command
}

#[track_caller]
fn finish(command: Command, code: i32) -> Finished {
    run_within(LONG, command).expect_code(code)
}

#[track_caller]
fn json_of(arguments: &[&str], code: i32) -> Value {
    finish(weir(arguments), code).json()
}

/// A bridge on which hosts are reached by SSH, from 10.9.0.254.
fn make_bridge() {
    lab::see_own_processes();
    std::fs::create_dir_all("/run/sshd").unwrap();
    run("ip", &["link", "add", "bridge", "type", "bridge"]);
    run("ip", &["address", "add", "10.9.0.254/24", "dev", "bridge"]);
    run("ip", &["link", "set", "bridge", "up"]);
}
