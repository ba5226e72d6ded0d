//! Playlists of HLS (RFC 8216): the multivariant playlist with its variants and renditions, and media playlists with
//! their segments, byte ranges, initialization segments and keys.

use std::sync::Arc;

use url::Url;

use super::hls_attributes::Attributes;
use super::{
    ManifestError, Media, MediaKind, Period, Presentation, Rung, Segment, Segments, Set, UrlRange,
    UrlResolver, join, text_of,
};

/// Most variants, and renditions, of a multivariant playlist.
const MOST_RUNGS: usize = 1024;

/// Reads a playlist that was found at `base`: a multivariant one, or a media playlist, which is then the only rung.
///
/// # Errors
/// What is wrong with it.
pub fn presentation(bytes: &[u8], base: &Url) -> Result<Presentation, ManifestError> {
    let text = text_of(bytes)?;
    let multivariant = text.lines().any(|line| line.starts_with("#EXT-X-STREAM-INF:"));
    if multivariant {
        return self::multivariant(text, base);
    }
    let MediaPlaylist { segments, live } = media_playlist(bytes, base)?;
    let rung = Rung {
        id: String::new(),
        bandwidth: 0,
        media: Media::Known(Arc::new(segments)),
    };
    Ok(of_sets(
        vec![Set {
            kind: MediaKind::Video,
            language: None,
            rungs: vec![rung],
        }],
        live,
    ))
}

fn of_sets(sets: Vec<Set>, live: bool) -> Presentation {
    Presentation {
        periods: vec![Period { sets }],
        live,
    }
}

fn multivariant(text: &str, base: &Url) -> Result<Presentation, ManifestError> {
    let mut urls = UrlResolver::new();
    let mut variants: Vec<(bool, Rung)> = Vec::new();
    let mut groups: Vec<(MediaKind, String, Rung)> = Vec::new();
    let mut wanted: Option<(u64, String, Option<String>)> = None;
    let mut audio_group = None;
    for line in text.lines().map(str::trim_end) {
        if let Some(tag) = line.strip_prefix("#EXT-X-STREAM-INF:") {
            let attributes = Attributes::new(tag);
            let bandwidth = attributes.get("BANDWIDTH").unwrap_or("0");
            let bandwidth = bandwidth
                .parse()
                .map_err(|_| ManifestError::value("BANDWIDTH", bandwidth))?;
            let codecs = attributes.get("CODECS").unwrap_or_default().to_owned();
            let resolution = attributes.get("RESOLUTION").map(str::to_owned);
            audio_group = audio_group.or(attributes.get("AUDIO").map(str::to_owned));
            wanted = Some((bandwidth, codecs, resolution));
        } else if let Some(tag) = line.strip_prefix("#EXT-X-MEDIA:") {
            groups.extend(rendition(tag, base, &mut urls)?);
        } else if !line.is_empty() && !line.starts_with('#') {
            let Some((bandwidth, codecs, resolution)) = wanted.take() else {
                continue;
            };
            let only_sound = resolution.is_none() && has_only_sound(&codecs);
            let media = Media::Playlist(urls.place(base, line, None)?);
            let id = super::shortened(line);
            variants.push((only_sound, Rung { id, bandwidth, media }));
        }
        if variants.len().max(groups.len()) > MOST_RUNGS {
            return Err(ManifestError::TooMany("variants"));
        }
    }
    if variants.is_empty() {
        return Err(ManifestError::Missing("variant with a URI"));
    }
    // Where some have pictures, those of sound alone are for who has no bandwidth for pictures.
    let only_sound = variants.iter().all(|(only_sound, _)| *only_sound);
    variants.retain(|(without, _)| *without == only_sound);
    let mut variants: Vec<Rung> = variants.into_iter().map(|(_, rung)| rung).collect();
    // The same stream with another group of audio stands there twice.
    variants.sort_by(|a, b| (a.bandwidth, &a.id).cmp(&(b.bandwidth, &b.id)));
    variants.dedup_by(|a, b| a.media == b.media);
    let mut sets = vec![Set {
        kind: if only_sound {
            MediaKind::Audio
        } else {
            MediaKind::Video
        },
        language: None,
        rungs: variants,
    }];
    let audible = |kind, group: &str| kind != MediaKind::Audio || audio_group.as_deref() == Some(group);
    for (kind, group, rung) in groups {
        if audible(kind, &group) {
            sets.push(Set {
                kind,
                language: (!rung.id.is_empty()).then(|| rung.id.clone()),
                rungs: vec![rung],
            });
        }
    }
    Ok(of_sets(sets, false))
}

