//! Payloads that are encrypted while they arrive, where all headers in front of them are known beforehand: segments
//! that are encrypted as wholes, and samples that are. What comes out is the same however the payload is cut into
//! pieces. It must not know where the payload comes from.

use std::fmt;
use std::sync::Arc;

use super::boxes::IV_BYTES;
use super::cipher::{BLOCK, Chain, Cipher};
use crate::package::MediaSegment;

/// A media segment whose payload is still to be encrypted.
#[derive(Clone, Debug)]
pub struct StreamedSegment {
    /// The encrypted segment: its header, ready to be sent first, the length of the whole, and the pieces of the clear
    /// payload.
    pub segment: MediaSegment,
    /// What the payload has to go through.
    pub payload: PayloadCipher,
}

/// Encrypts a payload piece by piece.
#[derive(Clone)]
pub struct PayloadCipher {
    cipher: Arc<Cipher>,
    mode: Mode,
    /// Clear bytes that fill no block yet: fewer than 16.
    carried: Vec<u8>,
}

#[derive(Clone)]
enum Mode {
    Whole(Chain),
    Samples(Samples),
}

#[derive(Clone)]
struct Samples {
    vectors: Vectors,
    /// Bytes of each sample.
    sizes: Vec<u32>,
    /// How many samples have begun.
    begun: usize,
    /// Bytes that are left of the one that began last.
    left: usize,
    current: Option<Current>,
}

/// Initialization vectors.
#[derive(Clone)]
pub(super) enum Vectors {
    /// One for each sample, for counter mode.
    Each(Vec<[u8; IV_BYTES]>),
    /// The same for all, for chaining.
    Constant([u8; BLOCK]),
}

#[derive(Clone)]
enum Current {
    /// With this initialization vector, after this number of bytes.
    Counter([u8; IV_BYTES], u64),
    Chain(Chain),
}

impl PayloadCipher {
    /// All bytes by one chain, and padding behind them (RFC 8216, 4.3.2.4).
    pub(super) fn whole(cipher: Cipher, iv: [u8; BLOCK]) -> Self {
        PayloadCipher {
            cipher: Arc::new(cipher),
            mode: Mode::Whole(Chain::new(iv)),
            carried: Vec::new(),
        }
    }

    /// Samples of these sizes, each as a whole.
    pub(super) fn samples(cipher: Cipher, vectors: Vectors, sizes: Vec<u32>) -> Self {
        let samples = Samples {
            vectors,
            sizes,
            begun: 0,
            left: 0,
            current: None,
        };
        PayloadCipher {
            cipher: Arc::new(cipher),
            mode: Mode::Samples(samples),
            carried: Vec::new(),
        }
    }

    /// Encrypts what comes next. Fewer than 16 bytes wait for those behind them; what comes behind the last sample is
    /// dropped.
    pub fn push(&mut self, clear: &[u8]) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.carried);
        bytes.extend_from_slice(clear);
        let done = match &mut self.mode {
            Mode::Whole(chain) => chain.encrypt(&self.cipher, &mut bytes),
            Mode::Samples(samples) => samples.encrypt(&self.cipher, &mut bytes),
        };
        self.carried = bytes.split_off(done);
        bytes
    }

    /// What comes behind all of the payload.
    pub fn finish(mut self) -> Vec<u8> {
        let Mode::Whole(chain) = &mut self.mode else {
            return Vec::new();
        };
        let mut last = std::mem::take(&mut self.carried);
        // 1 to 16, as RFC 5652, 6.3 has it.
        let padding = BLOCK - last.len() % BLOCK;
        last.resize(last.len() + padding, padding as u8);
        chain.encrypt(&self.cipher, &mut last);
        last
    }
}

