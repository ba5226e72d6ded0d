//! Messages of the control session between sender and receiver. Media, FEC and ARQ use UDP.

use serde::{Deserialize, Serialize};
use weir_net::host::HostFacts;
use weir_protect::Protection;

use crate::RecvLive;

/// How a stream is protected, at the end of a sentence.
pub(crate) fn in_words(protection: Protection) -> String {
    match protection {
        Protection::Off => "in the clear: anybody on the path can see and alter it".to_owned(),
        Protection::Auth => "authenticated, not encrypted: anybody on the path can see it".to_owned(),
        cipher => format!("encrypted with {cipher}"),
    }
}

/// Messages from a receiver.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToSender {
    Want(Box<Want>),
    /// The receiver's sockets are ready.
    Go {
        active: bool,
    },
    /// Whether to send frames from now on.
    Active(bool),
    /// The counters of the last second.
    Second(RecvLive),
    /// The receiver is done.
    Leave,
    Beat,
}

/// The receiver's request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Want {
    pub version: String,
    pub host: HostFacts,
    /// How long it waits for missing packets.
    pub latency_ns: u64,
    /// Whether it compares frames with the sender's hashes.
    pub hashes: bool,
    /// Maximum number of packet threads.
    #[serde(default = "one")]
    pub threads: u16,
}

/// The number of threads of an end that has no others.
const fn one() -> u16 {
    1
}

/// Messages from a sender.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToReceiver {
    Terms(Box<Terms>),
    /// A change of a flow's use.
    Flow {
        unix_ns: u64,
        flow: u16,
        state: String,
    },
    /// Round-trip time of its packets and the receiver's feedback.
    Rtt {
        rtt_ns: u64,
    },
    /// Numbers of frames, and their hashes.
    Hashes(Vec<(u32, u64)>),
    /// The stream ends: after the last frame, unless there is a reason.
    Ended {
        reason: Option<String>,
    },
    /// The request is refused.
    Refused {
        reason: String,
    },
    Beat,
}

/// The sender's parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub version: String,
    pub host: HostFacts,
    pub flows: u16,
    /// Packet threads, each with a share of the stream.
    #[serde(default = "one")]
    pub threads: u16,
    /// Longest UDP payload, headers included.
    pub length: u32,
    /// UDP ports from which it sends: one for all flows, or that of each.
    pub ports: Vec<u16>,
    /// Maximum window of a repair packet, sources.
    pub fec_window: Option<u16>,
    pub arq: bool,
    /// Media type of the frames.
    pub format: String,
    pub frame_bytes: u64,
    pub frame_ns: u64,
}

impl Terms {
    /// Payload of every packet except the last of a frame, bytes.
    pub fn payload(&self) -> u32 {
        self.length.saturating_sub(weir_stream_proto::PACKET_OVERHEAD)
    }

    /// Approximate source packets per second.
    pub fn packets_per_second(&self) -> f64 {
        let packets = self.frame_bytes.div_ceil(u64::from(self.payload().max(1)));
        packets as f64 * 1e9 / self.frame_ns.max(1) as f64
    }
}
