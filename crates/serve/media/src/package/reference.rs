//! Reference movies ("dref MP4"): a `moov` with all sample tables and no media, whose data reference names the file that
//! has them (ISO/IEC 14496-12, 8.7.2). Other origins keep such files as indexes; they are made here of any index, so that
//! of a fragmented file too.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::bmff::BoxWriter;
use crate::index::{FileIndex, TrackIndex};

use super::movie::{Edits, TrackShape, write_movie_header, write_track};

/// What stands in a path of a URL as it is (RFC 3986, 3.3), besides letters and digits. A colon could be taken for the end
/// of a scheme.
const PLAIN: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/')
    .remove(b'+')
    .remove(b'=')
    .remove(b',')
    .remove(b'@');

/// The relative URL of a file with this path, which has slashes between its parts.
pub fn reference_url(path: &str) -> String {
    utf8_percent_encode(path, &PLAIN).to_string()
}

/// The path that a relative URL names; none for one with a scheme, a host, a root, a query or a fragment, or whose
/// encoding is no UTF-8. It may still lead upwards.
pub fn referred_path(url: &str) -> Option<String> {
    let path = url.strip_prefix("./").unwrap_or(url);
    if path.is_empty() || path.starts_with('/') || path.contains([':', '?', '#']) {
        return None;
    }
    let path = percent_decode_str(path).decode_utf8().ok()?;
    Some(path.into_owned())
}

/// A movie of these tracks whose media are at `url`, which is relative to the movie's own or absolute.
pub fn reference_movie(file: &FileIndex, url: &str) -> Vec<u8> {
    let timescale = movie_timescale(&file.tracks);
    let durations: Vec<u64> = file
        .tracks
        .iter()
        .map(|track| {
            rescale(
                track.info().end.max(0).unsigned_abs(),
                track.info().timescale,
                timescale,
            )
        })
        .collect();
    let mut writer = BoxWriter::new();
    writer.nest(b"ftyp", |ftyp| {
        ftyp.bytes(b"iso6");
        ftyp.u32(0);
        ftyp.bytes(b"iso6");
    });
    writer.nest(b"moov", |moov| {
        let ids = file.tracks.iter().map(|track| track.head().track_id);
        let next_track_id = ids.max().unwrap_or(0).saturating_add(1);
        let longest = durations.iter().copied().max().unwrap_or(0);
        write_movie_header(moov, timescale, longest, next_track_id);
        for (track, duration) in file.tracks.iter().zip(&durations) {
            let shape = TrackShape {
                track_id: track.head().track_id,
                duration: track.samples().decode_end() - first_decode_time(track),
                movie_duration: *duration,
                media: Some(url),
                edits: edits(track, timescale),
                sample_entry: &track.head().sample_entry,
            };
            moov.nest(b"trak", |trak| {
                write_track(trak, track, &shape, |stbl| write_tables(stbl, track));
            });
        }
    });
    writer.into_bytes()
}

/// An edit that begins with what is shown first, as decoders that look no further than it expect, after a delay that puts
/// it where it belongs.
fn edits(track: &TrackIndex, movie_timescale: u32) -> Edits {
    let info = track.info();
    let shift = track.head().presentation_shift;
    let start = first_decode_time(track).cast_signed();
    // Tables count decode times from 0, so a track that begins later is shifted by more.
    let shift_of_table = shift.saturating_add(start);
    let first_shown = info.start.saturating_sub(shift_of_table);
    let media_time = first_shown.max(shift_of_table.saturating_neg()).max(0);
    let delay = shift_of_table.saturating_add(media_time).max(0).unsigned_abs();
    Edits {
        delay: rescale(delay, info.timescale, movie_timescale),
        media_time: media_time.unsigned_abs(),
    }
}

fn first_decode_time(track: &TrackIndex) -> u64 {
    track.samples().get(0).map_or(0, |sample| sample.decode_time)
}

/// A timescale in which the times of all tracks are whole, if there is one of 32 bits: else that of the first.
fn movie_timescale(tracks: &[TrackIndex]) -> u32 {
    let mut common: u64 = 1;
    for track in tracks {
        let own = u64::from(track.info().timescale);
        let (mut divisor, mut rest) = (common, own);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        common = common.saturating_mul(own / divisor);
    }
    let first = tracks.first().map_or(1, |track| track.info().timescale);
    u32::try_from(common).unwrap_or(first)
}

