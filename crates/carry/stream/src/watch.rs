//! Observers of a running stream.

use std::net::SocketAddr;

use weir_record::Record;

use crate::Event;

/// Receives records and events. Calls come from the thread that follows the control connection, never from the packet
/// path.
pub trait Watch {
    /// A record to keep.
    fn record(&self, record: Record);
    /// A sender listens at these addresses.
    fn listening(&self, addresses: &[SocketAddr]) {
        let _ = addresses;
    }
    /// Metrics are served at this address.
    fn metrics(&self, address: SocketAddr) {
        let _ = address;
    }
    /// An event for the user. The caller also records it.
    fn event(&self, event: &Event);
    /// The state, about once per second.
    fn live(&self, live: &Live);
}

/// State of a stream.
#[derive(Clone, Debug)]
pub enum Live {
    /// Waits for the other end, or for the input.
    Waiting(String),
    /// At the sender.
    Sending(SendLive),
    /// At the receiver.
    Receiving(RecvLive),
}

/// The last second of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SendLive {
    /// UDP payload, bits per second.
    pub rate: u64,
    /// Frames sent since the beginning.
    pub frames: u64,
    /// Frames skipped since the beginning.
    pub skipped: u64,
    /// Source packets.
    pub sources: u64,
    /// Repair packets.
    pub repairs: u64,
    /// Retransmitted packets.
    pub retransmitted: u64,
    /// Flows in use, and all flows.
    pub flows: (u16, u16),
    /// Round trip to the receiver, nanoseconds.
    pub rtt_ns: Option<u64>,
    /// The receiver's last second, once it has reported one.
    pub receiver: Option<RecvLive>,
}

/// The last second of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RecvLive {
    /// UDP payload, bits per second.
    pub rate: u64,
    /// Source packets received.
    pub received: u64,
    /// Source packets whose first transmission did not arrive.
    pub lost: u64,
    /// Of these, repaired by FEC.
    pub recovered: u64,
    /// Of these, repaired by ARQ in time.
    pub retransmitted: u64,
    /// Of these, not repaired.
    pub unrepaired: u64,
    /// Packets that arrived after their frame was output.
    pub late: u64,
    /// Maximum of the latency budget that a frame used, nanoseconds.
    pub used_ns: u64,
    /// The budget, nanoseconds.
    pub budget_ns: u64,
    /// Complete frames since the beginning.
    pub frames: u64,
    /// Frames concealed since the beginning, in part or in full.
    pub concealed: u64,
    /// Frames dropped since the beginning because the reader was slow.
    pub dropped: u64,
}
