//! A kind of neighbour with its settings, as a user or a scenario wants it, and its measurement. It must not know who its
//! neighbour is.

use weir_control::Stop;
use weir_units::{ByteCount, TimeSpan};

use crate::client::measure_datagrams;
use crate::error::NeighbourError;
use crate::report::Measured;
use crate::tcp::{BulkRequest, HttpRequest, measure_bulk, measure_http};
use crate::traffic::{Asked, Traffic};

/// Maximum number of connections of a bulk download.
pub const MOST_STREAMS: u16 = 64;
/// Maximum pause between downloads; the server closes a connection that is idle for longer.
const MOST_PAUSE: TimeSpan = TimeSpan(60_000_000_000);

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A call, a game or evenly spaced datagrams.
    Datagrams(Traffic),
    /// A bulk download.
    Bulk(BulkRequest),
    /// Repeated downloads.
    Http(HttpRequest),
}

impl Kind {
    /// Size of downloads, unless given.
    pub const HTTP_BYTES: ByteCount = ByteCount(3_000_000);

    /// Whether a server can be asked for it.
    ///
    /// # Errors
    /// The setting that is out of range, in one line.
    pub fn check(&self) -> Result<(), NeighbourError> {
        let problem = match self {
            Kind::Datagrams(traffic @ Traffic::Game { .. }) if !traffic.is_sound() => {
                "a frame of this game exceeds 4096 datagrams; use a lower --rate, more --frames-per-second or a larger --length"
                    .to_owned()
            }
            Kind::Datagrams(traffic) if !traffic.is_sound() => {
                let (least, most) = (Traffic::LEAST_LENGTH, Traffic::MOST_LENGTH);
                format!("datagrams need a rate above 0 and a length of {least} to {most} bytes")
            }
            Kind::Bulk(BulkRequest { streams, .. }) if !(1..=MOST_STREAMS).contains(streams) => {
                format!("{streams} streams are not from 1 to {MOST_STREAMS}")
            }
            Kind::Http(HttpRequest { bytes, .. }) if bytes.0 == 0 => "a download of 0 bytes measures nothing".to_owned(),
            Kind::Http(HttpRequest { pause, .. }) if *pause > MOST_PAUSE => {
                format!("--pause {pause} is too long; the maximum is {MOST_PAUSE}")
            }
            _ => return Ok(()),
        };
        Err(NeighbourError::Parameters(problem))
    }

    /// Measures it against the server at `to` (HOST:PORT), from `start_at_unix_ns` on or at once.
    ///
    /// # Errors
    /// When a setting is out of range, nobody answers, the server refuses, or a socket fails.
    pub fn measure(
        &self,
        to: &str,
        duration_ns: u64,
        start_at_unix_ns: Option<u64>,
        stop: &Stop,
    ) -> Result<Measured, NeighbourError> {
        self.check()?;
        match self {
            Kind::Datagrams(traffic) => {
                let (traffic, kind) = (*traffic, traffic.name());
                measure_datagrams(to, kind, Asked { traffic, duration_ns }, start_at_unix_ns, stop)
            }
            Kind::Bulk(request) => measure_bulk(to, duration_ns, request, start_at_unix_ns, stop),
            Kind::Http(request) => measure_http(to, duration_ns, request, start_at_unix_ns, stop),
        }
    }
}
