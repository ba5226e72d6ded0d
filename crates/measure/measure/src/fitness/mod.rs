//! Whether hosts, and the path between them, are fit for media at a rate: from facts to checks, each with its value, what is
//! wanted, and what mends it. Pure: it reads no host and sends nothing.

mod host;
mod path;

use std::fmt;

use serde::{Deserialize, Serialize};
use weir_record::Side;

pub use host::{check_host, check_real_time};
pub use path::{Probed, check_path};

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckName {
    /// `net.core.rmem_max`.
    ReceiveBuffer,
    /// `net.core.wmem_max`.
    SendBuffer,
    /// Files that a process may open.
    OpenFiles,
    /// Real-time priority of threads that send and receive media.
    RealTime,
    /// CPU cores.
    Cores,
    /// CPU time that the hypervisor gives to others.
    CpuSteal,
    /// Frequency governor.
    Governor,
    /// Clock source of the kernel.
    ClockSource,
    /// What keeps the clock right.
    Clock,
    /// Instance types whose network runs on credits.
    InstanceType,
    /// Speed of the interface.
    InterfaceRate,
    /// MTU of the interface.
    InterfaceMtu,
    /// Receive ring of the interface.
    ReceiveRing,
    /// Queues of the interface.
    Queues,
    /// Offloads of the interface.
    Offloads,
    /// UDP between the hosts.
    Udp,
    /// Packets of the full MTU between the hosts.
    PathMtu,
}

impl CheckName {
    /// The name as JSON has it.
    pub fn as_str(self) -> &'static str {
        match self {
            CheckName::ReceiveBuffer => "receive-buffer",
            CheckName::SendBuffer => "send-buffer",
            CheckName::OpenFiles => "open-files",
            CheckName::RealTime => "real-time",
            CheckName::Cores => "cores",
            CheckName::CpuSteal => "cpu-steal",
            CheckName::Governor => "governor",
            CheckName::ClockSource => "clock-source",
            CheckName::Clock => "clock",
            CheckName::InstanceType => "instance-type",
            CheckName::InterfaceRate => "interface-rate",
            CheckName::InterfaceMtu => "interface-mtu",
            CheckName::ReceiveRing => "receive-ring",
            CheckName::Queues => "queues",
            CheckName::Offloads => "offloads",
            CheckName::Udp => "udp",
            CheckName::PathMtu => "path-mtu",
        }
    }
}

impl fmt::Display for CheckName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

/// How a check ended, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// As wanted.
    Good,
    /// Media may be harmed.
    Warning,
    /// Media at this rate will be harmed, or cannot be measured.
    Fault,
}

/// What mends a check that is not good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mend {
    /// What kind of text it is.
    pub by: MendBy,
    /// A command line for root, or a sentence.
    pub text: String,
    /// The kernel parameter that the command sets; none for other commands.
    pub parameter: Option<Parameter>,
}

/// How a check is mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MendBy {
    /// By a command.
    Command,
    /// By something that no single command does.
    Advice,
}

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name, as in `net.core.rmem_max`.
    pub key: String,
    /// Its value.
    pub value: u64,
}

impl Mend {
    fn command(command: impl Into<String>) -> Self {
        Mend {
            by: MendBy::Command,
            text: command.into(),
            parameter: None,
        }
    }

    fn advice(text: impl Into<String>) -> Self {
        Mend {
            by: MendBy::Advice,
            text: text.into(),
            parameter: None,
        }
    }

    fn parameter(key: &str, value: u64) -> Self {
        let key = key.to_owned();
        Mend {
            by: MendBy::Command,
            text: format!("sysctl -w {key}={value}"),
            parameter: Some(Parameter { key, value }),
        }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What was checked.
    pub name: CheckName,
    /// On which host; of the path, the sending one.
    pub side: Side,
    /// How it ended.
    pub fitness: Fitness,
    /// What was found, with its unit.
    pub value: String,
    /// What is wanted, with its unit.
    pub wanted: String,
    /// What mends it; none for a good one.
    pub mend: Option<Mend>,
}

/// The worst of all.
pub fn worst(checks: &[Check]) -> Fitness {
    checks
        .iter()
        .map(|check| check.fitness)
        .max()
        .unwrap_or(Fitness::Good)
}

/// What is amiss in one line, as `receive-buffer: 213 kB, wanted at least 4.19 MB; udp: blocked, wanted passes`; none where
/// nothing is.
pub fn amiss(checks: &[Check]) -> Option<String> {
    let bad: Vec<String> = checks
        .iter()
        .filter(|check| check.fitness > Fitness::Good)
        .map(|check| {
            let whose = if check.side == Side::Remote {
                " of the agent"
            } else {
                ""
            };
            format!("{}{whose}: {}, wanted {}", check.name, check.value, check.wanted)
        })
        .collect();
    (!bad.is_empty()).then(|| bad.join("; "))
}

/// The lines of a file of kernel parameters after a change: `old` with these parameters, which replace lines of the same.
pub fn sysctl_file(old: &str, changed: &[&Parameter]) -> String {
    let is_changed = |line: &&str| {
        let key = line.split('=').next().unwrap_or_default().trim();
        !changed.iter().any(|parameter| parameter.key == key)
    };
    let mut lines: Vec<String> = old.lines().filter(is_changed).map(str::to_owned).collect();
    if lines.is_empty() {
        lines.push("# Written by 'weir doctor --fix': kernel parameters for media over UDP.".to_owned());
    }
    lines.extend(
        changed
            .iter()
            .map(|Parameter { key, value }| format!("{key} = {value}")),
    );
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests;
