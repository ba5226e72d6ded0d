//! What a running stream tells those who watch it.

use std::net::SocketAddr;

use weir_results::Record;

use crate::Event;

/// Takes what happens. Calls come from the thread that follows the control connection, never from the packet path.
pub trait Watch {
    /// A record to keep.
    fn record(&self, record: Record);
    /// A sender listens at these addresses.
    fn listening(&self, addresses: &[SocketAddr]) {
        let _ = addresses;
    }
    /// Something happened that people want to know at once. Also a record, which the caller makes.
    fn event(&self, event: &Event);
    /// About once a second: how it goes.
    fn live(&self, live: &Live);
}

/// How it goes.
#[derive(Clone, Debug)]
pub enum Live {
    /// For the other end, or for the input.
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
    /// Packets sent again.
    pub retransmitted: u64,
    /// Flows that are used, and all.
    pub flows: (u16, u16),
    /// Round trip to the receiver, nanoseconds.
    pub rtt_ns: Option<u64>,
    /// What the receiver says of its last second, once it has said something.
    pub receiver: Option<RecvLive>,
}

/// The last second of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RecvLive {
    /// UDP payload, bits per second.
    pub rate: u64,
    /// Source packets that came.
    pub received: u64,
    /// Source packets that did not come as first sent.
    pub lost: u64,
    /// Of these, given back by FEC.
    pub recovered: u64,
    /// Of these, sent again in time.
    pub retransmitted: u64,
    /// Of these, never repaired.
    pub unrepaired: u64,
    /// Packets of frames that had been given out.
    pub late: u64,
    /// Most of the latency budget that a frame used, nanoseconds.
    pub used_ns: u64,
    /// The budget, nanoseconds.
    pub budget_ns: u64,
    /// Frames given out whole since the beginning.
    pub frames: u64,
    /// Frames concealed since the beginning, in part or wholly.
    pub concealed: u64,
    /// Frames thrown away since the beginning because the reader was slow.
    pub dropped: u64,
}
