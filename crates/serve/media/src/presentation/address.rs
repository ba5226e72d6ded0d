//! Addresses of the parts of a presentation, relative to its own: how manifests write them and a server reads them. The
//! time in a segment's address is when it begins, in units of its track's timescale.

use crate::index::TrackKind;

use super::is_name;

/// A part of a presentation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// `manifest.mpd`: the MPD of DASH.
    Mpd,
    /// `master.m3u8`: the multivariant playlist of HLS.
    MultivariantPlaylist,
    /// `video/NAME/playlist.m3u8`: the media playlist of a track.
    MediaPlaylist(TrackKind, String),
    /// `video/NAME/iframes.m3u8`: the playlist of its sync samples.
    IFramePlaylist(String),
    /// `video/NAME/init.mp4`: the initialization segment of a track.
    InitSegment(TrackKind, String),
    /// `video/NAME/track.mp4`: a track as one file, of which players ask for ranges.
    SingleFile(TrackKind, String),
    /// `on-demand.mpd`: the MPD of DASH whose tracks are single files.
    OnDemandMpd,
    /// `video/NAME/TIME.m4s`: a media segment.
    MediaSegment(TrackKind, String, u64),
    /// `video/NAME/sync-TIME.m4s`: the first sample of a media segment, a sync sample, as a segment of its own.
    SyncSample(String, u64),
    /// `subtitles/NAME/playlist.m3u8`: the playlist of subtitles.
    SubtitlePlaylist(String),
    /// `subtitles/NAME/text.vtt`: the subtitles.
    SubtitleText(String),
}

/// What addresses of tracks of this kind begin with.
pub(super) fn folder(kind: TrackKind) -> &'static str {
    match kind {
        TrackKind::Video => "video",
        TrackKind::Audio => "audio",
    }
}

impl Resource {
    /// The address, relative to that of the presentation.
    pub fn path(&self) -> String {
        match self {
            Resource::Mpd => "manifest.mpd".to_owned(),
            Resource::MultivariantPlaylist => "master.m3u8".to_owned(),
            Resource::MediaPlaylist(kind, name) => format!("{}/{name}/playlist.m3u8", folder(*kind)),
            Resource::IFramePlaylist(name) => format!("video/{name}/iframes.m3u8"),
            Resource::InitSegment(kind, name) => format!("{}/{name}/init.mp4", folder(*kind)),
            Resource::SingleFile(kind, name) => format!("{}/{name}/track.mp4", folder(*kind)),
            Resource::OnDemandMpd => "on-demand.mpd".to_owned(),
            Resource::MediaSegment(kind, name, time) => format!("{}/{name}/{time}.m4s", folder(*kind)),
            Resource::SyncSample(name, time) => format!("video/{name}/sync-{time}.m4s"),
            Resource::SubtitlePlaylist(name) => format!("subtitles/{name}/playlist.m3u8"),
            Resource::SubtitleText(name) => format!("subtitles/{name}/text.vtt"),
        }
    }

    /// Reads an address that [`Resource::path`] wrote, and nothing else: other spellings of the same part would be other
    /// entries of a cache.
    pub fn parse(path: &str) -> Option<Resource> {
        match path {
            "manifest.mpd" => return Some(Resource::Mpd),
            "on-demand.mpd" => return Some(Resource::OnDemandMpd),
            "master.m3u8" => return Some(Resource::MultivariantPlaylist),
            _ => {}
        }
        let (folder, rest) = path.split_once('/')?;
        let (name, file) = rest.split_once('/')?;
        if !is_name(name) {
            return None;
        }
        let name = name.to_owned();
        let kind = match folder {
            "video" => TrackKind::Video,
            "audio" => TrackKind::Audio,
            "subtitles" => return subtitles(name, file),
            _ => return None,
        };
        match (kind, file) {
            (_, "playlist.m3u8") => Some(Resource::MediaPlaylist(kind, name)),
            (TrackKind::Video, "iframes.m3u8") => Some(Resource::IFramePlaylist(name)),
            (_, "track.mp4") => Some(Resource::SingleFile(kind, name)),
            (_, "init.mp4") => Some(Resource::InitSegment(kind, name)),
            _ => segment(kind, name, file.strip_suffix(".m4s")?),
        }
    }
}

fn segment(kind: TrackKind, name: String, file: &str) -> Option<Resource> {
    match file.strip_prefix("sync-") {
        None => Some(Resource::MediaSegment(kind, name, whole_number(file)?)),
        Some(time) if kind == TrackKind::Video => Some(Resource::SyncSample(name, whole_number(time)?)),
        Some(_) => None,
    }
}

fn subtitles(name: String, file: &str) -> Option<Resource> {
    match file {
        "playlist.m3u8" => Some(Resource::SubtitlePlaylist(name)),
        "text.vtt" => Some(Resource::SubtitleText(name)),
        _ => None,
    }
}

/// Digits as they are printed: no sign, no zeros in front.
fn whole_number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = text.len() > 1 && text.starts_with('0');
    text.parse().ok().filter(|_| digits && !padded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written_and_not_otherwise() {
        let segment = Resource::MediaSegment(TrackKind::Video, "v1".to_owned(), 96_000);
        assert_eq!(segment.path(), "video/v1/96000.m4s");
        assert_eq!(Resource::parse("video/v1/96000.m4s"), Some(segment));
        let sample = Resource::SyncSample("v1".to_owned(), 0);
        assert_eq!(sample.path(), "video/v1/sync-0.m4s");
        assert_eq!(Resource::parse("video/v1/sync-0.m4s"), Some(sample));
        let playlist = Resource::MediaPlaylist(TrackKind::Audio, "en".to_owned());
        assert_eq!(Resource::parse("audio/en/playlist.m3u8"), Some(playlist));
        for other in [
            "",
            "video",
            "video/v1",
            "video/v1/096000.m4s",
            "video/v1/+1.m4s",
            "video/v1/-1.m4s",
            "video/v1/1.m4s/",
            "video/v1/99999999999999999999.m4s",
            "video/../init.mp4",
            "video//init.mp4",
            "/video/v1/init.mp4",
            "video/v%31/init.mp4",
            "audio/en/iframes.m3u8",
            "audio/en/sync-0.m4s",
            "video/v1/sync-.m4s",
            "text/en/text.vtt",
        ] {
            assert_eq!(Resource::parse(other), None, "{other}");
        }
    }
}
