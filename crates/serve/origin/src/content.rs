//! What an answer is made of: bytes at hand, and ranges of stored objects. It must not know what they mean, who asked,
//! nor how they are read.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use weir_media::encryption::{EncryptionError, PayloadCipher};

use crate::path::ObjectPath;
use crate::storage::Meta;

/// A piece of an answer.
#[derive(Clone, Debug)]
pub enum Part {
    /// At hand.
    Bytes(Bytes),
    /// In storage.
    Stored(Stored),
    /// Made when its turn comes.
    Made(Made),
    /// Encrypted while it is read.
    Encrypted(Encrypted),
    /// Converted when all of it has been read.
    Remade(Remade),
}

/// What is made of a payload, of which those bytes are sent that lie in `within`.
#[derive(Clone, Debug)]
pub struct Remade {
    pub payload: Content,
    pub how: Arc<dyn Remake>,
    pub within: Range<u64>,
}

/// Converts a complete payload into the one that is sent: encrypted, with a header that describes it, or clipped.
pub trait Remake: Debug + Send + Sync {
    /// What is sent in place of this payload, which is all of it.
    ///
    /// # Errors
    /// When the payload is damaged, or of a codec that cannot be encrypted.
    fn remake(&self, payload: Vec<u8>) -> Result<Vec<u8>, NotEncrypted>;
}

/// Why something is not encrypted, and so not sent.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot encrypt {path}: {error}; it is not served unencrypted")]
pub struct NotEncrypted {
    /// The file.
    pub path: ObjectPath,
    /// What is wrong.
    pub error: EncryptionError,
}

/// What encryption makes of something, of which those bytes are sent that lie in `within`. It is read from its
/// beginning on, since each block follows from those before.
#[derive(Clone, Debug)]
pub struct Encrypted {
    pub clear: Content,
    /// As it is before the first byte.
    pub cipher: PayloadCipher,
    pub within: Range<u64>,
}

/// Makes pieces of something long, whose length is known beforehand.
pub trait Maker: Debug + Send + Sync {
    /// What stands at the start of `within`, which is not empty: at least a byte, and no more than `within`.
    fn make(&self, within: &Range<u64>) -> Content;
}

/// Bytes of something long: those in `within`, of which only what is sent is made.
#[derive(Clone, Debug)]
pub struct Made {
    pub maker: Arc<dyn Maker>,
    pub within: Range<u64>,
}

impl Made {
    /// The next piece, and what is left behind it.
    pub fn split(self) -> (Content, Option<Made>) {
        let piece = self.maker.make(&self.within);
        let start = self.within.start + piece.length();
        let is_left = piece.length() > 0 && start < self.within.end;
        let rest = is_left.then(|| Made {
            within: start..self.within.end,
            ..self
        });
        (piece, rest)
    }
}

/// Bytes of one version of an object: those in `keep`, which one read from the first to the last brings.
#[derive(Clone, Debug)]
pub struct Stored {
    pub path: ObjectPath,
    pub version: Meta,
    /// Ranges that are not empty, ascending, and do not overlap.
    pub keep: Vec<Range<u64>>,
}

/// An answer's body, whose length is known before it is read.
#[derive(Clone, Debug, Default)]
pub struct Content {
    parts: Vec<Part>,
}

impl Content {
    pub fn new(parts: Vec<Part>) -> Self {
        Content { parts }
    }

    /// Its pieces, in order.
    pub fn into_parts(self) -> Vec<Part> {
        self.parts
    }

    /// Bytes in all.
    pub fn length(&self) -> u64 {
        self.parts.iter().map(Part::length).sum()
    }

    /// All of it, if nothing of it is in storage.
    pub fn at_hand(&self) -> Option<Bytes> {
        match self.parts.as_slice() {
            [] => Some(Bytes::new()),
            [Part::Bytes(bytes)] => Some(bytes.clone()),
            _ => None,
        }
    }

    /// Those bytes of it.
    pub fn slice(&self, wanted: &Range<u64>) -> Content {
        let mut from = 0;
        let mut parts = Vec::new();
        for part in &self.parts {
            let to = from + part.length();
            let within = wanted.start.clamp(from, to) - from..wanted.end.clamp(from, to) - from;
            if !within.is_empty() {
                parts.push(part.slice(&within));
            }
            from = to;
        }
        Content { parts }
    }
}

