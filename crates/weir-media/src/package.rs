//! CMAF segments of a track (ISO/IEC 23000-19 over ISO/IEC 14496-12): initialization segments, and headers of media
//! segments with the places of the payload in the source. It copies no media, and must not know who sends it.
//!
//! Times: a media segment counts decode time on the media's own timeline. Where the source's edit list begins at a later
//! media time, the initialization segment has the same edit, so that presentation times, which manifests count, come out
//! after it. Where it delays the track, decode times are later by the delay and no edit is needed: players that pass over
//! empty edits are right all the same.

use std::ops::Range;

use thiserror::Error;

use crate::bmff::{BoxHeader, BoxWriter};
use crate::index::{Sample, TrackIndex, TrackInfo, TrackKind};

/// Every segment has one track, which has this number.
const TRACK_ID: u32 = 1;
/// Flags of a sync sample: it depends on no other (ISO/IEC 14496-12, 8.8.3.1).
const SYNC: u32 = 0x0200_0000;
/// Flags of another sample: it depends on others, and decoding cannot begin with it.
const NON_SYNC: u32 = 0x0101_0000;

/// Samples of a segment, at most: enough for half an hour of 120 frames a second. Its header is made in memory.
const MOST_SAMPLES: u32 = 1 << 18;

/// Samples of which no segment can be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PackageError {
    /// None, too many, or not all of them are there.
    #[error("a segment of samples {} up to {} was asked for; the track has {count}, and a segment takes {MOST_SAMPLES}", samples.start, samples.end)]
    Samples {
        /// What was asked for.
        samples: Range<u32>,
        /// What there is.
        count: u32,
    },
}

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
    let mut writer = BoxWriter::new();
    writer.nest(b"ftyp", |ftyp| {
        ftyp.bytes(b"iso6");
        ftyp.u32(0);
        ftyp.bytes(b"iso6cmfcdash");
    });
    writer.nest(b"moov", |moov| {
        write_movie_header(moov, track);
        moov.nest(b"trak", |trak| write_track(trak, track));
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
    });
    writer.into_bytes()
}

/// 8.2.2: no duration of its own, since all samples are in fragments.
fn write_movie_header(moov: &mut BoxWriter, track: &TrackIndex) {
    moov.nest_full(b"mvhd", 0, 0, |mvhd| {
        mvhd.zeros(8);
        mvhd.u32(track.info().timescale);
        mvhd.u32(0);
        mvhd.u32(0x0001_0000);
        mvhd.u16(0x0100);
        mvhd.zeros(10);
        for value in [0x0001_0000, 0, 0, 0, 0x0001_0000, 0, 0, 0, 0x4000_0000] {
            mvhd.u32(value);
        }
        mvhd.zeros(24);
        mvhd.u32(TRACK_ID + 1);
    });
}

fn write_track(trak: &mut BoxWriter, track: &TrackIndex) {
    let head = track.head();
    // Enabled, and part of the movie.
    trak.nest_full(b"tkhd", 0, 3, |tkhd| {
        tkhd.zeros(8);
        tkhd.u32(TRACK_ID);
        tkhd.zeros(4 + 4 + 8 + 4);
        tkhd.u16(match head.kind {
            TrackKind::Video => 0,
            TrackKind::Audio => 0x0100,
        });
        tkhd.zeros(2);
        tkhd.bytes(&head.display.matrix);
        tkhd.u32(head.display.width);
        tkhd.u32(head.display.height);
    });
    if head.presentation_shift < 0 {
        trak.nest(b"edts", |edts| {
            edts.nest_full(b"elst", 1, 0, |elst| {
                elst.u32(1);
                // Up to the end, whatever comes in fragments.
                elst.u64(0);
                elst.u64(head.presentation_shift.unsigned_abs());
                elst.u32(0x0001_0000);
            });
        });
    }
    trak.nest(b"mdia", |mdia| {
        write_media(mdia, track.info(), &head.sample_entry)
    });
}

fn write_media(mdia: &mut BoxWriter, info: &TrackInfo, sample_entry: &[u8]) {
    let language = packed_language(&info.language);
    mdia.nest_full(b"mdhd", 0, 0, |mdhd| {
        mdhd.zeros(8);
        mdhd.u32(info.timescale);
        mdhd.u32(0);
        mdhd.u16(language.unwrap_or(UNDETERMINED));
        mdhd.zeros(2);
    });
    mdia.nest_full(b"hdlr", 0, 0, |hdlr| {
        hdlr.zeros(4);
        hdlr.bytes(match info.kind {
            TrackKind::Video => b"vide",
            TrackKind::Audio => b"soun",
        });
        hdlr.zeros(12 + 1);
    });
    if language.is_none() {
        mdia.nest_full(b"elng", 0, 0, |elng| {
            elng.bytes(info.language.as_bytes());
            elng.u8(0);
        });
    }
    mdia.nest(b"minf", |minf| {
        match info.kind {
            TrackKind::Video => minf.nest_full(b"vmhd", 0, 1, |vmhd| vmhd.zeros(8)),
            TrackKind::Audio => minf.nest_full(b"smhd", 0, 0, |smhd| smhd.zeros(4)),
        }
        minf.nest(b"dinf", |dinf| {
            dinf.nest_full(b"dref", 0, 0, |dref| {
                dref.u32(1);
                // The media are in the same file.
                dref.nest_full(b"url ", 0, 1, |_| {});
            });
        });
        minf.nest(b"stbl", |stbl| {
            stbl.nest_full(b"stsd", 0, 0, |stsd| {
                stsd.u32(1);
                stsd.bytes(&with_first_reference(sample_entry));
            });
            stbl.nest_full(b"stts", 0, 0, |stts| stts.zeros(4));
            stbl.nest_full(b"stsc", 0, 0, |stsc| stsc.zeros(4));
            stbl.nest_full(b"stsz", 0, 0, |stsz| stsz.zeros(8));
            stbl.nest_full(b"stco", 0, 0, |stco| stco.zeros(4));
        });
    });
}

