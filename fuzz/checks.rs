//! What several targets check or take apart alike.

use std::fmt::Display;
use std::time::Duration;

use weir_media::index::{FileIndex, TrackIndex, TrackKind};
use weir_media::segments::{PlanError, SegmentPlan, TrackSegments};

/// A refusal is one line, shorter than `limit` bytes, whatever the input was.
pub fn in_a_line(refusal: impl Display, limit: usize) {
    let line = refusal.to_string();
    assert!(!line.chars().any(char::is_control), "{line}");
    assert!(line.len() < limit, "{line}");
}

/// Takes `count` bytes off the input, or the rest of it.
pub fn take<'a>(input: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, rest) = input.split_at(count.min(input.len()));
    *input = rest;
    taken
}

/// The tracks of a file, each with its segments of two seconds.
pub fn planned(index: &FileIndex) -> Result<Vec<(&TrackIndex, TrackSegments)>, PlanError> {
    let of_kind = |kind| -> Vec<&TrackIndex> {
        let tracks = index.tracks.iter();
        tracks.filter(|track| track.info().kind == kind).collect()
    };
    let (videos, others) = (of_kind(TrackKind::Video), of_kind(TrackKind::Audio));
    let plan = SegmentPlan::new(&videos, &others, Duration::from_secs(2))?;
    let tracks = videos.into_iter().chain(others);
    Ok(tracks.zip(plan.video.into_iter().chain(plan.other)).collect())
}
