//! The index of files of every layout compared with ffprobe: position, times and flags of each sample.

use std::fs;
use std::path::Path;

use crate::sources::{AAC, AUDIO, H264, VIDEO, film, index, index_bytes, make, packets};
use weir_media::index::{FileIndex, IndexBuilder, Step, StoredIndexError, TrackIndex, TrackKind};
use weir_media::package::reference_movie;

/// Compares every sample with the packets of the stream. ffprobe passes over the edit list, so both count media time;
/// for negative composition offsets it moves all decode times back, so that none is behind its presentation time.
fn compare_samples(path: &Path, stream: usize, track: &TrackIndex) {
    let expected = packets(path, stream, "-ignore_editlist 1");
    assert_eq!(
        track.samples().len() as usize,
        expected.len(),
        "{path:?} {stream}"
    );
    let first = track.samples().get(0).unwrap();
    let moved = expected[0].pts - expected[0].dts - i64::from(first.composition_offset);
    let least = track
        .samples()
        .iter()
        .map(|sample| sample.composition_offset)
        .min();
    assert_eq!(moved, i64::from((-least.unwrap()).max(0)), "{path:?} {stream}");
    for (number, (sample, packet)) in track.samples().iter().zip(&expected).enumerate() {
        let context = format!("{path:?} stream {stream} sample {number}");
        assert_eq!(sample.number as usize, number, "{context}");
        assert_eq!(sample.position, packet.position, "{context}");
        assert_eq!(sample.size, packet.size, "{context}");
        assert_eq!(sample.decode_time as i64, packet.dts + moved, "{context}");
        assert_eq!(sample.composition_time(), packet.pts, "{context}");
        assert_eq!(sample.sync, packet.key, "{context}");
        if let Some(next) = expected.get(number + 1) {
            assert_eq!(i64::from(sample.duration), next.dts - packet.dts, "{context}");
        }
        assert_eq!(track.samples().get(sample.number), Some(sample), "{context}");
        let at = track.samples().at_decode_time(sample.decode_time).unwrap();
        assert_eq!(at.decode_time, sample.decode_time, "{context}");
    }
}

