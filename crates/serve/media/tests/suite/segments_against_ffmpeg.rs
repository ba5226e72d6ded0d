//! Segments put together again are the source: frames and packets as ffmpeg sees them, times without gap or overlap.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::sources::{
    AAC, AC3, AUDIO, AV1, H264, H265, OPUS, Packet, VIDEO, film, hashes, index, make, of_film, packets,
    segment,
};
use weir_media::index::{TrackIndex, TrackKind};
use weir_media::package::{init_segment, media_segment};
use weir_media::segments::{PlanError, SegmentPlan, TrackSegments};
use weir_rig::film::{kept, laid_out};

/// Each segment behind an initialization segment of its own, and all of them behind one.
fn write_segments(
    folder: &Path,
    name: &str,
    track: &TrackIndex,
    segments: &TrackSegments,
    source: &[u8],
) -> (PathBuf, Vec<PathBuf>) {
    let init = init_segment(track);
    let mut whole = init.clone();
    let mut single = Vec::new();
    for (number, planned) in segments.segments.iter().enumerate() {
        let bytes = segment(track, planned.samples.clone(), number as u32 + 1, source);
        whole.extend(&bytes);
        let path = folder.join(format!("{name}-{number}.mp4"));
        fs::write(&path, [&init[..], &bytes].concat()).unwrap();
        single.push(path);
    }
    let path = folder.join(format!("{name}.mp4"));
    fs::write(&path, whole).unwrap();
    (path, single)
}

/// How far below zero composition offsets go. ffprobe moves decode times of progressive files back by this, and
/// presentation times of fragmented ones forward.
fn below_zero(track: &TrackIndex, samples: Range<u32>) -> i64 {
    let offsets = track
        .samples()
        .range(samples)
        .map(|sample| sample.composition_offset);
    i64::from(-offsets.min().unwrap().min(0))
}

/// What ffprobe sees in all segments together is what it sees in the source, sample by sample, without a gap or an overlap;
/// and so in the first and the last one, each without the others.
fn check_joins(
    source: &Path,
    track: &TrackIndex,
    stream: usize,
    segments: &TrackSegments,
    single: &[PathBuf],
    whole: &Path,
) {
    let ignoring = "-ignore_editlist 1";
    let samples = track.samples().len();
    let expected = packets(source, stream, ignoring);
    let seen = |packets: &[Packet], moved: i64| -> Vec<(i64, u32, bool)> {
        packets
            .iter()
            .map(|packet| (packet.pts - moved, packet.size, packet.key))
            .collect()
    };
    let joined = packets(whole, 0, ignoring);
    let moved = below_zero(track, 0..samples);
    same(&seen(&joined, moved), &seen(&expected, 0), "samples");
    let decoded = |packets: &[Packet], moved: i64| -> Vec<i64> {
        packets.iter().map(|packet| packet.dts + moved).collect()
    };
    same(&decoded(&joined, 0), &decoded(&expected, moved), "decode times");
    for number in [0, single.len() - 1] {
        let samples = segments.segments[number].samples.clone();
        let found = packets(&single[number], 0, ignoring);
        assert!(found[0].key, "segment {number} begins with a sync sample");
        let moved = below_zero(track, samples.clone());
        let of_source = &expected[samples.start as usize..samples.end as usize];
        same(&seen(&found, moved), &seen(of_source, 0), "samples of a segment");
    }
    let mut end = segments.start();
    let mut count = 0;
    for segment in &segments.segments {
        assert_eq!((segment.start, segment.samples.start), (end, count));
        end = segment.end();
        count = segment.samples.end;
    }
    assert_eq!(count, samples);
}

/// Says where lists differ, which are too long to be read.
fn same<T: PartialEq + std::fmt::Debug>(found: &[T], expected: &[T], context: &str) {
    let differing = found
        .iter()
        .zip(expected)
        .position(|(found, expected)| found != expected);
    assert_eq!(differing, None, "{context}");
    assert_eq!(found.len(), expected.len(), "{context}");
}

