//! A trial of settings: which stream is to be carried over which link, and what came of it. It must not know who carries
//! it: the transport stands above this crate.

use std::fmt::Debug;

use weir_link::LinkSpec;
use weir_measure::VideoFormat;

use crate::finding::Recovery;

/// Carries streams over links in virtual time.
pub trait Transport: Debug + Sync {
    /// What comes of this stream over this link; none where the transport takes no such stream.
    fn carry(&self, link: &LinkSpec, stream: &Stream) -> Option<Carried>;

    /// Packets of this stream that a flow sends back to back unless it is set otherwise.
    fn usual_burst(&self, stream: &Stream) -> u32;
}

/// A stream to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// The media.
    pub format: VideoFormat,
    /// Flows.
    pub flows: u16,
    /// UDP payload, bytes.
    pub payload: u32,
    /// Packets that a flow sends back to back; none: as usual.
    pub burst: Option<u32>,
    /// How lost packets are repaired.
    pub recovery: Recovery,
    /// How long the receiver waits for missing packets, nanoseconds.
    pub latency_ns: u64,
    /// A flow that is dark, from when to when, nanoseconds.
    pub dark: Option<(u16, u64, u64)>,
    /// Packets of media to send at least; whole frames are sent.
    pub packets: u64,
    /// Seed of the link and of the transport.
    pub seed: u64,
}

/// What came of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Packets of media.
    pub packets: u64,
    /// Of these, lost on the link at first.
    pub lost: u64,
    /// Of these, missing at the output.
    pub unrepaired: u64,
    /// Frames in which any are missing.
    pub damaged_frames: u64,
    /// All packets that were sent: media, repairs, retransmissions.
    pub sent_packets: u64,
}
