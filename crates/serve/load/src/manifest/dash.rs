//! MPDs of DASH (ISO/IEC 23009-1): periods, adaptation sets, representations and where their segments are. How segments
//! are counted and addressed lies in `dash_segments`.

use url::Url;

use super::dash_segments::{Addressing, Numbers};
use super::element::Element;
use super::{ManifestError, Media, MediaKind, Period, Presentation, Rung, Set, UrlResolver};
use super::{duration, join};

/// Reads an MPD that was found at `base`. References to parts of it elsewhere (xlink) are not followed.
///
/// # Errors
/// What is wrong with it.
pub fn presentation(text: &str, base: &Url) -> Result<Presentation, ManifestError> {
    let mpd = Element::parse(text)?;
    if mpd.name != "MPD" {
        return Err(ManifestError::Missing("MPD element"));
    }
    let base = base_url(&mpd, base)?;
    let total = timed(&mpd, "mediaPresentationDuration")?;
    let periods: Vec<&Element> = mpd.named("Period").collect();
    let mut urls = UrlResolver::new();
    let mut read = Vec::new();
    let mut start = 0;
    for (number, period) in periods.iter().enumerate() {
        start = timed(period, "start")?.unwrap_or(start);
        let next = match periods.get(number + 1) {
            Some(next) => timed(next, "start")?,
            None => total,
        };
        // ISO/IEC 23009-1, 5.3.2.1: its own duration, or until the next one or the end.
        let length = timed(period, "duration")?.or(next.map(|next| next.saturating_sub(start)));
        let sets = sets(period, &base, length, &mut urls)?;
        if !sets.is_empty() {
            read.push(Period { sets });
        }
        start = start.saturating_add(length.unwrap_or(0));
    }
    if read.is_empty() {
        return Err(ManifestError::Missing("period with audio or video"));
    }
    Ok(Presentation {
        periods: read,
        live: mpd.attribute("type") == Some("dynamic"),
    })
}

fn timed(element: &Element, name: &'static str) -> Result<Option<u64>, ManifestError> {
    let parse = |text| duration::parse(text).ok_or_else(|| ManifestError::value(name, text));
    element.attribute(name).map(parse).transpose()
}

/// The first BaseURL, from which addresses below it are read; others are copies elsewhere.
fn base_url(element: &Element, base: &Url) -> Result<Url, ManifestError> {
    match element.child("BaseURL") {
        Some(url) => join(base, url.content.trim()),
        None => Ok(base.clone()),
    }
}

fn sets(
    period: &Element,
    base: &Url,
    length_ns: Option<u64>,
    urls: &mut UrlResolver,
) -> Result<Vec<Set>, ManifestError> {
    let base = base_url(period, base)?;
    let outer = Addressing::default().within(period)?;
    let mut sets = Vec::new();
    for set in period.named("AdaptationSet") {
        let base = base_url(set, &base)?;
        let addressing = outer.within(set)?;
        let mut rungs = Vec::new();
        let mut kind = kind(set);
        for representation in set.named("Representation") {
            kind = kind.or_else(|| self::kind(representation));
            if kind.is_none() {
                continue;
            }
            let base_here = base_url(representation, &base)?;
            let addressing = addressing.within(representation)?;
            let bandwidth = representation.number("bandwidth")?.unwrap_or(0);
            let id = representation.attribute("id").unwrap_or_default().to_owned();
            let numbers = Numbers {
                id: &id,
                bandwidth,
                length_ns,
            };
            let media = addressing.media(&base_here, &numbers, urls)?;
            let empty = matches!(&media, Media::Known(segments) if segments.list.is_empty());
            if empty {
                return Err(ManifestError::Missing("segments for a representation"));
            }
            rungs.push(Rung { id, bandwidth, media });
        }
        rungs.sort_by_key(|rung| rung.bandwidth);
        let language = set.attribute("lang").map(str::to_owned);
        if let Some(kind) = kind
            && !rungs.is_empty()
        {
            sets.push(Set {
                kind,
                language,
                rungs,
            });
        }
    }
    Ok(sets)
}

/// What a set or representation holds, by its contentType, MIME type or codecs; none for what viewers do not fetch,
/// such as thumbnails.
fn kind(element: &Element) -> Option<MediaKind> {
    let nested = || {
        let component = element.child("ContentComponent");
        component.and_then(|component| component.attribute("contentType"))
    };
    let content = element.attribute("contentType").or_else(nested).unwrap_or("");
    let mime = element.attribute("mimeType").unwrap_or("");
    let codecs = element.attribute("codecs").unwrap_or("");
    let major = mime.split('/').next().unwrap_or("");
    let codec = codecs.split('.').next().unwrap_or("");
    let is_timed_text = mime.contains("ttml") || ["stpp", "wvtt"].contains(&codec);
    match (content, major) {
        ("video", _) | ("", "video") => Some(MediaKind::Video),
        ("audio", _) | ("", "audio") => Some(MediaKind::Audio),
        ("text", _) | ("", "text") => Some(MediaKind::Subtitle),
        ("", "application") if is_timed_text => Some(MediaKind::Subtitle),
        _ => None,
    }
}
