//! What players tell servers with each request: Common Media Client Data, CTA-5004 (version 1) and CTA-5004-A (version
//! 2), as header fields or as one argument of a query.
//!
//! It is here and not with the player because both ends need it: the origin reads what a player writes, and neither
//! may depend on the other. It must not know how a request is sent or what a server makes of the keys.

mod decode;
mod dictionary;
mod encode;

use thiserror::Error;

/// The name of the argument of a query.
pub const QUERY_ARGUMENT: &str = "CMCD";
/// The names of the header fields.
pub const HEADERS: [&str; 4] = ["CMCD-Object", "CMCD-Request", "CMCD-Status", "CMCD-Session"];
/// Most bytes of all keys together that are read. Requests with more are refused by most servers anyway.
pub const MAX_BYTES: usize = 8_192;
/// Most bytes of an id that is read: `cid` of CTA-5004-A. CTA-5004 and every `sid` have 64.
pub const MAX_ID_BYTES: usize = 128;
/// The highest bitrate or throughput that is read, kbit/s: one terabit each second.
pub const MAX_KBITS: u64 = 1_000_000_000;
/// The longest time that is read, ms: 365 days.
pub const MAX_MILLISECONDS: u64 = 31_536_000_000;

/// Keys that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CmcdError {
    /// More than [`MAX_BYTES`].
    #[error("CMCD has {0} bytes; the maximum is {MAX_BYTES}")]
    TooLong(usize),
    /// No dictionary of structured fields.
    #[error("CMCD is not a structured field (RFC 9651): expected {wanted} at byte {at}")]
    Broken {
        /// Where, counted from 0 over all fields joined by commas, after escapes are undone.
        at: usize,
        /// What should be there.
        wanted: &'static str,
    },
    /// Neither 1 nor 2.
    #[error("unsupported CMCD version {0}; versions 1 and 2 are supported")]
    Version(u64),
    /// A value that is not of the key's kind.
    #[error("the CMCD key {key} has the wrong type: {is}")]
    Kind {
        /// The key.
        key: &'static str,
        /// What it is.
        is: &'static str,
    },
    /// A number that is too small or too large.
    #[error("the CMCD key {key} is {value}; the range is {least} to {most}")]
    Range {
        /// The key.
        key: &'static str,
        /// Its value.
        value: i64,
        /// The least that it can be.
        least: i64,
        /// The most that it can be.
        most: i64,
    },
    /// An id of more than [`MAX_ID_BYTES`].
    #[error("the CMCD key {key} has {bytes} bytes; the maximum is {MAX_ID_BYTES}")]
    LongId {
        /// The key.
        key: &'static str,
        /// Its length.
        bytes: usize,
    },
}

/// The version of the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// CTA-5004.
    #[default]
    V1,
    /// CTA-5004-A: bitrates and buffers are inner lists.
    V2,
}

/// What is asked for (`ot`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectType {
    /// A manifest or playlist.
    Manifest,
    /// Sound alone.
    Audio,
    /// Pictures alone.
    Video,
    /// Both together.
    Muxed,
    /// An initialisation segment.
    Init,
    /// Captions or subtitles.
    Caption,
    /// Timed text in a track of ISO BMFF.
    TimedText,
    /// A key, licence or certificate.
    Key,
    /// Anything else.
    Other,
}

/// How the stream is described (`sf`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamingFormat {
    /// MPEG-DASH.
    Dash,
    /// HTTP Live Streaming.
    Hls,
    /// Smooth Streaming.
    Smooth,
    /// Anything else.
    Other,
}

/// Whether the stream grows (`st`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamType {
    /// All segments are there.
    Vod,
    /// Segments are added.
    Live,
    /// Segments are added and must be shown soon (version 2).
    LowLatency,
}

