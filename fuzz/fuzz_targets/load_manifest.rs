//! MPDs and HLS playlists from any origin: no bytes may panic the readers, and what they give is bounded and has addresses
//! that can be asked for.
//!
//! Input: the manifest.

use crate::checks::in_a_line;
use url::Url;
use weir_load::manifest::{self, MOST_SEGMENTS, Media, Segments, hls, subsegments};

fn check(segments: &Segments) {
    assert!(segments.list.len() <= MOST_SEGMENTS);
    for segment in &segments.list {
        assert!(segment.place.target.starts_with('/'));
        assert!(
            segment
                .init
                .is_none_or(|init| (init as usize) < segments.inits.len())
        );
        assert!(segment.key.is_none_or(|key| (key as usize) < segments.keys.len()));
        assert!(segment.place.range.is_none_or(|(first, last)| first <= last));
    }
}

pub fn run(bytes: &[u8]) {
    let Ok(base) = Url::parse("http://host.example/films/one/manifest") else {
        return;
    };
    if let Ok(playlist) = hls::media_playlist(bytes, &base) {
        check(&playlist.segments);
    }
    let presentation = match manifest::read(bytes, &base) {
        Ok(presentation) => presentation,
        Err(error) => return in_a_line(error, 1000),
    };
    assert!(!presentation.periods.is_empty());
    for set in presentation.periods.iter().flat_map(|period| &period.sets) {
        assert!(!set.rungs.is_empty());
        for rung in &set.rungs {
            match &rung.media {
                Media::Known(segments) => check(segments),
                Media::Playlist(_) => {}
                Media::Indexed { index, init } => {
                    if let Ok(segments) = subsegments(bytes, index, init.as_ref()) {
                        check(&segments);
                    }
                }
            }
        }
    }
}
