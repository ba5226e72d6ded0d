//! The two directions and the two hosts that a record can be of. It must not know records.

use serde::{Deserialize, Serialize};

/// Direction of the measured packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the host that ran the command to the agent.
    Forward,
    /// From the agent to the host that ran the command.
    Reverse,
}

impl Direction {
    /// Its name, in the store and in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Direction::Forward => "forward",
            Direction::Reverse => "reverse",
        }
    }
}

/// The host that a record describes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The host that ran the command.
    #[default]
    Local,
    /// The agent's host.
    Remote,
}

impl Side {
    /// Its name, in the store and in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Side::Local => "local",
            Side::Remote => "remote",
        }
    }
}
