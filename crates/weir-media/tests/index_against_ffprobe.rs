//! The index of files of every layout against what ffprobe says of them: each sample's place, times and flags.

// Helpers of tests are no tests to clippy.
#![allow(clippy::unwrap_used)]

mod sources;

use std::fs;
use std::path::Path;

use sources::{AAC, AUDIO, H264, VIDEO, index, index_bytes, make, packets};
use weir_media::index::{FileIndex, TrackIndex, TrackKind};

/// Compares every sample with the packets of the stream. ffprobe passes over the edit list, so both count media time; for
/// negative composition offsets it moves all decode times back, so that none is behind its presentation time.
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
    let both = format!("{VIDEO} {AUDIO} {H264} {AAC}");
    let end = make(folder.path(), "end.mp4", &both);
    let (_, reads) = index(&end);
    assert_eq!(reads.len(), 2, "the head, then the movie at the end: {reads:?}");
    let front = make(
        folder.path(),
        "front.mp4",
        &format!("{both} -movflags +faststart"),
    );
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
    let both = format!("{VIDEO} {AUDIO} {H264} {AAC}");
    for (name, flags) in [
        ("negative.mp4", "-movflags +negative_cts_offsets"),
        ("delayed.mp4", "-map 0 -map 1 -af adelay=0 -output_ts_offset 1.5"),
        ("scale.mp4", "-video_track_timescale 90000"),
        ("quicktime.mov", ""),
    ] {
        let path = make(folder.path(), name, &format!("{both} {flags}"));
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
    let both = format!("{VIDEO} {AUDIO} {H264} {AAC}");
    for (name, flags, tracks) in [
        ("fragments.mp4", "-movflags +frag_keyframe+empty_moov", 2),
        (
            "base.mp4",
            "-movflags +frag_keyframe+empty_moov+default_base_moof",
            2,
        ),
        (
            "omitted.mp4",
            "-movflags +frag_keyframe+empty_moov+omit_tfhd_offset",
            2,
        ),
        ("delayed.mp4", "-movflags +frag_keyframe+delay_moov", 2),
        ("dash.mp4", "-movflags +dash -map 0", 1),
        ("cmaf.mp4", "-movflags +cmaf+dash+global_sidx -map 1", 1),
        ("hybrid.mp4", "-movflags +frag_keyframe", 2),
        ("frames.mp4", "-movflags +frag_every_frame+empty_moov -map 0", 1),
    ] {
        let path = make(folder.path(), name, &format!("{both} {flags}"));
        let file = compare(&path);
        assert_eq!(file.tracks.len(), tracks, "{name}");
    }
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

/// The boxes of a file with `change` made to the content of those at the end of `path`, and all lengths put right.
fn changed_boxes(bytes: &[u8], path: &[&[u8; 4]], change: &dyn Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let mut made = Vec::new();
    let mut rest = bytes;
    while rest.len() >= 8 {
        let length = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
        let (this, behind) = rest.split_at(length);
        let content = match path {
            [only] if this[4..8] == **only => change(&this[8..]),
            // Its entries stand behind version, flags and a count.
            [first, more @ ..] if this[4..8] == **first && *first == b"dref" => {
                [&this[8..16], &changed_boxes(&this[16..], more, change)].concat()
            }
            [first, more @ ..] if this[4..8] == **first => changed_boxes(&this[8..], more, change),
            _ => this[8..].to_vec(),
        };
        made.extend((content.len() as u32 + 8).to_be_bytes());
        made.extend(&this[4..8]);
        made.extend(content);
        rest = behind;
    }
    made
}

#[test]
fn a_movie_that_refers_to_another_file_is_an_index_of_that_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(
        folder.path(),
        "media.mp4",
        &format!("{VIDEO} {AUDIO} {H264} {AAC}"),
    );
    let (whole, _) = index(&path);
    let bytes = fs::read(&path).unwrap();
    // ffmpeg writes the movie last.
    let at = bytes.windows(4).rposition(|kind| kind == b"moov").unwrap() - 4;
    let steps: [&[u8; 4]; 7] = [b"moov", b"trak", b"mdia", b"minf", b"dinf", b"dref", b"url "];
    let reference = changed_boxes(&bytes[at..], &steps, &|_| {
        b"\0\0\0\0https://example.org/media.mp4\0".to_vec()
    });
    let (found, reads) = index_bytes(&reference).unwrap();
    assert_eq!(reads.len(), 1);
    assert_eq!(found.media.as_deref(), Some("https://example.org/media.mp4"));
    assert_eq!(found.tracks, whole.tracks);
    assert_eq!(FileIndex::from_bytes(&found.to_bytes()), Ok(found));
    // Without the reference the samples would lie behind the end of the file.
    let error = index_bytes(&bytes[at..]).unwrap_err().to_string();
    assert!(error.contains("behind the end of the file"), "{error}");
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
        let mut changed = changed_boxes(&bytes, &steps, &|_| list(entries));
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
