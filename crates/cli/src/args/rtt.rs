//! Arguments of `weir rtt`.

use std::path::PathBuf;

use clap::{Args, value_parser};

use super::MeasureOptions;
use super::traffic::CloudOption;
use crate::units::{CountSpan, LengthSpan, TimeSpan};

/// Arguments of `weir rtt`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir rtt far.example.net --window 1..100 --length 8100 --interval 100ms --for 1min
    $ weir rtt far.example.net --fail-if 'p90 > 150us' --fail-if 'loss > 0%'
    $ weir rtt far.example.net --interval 10ms --for 24h --cloud azure
    $ weir rtt router.example.net --stamp")]
pub struct RttArgs {
    /// Host name or address of the agent, with an optional port.
    #[arg(value_name = "HOST[:PORT]")]
    pub host: String,
    /// Packets per window, fixed or growing from A to B.
    #[arg(long, value_name = "A..B", default_value = "10")]
    pub window: CountSpan,
    /// UDP payload in bytes, fixed or growing from A to B.
    #[arg(long, value_name = "A..B", default_value = "100")]
    pub length: LengthSpan,
    /// Time from the start of a window to the start of the next.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = TimeSpan::positive)]
    pub interval: TimeSpan,
    /// Duration of the test [default: that of --over, else 10s].
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::positive)]
    pub duration: Option<TimeSpan>,
    /// Time in which window and length grow [default: that of --for].
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::positive)]
    pub over: Option<TimeSpan>,
    /// Count a packet as lost after this time without a reply.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = TimeSpan::positive)]
    pub timeout: TimeSpan,
    /// TTL or hop limit of the packets; STAMP packets always have 255.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = value_parser!(u8).range(1..),
          conflicts_with = "stamp")]
    pub ttl: u8,
    /// Use STAMP (RFC 8762) with any reflector, on port 862 unless HOST has another; needs no agent.
    #[arg(long, help_heading = "STAMP")]
    pub stamp: bool,
    /// STAMP session identifier (RFC 8972).
    #[arg(long, value_name = "N", requires = "stamp", value_parser = value_parser!(u16).range(1..), help_heading = "STAMP")]
    pub ssid: Option<u16>,
    /// File with the STAMP key, to send authenticated packets.
    #[arg(long, value_name = "FILE", requires = "stamp", help_heading = "STAMP")]
    pub stamp_key_file: Option<PathBuf>,
    /// Where this host is.
    #[command(flatten)]
    pub cost: CloudOption,
    /// Options of every command that measures.
    #[command(flatten)]
    pub measure: MeasureOptions,
}

/// Default duration of a test.
const DEFAULT_DURATION: TimeSpan = TimeSpan(10_000_000_000);

impl RttArgs {
    /// Time in which window and length grow.
    pub fn over(&self) -> TimeSpan {
        self.over.unwrap_or(self.duration())
    }

    /// Duration of the test.
    pub fn duration(&self) -> TimeSpan {
        self.duration.or(self.over).unwrap_or(DEFAULT_DURATION)
    }
}
