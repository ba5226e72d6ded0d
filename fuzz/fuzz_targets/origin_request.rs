//! What a request says to the origin: its path, its query, its range and its conditions. No bytes may panic the readers; a path
//! stays below the place that is served, a part of a title is asked for in one spelling only, a range lies within what it is
//! taken of, and a condition is judged as the standard says for one entity tag.
//!
//! Input: lines with path, query, `Range`, `If-Range`, `If-Match`, `If-None-Match`, `If-Modified-Since` and
//! `If-Unmodified-Since`, then a licence request.

use std::path::{Component, Path};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};

use super::mp4::build;
use crate::checks::{in_a_line, planned};
use http::header::{
    HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE,
    IF_UNMODIFIED_SINCE, RANGE,
};
use weir_media::presentation::{Presentation, Rendition};
use weir_media::{dash, hls};
use weir_origin::ObjectPath;
use weir_origin::outside::{
    Current, LicenceRequest, Verdict, Wanted, from_base64url, judge, narrowed, range, split, wanted,
};

const ETAG: &str = "\"a\"";

/// A film with pictures and sound.
static WHOLE: LazyLock<Presentation> = LazyLock::new(|| {
    let index = build(include_bytes!("../seeds/mp4/front"), 0).expect("a film");
    let tracks = planned(&index).expect("a plan").into_iter();
    let renditions = tracks.enumerate().map(|(number, (track, segments))| {
        Rendition::new(format!("t{number}"), track.info().clone(), Arc::new(segments))
    });
    Presentation::new(renditions.collect(), Vec::new()).expect("a presentation")
});

fn path(asked: &str) {
    let check = |path: &ObjectPath| {
        let joined = Path::new("/root").join(path.as_str());
        assert!(joined.starts_with("/root"));
        assert!(
            joined
                .components()
                .all(|part| !matches!(part, Component::ParentDir | Component::CurDir))
        );
        assert!(path.as_str().len() <= 1024 && !path.as_str().contains(char::is_control));
        assert!(!path.as_str().contains('\\') && path.as_str().split('/').all(|part| !part.starts_with('.')));
        // An accepted path is a valid path by itself, too.
        assert_eq!(ObjectPath::new(path.as_str()).as_ref(), Ok(path));
    };
    let object = ObjectPath::from_request(asked);
    object.iter().for_each(check);
    if let Ok(Some((title, resource))) = split(asked) {
        check(&title);
        assert!(asked.ends_with(&format!("/{}", resource.path())));
    }
}

fn query(asked: &str) {
    match narrowed(&WHOLE, asked) {
        Ok(part) => {
            assert!((1..=WHOLE.renditions().len()).contains(&part.renditions().len()));
            for rendition in part.renditions() {
                let whole = WHOLE
                    .rendition(rendition.info.kind, &rendition.name)
                    .expect("of the whole");
                let segments = &rendition.segments.segments;
                assert!(
                    segments
                        .iter()
                        .all(|segment| whole.segments.segments.contains(segment))
                );
                assert!(!hls::media_playlist(rendition).is_empty());
            }
            assert!(dash::mpd(&part).ends_with("</MPD>\n"));
        }
        Err(error) => in_a_line(error, 2000),
    }
}

/// Whether the list of entity tags has this one, weak or not, where commas in tags do not matter.
fn names(list: &str, weak_too: bool) -> bool {
    let is_named = |name: &str| name == ETAG || weak_too && name.strip_prefix("W/") == Some(ETAG);
    list.trim() == "*" || list.split(',').any(|name| is_named(name.trim()))
}

fn conditions(headers: &HeaderMap) {
    let modified = SystemTime::UNIX_EPOCH + Duration::from_millis(784_111_777_500);
    let current = Current {
        etag: Some(ETAG),
        modified: Some(modified),
    };
    let told = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let verdict = judge(headers, current);
    match (told(&IF_MATCH), told(&IF_NONE_MATCH)) {
        (Some(list), _) if !names(list, false) => assert_eq!(verdict, Verdict::Failed),
        (Some(_), Some(list)) => {
            let expected = if names(list, true) {
                Verdict::NotModified
            } else {
                Verdict::Answer
            };
            assert_eq!(verdict, expected);
        }
        (Some(_), None) => assert_ne!(verdict, Verdict::Failed),
        (None, Some(list)) => {
            assert!(verdict == Verdict::Failed || names(list, true) == (verdict == Verdict::NotModified))
        }
        (None, None) => {}
    }
    let ranged = range(headers, current);
    assert!(ranged.is_none() || ranged == told(&RANGE));
    if let Some(condition) = told(&IF_RANGE)
        && condition.ends_with('"')
    {
        assert!(ranged.is_none() || condition == ETAG);
    }
    for length in [0, 1, 1000, u64::MAX] {
        let nothing = Current {
            etag: None,
            modified: None,
        };
        for asked in [ranged, range(headers, nothing), told(&RANGE)] {
            match wanted(asked, length) {
                Wanted::Part(part) => assert!(part.start < part.end && part.end <= length),
                Wanted::Whole | Wanted::Nothing => {}
            }
        }
    }
}

pub fn run(input: &[u8]) {
    let mut lines = input.splitn(9, |byte| *byte == b'\n');
    let mut line = || lines.next().unwrap_or_default();
    if let Ok(text) = std::str::from_utf8(line()) {
        path(text);
    }
    if let Ok(text) = std::str::from_utf8(line()) {
        query(text);
    }
    let mut headers = HeaderMap::new();
    for name in [
        RANGE,
        IF_RANGE,
        IF_MATCH,
        IF_NONE_MATCH,
        IF_MODIFIED_SINCE,
        IF_UNMODIFIED_SINCE,
    ] {
        let value = line();
        if let Ok(value) = HeaderValue::from_bytes(value)
            && !value.is_empty()
        {
            headers.insert(name, value);
        }
    }
    conditions(&headers);
    // A request for a licence names keys of 16 bytes, or others, which are not there.
    if let Ok(request) = serde_json::from_slice::<LicenceRequest>(line()) {
        let keys = request.kids.iter().filter_map(|kid| from_base64url(kid));
        assert!(keys.count() <= input.len() / 22);
    }
}