/// All tracks of a source cut into segments and put together again.
fn check_source(path: &Path, target: u64) {
    let folder = tempfile::tempdir().unwrap();
    let source = fs::read(path).unwrap();
    let (file, _) = index(path);
    let of_kind = |kind| {
        file.tracks
            .iter()
            .filter(move |track| track.info().kind == kind)
            .collect::<Vec<&TrackIndex>>()
    };
    let (videos, others) = (of_kind(TrackKind::Video), of_kind(TrackKind::Audio));
    let plan = SegmentPlan::new(&videos, &others, Duration::from_secs(target)).unwrap();
    for (track, segments) in videos
        .iter()
        .zip(&plan.video)
        .chain(others.iter().zip(&plan.other))
    {
        let (whole, single) = write_segments(folder.path(), "track", track, segments, &source);
        let stream = file
            .tracks
            .iter()
            .position(|other| other.head().track_id == track.head().track_id)
            .unwrap();
        check_joins(path, track, stream, segments, &single, &whole);
        let from_source = format!("0:{stream}");
        let ignoring = "-ignore_editlist 1";
        let copied = hashes(&whole, ignoring, "0:0", "-c copy");
        same(
            &copied,
            &hashes(path, ignoring, &from_source, "-c copy"),
            &from_source,
        );
        assert!(copied.len() > 200);
        // ffmpeg does not cut off sound in fragments where the edit list says so, as it does in progressive files.
        let options = match track.info().kind {
            TrackKind::Video => "",
            TrackKind::Audio => ignoring,
        };
        let decoded = hashes(&whole, options, "0:0", "-vsync passthrough");
        same(
            &decoded,
            &hashes(path, options, &from_source, "-vsync passthrough"),
            &from_source,
        );
        check_presentation(path, track, stream, &whole);
    }
}

/// Presentation times of the segments are those of the source: the edit list means the same in both. Before time 0 only
/// what is in the source is marked as not shown.
fn check_presentation(source: &Path, track: &TrackIndex, stream: usize, whole: &Path) {
    let times = |path: &Path, stream: usize, moved: i64| -> Vec<i64> {
        packets(path, stream, "")
            .iter()
            .map(|packet| packet.pts - moved)
            .filter(|time| *time >= 0)
            .collect()
    };
    let (expected, found) = (
        times(source, stream, 0),
        times(whole, 0, below_zero(track, 0..track.samples().len())),
    );
    // The source's edit may end before its last packets do.
    let shown = expected.len().min(found.len());
    assert!(found.len() < expected.len() + 3, "{source:?} {stream}");
    same(&found[..shown], &expected, "presentation times");
}

#[test]
fn progressive_and_fragmented_sources_come_out_as_they_went_in() {
    let laid_out = |layout| laid_out(&of_film(""), layout);
    for (name, arguments) in [
        ("progressive.mp4", laid_out("")),
        ("negative.mp4", laid_out("-movflags +negative_cts_offsets")),
        ("fragments.mp4", laid_out("-movflags +frag_keyframe+empty_moov")),
        (
            "variable.mp4",
            of_film("-vf select='not(eq(mod(n,7),3))' -vsync vfr"),
        ),
    ] {
        let path = kept(name, &arguments);
        check_source(&path, 4);
        check_source(&path, 2);
    }
}

#[test]
fn other_codecs_come_out_as_they_went_in() {
    for (name, codecs, layout) in [
        ("h265-opus.mp4", format!("{H265} {OPUS}"), ""),
        ("av1-ac3.mp4", format!("{AV1} {AC3}"), ""),
        (
            "fragments.mp4",
            format!("{H265} {OPUS}"),
            "-movflags +frag_keyframe+empty_moov",
        ),
    ] {
        let encoded = format!("{VIDEO} {AUDIO} {codecs}");
        check_source(&kept(name, &laid_out(&encoded, layout)), 4);
    }
}

