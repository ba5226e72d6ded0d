//! Why no segment can be made.

use std::ops::Range;

use thiserror::Error;

/// Samples of a segment, at most: enough for half an hour of 120 frames a second. Its header is made in memory.
pub(super) const MOST_SAMPLES: u32 = 1 << 18;

/// Samples of which no segment can be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PackageError {
    /// None, too many, or not all of them are there.
    #[error("invalid segment of samples {} to {}: the track has {count}, and a segment at most {MOST_SAMPLES}", samples.start, samples.end)]
    Samples {
        /// What was asked for.
        samples: Range<u32>,
        /// What there is.
        count: u32,
    },
    /// More than a segment index can count.
    #[error("{count} segments are too many for one file; the maximum is 65535")]
    TooManySegments {
        /// How many there are.
        count: usize,
    },
    /// Longer than a segment index can say.
    #[error("the segment of samples {} to {} has 2 GiB or more, too long for a file with an index", samples.start, samples.end)]
    SegmentTooLong {
        /// Its samples.
        samples: Range<u32>,
    },
}