impl Samples {
    /// Encrypts as much as can be; how much that is. The rest waits for more.
    fn encrypt(&mut self, cipher: &Cipher, bytes: &mut Vec<u8>) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            if self.left == 0 && !self.begin_next() {
                bytes.truncate(at);
                break;
            }
            let end = (at + self.left).min(bytes.len());
            let is_last = end - at == self.left;
            let (Some(part), Some(current)) = (bytes.get_mut(at..end), &mut self.current) else {
                break;
            };
            let done = match current {
                Current::Counter(iv, behind) => {
                    cipher.count_from(*iv, *behind, part);
                    *behind += part.len() as u64;
                    part.len()
                }
                Current::Chain(chain) => {
                    let blocks = chain.encrypt(cipher, part);
                    // What is left of a sample's last block stays clear (ISO/IEC 23001-7, 10.4.1).
                    if is_last { part.len() } else { blocks }
                }
            };
            at += done;
            self.left -= done;
            if end > at {
                break;
            }
        }
        at
    }

    /// Turns to the next sample that has bytes; whether there is one.
    fn begin_next(&mut self) -> bool {
        while self.left == 0 {
            let Some(size) = self.sizes.get(self.begun) else {
                return false;
            };
            let current = match &self.vectors {
                Vectors::Each(vectors) => vectors.get(self.begun).map(|iv| Current::Counter(*iv, 0)),
                Vectors::Constant(iv) => Some(Current::Chain(Chain::new(*iv))),
            };
            if current.is_none() {
                return false;
            }
            self.current = current;
            self.left = *size as usize;
            self.begun += 1;
        }
        true
    }
}

/// Nothing of the key.
impl fmt::Debug for PayloadCipher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("PayloadCipher(..)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cipher::encrypt_whole;
    use super::super::content_key::ContentKey;
    use super::*;

    const IV: [u8; BLOCK] = *b"0123456789abcdef";

    fn key() -> ContentKey {
        ContentKey::new(*b"fedcba9876543210")
    }

    fn clear(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 7 % 251) as u8).collect()
    }

    /// In pieces of these lengths, over and over.
    fn in_pieces(mut cipher: PayloadCipher, mut clear: &[u8], lengths: &[usize]) -> Vec<u8> {
        let mut all = Vec::new();
        for length in lengths.iter().cycle() {
            if clear.is_empty() {
                break;
            }
            let (piece, rest) = clear.split_at((*length).min(clear.len()));
            all.extend(cipher.push(piece));
            clear = rest;
        }
        all.extend(cipher.finish());
        all
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            length in 0_usize..300,
            sizes in prop::collection::vec(0_u32..70, 1..8),
            lengths in prop::collection::vec(1_usize..50, 1..6),
        ) {
            let cipher = Cipher::new(&key());
            let made = in_pieces(PayloadCipher::whole(Cipher::new(&key()), IV), &clear(length), &lengths);
            prop_assert_eq!(made, encrypt_whole(&key(), &IV, clear(length)));

            let clear = clear(sizes.iter().sum::<u32>() as usize);
            let vectors: Vec<_> = (0..sizes.len()).map(|number| [number as u8; IV_BYTES]).collect();
            let (mut counted, mut chained) = (clear.clone(), clear.clone());
            let mut at = 0;
            for (size, iv) in sizes.iter().zip(&vectors) {
                let sample = at..at + *size as usize;
                at = sample.end;
                cipher.counter(*iv)(&mut counted[sample.clone()]);
                let whole = encrypt_whole(&key(), &IV, chained[sample.clone()].to_vec());
                let blocks = sample.len() / BLOCK * BLOCK;
                chained[sample.start..sample.start + blocks].copy_from_slice(&whole[..blocks]);
            }
            for (vectors, expected) in [(Vectors::Each(vectors), counted), (Vectors::Constant(IV), chained)] {
                let streamed = PayloadCipher::samples(Cipher::new(&key()), vectors, sizes.clone());
                prop_assert_eq!(&in_pieces(streamed.clone(), &clear, &lengths), &expected);
                // More than there should be is not let through.
                let longer = [clear.as_slice(), b"more"].concat();
                prop_assert_eq!(&in_pieces(streamed, &longer, &lengths), &expected);
            }
        }
    }
}
