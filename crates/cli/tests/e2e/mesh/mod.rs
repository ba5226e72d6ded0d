//! A mesh on one machine: its hosts are network namespaces with an SSH server each, that Weir finds as it finds machines.
//!
//! These tests need root, because sshd changes users, and `ssh` and `sshd` (openssh-client, openssh-server).

mod aws;
mod aws_server;
mod engines;
mod hosts;
mod launch;
mod launched_bed;
mod over_ssh;
mod placed;
mod sweep_aws;

use std::process::Command;

use serde_json::Value;

use weir_rig::{Finished, LIMIT, SCRATCH, run_within};

use crate::documented;

/// A `weir` whose files are the test's, and of whose programs for machines the same holds.
fn weir(line: &str) -> Command {
    let mut command = weir_rig::weir_line(line);
    command
        .env("HOME", SCRATCH)
        .env_remove("XDG_STATE_HOME")
        .env("WEIR_TEST_FOLDER", SCRATCH)
        .env("WEIR_TEST_BINARY", weir_rig::binary());
    command
}

#[track_caller]
fn finish(code: i32, line: &str) -> Finished {
    run_within(LIMIT, weir(line)).expect_code(code)
}

/// What `weir mesh` with these arguments prints, as its schema says.
#[track_caller]
fn mesh(code: i32, line: &str) -> Value {
    let printed = finish(code, &format!("mesh {line} --json")).json();
    let (subcommand, _) = line.split_once(' ').unwrap_or((line, ""));
    documented(&format!("mesh-{subcommand}"), &printed);
    printed
}
