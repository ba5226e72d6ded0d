//! What a receiver has counted.

/// What came from one sender. Packets, where nothing else is said. What is `lost` is in the end `recovered`,
/// `retransmitted`, `overtaken`, `elsewhere` or `unrepaired`, or not yet any of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivalCounters {
    /// Source packets that came and were new.
    pub received: u64,
    /// UDP payload bytes of all packets that came for the first time, of sources, copies and repairs: authentic ones.
    pub bytes: u64,
    /// Repair packets that came.
    pub repairs: u64,
    /// Source packets that did not come as they were first sent.
    pub lost: u64,
    /// Of these, those that the code gave back.
    pub recovered: u64,
    /// Of these, those that came when they were sent again.
    pub retransmitted: u64,
    /// Of these, those that came late on their own: overtaken by packets of their own flow.
    pub overtaken: u64,
    /// Of these, those that were not missed: another sender had brought what they carry, or frames were taken from
    /// another.
    pub elsewhere: u64,
    /// Of these, those that were given up.
    pub unrepaired: u64,
    /// Packets that brought what another sender had brought.
    pub merged: u64,
    /// Packets that came while frames were not taken from this sender.
    pub unwanted: u64,
    /// Packets of frames that had been given out without them.
    pub late: u64,
    /// Packets of this sender that had come before.
    pub duplicates: u64,
    /// Packets that were not the sender's, or made no sense.
    pub rejected: u64,
    /// Symbols that were asked for, each time counted.
    pub asked: u64,
}

/// What was given out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounters {
    /// Frames that were given out whole.
    pub frames: u64,
    /// Frames that were given out with something missing.
    pub damaged: u64,
    /// Frames of which nothing came.
    pub lost: u64,
}
