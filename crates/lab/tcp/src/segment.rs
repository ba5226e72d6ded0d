//! What two ends of a connection send to each other: data in one direction, acknowledgements in the other. Sequences are
//! 64-bit offsets in the stream of bytes, which never wrap.

use std::ops::Range;

/// Bytes of IPv4 and TCP headers of a packet with timestamps (RFC 9293 section 3.1, RFC 7323 section 3.2).
pub const HEADER_BYTES: u32 = 20 + 20 + 12;
/// Payload of a full packet on a path with an MTU of 1,500 bytes.
pub const USUAL_MSS: u32 = 1500 - HEADER_BYTES;
/// Blocks that fit beside timestamps (RFC 2018 section 3).
pub const MOST_BLOCKS: usize = 3;

/// Content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Part of the stream.
    Data(Data),
    /// What has arrived.
    Ack(Ack),
}

impl Segment {
    /// IP packet bytes.
    #[must_use]
    pub fn packet_length(&self) -> u32 {
        match self {
            Self::Data(data) => HEADER_BYTES + data.length,
            // Two bytes of padding, kind and length, then 8 bytes for each block.
            Self::Ack(ack) => HEADER_BYTES + ack.blocks.bytes(),
        }
    }
}

/// Part of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Offset of its first byte.
    pub start: u64,
    /// Payload bytes.
    pub length: u32,
    /// The sender has reacted to a mark (CWR, RFC 3168 section 6.1.2).
    pub reacted: bool,
}

/// What has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// All bytes before it have arrived.
    pub until: u64,
    /// Bytes that may be sent from there on.
    pub window: u32,
    /// What has arrived beyond.
    pub blocks: Blocks,
    /// A packet was marked, and the sender has not reacted yet (ECE, RFC 3168 section 6.1.3).
    pub echo_mark: bool,
    /// It answers a packet that had arrived before (RFC 2883).
    pub duplicate: bool,
    /// Packets that arrived with a mark so far, as accurate ECN tells them.
    pub marked: u32,
}

/// Selective acknowledgements: the most recent block first (RFC 2018 section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Distances of their ends from what has arrived without a gap: packets are copied often, and short ones faster.
    blocks: [(u32, u32); MOST_BLOCKS],
    count: u8,
}

impl Blocks {
    /// Adds a block, if there is room, and if it lies within 4 GiB behind `until`, before which all bytes have arrived.
    pub fn push(&mut self, until: u64, block: Range<u64>) {
        let distance = |end: u64| u32::try_from(end.checked_sub(until)?).ok();
        if let (Some(start), Some(end)) = (distance(block.start), distance(block.end))
            && usize::from(self.count) < MOST_BLOCKS
        {
            self.blocks[usize::from(self.count)] = (start, end);
            self.count += 1;
        }
    }

    /// The blocks in their order, of an acknowledgement of all bytes before `until`.
    pub fn iter(&self, until: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        self.blocks[..usize::from(self.count)]
            .iter()
            .map(move |&(start, end)| until.saturating_add(start.into())..until.saturating_add(end.into()))
    }

    /// Bytes of the option with its padding.
    fn bytes(self) -> u32 {
        if self.count == 0 {
            0
        } else {
            4 + 8 * u32::from(self.count)
        }
    }
}
