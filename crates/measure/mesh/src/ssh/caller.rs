//! One call of `ssh`: a script on a host, with what it reads and what it printed. It knows nothing of agents and testbeds.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::hosts::Host;
use crate::process::{self, Input, Output};
use crate::run::Fault;

use super::{arguments, judge, not_started};

/// The program for SSH, and what ends its calls.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'r> {
    /// The program to call.
    pub ssh: &'r str,
    /// Set to end commands that run, at once.
    pub kill: &'r AtomicBool,
}

impl Caller<'_> {
    /// Runs a script on a host, and returns what it printed.
    pub(super) fn call(
        &self,
        host: &Host,
        script: &str,
        input: Input<'_>,
        output: Output<'_>,
        limit: Duration,
    ) -> Result<String, Fault> {
        let finished = process::run(
            self.ssh,
            &arguments(host, script),
            input,
            output,
            limit,
            self.kill,
        )
        .map_err(|error| not_started(self.ssh, &error))?;
        judge(&host.name, finished, limit)
    }
}
