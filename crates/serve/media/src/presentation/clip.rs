//! Part of a presentation: the segments that have anything of a time span in them. Segments are whole, so that every
//! track begins and ends at a boundary and nothing has to be decoded.

use std::sync::Arc;

use thiserror::Error;

use crate::index::TrackKind;
use crate::segments::TrackSegments;

use super::{Presentation, Rendition, nanoseconds};

/// A span that cannot be cut out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClipError {
    /// It ends before it begins, or is empty.
    #[error("the clip from {start_seconds} s to {end_seconds} s is empty")]
    Empty {
        /// Where it should begin.
        start_seconds: String,
        /// Where it should end.
        end_seconds: String,
    },
    /// It begins behind the end.
    #[error("the clip begins at {start_seconds} s, after the end of the title at {duration_seconds} s")]
    BehindEnd {
        /// Where it should begin.
        start_seconds: String,
        /// How long the presentation is.
        duration_seconds: String,
    },
}

fn seconds(nanoseconds: u64) -> String {
    format!("{}", nanoseconds as f64 / 1e9)
}

impl Presentation {
    /// The part from `start` up to `end`, in nanoseconds of its own time, widened to the boundaries of segments. The
    /// text of subtitles has to be cut to [`Presentation::span`], too.
    ///
    /// # Errors
    ///
    /// Spans that are empty or lie behind the end.
    pub fn clip(&self, start: u64, end: u64) -> Result<Presentation, ClipError> {
        if start >= end {
            return Err(ClipError::Empty {
                start_seconds: seconds(start),
                end_seconds: seconds(end),
            });
        }
        let behind_end = || ClipError::BehindEnd {
            start_seconds: seconds(start),
            duration_seconds: seconds(self.duration_nanoseconds()),
        };
        let leader = self.of_kind(TrackKind::Video).next().or(self.renditions.first());
        let leader = leader.ok_or_else(behind_end)?;
        let offset = nanoseconds(self.start.0, self.start.1);
        let (first, last) = span(
            &leader.segments,
            start.saturating_add(offset),
            end.saturating_add(offset),
        )
        .ok_or_else(behind_end)?;
        let own = |time: u64| nanoseconds(time, leader.segments.timescale);
        let renditions: Vec<Rendition> = self
            .renditions
            .iter()
            .filter_map(|rendition| part(rendition, own(first), own(last)))
            .collect();
        if renditions.is_empty() {
            return Err(behind_end());
        }
        Ok(Presentation {
            renditions,
            subtitles: self.subtitles.clone(),
            start: (first, leader.segments.timescale),
            is_part: true,
            query: self.query.clone(),
        })
    }
}

/// Start and end of the segments that have something between these times (nanoseconds), in units of their timescale.
fn span(track: &TrackSegments, start: u64, end: u64) -> Option<(u64, u64)> {
    let inside = |time: u64| nanoseconds(time, track.timescale);
    let mut found = track
        .segments
        .iter()
        .filter(|segment| inside(segment.end()) > start && inside(segment.start) < end);
    let first = found.next()?;
    let last = found.next_back().unwrap_or(first);
    Some((first.start, last.end()))
}

/// The segments of a rendition that lie for their greater part between these times (nanoseconds): those of audio begin
/// a little after the boundaries of video.
fn part(rendition: &Rendition, start: u64, end: u64) -> Option<Rendition> {
    let track = &rendition.segments;
    let segments: Vec<_> = track
        .segments
        .iter()
        .filter(|segment| {
            let middle = nanoseconds(segment.start + segment.duration / 2, track.timescale);
            (start..end).contains(&middle)
        })
        .cloned()
        .collect();
    if segments.is_empty() {
        return None;
    }
    let segments = Arc::new(TrackSegments {
        timescale: track.timescale,
        segments,
    });
    Some(Rendition {
        segments,
        ..rendition.clone()
    })
}
