//! What a manifest says there is to play: periods, sets of rungs, segments and their addresses. It works on text that
//! it is given; it must not know how that was fetched, nor what a viewer does with it.
//!
//! Everything is bounded: the text, the elements of an MPD, the segments of a presentation and the bytes of their
//! addresses. Live presentations are read like others, for what they list now; following them is left to a later
//! [`Presentation::live`] mode of the viewer.

pub mod dash;
mod dash_segments;
mod duration;
mod element;
pub mod hls;
mod hls_attributes;
mod sidx;

use std::sync::Arc;

use thiserror::Error;
use url::Url;

pub use sidx::subsegments;

/// Most bytes of a manifest or playlist.
pub const MOST_BYTES: usize = 16 << 20;
/// Most segments of a presentation, over all its rungs: ten rungs of eleven hours at 2 s.
pub const MOST_SEGMENTS: usize = 200_000;
/// Most bytes of all addresses of a presentation.
const MOST_ADDRESS_BYTES: usize = 64 << 20;

/// What a track is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MediaKind {
    /// Pictures, with or without sound in the same segments.
    Video,
    /// Sound alone.
    Audio,
    /// Text.
    Subtitle,
}

/// Where something is: an absolute address, and the part of it that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UrlRange {
    /// Scheme, host and port, shared by all places there.
    pub host: Arc<Host>,
    /// Path and query, as they are sent.
    pub target: Arc<str>,
    /// First and last byte that are wanted; all if none.
    pub range: Option<(u64, u64)>,
}

/// What a connection is made to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    /// Whether it speaks TLS.
    pub tls: bool,
    /// Name or address, without brackets.
    pub name: String,
    /// TCP port.
    pub port: u16,
    /// As the Host field has it.
    pub authority: String,
}

impl UrlRange {
    /// The place of an absolute `http` or `https` address; none for any other.
    pub fn of(url: &Url) -> Option<UrlRange> {
        Some(UrlRange {
            host: Arc::new(Host::of(url)?),
            target: target(url).into(),
            range: None,
        })
    }

    /// The address without the range.
    pub fn url(&self) -> String {
        let scheme = if self.host.tls { "https" } else { "http" };
        format!("{scheme}://{}{}", self.host.authority, self.target)
    }
}

impl Host {
    fn of(url: &Url) -> Option<Host> {
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let text = url.host_str()?;
        let port = url.port_or_known_default()?;
        Some(Host {
            tls,
            name: text.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port,
            authority: match url.port() {
                Some(port) => format!("{text}:{port}"),
                None => text.to_owned(),
            },
        })
    }
}

fn target(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

/// One segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Where it is.
    pub place: UrlRange,
    /// When it begins in its period, nanoseconds.
    pub start_ns: u64,
    /// How long it plays, nanoseconds.
    pub duration_ns: u64,
    /// Which of the rung's initialization segments it needs.
    pub init: Option<u32>,
    /// Which of the rung's keys it is encrypted with.
    pub key: Option<u32>,
    /// Whether its times need not go on from the segment before in the list (HLS: a discontinuity).
    pub starts_anew: bool,
}

/// The segments of a rung.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segments {
    /// Initialization segments, in the order in which they are first needed.
    pub inits: Vec<UrlRange>,
    /// Keys, in the order in which they are first needed.
    pub keys: Vec<UrlRange>,
    /// Media segments in order.
    pub list: Vec<Segment>,
}

/// How the segments of a rung become known.
#[derive(Clone, Debug, PartialEq)]
pub enum Media {
    /// The manifest has said them all.
    Known(Arc<Segments>),
    /// They stand in a `sidx` box at this place (DASH SegmentBase).
    Indexed {
        /// The file with the range of the index.
        index: UrlRange,
        /// The file with the range of its initialization segment.
        init: Option<UrlRange>,
    },
    /// They stand in a playlist of its own (HLS).
    Playlist(UrlRange),
}

/// One quality of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Rung {
    /// Name in the manifest.
    pub id: String,
    /// Bit/s as the manifest says.
    pub bandwidth: u64,
    /// Its segments.
    pub media: Media,
}

/// Rungs that play the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// What it is.
    pub kind: MediaKind,
    /// Language, where said.
    pub language: Option<String>,
    /// From the lowest bit rate up; at least one.
    pub rungs: Vec<Rung>,
}

/// A stretch of a presentation with its own sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Period {
    /// What can be played side by side.
    pub sets: Vec<Set>,
}

impl Period {
    /// The first set of a kind.
    pub fn first(&self, kind: MediaKind) -> Option<&Set> {
        self.sets.iter().find(|set| set.kind == kind)
    }
}

/// What a manifest says.
#[derive(Clone, Debug, PartialEq)]
pub struct Presentation {
    /// Played one after the other; at least one, each with a set.
    pub periods: Vec<Period>,
    /// Whether more is to come.
    pub live: bool,
}

