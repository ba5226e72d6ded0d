//! An agent under test, and the addresses by which clients reach it.

use crate::LIMIT;
use std::net::SocketAddr;

use serde_json::Value;

use super::{Host, Running, ran, weir_line};

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
    /// Starts an agent on `host` with these options and a control port that is free.
    #[track_caller]
    pub fn start(host: Host, options: &str) -> Self {
        Agent::start_on_port(host, 0, options)
    }

    /// Starts an agent with that control port.
    #[track_caller]
    pub fn start_on_port(host: Host, port: u16, options: &str) -> Self {
        let line = format!("agent --json --port {port} {options}");
        let mut process = Running::start(host.command(weir_line(&line)));
        let line = process.first_line(LIMIT);
        let announced: Value = serde_json::from_str(&line).expect("a JSON line of the agent");
        let first = announced["control"][0].as_str().expect("a control address");
        let port = first.parse::<SocketAddr>().expect("an address").port();
        Agent {
            process,
            announced,
            port,
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

    /// A short RTT test goes well, and leaves a run in `check.db`: the agent serves.
    #[track_caller]
    pub fn check_serves(&self, address: &str, options: &str) {
        let target = self.at(address);
        let test = "--window 2 --interval 50ms --for 200ms --json --db check.db";
        let said = ran(0, &format!("rtt {target} {test} {options}")).json();
        assert_eq!(said["lost"], 0, "{said}");
    }
}