/// Whether every codec is one of sound; not said is not only sound.
fn has_only_sound(codecs: &str) -> bool {
    const SOUND: [&str; 6] = ["mp4a", "ac-3", "ec-3", "opus", "Opus", "fLaC"];
    !codecs.is_empty()
        && codecs
            .split(',')
            .all(|codec| SOUND.contains(&codec.trim().split('.').next().unwrap_or("")))
}

/// A rendition with an address of its own, with its group.
fn rendition(
    tag: &str,
    base: &Url,
    urls: &mut UrlResolver,
) -> Result<Option<(MediaKind, String, Rung)>, ManifestError> {
    let attributes = Attributes::new(tag);
    let kind = match attributes.get("TYPE") {
        Some("AUDIO") => MediaKind::Audio,
        Some("SUBTITLES") => MediaKind::Subtitle,
        _ => return Ok(None),
    };
    let Some(uri) = attributes.get("URI") else {
        return Ok(None);
    };
    let rung = Rung {
        id: super::shortened(attributes.get("LANGUAGE").unwrap_or_default()),
        bandwidth: 0,
        media: Media::Playlist(urls.place(base, uri, None)?),
    };
    let group = attributes.get("GROUP-ID").unwrap_or_default().to_owned();
    Ok(Some((kind, group, rung)))
}

/// A media playlist.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaPlaylist {
    /// Its segments.
    pub segments: Segments,
    /// Whether more is to come.
    pub live: bool,
}

/// Reads a media playlist that was found at `base`.
///
/// # Errors
/// What is wrong with it.
pub fn media_playlist(bytes: &[u8], base: &Url) -> Result<MediaPlaylist, ManifestError> {
    if !super::is_playlist(bytes) {
        return Err(ManifestError::Unknown);
    }
    let mut reading = PlaylistParser::new(base);
    for line in text_of(bytes)?.lines() {
        reading.take(line.trim_end())?;
    }
    if reading.segments.list.is_empty() {
        return Err(ManifestError::Missing("segments"));
    }
    Ok(MediaPlaylist {
        segments: reading.segments,
        live: !reading.ended,
    })
}

/// What the lines so far have said.
struct PlaylistParser<'a> {
    base: &'a Url,
    urls: UrlResolver,
    segments: Segments,
    ended: bool,
    time_ns: u64,
    duration_ns: Option<u64>,
    range: Option<(u64, Option<u64>)>,
    /// Where the range before ended, and in which file.
    last: Option<(Url, u64)>,
    init: Option<u32>,
    key: Option<u32>,
    discontinuity: bool,
}

impl<'a> PlaylistParser<'a> {
    fn new(base: &'a Url) -> Self {
        PlaylistParser {
            base,
            urls: UrlResolver::new(),
            segments: Segments::default(),
            ended: false,
            time_ns: 0,
            duration_ns: None,
            range: None,
            last: None,
            init: None,
            key: None,
            discontinuity: false,
        }
    }

    fn take(&mut self, line: &str) -> Result<(), ManifestError> {
        if let Some(tag) = line.strip_prefix("#EXTINF:") {
            let seconds = tag.split(',').next().unwrap_or("");
            let wrong = || ManifestError::value("EXTINF", tag);
            let seconds: f64 = seconds.trim().parse().map_err(|_| wrong())?;
            if !(0.0..=86_400.0).contains(&seconds) {
                return Err(wrong());
            }
            self.duration_ns = Some((seconds * 1e9).round() as u64);
        } else if let Some(tag) = line.strip_prefix("#EXT-X-BYTERANGE:") {
            self.range = Some(range(tag)?);
        } else if let Some(tag) = line.strip_prefix("#EXT-X-MAP:") {
            self.map(tag)?;
        } else if let Some(tag) = line.strip_prefix("#EXT-X-KEY:") {
            self.encrypted(tag)?;
        } else if line == "#EXT-X-DISCONTINUITY" {
            self.discontinuity = true;
        } else if line == "#EXT-X-ENDLIST" {
            self.ended = true;
        } else if !line.is_empty() && !line.starts_with('#') {
            self.segment(line)?;
        }
        Ok(())
    }

