//! CMAF segments of a track (ISO/IEC 23000-19 over ISO/IEC 14496-12): initialization segments, and headers of media
//! segments with the places of the payload in the source. It copies no media, and must not know who sends it.
//!
//! Times: a media segment counts decode time on the media's own timeline. Where the source's edit list begins at a
//! later media time, the initialization segment has the same edit, so that presentation times, which manifests count,
//! come out after it. Where it delays the track, decode times are later by the delay and no edit is needed: players
//! that pass over empty edits are right all the same.

mod error;
mod movie;
mod padded;
mod reference;
mod single_file;

use std::ops::Range;

use crate::bmff::BoxWriter;
use crate::encryption::Auxiliary;
use crate::index::fragment::{header_flag, run_flag};
use crate::index::{Sample, TrackIndex};

use error::MOST_SAMPLES;
use movie::{Edits, TrackShape, write_movie_header, write_track};

pub use error::PackageError;
pub use padded::{LEAST_FILLER, PaddedError, filler, padded_head};
pub use reference::{reference_movie, reference_url, referred_path};
pub use single_file::SingleFile;

/// Every segment has one track, which has this number.
const TRACK_ID: u32 = 1;
/// Flags of a sync sample: it depends on no other (ISO/IEC 14496-12, 8.8.3.1).
const SYNC: u32 = 0x0200_0000;
/// Flags of another sample: it depends on others, and decoding cannot begin with it.
const NON_SYNC: u32 = 0x0101_0000;

/// A media segment: headers, and where the payload behind them is in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaSegment {
    /// `styp`, `moof` and the header of `mdat`.
    pub header: Vec<u8>,
    /// One range of the source that has all of the payload; more than that where other tracks lie between.
    pub span: Range<u64>,
    /// What of it is the payload, in this order; neighbours are merged, so there is one piece where the samples lie
    /// together.
    pub pieces: Vec<Range<u64>>,
    /// Bytes of the whole segment, headers and payload.
    pub length: u64,
}

/// The initialization segment of a track.
pub fn init_segment(track: &TrackIndex) -> Vec<u8> {
    init_segment_with(track, &track.head().sample_entry, std::iter::empty())
}

/// The same with another sample entry, and boxes at the end of `moov`.
pub(crate) fn init_segment_with<'b>(
    track: &TrackIndex,
    sample_entry: &[u8],
    boxes: impl Iterator<Item = &'b [u8]>,
) -> Vec<u8> {
    let mut writer = BoxWriter::new();
    writer.nest(b"ftyp", |ftyp| {
        ftyp.bytes(b"iso6");
        ftyp.u32(0);
        ftyp.bytes(b"iso6cmfcdash");
    });
    // Samples and durations are those of the fragments.
    let shape = TrackShape {
        track_id: TRACK_ID,
        duration: 0,
        movie_duration: 0,
        media: None,
        edits: Edits::without_delay(track),
        sample_entry,
    };
    writer.nest(b"moov", |moov| {
        write_movie_header(moov, track.info().timescale, 0, TRACK_ID + 1);
        moov.nest(b"trak", |trak| write_track(trak, track, &shape, write_no_samples));
        moov.nest(b"mvex", |mvex| {
            mvex.nest_full(b"mehd", 1, 0, |mehd| {
                mehd.u64(track.info().end.max(0).unsigned_abs());
            });
            mvex.nest_full(b"trex", 0, 0, |trex| {
                for value in [TRACK_ID, 1, 0, 0, 0] {
                    trex.u32(value);
                }
            });
        });
        boxes.for_each(|whole| moov.bytes(whole));
    });
    writer.into_bytes()
}

/// Sample tables that say that there are none here.
fn write_no_samples(stbl: &mut BoxWriter) {
    stbl.nest_full(b"stts", 0, 0, |stts| stts.zeros(4));
    stbl.nest_full(b"stsc", 0, 0, |stsc| stsc.zeros(4));
    stbl.nest_full(b"stsz", 0, 0, |stsz| stsz.zeros(8));
    stbl.nest_full(b"stco", 0, 0, |stco| stco.zeros(4));
}

/// A media segment of these samples, by number in decoding order. `sequence` is the number of the segment, counted from
/// 1 as `mfhd` does.
///
/// # Errors
///
/// No samples, or samples that the track does not have.
pub fn media_segment(
    track: &TrackIndex,
    samples: Range<u32>,
    sequence: u32,
) -> Result<MediaSegment, PackageError> {
    media_segment_with(track, samples, sequence, None)
}

