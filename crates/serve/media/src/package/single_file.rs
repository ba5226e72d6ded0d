//! A track as one file that is never written: initialization segment, segment index (`sidx`, ISO/IEC 14496-12, 8.16.3) and
//! all media segments behind each other, as DASH's on-demand profile wants it. Where each part lies is known beforehand,
//! so that a server answers ranges of it from the source.

use std::ops::Range;

use crate::bmff::BoxWriter;
use crate::index::TrackIndex;
use crate::segments::{Segment, TrackSegments};

use super::{PackageError, TRACK_ID, init_segment, media_segment_length};

/// References in a segment index, at most: their number has 16 bits.
const MOST_REFERENCES: usize = u16::MAX as usize;
/// The segment begins with a sync sample (SAP of type 1).
const STARTS_WITH_SYNC: u32 = 0x9000_0000;

/// Where the parts of such a file lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SingleFile {
    /// Initialization segment and segment index: what the file begins with.
    pub head: Vec<u8>,
    /// Bytes of the initialization segment; the segment index is what follows of `head`.
    pub init_length: u64,
    /// Where each media segment begins, and behind them where the file ends.
    pub offsets: Vec<u64>,
}

impl SingleFile {
    /// Lays out a track. Segment `n` is what [`super::media_segment`] gives for the samples of segment `n` and the sequence number
    /// `n + 1`.
    ///
    /// # Errors
    ///
    /// Segments that the track does not have, too many of them, and such of 2 GiB or more.
    pub fn new(track: &TrackIndex, segments: &TrackSegments) -> Result<SingleFile, PackageError> {
        Self::laid_out(init_segment(track), track, segments, |samples| {
            media_segment_length(track, samples)
        })
    }

    /// The same with another initialization segment and other segments, of which `length` gives the bytes.
    pub(crate) fn laid_out<E: From<PackageError>>(
        init: Vec<u8>,
        track: &TrackIndex,
        segments: &TrackSegments,
        length: impl Fn(Range<u32>) -> Result<u64, E>,
    ) -> Result<SingleFile, E> {
        let segments = segments.segments.as_slice();
        if segments.len() > MOST_REFERENCES {
            let count = segments.len();
            return Err(PackageError::TooManySegments { count }.into());
        }
        let mut lengths = Vec::with_capacity(segments.len());
        for segment in segments {
            let length = length(segment.samples.clone())?;
            let length = u32::try_from(length).ok().filter(|length| length >> 31 == 0);
            lengths.push(length.ok_or(PackageError::SegmentTooLong {
                samples: segment.samples.clone(),
            })?);
        }
        let mut head = init;
        let init_length = head.len() as u64;
        head.extend(segment_index(track, segments, &lengths));
        let mut end = head.len() as u64;
        let mut offsets = vec![end];
        for length in lengths {
            end += u64::from(length);
            offsets.push(end);
        }
        Ok(SingleFile {
            head,
            init_length,
            offsets,
        })
    }

    /// Bytes of the whole file.
    pub fn length(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }
}

fn segment_index(track: &TrackIndex, segments: &[Segment], lengths: &[u32]) -> Vec<u8> {
    let mut writer = BoxWriter::new();
    writer.nest_full(b"sidx", 1, 0, |sidx| {
        sidx.u32(TRACK_ID);
        sidx.u32(track.info().timescale);
        sidx.u64(segments.first().map_or(0, |segment| segment.start));
        // The first one follows at once.
        sidx.u64(0);
        sidx.u16(0);
        sidx.u16(u16::try_from(lengths.len()).unwrap_or(u16::MAX));
        for (segment, length) in segments.iter().zip(lengths) {
            sidx.u32(*length);
            sidx.u32(u32::try_from(segment.duration).unwrap_or(u32::MAX));
            sidx.u32(STARTS_WITH_SYNC);
        }
    });
    writer.into_bytes()
}