/// A manifest or playlist that cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// More bytes than any manifest has.
    #[error("the manifest has more than {MOST_BYTES} bytes")]
    TooLong,
    /// Not UTF-8.
    #[error("the manifest is not UTF-8")]
    NotText,
    /// Neither an MPD nor a playlist.
    #[error("it is neither an MPD nor an HLS playlist")]
    Unknown,
    /// Not well-formed XML.
    #[error("the MPD is not XML: {0}")]
    NotXml(String),
    /// More elements, segments or text than are taken.
    #[error("the manifest has too many {0}")]
    TooMany(&'static str),
    /// Something is missing.
    #[error("the manifest has no {0}")]
    Missing(&'static str),
    /// A value that cannot be.
    #[error("'{value}' is not a valid value of {name}")]
    Value {
        /// Attribute or tag.
        name: &'static str,
        /// What it says, cut short.
        value: String,
    },
    /// An address that cannot be followed.
    #[error("'{0}' is not an http or https URL")]
    Address(String),
    /// A `sidx` box that cannot be read.
    #[error("the segment index (sidx) is damaged: {0}")]
    Index(String),
}

impl ManifestError {
    fn value(name: &'static str, value: &str) -> ManifestError {
        ManifestError::Value {
            name,
            value: shortened(value),
        }
    }
}

/// At most 80 printable characters of a text from outside.
fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

/// Text of a manifest, checked for length and form.
fn text_of(bytes: &[u8]) -> Result<&str, ManifestError> {
    if bytes.len() > MOST_BYTES {
        return Err(ManifestError::TooLong);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| ManifestError::NotText)?;
    Ok(text.trim_start_matches('\u{feff}'))
}

/// Whether the bytes are an HLS playlist (RFC 8216, 4.3.1.1).
pub fn is_playlist(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.starts_with(b"#EXTM3U")
}

/// Reads whatever was found at `base`: an MPD, or a playlist of HLS of either kind.
///
/// # Errors
/// What is wrong with it.
pub fn read(bytes: &[u8], base: &Url) -> Result<Presentation, ManifestError> {
    if is_playlist(bytes) {
        return hls::presentation(bytes, base);
    }
    let text = text_of(bytes)?;
    if text.trim_start().starts_with('<') {
        return dash::presentation(text, base);
    }
    Err(ManifestError::Unknown)
}

/// Hands out places, shares hosts, and counts what they take.
struct UrlResolver {
    hosts: Vec<Arc<Host>>,
    segments_left: usize,
    bytes_left: usize,
}

impl UrlResolver {
    fn new() -> UrlResolver {
        UrlResolver {
            hosts: Vec::new(),
            segments_left: MOST_SEGMENTS,
            bytes_left: MOST_ADDRESS_BYTES,
        }
    }

    /// Takes one segment from what is left.
    fn count_segment(&mut self) -> Result<(), ManifestError> {
        self.segments_left = self
            .segments_left
            .checked_sub(1)
            .ok_or(ManifestError::TooMany("segments"))?;
        Ok(())
    }

    /// The place that `reference` names from `base`.
    fn place(
        &mut self,
        base: &Url,
        reference: &str,
        range: Option<(u64, u64)>,
    ) -> Result<UrlRange, ManifestError> {
        let url = join(base, reference)?;
        self.place_of(&url, range)
    }

    fn place_of(&mut self, url: &Url, range: Option<(u64, u64)>) -> Result<UrlRange, ManifestError> {
        let target = target(url);
        self.bytes_left = self
            .bytes_left
            .checked_sub(target.len())
            .ok_or(ManifestError::TooMany("bytes of URLs"))?;
        let host = Host::of(url).ok_or_else(|| ManifestError::Address(shortened(url.as_str())))?;
        // A presentation has one or two hosts; a hostile one has as many as its bytes allow.
        let known = self.hosts.iter().take(16).find(|known| ***known == host);
        let host = match known {
            Some(known) => known.clone(),
            None => {
                let host = Arc::new(host);
                self.hosts.push(host.clone());
                host
            }
        };
        Ok(UrlRange {
            host,
            target: target.into(),
            range,
        })
    }
}

fn join(base: &Url, reference: &str) -> Result<Url, ManifestError> {
    base.join(reference)
        .map_err(|_| ManifestError::Address(shortened(reference)))
}

/// `value / timescale` seconds in nanoseconds; what is too long is the longest there is.
fn to_ns(value: u64, timescale: u64) -> u64 {
    let ns = u128::from(value) * 1_000_000_000 / u128::from(timescale.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// Bytes `FIRST-LAST`, as DASH writes ranges.
fn byte_range(name: &'static str, text: &str) -> Result<(u64, u64), ManifestError> {
    let read = || {
        let (first, last) = text.trim().split_once('-')?;
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last).then_some((first, last))
    };
    read().ok_or_else(|| ManifestError::value(name, text))
}
