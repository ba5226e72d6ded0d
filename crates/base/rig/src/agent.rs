//! An agent under test, and the addresses by which clients reach it.

use crate::LIMIT;
use std::net::SocketAddr;

use serde_json::Value;

use super::{Finished, Host, Running, run_within, weir};

/// A running `weir agent`.
pub struct Agent {
    /// The running program.
    pub process: Running,
    /// What it printed when it began.
    pub announced: Value,
    /// Its control port.
    pub port: u16,
}

impl Agent {
    /// Starts an agent on `host` with a control port that is free.
    #[track_caller]
    pub fn start(host: Host, options: &[&str]) -> Self {
        Agent::start_on_port(host, 0, options)
    }

    /// Starts an agent with that control port.
    #[track_caller]
    pub fn start_on_port(host: Host, port: u16, options: &[&str]) -> Self {
        let port = port.to_string();
        let arguments = [&["agent", "--json", "--port", &port], options].concat();
        let mut process = Running::start(host.command(weir(&arguments)));
        let line = process.first_line(LIMIT);
        let announced: Value = serde_json::from_str(&line).expect("a JSON line of the agent");
        let first: SocketAddr = announced["control"][0]
            .as_str()
            .expect("a control address")
            .parse()
            .expect("an address");
        Agent {
            process,
            announced,
            port: first.port(),
        }
    }

    /// The agent at `address` of its host, as a command line names it.
    pub fn at(&self, address: &str) -> String {
        if address.contains(':') {
            format!("[{address}]:{}", self.port)
        } else {
            format!("{address}:{}", self.port)
        }
    }

    /// The agent over IPv4 loopback.
    pub fn local(&self) -> String {
        self.at("127.0.0.1")
    }

    /// A short RTT test over IPv4 loopback goes well: the agent serves.
    #[track_caller]
    pub fn check_serves(&self, options: &[&str]) {
        self.check_serves_at("127.0.0.1", options);
    }

    /// The same at another address.
    #[track_caller]
    pub fn check_serves_at(&self, address: &str, options: &[&str]) {
        let target = self.at(address);
        let arguments = [
            &[
                "rtt",
                &target,
                "--window",
                "2",
                "--interval",
                "50ms",
                "--for",
                "200ms",
            ][..],
            &["--json", "--db", "check.db"],
            options,
        ]
        .concat();
        let done: Finished = run_within(LIMIT, weir(&arguments)).expect_code(0);
        assert_eq!(done.json()["lost"], 0, "{}", done.stdout);
    }
}