/// Compares presentation times with those of ffprobe after the edit list.
fn compare_presentation(path: &Path, stream: usize, track: &TrackIndex) {
    let shown = packets(path, stream, "");
    let mut compared = 0;
    for packet in shown.iter().filter(|packet| !packet.discarded) {
        let sample = track
            .samples()
            .iter()
            .find(|sample| sample.position == packet.position);
        let sample = sample.unwrap();
        assert_eq!(
            track.presentation_time(&sample),
            packet.pts,
            "{path:?} stream {stream} sample {}",
            sample.number
        );
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

fn compare(path: &Path) -> FileIndex {
    let (file, reads) = index(path);
    println!(
        "{path:?}: {} reads, {:?}",
        reads.len(),
        &reads[..reads.len().min(6)]
    );
    for (stream, track) in file.tracks.iter().enumerate() {
        compare_samples(path, stream, track);
    }
    let stored = file.to_bytes();
    assert_eq!(FileIndex::from_bytes(&stored).as_ref(), Ok(&file));
    file
}

#[test]
fn progressive_files_have_the_samples_that_ffprobe_shows() {
    let folder = tempfile::tempdir().unwrap();
    let end = film(folder.path(), "end.mp4", "");
    let (_, reads) = index(&end);
    assert_eq!(reads.len(), 2, "the head, then the movie at the end: {reads:?}");
    let front = film(folder.path(), "front.mp4", "-movflags +faststart");
    let (_, reads) = index(&front);
    assert_eq!(reads.len(), 1, "a small movie comes with the head: {reads:?}");
    for path in [&end, &front] {
        let file = compare(path);
        assert_eq!(file.tracks.len(), 2);
        for (stream, track) in file.tracks.iter().enumerate() {
            compare_presentation(path, stream, track);
        }
        let [video, audio] = &file.tracks[..] else {
            panic!("two tracks")
        };
        assert_eq!(video.info().kind, TrackKind::Video);
        assert!(
            video.info().codec.starts_with("avc1.6400"),
            "{}",
            video.info().codec
        );
        let picture = video.info().video().unwrap();
        assert_eq!(
            (picture.width, picture.height, picture.pixel_aspect),
            (320, 180, (1, 1))
        );
        assert_eq!(picture.frame_rate.unwrap().to_string(), "25");
        assert_eq!(
            (video.info().start, video.info().end),
            (0, 10 * i64::from(video.info().timescale))
        );
        assert_eq!(audio.info().codec, "mp4a.40.2");
        let sound = audio.info().audio().unwrap();
        assert_eq!((sound.sample_rate, sound.channels), (48_000, 2));
        // The encoder's delay, which the edit list cuts off.
        assert_eq!(audio.info().start, -1024);
    }
}

#[test]
fn a_movie_larger_than_the_head_takes_one_more_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(
        folder.path(),
        "long.mp4",
        &format!(
            "-f lavfi -i testsrc2=size=64x36:rate=50:duration=120 -f lavfi -i sine=sample_rate=48000:duration=120 \
             {H264} {AAC} -movflags +faststart"
        ),
    );
    let file = compare(&path);
    let (_, reads) = index(&path);
    assert_eq!(reads.len(), 2, "{reads:?}");
    assert_eq!(reads[0], 0..64 << 10);
    assert_eq!(reads[1].start, 64 << 10);
    assert_eq!(file.tracks[0].samples().len(), 6000);
}

#[test]
fn negative_composition_offsets_and_other_layouts_are_read() {
    let folder = tempfile::tempdir().unwrap();
    for (name, flags) in [
        ("negative.mp4", "-movflags +negative_cts_offsets"),
        ("delayed.mp4", "-output_ts_offset 1.5"),
        ("scale.mp4", "-video_track_timescale 90000"),
        ("quicktime.mov", ""),
    ] {
        let path = film(folder.path(), name, flags);
        let file = compare(&path);
        for (stream, track) in file.tracks.iter().enumerate() {
            compare_presentation(&path, stream, track);
        }
    }
}

#[test]
fn a_variable_frame_rate_and_several_audio_tracks_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(
        folder.path(),
        "variable.mp4",
        &format!(
            "{VIDEO} {AUDIO} -f lavfi -i sine=frequency=880:sample_rate=44100:duration=10 -map 0 -map 1 -map 2 \
             -vf select='not(eq(mod(n,7),3))' -vsync vfr {H264} {AAC} \
             -metadata:s:a:0 language=eng -metadata:s:a:1 language=deu"
        ),
    );
    let file = compare(&path);
    let languages: Vec<&str> = file
        .tracks
        .iter()
        .map(|track| track.info().language.as_str())
        .collect();
    assert_eq!(languages, ["und", "eng", "deu"]);
    let rates: Vec<u32> = file.tracks[1..]
        .iter()
        .map(|track| track.info().audio().unwrap().sample_rate)
        .collect();
    assert_eq!(rates, [48_000, 44_100]);
}

#[test]
fn fragmented_files_have_the_samples_that_ffprobe_shows() {
    let folder = tempfile::tempdir().unwrap();
    for (name, flags, tracks) in [
        ("fragments.mp4", "frag_keyframe+empty_moov", 2),
        ("base.mp4", "frag_keyframe+empty_moov+default_base_moof", 2),
        ("omitted.mp4", "frag_keyframe+empty_moov+omit_tfhd_offset", 2),
        ("delayed.mp4", "frag_keyframe+delay_moov", 2),
        ("dash.mp4", "dash -map 0:v", 1),
        ("cmaf.mp4", "cmaf+dash+global_sidx -map 0:a", 1),
        ("hybrid.mp4", "frag_keyframe", 2),
        ("frames.mp4", "frag_every_frame+empty_moov -map 0:v", 1),
    ] {
        let path = film(folder.path(), name, &format!("-movflags +{flags}"));
        let file = compare(&path);
        assert_eq!(file.tracks.len(), tracks, "{name}");
    }
}