    fn map(&mut self, tag: &str) -> Result<(), ManifestError> {
        let attributes = Attributes::new(tag);
        let uri = attributes.get("URI");
        let uri = uri.ok_or(ManifestError::Missing("URI of an EXT-X-MAP"))?;
        // Without an offset it begins with the file (RFC 8216, 4.3.2.5).
        let said = attributes.get("BYTERANGE").map(range).transpose()?;
        let said = said.map(|(length, offset)| (length, offset.unwrap_or(0)));
        let range = said.map(|(length, first)| bytes_of(length, first)).transpose()?;
        let place = self.urls.place(self.base, uri, range)?;
        self.init = Some(position(&mut self.segments.inits, place));
        Ok(())
    }

    fn encrypted(&mut self, tag: &str) -> Result<(), ManifestError> {
        let attributes = Attributes::new(tag);
        let uri = match attributes.get("METHOD") {
            Some("NONE") | None => None,
            Some(_) => attributes.get("URI"),
        };
        // Keys of licence systems (skd:, data:) are not fetched by HTTP.
        let url = uri.and_then(|uri| join(self.base, uri).ok());
        self.key = match url.filter(|url| ["http", "https"].contains(&url.scheme())) {
            Some(url) => {
                let place = self.urls.place_of(&url, None)?;
                Some(position(&mut self.segments.keys, place))
            }
            None => None,
        };
        Ok(())
    }

    fn segment(&mut self, uri: &str) -> Result<(), ManifestError> {
        let duration_ns = self.duration_ns.take();
        let duration_ns = duration_ns.ok_or(ManifestError::Missing("EXTINF before a segment"))?;
        self.urls.count_segment()?;
        let url = join(self.base, uri)?;
        let range = match self.range.take() {
            None => {
                self.last = None;
                None
            }
            Some((length, offset)) => {
                // Without an offset it follows the range before of the same file (RFC 8216, 4.3.2.2).
                let follows = self.last.take().filter(|(last, _)| *last == url);
                let first = offset.or(follows.map(|(_, next)| next));
                let first = first.ok_or(ManifestError::Missing("offset of an EXT-X-BYTERANGE"))?;
                let range = bytes_of(length, first)?;
                self.last = Some((url.clone(), range.1 + 1));
                Some(range)
            }
        };
        let place = self.urls.place_of(&url, range)?;
        self.segments.list.push(Segment {
            place,
            start_ns: self.time_ns,
            duration_ns,
            init: self.init,
            key: self.key,
            starts_anew: std::mem::take(&mut self.discontinuity),
        });
        self.time_ns = self.time_ns.saturating_add(duration_ns);
        Ok(())
    }
}

/// Index of a place, which is added if it is not the last one. One that comes back is fetched again, as players do.
fn position(urls: &mut Vec<UrlRange>, place: UrlRange) -> u32 {
    if urls.last() != Some(&place) {
        urls.push(place);
    }
    // Bounded by the bytes of the playlist.
    (urls.len() - 1) as u32
}

/// `LENGTH[@OFFSET]`.
fn range(text: &str) -> Result<(u64, Option<u64>), ManifestError> {
    let wrong = || ManifestError::value("a byte range", text);
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
    match text.split_once('@') {
        Some((length, offset)) => Ok((number(length)?, Some(number(offset)?))),
        None => Ok((number(text)?, None)),
    }
}

/// First and last of `length` bytes from `first` on.
fn bytes_of(length: u64, first: u64) -> Result<(u64, u64), ManifestError> {
    let last = length
        .checked_sub(1)
        .and_then(|more| first.checked_add(more))
        .filter(|last| *last < u64::MAX);
    let last = last.ok_or_else(|| ManifestError::value("a byte range", &format!("{length}@{first}")))?;
    Ok((first, last))
}
