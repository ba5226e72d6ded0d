//! What is measured: kinds of requests, causes of failures, and the accounts that add them up. It must not know how a
//! request is made.

mod account;
mod quality;
mod segment;
mod summary;

pub use account::{Account, KindAccount, Sample};
pub use quality::{Quality, Session};
pub use segment::{BIN_NS, Bins, Segment};
pub use summary::{
    Distribution, KindSummary, LoadSummary, OriginSource, OriginSummary, QualitySummary, Times,
};

/// What a request was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// An MPD or a playlist.
    Manifest,
    /// An initialization segment, or the index of a file.
    Init,
    /// A media segment of sound.
    Audio,
    /// A media segment of pictures.
    Video,
    /// A media segment of text.
    Subtitle,
    /// A key.
    Key,
}

impl Kind {
    /// All kinds, in the order in which tables list them.
    pub const ALL: [Kind; 6] = [
        Kind::Manifest,
        Kind::Init,
        Kind::Audio,
        Kind::Video,
        Kind::Subtitle,
        Kind::Key,
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Manifest => "manifest",
            Kind::Init => "init",
            Kind::Audio => "audio",
            Kind::Video => "video",
            Kind::Subtitle => "subtitle",
            Kind::Key => "key",
        }
    }
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The host name has no address.
    Dns,
    /// The host refused the connection.
    Refused,
    /// No connection in time.
    ConnectTimeout,
    /// No connection for another reason.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// This process has no file descriptors left.
    Descriptors,
    /// This host has no ports left towards the origin.
    Ports,
    /// The connection was reset.
    Reset,
    /// The connection ended before or within the head.
    Closed,
    /// The body is shorter than its length.
    ShortBody,
    /// Nothing came for too long.
    Timeout,
    /// The answer is not HTTP.
    BadResponse,
    /// A status of 4xx.
    Http4xx,
    /// A status of 5xx.
    Http5xx,
    /// Another status that is no success.
    HttpOther,
    /// Redirects without an end, or to nowhere.
    Redirect,
    /// A range was asked for and something else came.
    WrongRange,
    /// The manifest or playlist cannot be read.
    BadManifest,
    /// With `--verify`: the segment is not what it should be.
    BadMedia,
    /// The address may not be loaded without leave.
    NotPermitted,
}

impl Cause {
    /// All causes.
    pub const ALL: [Cause; 20] = [
        Cause::Dns,
        Cause::Refused,
        Cause::ConnectTimeout,
        Cause::Connect,
        Cause::Tls,
        Cause::Descriptors,
        Cause::Ports,
        Cause::Reset,
        Cause::Closed,
        Cause::ShortBody,
        Cause::Timeout,
        Cause::BadResponse,
        Cause::Http4xx,
        Cause::Http5xx,
        Cause::HttpOther,
        Cause::Redirect,
        Cause::WrongRange,
        Cause::BadManifest,
        Cause::BadMedia,
        Cause::NotPermitted,
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        self.told().0
    }

    /// What it means, for people.
    pub fn words(self) -> &'static str {
        self.told().1
    }

    fn told(self) -> (&'static str, &'static str) {
        match self {
            Cause::Dns => ("dns", "the host name does not resolve"),
            Cause::Refused => ("refused", "the host refused the connection"),
            Cause::ConnectTimeout => ("connect_timeout", "connecting timed out"),
            Cause::Connect => ("connect", "cannot connect"),
            Cause::Tls => ("tls", "the TLS handshake failed"),
            Cause::Descriptors => (
                "descriptors",
                "no file descriptors left: raise the limit with 'ulimit -n'",
            ),
            Cause::Ports => (
                "ports",
                "no ports left towards the origin: widen net.ipv4.ip_local_port_range, or use more addresses",
            ),
            Cause::Reset => ("reset", "the connection was reset"),
            Cause::Closed => ("closed", "the connection was closed without a response"),
            Cause::ShortBody => ("short_body", "the body is shorter than its declared length"),
            Cause::Timeout => ("timeout", "no data within the timeout"),
            Cause::BadResponse => ("bad_response", "the response is not valid HTTP"),
            Cause::Http4xx => ("http_4xx", "status 4xx"),
            Cause::Http5xx => ("http_5xx", "status 5xx"),
            Cause::HttpOther => ("http_other", "another status"),
            Cause::Redirect => ("redirect", "too many redirects, or an invalid one"),
            Cause::WrongRange => ("wrong_range", "the response has another range than requested"),
            Cause::BadManifest => ("bad_manifest", "the manifest is invalid"),
            Cause::BadMedia => ("bad_media", "the segment is invalid"),
            Cause::NotPermitted => (
                "not_permitted",
                "load on this host needs --yes-really-load-this-host",
            ),
        }
    }
}
