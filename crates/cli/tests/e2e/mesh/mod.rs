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

use serde_json::Value;

use weir_rig::{Finished, LIMIT, SCRATCH, run, run_within};

/// A `weir` whose files are the test's, and of whose programs for machines the same holds.
fn weir(arguments: &[&str]) -> Command {
    let mut command = weir_rig::weir(arguments);
    command
        .env("HOME", SCRATCH)
        .env_remove("XDG_STATE_HOME")
        .env("WEIR_TEST_FOLDER", SCRATCH)
        .env("WEIR_TEST_BINARY", weir_rig::binary());
    command
}

#[track_caller]
fn finish(command: Command, code: i32) -> Finished {
    run_within(LIMIT, command).expect_code(code)
}

#[track_caller]
fn json_of(arguments: &[&str], code: i32) -> Value {
    finish(weir(arguments), code).json()
}

/// A bridge on which hosts are reached by SSH, from 10.9.0.254.
fn make_bridge() {
    weir_rig::see_own_processes();
    std::fs::create_dir_all("/run/sshd").unwrap();
    run("ip", &["link", "add", "bridge", "type", "bridge"]);
    run("ip", &["address", "add", "10.9.0.254/24", "dev", "bridge"]);
    run("ip", &["link", "set", "bridge", "up"]);
}
