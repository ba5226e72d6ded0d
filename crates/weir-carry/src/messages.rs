//! What sender and receiver say to each other in their control session. Media and its repair do not travel here.

use serde::{Deserialize, Serialize};
use weir_net::host::HostFacts;

use crate::RecvLive;

/// What a receiver says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToSender {
    Want(Box<Want>),
    /// The receiver's sockets are ready.
    Go {
        active: bool,
    },
    /// Whether frames are wanted from now on.
    Active(bool),
    /// How the last second was.
    Second(RecvLive),
    /// The receiver is done.
    Leave,
    Beat,
}

/// What a receiver asks for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Want {
    pub version: String,
    pub host: HostFacts,
    /// For how long it waits for what is missing.
    pub latency_ns: u64,
    /// Whether it compares frames with the sender's hashes.
    pub hashes: bool,
}

/// What a sender says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToReceiver {
    Terms(Box<Terms>),
    /// What becomes of a flow.
    Flow {
        unix_ns: u64,
        flow: u16,
        state: String,
    },
    /// The round trip that its packets and the receiver's reports of them take.
    Rtt {
        rtt_ns: u64,
    },
    /// Numbers of frames, and their hashes.
    Hashes(Vec<(u32, u64)>),
    /// No more is sent; after the last frame unless there is a reason.
    Ended {
        reason: Option<String>,
    },
    /// What was asked for cannot be.
    Refused {
        reason: String,
    },
    Beat,
}

/// What a sender will do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub version: String,
    pub host: HostFacts,
    pub flows: u16,
    /// Longest UDP payload, headers included.
    pub length: u32,
    /// UDP ports from which it sends: one for all flows, or one for each.
    pub ports: Vec<u16>,
    /// The most sources that a repair packet is over.
    pub fec_window: Option<u16>,
    pub arq: bool,
    /// Media type of the frames.
    pub format: String,
    pub frame_bytes: u64,
    pub frame_ns: u64,
}

impl Terms {
    /// Payload bytes of every packet but the last of a frame.
    pub fn payload(&self) -> u32 {
        self.length.saturating_sub(crate::PACKET_OVERHEAD)
    }

    /// Source packets a second, about.
    pub fn packets_per_second(&self) -> f64 {
        let packets = self.frame_bytes.div_ceil(u64::from(self.payload().max(1)));
        packets as f64 * 1e9 / self.frame_ns.max(1) as f64
    }
}
