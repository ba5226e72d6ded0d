//! The headers of a movie and of its tracks (ISO/IEC 14496-12, clause 8), which initialization segments and reference
//! movies have in common. What is said of samples is left to the caller.

use crate::bmff::{BoxHeader, BoxWriter};
use crate::index::{TrackIndex, TrackInfo, TrackKind};

/// What a track header says besides what the track's index knows.
pub(super) struct TrackShape<'u> {
    pub track_id: u32,
    /// In units of the track's timescale; 0 if the samples are in fragments.
    pub duration: u64,
    /// The same in units of the movie's timescale.
    pub movie_duration: u64,
    /// URL of the media; none if they are in the same file.
    pub media: Option<&'u str>,
    pub edits: Edits,
    /// The whole box.
    pub sample_entry: &'u [u8],
}

/// An edit list: a delay and the media time at which the media begin.
pub(super) struct Edits {
    /// In units of the movie's timescale.
    pub delay: u64,
    /// In units of the track's timescale.
    pub media_time: u64,
}

impl Edits {
    /// The media time alone: who delays the track does so by its decode times.
    pub(super) fn without_delay(track: &TrackIndex) -> Self {
        Edits {
            delay: 0,
            media_time: track.head().presentation_shift.min(0).unsigned_abs(),
        }
    }
}

/// 8.2.2.
pub(super) fn write_movie_header(moov: &mut BoxWriter, timescale: u32, duration: u64, next_track_id: u32) {
    moov.nest_full(b"mvhd", 1, 0, |mvhd| {
        mvhd.zeros(16);
        mvhd.u32(timescale);
        mvhd.u64(duration);
        mvhd.u32(0x0001_0000);
        mvhd.u16(0x0100);
        mvhd.zeros(10);
        for value in [0x0001_0000, 0, 0, 0, 0x0001_0000, 0, 0, 0, 0x4000_0000] {
            mvhd.u32(value);
        }
        mvhd.zeros(24);
        mvhd.u32(next_track_id);
    });
}

/// Writes what is in `trak`; `tables` writes the sample tables behind the sample description.
pub(super) fn write_track(
    trak: &mut BoxWriter,
    track: &TrackIndex,
    shape: &TrackShape<'_>,
    tables: impl FnOnce(&mut BoxWriter),
) {
    let head = track.head();
    // Enabled, and part of the movie.
    trak.nest_full(b"tkhd", 1, 3, |tkhd| {
        tkhd.zeros(16);
        tkhd.u32(shape.track_id);
        tkhd.zeros(4);
        tkhd.u64(shape.movie_duration);
        tkhd.zeros(8 + 4);
        tkhd.u16(match head.kind {
            TrackKind::Video => 0,
            TrackKind::Audio => 0x0100,
        });
        tkhd.zeros(2);
        tkhd.bytes(&head.display.matrix);
        tkhd.u32(head.display.width);
        tkhd.u32(head.display.height);
    });
    write_edits(trak, shape);
    trak.nest(b"mdia", |mdia| {
        write_media_header(mdia, track.info(), shape.duration);
        mdia.nest(b"minf", |minf| {
            match head.kind {
                TrackKind::Video => minf.nest_full(b"vmhd", 0, 1, |vmhd| vmhd.zeros(8)),
                TrackKind::Audio => minf.nest_full(b"smhd", 0, 0, |smhd| smhd.zeros(4)),
            }
            minf.nest(b"dinf", |dinf| write_reference(dinf, shape.media));
            minf.nest(b"stbl", |stbl| {
                stbl.nest_full(b"stsd", 0, 0, |stsd| {
                    stsd.u32(1);
                    stsd.bytes(&with_first_reference(shape.sample_entry));
                });
                tables(stbl);
            });
        });
    });
}

/// 8.6.6; nothing where it would change nothing.
fn write_edits(trak: &mut BoxWriter, shape: &TrackShape<'_>) {
    const NORMAL_SPEED: u32 = 0x0001_0000;
    let Edits { delay, media_time } = shape.edits;
    if delay == 0 && media_time == 0 {
        return;
    }
    trak.nest(b"edts", |edts| {
        edts.nest_full(b"elst", 1, 0, |elst| {
            elst.u32(1 + u32::from(delay > 0));
            if delay > 0 {
                elst.u64(delay);
                // No media.
                elst.u64(u64::MAX);
                elst.u32(NORMAL_SPEED);
            }
            // A duration of 0 goes up to the end, whatever comes in fragments.
            elst.u64(shape.movie_duration.saturating_sub(delay));
            elst.u64(media_time);
            elst.u32(NORMAL_SPEED);
        });
    });
}

fn write_media_header(mdia: &mut BoxWriter, info: &TrackInfo, duration: u64) {
    let language = packed_language(&info.language);
    mdia.nest_full(b"mdhd", 1, 0, |mdhd| {
        mdhd.zeros(16);
        mdhd.u32(info.timescale);
        mdhd.u64(duration);
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
}

/// 8.7.2: the flag says that the media are in the same file.
fn write_reference(dinf: &mut BoxWriter, media: Option<&str>) {
    dinf.nest_full(b"dref", 0, 0, |dref| {
        dref.u32(1);
        dref.nest_full(b"url ", 0, media.is_none().into(), |url| {
            if let Some(media) = media {
                url.bytes(media.as_bytes());
                url.u8(0);
            }
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
