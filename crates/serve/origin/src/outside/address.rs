//! Which part of which title an address names. It must not know whether there is such a title.

use weir_media::presentation::Resource;

use crate::path::{ObjectPath, PathError};

/// The title and its part that the path of a request names: `/TITLE/manifest.mpd`, `/TITLE/video/v1/init.mp4` and so on;
/// nothing if it names no part of any title.
///
/// # Errors
/// When it names a part, and what stands before that is no path.
pub fn split(path: &str) -> Result<Option<(ObjectPath, Resource)>, PathError> {
    for parts in [1, 3] {
        let Some((title, rest)) = split_before_last(path, parts) else {
            continue;
        };
        if let Some(resource) = Resource::parse(rest) {
            return ObjectPath::from_request(title).map(|title| Some((title, resource)));
        }
    }
    Ok(None)
}

/// Splits at the slash before the last `parts` parts.
fn split_before_last(path: &str, parts: usize) -> Option<(&str, &str)> {
    let (at, _) = path.rmatch_indices('/').nth(parts - 1)?;
    Some((&path[..at], &path[at + 1..]))
}

#[cfg(test)]
mod tests {
    use weir_media::index::TrackKind;

    use super::*;

    #[test]
    fn titles_and_their_parts_come_apart() {
        let told = |path: &str| {
            let split = split(path).expect(path)?;
            Some((split.0.as_str().to_owned(), split.1))
        };
        let of = |title: &str, resource| Some((title.to_owned(), resource));
        assert_eq!(told("/a/manifest.mpd"), of("a", Resource::Mpd));
        assert_eq!(
            told("/a/b%20c/master.m3u8"),
            of("a/b c", Resource::MultivariantPlaylist)
        );
        assert_eq!(
            told("/a/b.mp4/video/v1/96000.m4s"),
            of(
                "a/b.mp4",
                Resource::MediaSegment(TrackKind::Video, "v1".to_owned(), 96_000)
            )
        );
        for nothing in ["/a/b.mp4", "/a/other.mpd", "/a/video/v1/other.mp4", "/a", ""] {
            assert_eq!(told(nothing), None, "{nothing}");
        }
        for wrong in [
            "/manifest.mpd",
            "/../manifest.mpd",
            "/a/%2e%2e/master.m3u8",
            "//video/v1/init.mp4",
        ] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }
}