/// The keys of one request. Where version 2 tells more than one value, the one here is the one for the type of the
/// object that is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cmcd {
    /// In which version they are written, or were read (`v`).
    pub version: Version,
    /// Of what is asked for, kbit/s (`br`).
    pub bitrate: Option<u64>,
    /// The highest rung that the player may choose, kbit/s (`tb`).
    pub top_bitrate: Option<u64>,
    /// Media in the buffer, ms (`bl`); written rounded to 100.
    pub buffer_ms: Option<u64>,
    /// Until the buffer would run empty, ms (`dl`); written rounded to 100.
    pub deadline_ms: Option<u64>,
    /// How long what is asked for is shown, ms (`d`).
    pub duration_ms: Option<u64>,
    /// Throughput that the player measured, kbit/s (`mtp`); written rounded to 100.
    pub throughput: Option<u64>,
    /// Throughput that is enough for the player, kbit/s (`rtp`); written rounded to 100.
    pub requested_throughput: Option<u64>,
    /// The buffer ran empty since the last request (`bs`).
    pub starved: bool,
    /// What is asked for is needed at once: at start-up, after a seek or a stall (`su`).
    pub startup: bool,
    /// What is asked for (`ot`).
    pub object: Option<ObjectType>,
    /// The format of the stream (`sf`).
    pub format: Option<StreamingFormat>,
    /// Whether the stream grows (`st`).
    pub stream: Option<StreamType>,
    /// The session (`sid`).
    pub session_id: Option<String>,
    /// What is played (`cid`).
    pub content_id: Option<String>,
}

impl Cmcd {
    /// No keys.
    pub fn new(version: Version) -> Cmcd {
        Cmcd {
            version,
            ..Cmcd::default()
        }
    }
}

impl ObjectType {
    const TOKENS: [(ObjectType, &str); 9] = [
        (ObjectType::Manifest, "m"),
        (ObjectType::Audio, "a"),
        (ObjectType::Video, "v"),
        (ObjectType::Muxed, "av"),
        (ObjectType::Init, "i"),
        (ObjectType::Caption, "c"),
        (ObjectType::TimedText, "tt"),
        (ObjectType::Key, "k"),
        (ObjectType::Other, "o"),
    ];

    /// The token of `ot`.
    pub fn token(self) -> &'static str {
        token(&Self::TOKENS, self)
    }

    fn from_token(token: &str) -> ObjectType {
        from_token(&Self::TOKENS, token).unwrap_or(ObjectType::Other)
    }
}

impl StreamingFormat {
    const TOKENS: [(StreamingFormat, &str); 4] = [
        (StreamingFormat::Dash, "d"),
        (StreamingFormat::Hls, "h"),
        (StreamingFormat::Smooth, "s"),
        (StreamingFormat::Other, "o"),
    ];

    /// The token of `sf`.
    pub fn token(self) -> &'static str {
        token(&Self::TOKENS, self)
    }

    fn from_token(token: &str) -> StreamingFormat {
        from_token(&Self::TOKENS, token).unwrap_or(StreamingFormat::Other)
    }
}

impl StreamType {
    const TOKENS: [(StreamType, &str); 3] = [
        (StreamType::Vod, "v"),
        (StreamType::Live, "l"),
        (StreamType::LowLatency, "ll"),
    ];

    /// The token of `st`.
    pub fn token(self) -> &'static str {
        token(&Self::TOKENS, self)
    }

    fn from_token(token: &str) -> Option<StreamType> {
        from_token(&Self::TOKENS, token)
    }
}

/// The token of a value, of a table that has all of them.
fn token<T: Copy + PartialEq>(tokens: &[(T, &'static str)], value: T) -> &'static str {
    let found = tokens.iter().find(|(known, _)| *known == value);
    found.map_or("", |(_, token)| token)
}

fn from_token<T: Copy>(tokens: &[(T, &str)], token: &str) -> Option<T> {
    let found = tokens.iter().find(|(_, known)| *known == token);
    found.map(|(value, _)| *value)
}