#[test]
fn fragments_that_a_segment_index_tells_of_are_read_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    // Far enough apart that each fragment is a read of its own.
    let path = make(
        folder.path(),
        "dash.mp4",
        "-f lavfi -i testsrc2=size=640x360:rate=25:duration=40,noise=alls=40 -c:v libx264 -preset ultrafast \
         -b:v 4M -g 50 -pix_fmt yuv420p -movflags +dash+global_sidx",
    );
    let bytes = fs::read(&path).unwrap();
    let (one_by_one, reads) = index_bytes(&bytes).unwrap();
    compare(&path);
    assert!(reads.len() > 15, "{reads:?}");
    let mut builder = IndexBuilder::new(bytes.len() as u64);
    let mut waits = 0;
    let side_by_side = loop {
        match builder.step().unwrap() {
            Step::Done(index) => break index,
            Step::Read(range) => {
                waits += 1;
                let others = builder.read_ahead(8);
                // The answers come in another order than they were asked for.
                for range in others.iter().rev().chain([&range]) {
                    builder.give(range.start, &bytes[range.start as usize..range.end as usize]);
                }
            }
        }
    };
    assert_eq!(side_by_side, one_by_one);
    assert!(waits * 4 < reads.len(), "{waits} of {}", reads.len());
}

#[test]
fn codecs_have_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let short =
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=1 -f lavfi -i sine=sample_rate=48000:duration=1";
    for (name, codecs, video, audio) in [
        (
            "hevc.mp4",
            "-c:v libx265 -x265-params log-level=none -tag:v hvc1 -c:a libopus -ac 2",
            "hvc1.1.6.L60.90",
            ("opus", 48_000, 2),
        ),
        (
            "av1.mp4",
            "-c:v libsvtav1 -preset 12 -c:a ac3 -ac 6",
            "av01.0.00M.08",
            ("ac-3", 48_000, 6),
        ),
        (
            "high.mp4",
            "-c:v libx264 -profile:v high -level 3.1 -pix_fmt yuv420p -c:a eac3 -ac 2",
            "avc1.64001F",
            ("ec-3", 48_000, 2),
        ),
    ] {
        let path = make(folder.path(), name, &format!("{short} {codecs}"));
        let file = compare(&path);
        assert_eq!(file.tracks[0].info().codec, video, "{name}");
        let sound = file.tracks[1].info().audio().unwrap();
        assert_eq!(
            (
                file.tracks[1].info().codec.as_str(),
                sound.sample_rate,
                sound.channels
            ),
            audio,
            "{name}"
        );
    }
}

/// The boxes down to the address of the file with a track's media.
const DATA_REFERENCE: [&[u8; 4]; 7] = [b"moov", b"trak", b"mdia", b"minf", b"dinf", b"dref", b"url "];

/// Type and content of a box.
type Changed = ([u8; 4], Vec<u8>);

/// The boxes of a file with those at the end of `path` changed, and all lengths put right.
fn changed_boxes(bytes: &[u8], path: &[&[u8; 4]], change: &dyn Fn(&[u8]) -> Changed) -> Vec<u8> {
    let mut made = Vec::new();
    let mut rest = bytes;
    while rest.len() >= 8 {
        let length = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
        let (this, behind) = rest.split_at(length);
        let kind: [u8; 4] = this[4..8].try_into().unwrap();
        let (kind, content) = match path {
            [only] if kind == **only => change(&this[8..]),
            // Its entries stand behind version, flags and a count.
            [b"dref", more @ ..] if kind == *b"dref" => {
                let inside = changed_boxes(&this[16..], more, change);
                (kind, [&this[8..16], &inside].concat())
            }
            [first, more @ ..] if kind == **first => (kind, changed_boxes(&this[8..], more, change)),
            _ => (kind, this[8..].to_vec()),
        };
        made.extend((content.len() as u32 + 8).to_be_bytes());
        made.extend(kind);
        made.extend(content);
        rest = behind;
    }
    made
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_be_bytes(word.try_into().unwrap()))
        .collect()
}

