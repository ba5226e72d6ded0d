//! Counters of a receiver.

/// Counters of one sender, in packets unless stated otherwise. A `lost` packet ends as `recovered`,
/// `retransmitted`, `overtaken`, `elsewhere` or `unrepaired`, or is still pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivalCounters {
    /// Source packets received, without duplicates.
    pub received: u64,
    /// UDP payload bytes of all authentic packets (sources, copies, repairs), without duplicates.
    pub bytes: u64,
    /// Repair packets received.
    pub repairs: u64,
    /// Source packets whose first transmission did not arrive.
    pub lost: u64,
    /// Of these, repaired by FEC.
    pub recovered: u64,
    /// Of these, repaired by ARQ.
    pub retransmitted: u64,
    /// Of these, arrived late without retransmission: overtaken by packets of their own flow.
    pub overtaken: u64,
    /// Of these, not needed: another sender had delivered their content, or frames were taken from
    /// another.
    pub elsewhere: u64,
    /// Of these, not repaired: residual loss.
    pub unrepaired: u64,
    /// Packets whose content another sender had delivered.
    pub merged: u64,
    /// Packets received while frames were not taken from this sender.
    pub unwanted: u64,
    /// Packets received after their frame was output.
    pub late: u64,
    /// Duplicates of packets of this sender.
    pub duplicates: u64,
    /// Packets that were not the sender's, or not valid.
    pub rejected: u64,
    /// Retransmission requests, in symbols.
    pub asked: u64,
}

/// Counters of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounters {
    /// Complete frames.
    pub frames: u64,
    /// Frames with missing parts.
    pub damaged: u64,
    /// Frames of which no packet arrived.
    pub lost: u64,
}
