//! Boxes of the ISO base media file format (ISO/IEC 14496-12, clause 4.2): a bounded reader over byte slices and a
//! small writer. It knows how boxes and their fields lie in bytes; it must not know what a track or a sample is.
//!
//! The reader copies nothing and allocates nothing: a table is a slice until somebody walks it, and a count is checked
//! against the bytes that are there before it means anything. It descends only where its caller goes, one level at a
//! time, so the depth of a hostile file is bounded by the code that reads it. Libraries that decode whole files into
//! structures first were not taken: of a movie only sample tables and a few headers are needed, and the sample entry is
//! carried over as the bytes that it is.

mod reader;
mod writer;

use std::fmt;

use thiserror::Error;

pub use reader::{BoxHeader, Boxes, Fields, Mp4Box};
pub use writer::BoxWriter;

/// The type of a box, a brand, a handler or a sample entry: four bytes, by convention printable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FourCc(pub [u8; 4]);

impl fmt::Display for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.0.escape_ascii())
    }
}

impl fmt::Debug for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Boxes whose bytes do not add up.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BmffError {
    /// A length that does not even cover the header.
    #[error("box {kind} at byte {at} declares a length of {length} bytes, shorter than its header")]
    ShorterThanHeader {
        /// Its type.
        kind: FourCc,
        /// Where it begins in the file.
        at: u64,
        /// Bytes that it says it has.
        length: u64,
    },
    /// It goes on behind the end of what it lies in.
    #[error("box {kind} at byte {at} declares a length of {length} bytes, but only {room} remain")]
    Overruns {
        /// Its type.
        kind: FourCc,
        /// Where it begins in the file.
        at: u64,
        /// Bytes that it says it has.
        length: u64,
        /// Bytes that there are.
        room: u64,
    },
    /// Bytes at the end that are too few for a box.
    #[error("the {left} bytes at byte {at} are too few for a box")]
    Remainder {
        /// Where.
        at: u64,
        /// How many.
        left: u64,
    },
    /// Fields that are cut off.
    #[error("box {kind} at byte {at} ends in the middle of its fields")]
    Truncated {
        /// Its type.
        kind: FourCc,
        /// Where it begins in the file.
        at: u64,
    },
    /// A table that says it has more entries than bytes.
    #[error("box {kind} at byte {at} declares {count} entries, more than fit into its length")]
    TableTooLong {
        /// Its type.
        kind: FourCc,
        /// Where it begins in the file.
        at: u64,
        /// Entries that it says it has.
        count: u64,
    },
}