fn rescale(time: u64, from: u32, to: u32) -> u64 {
    let scaled = (u128::from(time) * u128::from(to) + u128::from(from / 2)) / u128::from(from.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Equal values in a row, as a count and the value.
fn runs<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<(u32, T)> {
    let mut runs: Vec<(u32, T)> = Vec::new();
    for value in values {
        match runs.last_mut() {
            Some((count, last)) if *last == value => *count += 1,
            _ => runs.push((1, value)),
        }
    }
    runs
}

/// The number of entries of a table.
fn write_count(table: &mut BoxWriter, count: usize) {
    // There are no more entries than samples, which are counted in 32 bits.
    table.u32(u32::try_from(count).unwrap_or(u32::MAX));
}

fn write_tables(stbl: &mut BoxWriter, track: &TrackIndex) {
    let samples = || track.samples().iter();
    stbl.nest_full(b"stts", 0, 0, |stts| {
        let runs = runs(samples().map(|sample| sample.duration));
        write_count(stts, runs.len());
        for (count, duration) in runs {
            stts.u32(count);
            stts.u32(duration);
        }
    });
    let offsets = runs(samples().map(|sample| sample.composition_offset));
    if offsets.iter().any(|(_, offset)| *offset != 0) {
        let is_signed = offsets.iter().any(|(_, offset)| *offset < 0);
        stbl.nest_full(b"ctts", is_signed.into(), 0, |ctts| {
            write_count(ctts, offsets.len());
            for (count, offset) in offsets {
                ctts.u32(count);
                ctts.i32(offset);
            }
        });
    }
    if samples().any(|sample| !sample.sync) {
        stbl.nest_full(b"stss", 0, 0, |stss| {
            write_count(stss, samples().filter(|sample| sample.sync).count());
            for sample in samples().filter(|sample| sample.sync) {
                stss.u32(sample.number.saturating_add(1));
            }
        });
    }
    stbl.nest_full(b"stsz", 0, 0, |stsz| {
        stsz.u32(0);
        stsz.u32(track.samples().len());
        for sample in samples() {
            stsz.u32(sample.size);
        }
    });
    write_chunks(stbl, track);
}

/// Samples that follow each other in the file are a chunk.
fn write_chunks(stbl: &mut BoxWriter, track: &TrackIndex) {
    let mut chunks: Vec<(u64, u32)> = Vec::new();
    let mut end = None;
    for sample in track.samples().iter() {
        match chunks.last_mut() {
            Some((_, count)) if end == Some(sample.position) => *count += 1,
            _ => chunks.push((sample.position, 1)),
        }
        end = Some(sample.end());
    }
    stbl.nest_full(b"stsc", 0, 0, |stsc| {
        let runs = runs(chunks.iter().map(|(_, count)| *count));
        write_count(stsc, runs.len());
        let mut first_chunk = 1_u32;
        for (chunks, samples) in runs {
            stsc.u32(first_chunk);
            stsc.u32(samples);
            stsc.u32(1);
            first_chunk = first_chunk.saturating_add(chunks);
        }
    });
    let is_long = chunks.iter().any(|(position, _)| *position > u64::from(u32::MAX));
    stbl.nest_full(if is_long { b"co64" } else { b"stco" }, 0, 0, |table| {
        write_count(table, chunks.len());
        for (position, _) in chunks {
            match u32::try_from(position) {
                Ok(position) if !is_long => table.u32(position),
                _ => table.u64(position),
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_urls_name_files_and_others_do_not() {
        for (path, url) in [
            ("film.mp4", "film.mp4"),
            ("a/b c.mp4", "a/b%20c.mp4"),
            ("100%: ä?#.mp4", "100%25%3A%20%C3%A4%3F%23.mp4"),
        ] {
            assert_eq!(reference_url(path), url);
            assert_eq!(referred_path(url).as_deref(), Some(path));
        }
        assert_eq!(referred_path("./film.mp4").as_deref(), Some("film.mp4"));
        for other in [
            "",
            "/etc/passwd",
            "//host/film.mp4",
            "file:///film.mp4",
            "https://host/film.mp4",
            "film.mp4?a",
            "film.mp4#a",
            "%ff.mp4",
        ] {
            assert_eq!(referred_path(other), None, "{other}");
        }
    }
}