/// The same with encryption data of samples.
pub(crate) fn media_segment_with(
    track: &TrackIndex,
    samples: Range<u32>,
    sequence: u32,
    auxiliary: Option<&Auxiliary>,
) -> Result<MediaSegment, PackageError> {
    let count = track.samples().len();
    if samples.len() > MOST_SAMPLES as usize || samples.end > count {
        return Err(PackageError::Samples { samples, count });
    }
    let wanted: Vec<Sample> = track.samples().range(samples.clone()).collect();
    let [first, ..] = wanted.as_slice() else {
        return Err(PackageError::Samples { samples, count });
    };
    let payload: u64 = wanted.iter().map(|sample| u64::from(sample.size)).sum();
    let delay = track.head().presentation_shift.max(0).unsigned_abs();
    let fragment = Fragment {
        samples: &wanted,
        shape: Shape::of(wanted.iter().copied()),
        decode_time: first.decode_time.saturating_add(delay),
        sequence,
        payload,
        auxiliary,
    };
    let header = fragment.write();
    let pieces = pieces(&wanted);
    let start = pieces.iter().map(|piece| piece.start).min().unwrap_or(0);
    let end = pieces.iter().map(|piece| piece.end).max().unwrap_or(0);
    Ok(MediaSegment {
        length: header.len() as u64 + payload,
        header,
        span: start..end,
        pieces,
    })
}

/// Bytes of a media segment of these samples, headers and payload, without making them.
///
/// # Errors
///
/// As [`media_segment`].
pub fn media_segment_length(track: &TrackIndex, samples: Range<u32>) -> Result<u64, PackageError> {
    let count = track.samples().len();
    if samples.is_empty() || samples.len() > MOST_SAMPLES as usize || samples.end > count {
        return Err(PackageError::Samples { samples, count });
    }
    let shape = Shape::of(track.samples().range(samples.clone()));
    let wanted = track.samples().range(samples.clone());
    let payload: u64 = wanted.map(|sample| u64::from(sample.size)).sum();
    Ok(shape.header_bytes(samples.len() as u64) + mdat_header_bytes(payload) + payload)
}

/// Where samples lie, merged where one follows the other.
fn pieces(samples: &[Sample]) -> Vec<Range<u64>> {
    let mut pieces: Vec<Range<u64>> = Vec::new();
    for sample in samples.iter().filter(|sample| sample.size > 0) {
        match pieces.last_mut() {
            Some(last) if last.end == sample.position => last.end = sample.end(),
            _ => pieces.push(sample.position..sample.end()),
        }
    }
    pieces
}

/// Writes the header of an `mdat` box, which is longer above 4 GiB.
fn write_mdat_header(writer: &mut BoxWriter, payload: u64) {
    match u32::try_from(payload + 8) {
        Ok(length) => {
            writer.u32(length);
            writer.bytes(b"mdat");
        }
        Err(_) => {
            writer.u32(1);
            writer.bytes(b"mdat");
            writer.u64(payload + 16);
        }
    }
}

/// Bytes of that header.
fn mdat_header_bytes(payload: u64) -> u64 {
    if u32::try_from(payload + 8).is_ok() { 8 } else { 16 }
}

/// Flags of the samples of a fragment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SyncPattern {
    /// All the same.
    Default(u32),
    /// The first is a sync sample, and no other.
    First,
    /// Each its own.
    Each,
}

/// Constant fields, which are not repeated per sample.
#[derive(Clone, Copy)]
struct Shape {
    duration: Option<u32>,
    size: Option<u32>,
    sync: SyncPattern,
    has_offsets: bool,
    has_negative_offsets: bool,
}

impl Shape {
    fn of(samples: impl Iterator<Item = Sample>) -> Self {
        let mut samples = samples.peekable();
        let first = samples.peek().copied().unwrap_or_default();
        let mut shape = Shape {
            duration: Some(first.duration),
            size: Some(first.size),
            sync: SyncPattern::Each,
            has_offsets: false,
            has_negative_offsets: false,
        };
        let (mut sync, mut others) = (0_u32, 0_u32);
        for sample in samples {
            shape.duration = shape.duration.filter(|same| *same == sample.duration);
            shape.size = shape.size.filter(|same| *same == sample.size);
            shape.has_offsets |= sample.composition_offset != 0;
            shape.has_negative_offsets |= sample.composition_offset < 0;
            if sample.sync {
                sync += 1;
            } else {
                others += 1;
            }
        }
        shape.sync = match (first.sync, sync, others) {
            (_, _, 0) => SyncPattern::Default(SYNC),
            (_, 0, _) => SyncPattern::Default(NON_SYNC),
            (true, 1, _) => SyncPattern::First,
            _ => SyncPattern::Each,
        };
        shape
    }

