//! Compares frames with the sender's hashes, whichever arrives first.

use std::collections::HashMap;

use weir_stream_proto::Frame;
use xxhash_rust::xxh3::xxh3_64;

/// Maximum number of frames or hashes that wait for their counterpart; older ones are dropped.
const MOST_WAITING: usize = 4_096;

#[derive(Default)]
pub(super) struct Verifier {
    expected: HashMap<u32, u64>,
    came: HashMap<u32, u64>,
}

impl Verifier {
    /// Takes the sender's hash of a frame; returns whether the frame has it, once the frame has arrived.
    pub(super) fn expected(&mut self, frame: u32, hash: u64) -> Option<bool> {
        compare(frame, hash, &mut self.came, &mut self.expected)
    }

    /// Takes a complete frame; returns whether it has the sender's hash, once the hash has arrived.
    pub(super) fn came(&mut self, frame: &Frame) -> Option<bool> {
        let hash = xxh3_64(&frame.bytes);
        compare(frame.sender_number, hash, &mut self.expected, &mut self.came)
    }
}

fn compare(
    frame: u32,
    hash: u64,
    others: &mut HashMap<u32, u64>,
    own: &mut HashMap<u32, u64>,
) -> Option<bool> {
    if let Some(other) = others.remove(&frame) {
        return Some(other == hash);
    }
    if own.len() >= MOST_WAITING {
        // An entry this old belongs to a lost frame, or to a sender without hashes.
        own.clear();
    }
    own.insert(frame, hash);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_hashes_meet_whichever_comes_first() {
        let frame = |number, bytes: &[u8]| Frame {
            sender_number: number,
            bytes: bytes.to_vec(),
            ..Frame::default()
        };
        let mut verifier = Verifier::default();
        // XXH3 of an empty input, 64 bits, without seed, from its specification.
        assert_eq!(verifier.expected(1, 0x2d06_8005_38d3_94c2), None);
        assert_eq!(verifier.came(&frame(1, b"")), Some(true));
        assert_eq!(verifier.came(&frame(2, b"ab")), None);
        assert_eq!(verifier.expected(2, 5), Some(false));
        for number in 0..3 * MOST_WAITING as u32 {
            verifier.came(&frame(number + 10, b""));
        }
        assert!(verifier.came.len() <= MOST_WAITING);
    }
}
