//! Samples with filler data are, for ffmpeg, the same frames at the same times in packets of the lengths that were wanted.

use std::fs;
use std::path::{Path, PathBuf};

use weir_media::package::{LEAST_FILLER, filler, padded_head};
use weir_rig::film::{PICTURES, VIDEO, frames, kept};

use crate::sources::{index, packets};

fn movie(more: &str) -> PathBuf {
    kept("one.mp4", &format!("{PICTURES} {VIDEO} {more}"))
}

/// The movie with these bytes of filler behind its samples, and the lengths of its samples.
fn padded(path: &Path, more: impl Fn(u32) -> u32) -> Result<(Vec<u8>, Vec<u32>), String> {
    let bytes = fs::read(path).unwrap();
    let (file, _) = index(path);
    let track = &file.tracks[0];
    let samples: Vec<_> = track.samples().iter().collect();
    let lengths: Vec<u32> = samples
        .iter()
        .map(|sample| sample.size + more(sample.number))
        .collect();
    let head = &bytes[..samples[0].position as usize];
    let mut written = padded_head(head, track, &lengths).map_err(|error| error.to_string())?;
    for sample in &samples {
        written.extend(&bytes[sample.position as usize..sample.end() as usize]);
        written.extend(filler(more(sample.number)));
    }
    Ok((written, lengths))
}

#[test]
fn frames_and_times_are_the_same_and_packets_as_long_as_wanted() {
    let source = movie("-movflags +faststart");
    let folder = tempfile::tempdir().unwrap();
    // None, the least, lengths of all sizes, and much more than a picture.
    let more = |number: u32| match number % 5 {
        0 => 100_000,
        1 => 0,
        2 => LEAST_FILLER,
        3 => 7 + number,
        _ => 1_021,
    };
    let (written, lengths) = padded(&source, more).unwrap();
    let path = folder.path().join("padded.mp4");
    fs::write(&path, written).unwrap();
    let of = |path: &Path| frames(path.to_str().unwrap(), "v:0");
    assert_eq!(of(&path), of(&source));
    let (before, after) = (packets(&source, 0, ""), packets(&path, 0, ""));
    assert_eq!((before.len(), after.len()), (250, 250));
    for ((before, after), length) in before.iter().zip(&after).zip(lengths) {
        assert_eq!(
            (after.pts, after.dts, after.size),
            (before.pts, before.dts, length)
        );
    }
}

#[test]
fn filler_is_a_unit_of_its_length_or_nothing() {
    for length in 0..LEAST_FILLER {
        assert!(filler(length).is_empty());
    }
    assert_eq!(filler(6), [0, 0, 0, 2, 0x0c, 0x80]);
    assert_eq!(filler(9), [0, 0, 0, 5, 0x0c, 0xff, 0xff, 0xff, 0x80]);
}

#[test]
fn movies_of_another_form_are_refused_with_what_they_have() {
    let sound = "-f lavfi -i sine=frequency=440:sample_rate=48000:duration=1 -c:a aac -movflags +faststart";
    for (path, part) in [
        (movie(""), "moov is not in front"),
        (
            movie("-movflags +frag_keyframe+empty_moov"),
            "no movie of one H.264 track",
        ),
        (kept("sound.mp4", sound), "no H.264"),
    ] {
        let said = padded(&path, |_| 100).expect_err("refused");
        assert!(said.contains(part), "{}: {said}", path.display());
    }
    let source = movie("-movflags +faststart");
    let said = padded(&source, |_| 100_000_000).expect_err("refused");
    assert!(said.contains("longer than 4 GiB"), "{said}");
}