/// `und` in five bits a letter.
const UNDETERMINED: u16 = 0x55c4;

/// Three letters in five bits each; none for what is not three letters.
fn packed_language(language: &str) -> Option<u16> {
    let letters: [u8; 3] = language.as_bytes().try_into().ok()?;
    if !letters.iter().all(u8::is_ascii_lowercase) {
        return None;
    }
    Some(
        letters
            .iter()
            .fold(0, |packed, letter| packed << 5 | u16::from(letter - 0x60)),
    )
}

/// The sample entry as it is, but for its data reference, which is here the only one.
fn with_first_reference(sample_entry: &[u8]) -> Vec<u8> {
    let mut entry = sample_entry.to_vec();
    if let Ok(Some(header)) = BoxHeader::parse(sample_entry, 0) {
        let at = header.header_length as usize + 6;
        if let Some(reference) = entry.get_mut(at..at + 2) {
            reference.copy_from_slice(&[0, 1]);
        }
    }
    entry
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
        shape: Shape::of(&wanted),
        decode_time: first.decode_time.saturating_add(delay),
        sequence,
        mdat_header: MdatHeader::of(payload),
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

/// The header of an `mdat` box, which is longer above 4 GiB.
struct MdatHeader {
    bytes: Vec<u8>,
}

impl MdatHeader {
    fn of(payload: u64) -> Self {
        let mut writer = BoxWriter::new();
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
        MdatHeader {
            bytes: writer.into_bytes(),
        }
    }
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

/// Which fields do not vary, and so need not be told for each sample.
#[derive(Clone, Copy)]
struct Shape {
    duration: Option<u32>,
    size: Option<u32>,
    sync: SyncPattern,
    has_offsets: bool,
    has_negative_offsets: bool,
}

impl Shape {
    fn of(samples: &[Sample]) -> Self {
        let same = |field: &dyn Fn(&Sample) -> u32| {
            let first = samples.first().map(field)?;
            samples
                .iter()
                .all(|sample| field(sample) == first)
                .then_some(first)
        };
        let mut sync = samples.iter().map(|sample| sample.sync);
        let first_is_sync = sync.next().unwrap_or(true);
        let sync = match (
            first_is_sync,
            sync.clone().all(|sync| sync),
            sync.any(|sync| sync),
        ) {
            (true, true, _) => SyncPattern::Default(SYNC),
            (true, false, false) => SyncPattern::First,
            (false, _, false) => SyncPattern::Default(NON_SYNC),
            _ => SyncPattern::Each,
        };
        Shape {
            duration: same(&|sample| sample.duration),
            size: same(&|sample| sample.size),
            sync,
            has_offsets: samples.iter().any(|sample| sample.composition_offset != 0),
            has_negative_offsets: samples.iter().any(|sample| sample.composition_offset < 0),
        }
    }
}

/// A media segment on its way into bytes.
struct Fragment<'s> {
    samples: &'s [Sample],
    shape: Shape,
    decode_time: u64,
    sequence: u32,
    mdat_header: MdatHeader,
}

/// Flags of `tfhd` (8.8.7) and `trun` (8.8.8).
mod flag {
    pub const DEFAULT_DURATION: u32 = 0x8;
    pub const DEFAULT_SIZE: u32 = 0x10;
    pub const DEFAULT_FLAGS: u32 = 0x20;
    pub const BASE_IS_MOOF: u32 = 0x2_0000;
    pub const DATA_OFFSET: u32 = 0x1;
    pub const FIRST_FLAGS: u32 = 0x4;
    pub const DURATION: u32 = 0x100;
    pub const SIZE: u32 = 0x200;
    pub const FLAGS: u32 = 0x400;
    pub const OFFSET: u32 = 0x800;
}

impl Fragment<'_> {
    fn write(&self) -> Vec<u8> {
        let mut writer = BoxWriter::new();
        writer.nest(b"styp", |styp| {
            styp.bytes(b"msdh");
            styp.u32(0);
            styp.bytes(b"msdhmsixcmfs");
        });
        let moof_at = writer.position();
        let mut offset_at = 0;
        writer.nest(b"moof", |moof| {
            moof.nest_full(b"mfhd", 0, 0, |mfhd| mfhd.u32(self.sequence));
            moof.nest(b"traf", |traf| {
                self.write_track_header(traf);
                traf.nest_full(b"tfdt", 1, 0, |tfdt| tfdt.u64(self.decode_time));
                offset_at = self.write_run(traf);
            });
        });
        writer.bytes(&self.mdat_header.bytes);
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
            (flag::DEFAULT_DURATION, self.shape.duration),
            (flag::DEFAULT_SIZE, self.shape.size),
            (flag::DEFAULT_FLAGS, self.default_flags()),
        ];
        let there = defaults.iter().filter(|(_, value)| value.is_some());
        let flags = there.fold(flag::BASE_IS_MOOF, |flags, (flag, _)| flags | flag);
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
            (flag::FIRST_FLAGS, shape.sync == SyncPattern::First),
            (flag::DURATION, shape.duration.is_none()),
            (flag::SIZE, shape.size.is_none()),
            (flag::FLAGS, shape.sync == SyncPattern::Each),
            (flag::OFFSET, shape.has_offsets),
        ];
        let there = each.iter().filter(|(_, there)| *there);
        let flags = there.fold(flag::DATA_OFFSET, |flags, (flag, _)| flags | flag);
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