    /// Bytes of `styp` and `moof` for so many samples; what [`Fragment::write`] writes, counted.
    fn header_bytes(self, samples: u64) -> u64 {
        const STYP: u64 = 8 + 4 + 4 + 8;
        const MFHD: u64 = 12 + 4;
        const TFDT: u64 = 12 + 8;
        let flag = |there: bool| if there { 4 } else { 0 };
        let defaults = [
            self.duration.is_some(),
            self.size.is_some(),
            self.sync != SyncPattern::Each,
        ];
        let tfhd = 12 + 4 + defaults.map(flag).iter().sum::<u64>();
        let each = [
            self.duration.is_none(),
            self.size.is_none(),
            self.sync == SyncPattern::Each,
            self.has_offsets,
        ];
        let each: u64 = each.map(flag).iter().sum();
        let trun = 12 + 4 + 4 + flag(self.sync == SyncPattern::First) + each * samples;
        STYP + 8 + MFHD + 8 + tfhd + TFDT + trun
    }
}

/// A media segment on its way into bytes.
struct Fragment<'s> {
    samples: &'s [Sample],
    shape: Shape,
    decode_time: u64,
    sequence: u32,
    /// Bytes of all samples.
    payload: u64,
    auxiliary: Option<&'s Auxiliary>,
}

impl Fragment<'_> {
    fn write(&self) -> Vec<u8> {
        let mut writer = BoxWriter::new();
        writer.nest(b"styp", |styp| {
            styp.bytes(b"msdh");
            styp.u32(0);
            styp.bytes(b"msdhcmfs");
        });
        let moof_at = writer.position();
        let mut offset_at = 0;
        writer.nest(b"moof", |moof| {
            moof.nest_full(b"mfhd", 0, 0, |mfhd| mfhd.u32(self.sequence));
            moof.nest(b"traf", |traf| {
                self.write_track_header(traf);
                traf.nest_full(b"tfdt", 1, 0, |tfdt| tfdt.u64(self.decode_time));
                offset_at = self.write_run(traf);
                if let Some(auxiliary) = self.auxiliary {
                    auxiliary.write(traf, moof_at);
                }
            });
        });
        write_mdat_header(&mut writer, self.payload);
        let offset = u32::try_from(writer.position() - moof_at).unwrap_or(u32::MAX);
        writer.put_u32(offset_at, offset);
        writer.into_bytes()
    }

    fn default_flags(&self) -> Option<u32> {
        match self.shape.sync {
            SyncPattern::Default(flags) => Some(flags),
            SyncPattern::First => Some(NON_SYNC),
            SyncPattern::Each => None,
        }
    }

    fn write_track_header(&self, traf: &mut BoxWriter) {
        let defaults = [
            (header_flag::DURATION, self.shape.duration),
            (header_flag::SIZE, self.shape.size),
            (header_flag::FLAGS, self.default_flags()),
        ];
        let there = defaults.iter().filter(|(_, value)| value.is_some());
        let flags = there.fold(header_flag::BASE_IS_MOOF, |flags, (flag, _)| flags | flag);
        traf.nest_full(b"tfhd", 0, flags, |tfhd| {
            tfhd.u32(TRACK_ID);
            for value in defaults.iter().filter_map(|(_, value)| *value) {
                tfhd.u32(value);
            }
        });
    }

    /// Writes the run; where its data offset is, which is not known yet.
    fn write_run(&self, traf: &mut BoxWriter) -> usize {
        let shape = self.shape;
        let each = [
            (run_flag::FIRST_FLAGS, shape.sync == SyncPattern::First),
            (run_flag::DURATION, shape.duration.is_none()),
            (run_flag::SIZE, shape.size.is_none()),
            (run_flag::FLAGS, shape.sync == SyncPattern::Each),
            (run_flag::OFFSET, shape.has_offsets),
        ];
        let there = each.iter().filter(|(_, there)| *there);
        let flags = there.fold(run_flag::DATA_OFFSET, |flags, (flag, _)| flags | flag);
        let mut offset_at = 0;
        traf.nest_full(b"trun", shape.has_negative_offsets.into(), flags, |trun| {
            trun.u32(u32::try_from(self.samples.len()).unwrap_or(u32::MAX));
            offset_at = trun.position();
            trun.u32(0);
            if shape.sync == SyncPattern::First {
                trun.u32(SYNC);
            }
            for sample in self.samples {
                self.write_sample(trun, sample);
            }
        });
        offset_at
    }

    fn write_sample(&self, trun: &mut BoxWriter, sample: &Sample) {
        if self.shape.duration.is_none() {
            trun.u32(sample.duration);
        }
        if self.shape.size.is_none() {
            trun.u32(sample.size);
        }
        if self.shape.sync == SyncPattern::Each {
            trun.u32(if sample.sync { SYNC } else { NON_SYNC });
        }
        if self.shape.has_offsets {
            trun.i32(sample.composition_offset);
        }
    }
}