#[test]
fn tables_of_other_widths_are_read_as_ffprobe_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = film(folder.path(), "plain.mp4", "");
    let (plain, _) = index(&path);
    let bytes = fs::read(&path).unwrap();
    let table = |kind| [b"moov", b"trak", b"mdia", b"minf", b"stbl", kind];
    // Chunk offsets of 64 bits.
    let long = changed_boxes(&bytes, &table(b"stco"), &|content| {
        let mut made = content[..8].to_vec();
        for offset in words(&content[8..]) {
            made.extend(u64::from(offset).to_be_bytes());
        }
        (*b"co64", made)
    });
    // Sizes of 16 bits: no sample of this source is larger.
    let compact = changed_boxes(&long, &table(b"stsz"), &|content| {
        let mut made = vec![0, 0, 0, 0, 0, 0, 0, 16];
        made.extend(&content[8..12]);
        for size in words(&content[12..]) {
            made.extend(u16::try_from(size).unwrap().to_be_bytes());
        }
        (*b"stz2", made)
    });
    let path = folder.path().join("other.mp4");
    fs::write(&path, &compact).unwrap();
    assert_eq!(compare(&path).tracks, plain.tracks);

    // The media in a box with a length of 64 bits: its header is 8 bytes longer, and ffmpeg leaves just those free.
    let at = compact.windows(4).position(|kind| kind == b"mdat").unwrap() - 4;
    assert_eq!(compact[at - 8..at], *b"\0\0\0\x08free");
    let length = u32::from_be_bytes(compact[at..at + 4].try_into().unwrap());
    let mut large = compact.clone();
    large[at - 8..at].copy_from_slice(b"\0\0\0\x01mdat");
    large[at..at + 8].copy_from_slice(&(u64::from(length) + 8).to_be_bytes());
    fs::write(&path, &large).unwrap();
    assert_eq!(compare(&path).tracks, plain.tracks);
}

#[test]
fn a_stored_index_that_is_changed_anywhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path(), "media.mp4", &format!("{AUDIO} {AAC} -t 1"));
    let stored = index(&path).0.to_bytes();
    assert!(FileIndex::from_bytes(&stored).is_ok());
    for place in 0..stored.len() {
        let mut damaged = stored.clone();
        damaged[place] ^= 0x10;
        let error = FileIndex::from_bytes(&damaged).unwrap_err();
        match place {
            0..8 => assert_eq!(error, StoredIndexError::NotAnIndex),
            8..12 => assert!(matches!(error, StoredIndexError::Version { .. })),
            _ => assert_eq!(error, StoredIndexError::Checksum),
        }
        assert!(FileIndex::from_bytes(&stored[..place]).is_err());
    }
}

#[test]
fn what_is_no_mp4_is_refused_in_a_line() {
    let refused = |bytes: &[u8]| index_bytes(bytes).unwrap_err().to_string();
    assert_eq!(refused(b""), "the file is empty");
    assert_eq!(
        refused(b"<!DOCTYPE html>\n<html>"),
        "not an MP4 file: it begins with 'CTYP' instead of 'ftyp'"
    );
    assert_eq!(
        refused(b"\0\0\0\x10ftypisom\0\0\0\0"),
        "missing 'moov' box in the file"
    );
}

#[test]
fn a_movie_that_refers_to_another_file_is_an_index_of_that_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = film(folder.path(), "media.mp4", "");
    let (whole, _) = index(&path);
    let bytes = fs::read(&path).unwrap();
    // ffmpeg writes the movie last.
    let at = bytes.windows(4).rposition(|kind| kind == b"moov").unwrap() - 4;
    let reference = changed_boxes(&bytes[at..], &DATA_REFERENCE, &|_| {
        (*b"url ", b"\0\0\0\0https://example.org/media.mp4\0".to_vec())
    });
    let (found, reads) = index_bytes(&reference).unwrap();
    assert_eq!(reads.len(), 1);
    assert_eq!(found.media.as_deref(), Some("https://example.org/media.mp4"));
    assert_eq!(found.tracks, whole.tracks);
    assert_eq!(FileIndex::from_bytes(&found.to_bytes()), Ok(found));
    // Without the reference the samples would lie behind the end of the file.
    let error = index_bytes(&bytes[at..]).unwrap_err().to_string();
    assert!(error.contains("extends beyond the end of the file"), "{error}");
}