impl Part {
    fn length(&self) -> u64 {
        match self {
            Part::Bytes(bytes) => bytes.len() as u64,
            Part::Stored(stored) => stored.keep.iter().map(|range| range.end - range.start).sum(),
            Part::Made(Made { within, .. })
            | Part::Encrypted(Encrypted { within, .. })
            | Part::Remade(Remade { within, .. }) => within.end - within.start,
        }
    }

    fn slice(&self, wanted: &Range<u64>) -> Part {
        match self {
            // Lengths of bytes at hand fit.
            Part::Bytes(bytes) => Part::Bytes(bytes.slice(wanted.start as usize..wanted.end as usize)),
            Part::Stored(stored) => Part::Stored(Stored {
                keep: slice_ranges(&stored.keep, wanted),
                ..stored.clone()
            }),
            Part::Made(made) => Part::Made(Made {
                maker: made.maker.clone(),
                within: made.within.start + wanted.start..made.within.start + wanted.end,
            }),
            Part::Encrypted(part) => Part::Encrypted(Encrypted {
                within: part.within.start + wanted.start..part.within.start + wanted.end,
                ..part.clone()
            }),
            Part::Remade(part) => Part::Remade(Remade {
                within: part.within.start + wanted.start..part.within.start + wanted.end,
                ..part.clone()
            }),
        }
    }
}

/// The part of some ranges, put one after the other, that `wanted` counts.
fn slice_ranges(ranges: &[Range<u64>], wanted: &Range<u64>) -> Vec<Range<u64>> {
    let mut from = 0;
    let mut kept = Vec::new();
    for range in ranges {
        let to = from + (range.end - range.start);
        let (start, end) = (wanted.start.clamp(from, to), wanted.end.clamp(from, to));
        if start < end {
            kept.push(range.start + (start - from)..range.start + (end - from));
        }
        from = to;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(keep: Vec<Range<u64>>) -> Part {
        Part::Stored(Stored {
            path: ObjectPath::new("a").expect("a path"),
            version: Meta {
                length: 1000,
                etag: None,
                modified: None,
            },
            keep,
        })
    }

    #[test]
    fn a_slice_goes_across_parts_and_ranges() {
        let content = Content::new(vec![
            Part::Bytes(Bytes::from_static(b"0123")),
            stored(vec![100..103, 110..112]),
            Part::Bytes(Bytes::from_static(b"9")),
        ]);
        assert_eq!(content.length(), 10);
        let told = |wanted: Range<u64>| {
            let sliced = content.slice(&wanted);
            assert_eq!(sliced.length(), wanted.end - wanted.start);
            sliced
                .parts
                .iter()
                .map(|part| match part {
                    Part::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    Part::Stored(stored) => format!("{:?}", stored.keep),
                    Part::Made(made) => format!("{:?}", made.within),
                    Part::Encrypted(Encrypted { within, .. }) | Part::Remade(Remade { within, .. }) => {
                        format!("{within:?}")
                    }
                })
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(told(0..10), "0123 [100..103, 110..112] 9");
        assert_eq!(told(3..8), "3 [100..103, 110..111]");
        assert_eq!(told(5..6), "[101..102]");
        assert_eq!(told(7..9), "[110..112]");
        assert_eq!(told(9..10), "9");
    }

    /// Ten bytes at a time, each its own place.
    #[derive(Debug)]
    struct Tens;

    impl Maker for Tens {
        fn make(&self, within: &Range<u64>) -> Content {
            let end = (within.start / 10 * 10 + 10).min(within.end);
            let bytes: Vec<u8> = (within.start..end).map(|byte| byte as u8).collect();
            Content::new(vec![Part::Bytes(bytes.into())])
        }
    }

    #[test]
    fn what_is_made_later_is_made_piece_by_piece_and_only_as_far_as_it_is_wanted() {
        let made = Made {
            maker: Arc::new(Tens),
            within: 5..100,
        };
        let content = Content::new(vec![Part::Bytes(Bytes::from_static(b"01234")), Part::Made(made)]);
        assert_eq!(content.length(), 100);
        let mut sliced = content.slice(&(17..38));
        assert_eq!(sliced.length(), 21);
        let (mut pieces, mut all) = (Vec::new(), Vec::new());
        let Some(Part::Made(made)) = sliced.parts.pop() else {
            panic!("only what is made is left")
        };
        let mut rest = Some(made);
        while let Some(made) = rest {
            let (piece, left) = made.split();
            let bytes = piece.at_hand().expect("bytes");
            pieces.push(bytes.len());
            all.extend(bytes);
            rest = left;
        }
        assert_eq!(pieces, [3, 10, 8]);
        assert!(all.into_iter().eq(17..38));
    }
}