#[test]
fn video_is_cut_where_all_tracks_have_a_sync_sample_and_audio_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    // Sync samples every 2 s, and every 3 s in another timescale: together every 6 s.
    let longer = |name: &str, arguments: &str| {
        let arguments = arguments.replace("duration=10", "duration=20");
        index(&make(folder.path(), name, &arguments)).0
    };
    let two = longer("two.mp4", &format!("{VIDEO} {H264}"));
    let threes = "-g 75 -keyint_min 75 -video_track_timescale 90000";
    let three = longer("three.mp4", &format!("{VIDEO} {H264} {threes}"));
    let sound = longer("sound.mp4", &format!("{AUDIO} {AAC}"));
    let videos = [&two.tracks[0], &three.tracks[0]];
    let plan = SegmentPlan::new(&videos, &[&sound.tracks[0]], Duration::from_secs(4)).unwrap();
    let starts = |segments: &TrackSegments| -> Vec<f64> {
        segments
            .segments
            .iter()
            .map(|segment| segment.start as f64 / f64::from(segments.timescale))
            .collect()
    };
    assert_eq!(starts(&plan.video[0]), [0.0, 6.0, 12.0, 18.0]);
    assert_eq!(starts(&plan.video[1]), [0.0, 6.0, 12.0, 18.0]);
    let of_sound = starts(&plan.other[0]);
    assert_eq!(of_sound.len(), 4);
    for (sound, boundary) in of_sound.iter().zip([0.0, 6.0, 12.0, 18.0]) {
        assert!(
            (boundary..boundary + 1024.0 / 48_000.0).contains(sound),
            "{of_sound:?}"
        );
    }
    // Sound alone: every 4 s, each boundary rounded up to a frame; the last 4 s are no less than half a segment.
    let plan = SegmentPlan::new(&[], &[&sound.tracks[0]], Duration::from_secs(4)).unwrap();
    let of_sound: Vec<u64> = plan.other[0]
        .segments
        .iter()
        .map(|segment| segment.start)
        .collect();
    // Frames of 1024 are shown from -1024 on: the first at or after n times 192,000 is n times 187.5 frames, rounded up.
    assert_eq!(of_sound, [0, 188 * 1024, 375 * 1024, 563 * 1024, 750 * 1024]);

    let single = [&two.tracks[0]];
    let plan = SegmentPlan::new(&single, &[], Duration::from_secs(4)).unwrap();
    assert_eq!(starts(&plan.video[0]), [0.0, 4.0, 8.0, 12.0, 16.0]);
    for asked in [Duration::from_millis(1999), Duration::from_secs(11)] {
        let refused = SegmentPlan::new(&single, &[], asked);
        assert_eq!(refused, Err(PlanError::Duration { asked }));
    }
}

#[test]
fn a_segment_of_a_file_with_one_track_is_one_range() {
    let folder = tempfile::tempdir().unwrap();
    let alone = make(folder.path(), "alone.mp4", &format!("{VIDEO} {H264}"));
    let (file, _) = index(&alone);
    let track = &file.tracks[0];
    let made = media_segment(track, 100..200, 3).unwrap();
    assert_eq!(made.pieces, std::slice::from_ref(&made.span));
    let bytes: u64 = track
        .samples()
        .range(100..200)
        .map(|sample| u64::from(sample.size))
        .sum();
    assert_eq!(made.span.end - made.span.start, bytes);
    assert!(media_segment(track, 200..251, 1).is_err());
    assert!(media_segment(track, 5..5, 1).is_err());

    // Interleaved: the pieces leave out what belongs to the other track.
    let (file, _) = index(&film(folder.path(), "both.mp4", ""));
    let made = media_segment(&file.tracks[1], 0..200, 1).unwrap();
    assert!(made.pieces.len() > 1);
    let pieces: u64 = made.pieces.iter().map(|piece| piece.end - piece.start).sum();
    assert!(pieces < made.span.end - made.span.start);
}