#[test]
fn a_reference_movie_of_any_file_has_its_samples() {
    let folder = tempfile::tempdir().unwrap();
    for (name, flags) in [
        ("plain.mp4", ""),
        ("negative.mp4", "-movflags +negative_cts_offsets"),
        ("late.mp4", "-output_ts_offset 1.5"),
        ("fragments.mp4", "-movflags +frag_keyframe+empty_moov"),
    ] {
        let path = film(folder.path(), name, flags);
        let (whole, _) = index(&path);
        let reference = reference_movie(&whole, "media/film.mp4");
        let (found, _) = index_bytes(&reference).unwrap();
        assert_eq!(found.media.as_deref(), Some("media/film.mp4"));
        for (found, whole) in found.tracks.iter().zip(&whole.tracks) {
            assert!(found.samples().iter().eq(whole.samples().iter()), "{name}");
            assert_eq!(found.info(), whole.info(), "{name}");
        }
        // For ffprobe the movie is put behind the media, and says that they are in the same file.
        let own = changed_boxes(&reference, &DATA_REFERENCE, &|_| (*b"url ", vec![0, 0, 0, 1]));
        let mut media = fs::read(&path).unwrap();
        for kind in [b"moov", b"moof", b"mfra"] {
            while let Some(at) = media.windows(4).position(|found| found == kind) {
                media[at..at + 4].copy_from_slice(b"free");
            }
        }
        media.extend(&own[24 - 4..]);
        let path = folder.path().join(format!("referring-{name}"));
        fs::write(&path, &media).unwrap();
        for (stream, track) in compare(&path).tracks.iter().enumerate() {
            compare_presentation(&path, stream, track);
        }
    }
}

#[test]
fn edit_lists_that_play_several_parts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(
        folder.path(),
        "media.mp4",
        &format!("{VIDEO} {H264} -movflags +faststart"),
    );
    let bytes = fs::read(&path).unwrap();
    let steps: [&[u8; 4]; 4] = [b"moov", b"trak", b"edts", b"elst"];
    let list = |entries: &[[i32; 3]]| {
        let mut content = vec![0, 0, 0, 0];
        content.extend((entries.len() as u32).to_be_bytes());
        content.extend(entries.iter().flatten().flat_map(|value| value.to_be_bytes()));
        content
    };
    let one = 1 << 16;
    // Chunk offsets are now wrong by some bytes, but within the file: only the list counts here.
    let shift = |entries: &[[i32; 3]]| {
        let mut changed = changed_boxes(&bytes, &steps, &|_| (*b"elst", list(entries)));
        changed.extend([0, 0, 0, 64, b'f', b'r', b'e', b'e']);
        changed.extend([0; 56]);
        index_bytes(&changed).map(|(file, _)| file.tracks[0].head().presentation_shift)
    };
    assert_eq!(shift(&[[10_000, 1024, one]]), Ok(-1024));
    // The movie's timescale is 1000, the track's 12800.
    assert_eq!(
        shift(&[[1500, -1, one], [10_000, 1024, one]]),
        Ok(1500 * 12_800 / 1000 - 1024)
    );
    let several = shift(&[[1000, 0, one], [1000, 5000, one]])
        .unwrap_err()
        .to_string();
    assert!(several.contains("several parts"), "{several}");
    let slow = shift(&[[1000, 0, one / 2]]).unwrap_err().to_string();
    assert!(slow.contains("changes the speed"), "{slow}");
}

#[test]
fn files_that_are_cut_off_anywhere_are_refused_and_never_upset() {
    let folder = tempfile::tempdir().unwrap();
    let short = "-f lavfi -i testsrc2=size=64x36:rate=25:duration=1 -c:v libx264 -pix_fmt yuv420p";
    for (name, flags) in [
        ("front.mp4", "-movflags +faststart"),
        ("end.mp4", ""),
        (
            "fragments.mp4",
            "-movflags +frag_keyframe+empty_moov+default_base_moof",
        ),
    ] {
        let path = make(folder.path(), name, &format!("{short} {flags}"));
        let bytes = fs::read(&path).unwrap();
        let (whole, _) = index_bytes(&bytes).unwrap();
        let mut taken = 0;
        for length in 0..bytes.len() {
            match index_bytes(&bytes[..length]) {
                Err(error) => assert!(!error.to_string().contains('\n')),
                // A fragmented file that ends between two fragments is a shorter one, and one that ends before an index
                // of fragments loses nothing.
                Ok((index, _)) => {
                    taken += 1;
                    assert!(name == "fragments.mp4", "{name} cut off at {length}");
                    assert!(index.tracks[0].samples().len() <= whole.tracks[0].samples().len());
                }
            }
        }
        assert!(taken <= 3, "{name}: {taken}");
    }
}
