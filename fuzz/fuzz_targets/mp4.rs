//! MP4 files: no bytes may panic the index builder; it reads within the file, in bounded steps, finds the same whether it is
//! given bytes ahead or not, and an accepted file gives an index that can be stored, cut into segments, packaged and described.
//!
//! Input: the file.

use std::sync::Arc;

use crate::checks::{in_a_line, planned};
use weir_media::index::{FileIndex, IndexBuilder, IndexError, Limits, Step, TrackIndex};
use weir_media::package::{SingleFile, init_segment, media_segment, media_segment_length, reference_movie};
use weir_media::presentation::{Presentation, Rendition};
use weir_media::segments::TrackSegments;
use weir_media::{dash, hls};

/// A hostile table describes many samples in few bytes; more of them only cost time.
const MOST_SAMPLES: u32 = 1 << 14;

pub fn build(file: &[u8], side_by_side: usize) -> Result<FileIndex, IndexError> {
    let limits = Limits {
        samples: MOST_SAMPLES,
        ..Limits::default()
    };
    let length = file.len() as u64;
    let mut builder = IndexBuilder::with_limits(length, limits);
    // Every read advances by at least one box.
    for _ in 0..=file.len() {
        match builder.step()? {
            Step::Done(index) => return Ok(index),
            Step::Read(range) => {
                for range in builder.read_ahead(side_by_side).into_iter().chain([range]) {
                    assert!(range.start < range.end && range.end <= length);
                    builder.give(range.start, &file[range.start as usize..range.end as usize]);
                }
            }
        }
    }
    panic!("the builder does not come to an end");
}

fn package(track: &TrackIndex, segments: &TrackSegments, in_file: Option<u64>) {
    assert!(!init_segment(track).is_empty());
    if let Ok(single) = SingleFile::new(track, segments) {
        assert_eq!(single.offsets.len(), segments.segments.len() + 1);
        assert!(single.offsets.is_sorted());
    }
    for segment in segments.segments.iter().take(64) {
        let Ok(made) = media_segment(track, segment.samples.clone(), 1) else {
            panic!("a planned segment is not packaged");
        };
        let payload: u64 = made.pieces.iter().map(|piece| piece.end - piece.start).sum();
        assert_eq!(made.length, made.header.len() as u64 + payload);
        assert_eq!(
            media_segment_length(track, segment.samples.clone()),
            Ok(made.length)
        );
        assert_eq!(payload, segment.bytes);
        if let Some(length) = in_file {
            assert!(made.span.end <= length);
        }
    }
}

pub fn run(file: &[u8]) {
    let found = build(file, 0);
    assert_eq!(build(file, 3), found);
    let index = match found {
        Ok(index) => index,
        Err(error) => return in_a_line(error, 600),
    };
    assert_eq!(FileIndex::from_bytes(&index.to_bytes()).as_ref(), Ok(&index));
    assert!(!reference_movie(&index, "media.mp4").is_empty());
    let Ok(tracks) = planned(&index) else { return };
    let in_file = index.media.is_none().then_some(index.file_length);
    let mut renditions = Vec::new();
    for (number, (track, segments)) in tracks.into_iter().enumerate() {
        package(track, &segments, in_file);
        let follow = segments.segments.windows(2);
        for pair in follow {
            assert_eq!(pair[0].end(), pair[1].start);
            assert_eq!(pair[0].samples.end, pair[1].samples.start);
        }
        renditions.push(Rendition::new(
            number.to_string(),
            track.info().clone(),
            Arc::new(segments),
        ));
    }
    let Ok(presentation) = Presentation::new(renditions, Vec::new()) else {
        panic!("tracks are not presented");
    };
    assert!(dash::mpd(&presentation).ends_with("</MPD>\n"));
    assert!(hls::multivariant_playlist(&presentation).starts_with("#EXTM3U\n"));
    for rendition in presentation.renditions() {
        assert!(hls::media_playlist(rendition).ends_with("#EXT-X-ENDLIST\n"));
    }
}
