//! Arguments of `weir flows`.

use clap::{Args, ValueEnum, value_parser};

use super::traffic::{Traffic, format_names};
use super::{MOST_FLOWS, MeasureOptions};
use crate::units::{ByteCount, FrameRate, RateOrMax, ReorderDepth, TimeSpan, UnitError, parse_length};

/// How packets are assigned to flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Spread {
    /// One flow after the other, always in the same order.
    RoundRobin,
    /// Each flow once a round, in an order that changes from round to round.
    Permuted,
    /// Any flow for any packet.
    Random,
}

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From here to the agent.
    Forward,
    /// From the agent to here.
    Reverse,
    /// Both ways at the same time.
    Both,
}

/// Arguments of `weir flows`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir flows far.example.net --format 1080p59.94-422-10 --flows 8 --for 4h
    $ weir flows far.example.net --rate 800Mbit/s --length 1400 --reverse --fail-if 'loss > 0.001%'")]
pub struct FlowsArgs {
    /// The agent's host name or address, with an optional port.
    #[arg(value_name = "HOST[:PORT]")]
    pub host: String,
    /// Video format to send [default: 1080p59.94-422-10].
    #[arg(long, value_name = "NAME", value_parser = format_names(),
          conflicts_with_all = ["rate", "bytes_per_frame", "frame_rate"], help_heading = "Traffic")]
    pub format: Option<String>,
    /// Send at this rate, or as fast as this host can, instead of a format.
    #[arg(long, value_name = "RATE|max", group = "custom", help_heading = "Traffic")]
    pub rate: Option<RateOrMax>,
    /// Send frames of this many bytes instead of a format.
    #[arg(long, value_name = "N", group = "custom", value_parser = value_parser!(u32).range(1..), help_heading = "Traffic")]
    pub bytes_per_frame: Option<u32>,
    /// Frames per second, with --rate or --bytes-per-frame [default: 59.94].
    #[arg(long, value_name = "F", requires = "custom", help_heading = "Traffic")]
    pub frame_rate: Option<FrameRate>,
    /// How many flows to split the stream into, at most 1024.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = value_parser!(u16).range(1..=i64::from(MOST_FLOWS)), help_heading = "Traffic")]
    pub flows: u16,
    /// UDP payload in bytes [default: what the path MTU allows].
    #[arg(long, value_name = "N", value_parser = parse_length, help_heading = "Traffic")]
    pub length: Option<u32>,
    /// How packets are assigned to flows.
    #[arg(
        long,
        value_name = "HOW",
        default_value = "permuted",
        help_heading = "Traffic"
    )]
    pub spread: Spread,
    /// Most packets to send back to back [default: as many as 256 KiB hold].
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = "Traffic")]
    pub burst: Option<u32>,
    /// How long to send.
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = TimeSpan::positive)]
    pub duration: TimeSpan,
    /// Send from the agent to here.
    #[arg(long, conflicts_with = "both")]
    pub reverse: bool,
    /// Send both ways at the same time.
    #[arg(long)]
    pub both: bool,
    /// Give a missing packet up after so many others, so much time, or whichever comes first.
    ///
    /// A count such as 4096, a time such as 50ms, or both as in 4096,50ms. One that is left out stays at its default.
    #[arg(
        long,
        value_name = "N,TIME",
        default_value = "65536,50ms",
        help_heading = "Receiver"
    )]
    pub reorder_depth: ReorderDepth,
    /// Receive buffer to ask the kernel for, for each flow.
    #[arg(long, value_name = "BYTES", default_value = "4MiB", value_parser = receive_buffer, help_heading = "Receiver")]
    pub receive_buffer: ByteCount,
    /// Send packets one by one, without segmentation offload.
    #[arg(long, help_heading = "Traffic")]
    pub no_gso: bool,
    /// Receive packets one by one, without merging.
    #[arg(long, help_heading = "Receiver")]
    pub no_gro: bool,
    /// First sequence number, for tests of the wrap.
    #[arg(long, value_name = "N", default_value_t = 0, hide = true)]
    pub first_sequence: u32,
    /// Seed of the assignment to flows, for tests with another order [default: 1].
    #[arg(long, value_name = "N", hide = true)]
    pub seed: Option<u64>,
    /// Options of every command that measures.
    #[command(flatten)]
    pub measure: MeasureOptions,
}

/// Largest receive buffer: the kernel takes the size as a signed 32-bit number, and doubles it.
const MOST_RECEIVE_BUFFER: u64 = 1 << 30;

pub(super) fn receive_buffer(text: &str) -> Result<ByteCount, UnitError> {
    let bytes = ByteCount::positive(text)?;
    if bytes.0 >= MOST_RECEIVE_BUFFER {
        let most = ByteCount(MOST_RECEIVE_BUFFER - (1 << 20)).to_string();
        return Err(UnitError::TooLarge {
            text: text.to_owned(),
            most,
        });
    }
    Ok(bytes)
}

impl FlowsArgs {
    /// What to send.
    pub fn traffic(&self) -> Traffic<'_> {
        Traffic::of(
            self.format.as_deref(),
            self.rate,
            self.bytes_per_frame,
            self.frame_rate,
        )
    }

    /// Which way to send.
    pub fn way(&self) -> Way {
        match (self.reverse, self.both) {
            (_, true) => Way::Both,
            (true, false) => Way::Reverse,
            (false, false) => Way::Forward,
        }
    }
}
