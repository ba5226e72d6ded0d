//! Arguments of `weir flows`.

use clap::{Args, ValueEnum, value_parser};
use weir_measure::Threads;

use super::traffic::{CloudOption, FORMAT_RULE, FormatParser, Traffic};
use super::{MOST_FLOWS, MeasureOptions};
use crate::units::{
    ByteCount, FormatName, FrameRate, RateOrMax, ReorderDepth, TimeSpan, UnitError, parse_length,
};

/// Assignment of packets to flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Spread {
    /// One flow after the other, in a fixed order.
    RoundRobin,
    /// Each flow once per round, in a random order for each round.
    Permuted,
    /// A random flow for each packet.
    Random,
}

/// Direction of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From here to the agent.
    Forward,
    /// From the agent to here.
    Reverse,
    /// Both directions at the same time.
    Both,
}

/// Arguments of `weir flows`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir flows far.example.net --format 1080p59.94-422-10 --flows 8 --for 4h
    $ weir flows far.example.net --format 2160p60-444-12 --max-bytes 50GB --cloud aws:us-east-1
    $ weir flows far.example.net --rate 800Mbit/s --length 1400 --reverse --fail-if 'loss > 0.001%'
    $ weir flows far.example.net --rate max --threads 4")]
pub struct FlowsArgs {
    /// Host name or address of the agent, with an optional port.
    #[arg(value_name = "HOST[:PORT]")]
    pub host: String,
    /// Video format to send, such as 1080p25-422-10 [default: 1080p59.94-422-10].
    #[arg(long, value_name = "NAME", value_parser = FormatParser, hide_possible_values = true, long_help = FORMAT_RULE,
          conflicts_with_all = ["rate", "bytes_per_frame", "frame_rate"], help_heading = "Traffic")]
    pub format: Option<FormatName>,
    /// Send at this rate, or as fast as possible, instead of a format.
    #[arg(long, value_name = "RATE|max", group = "custom", help_heading = "Traffic")]
    pub rate: Option<RateOrMax>,
    /// Send frames of this many bytes instead of a format.
    #[arg(long, value_name = "N", group = "custom", value_parser = value_parser!(u32).range(1..), help_heading = "Traffic")]
    pub bytes_per_frame: Option<u32>,
    /// Frames per second, with --rate or --bytes-per-frame [default: 59.94].
    #[arg(long, value_name = "F", requires = "custom", help_heading = "Traffic")]
    pub frame_rate: Option<FrameRate>,
    /// Number of flows to split the stream into, at most 1024.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = value_parser!(u16).range(1..=i64::from(MOST_FLOWS)), help_heading = "Traffic")]
    pub flows: u16,
    /// Number of packet threads, at most 16, or auto: one unless the rate needs more, then at most half of the cores.
    ///
    /// Flows are divided among the threads of each end, in each direction.
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Traffic")]
    pub threads: Threads,
    /// UDP payload in bytes [default: the maximum of the path MTU].
    #[arg(long, value_name = "N", value_parser = parse_length, help_heading = "Traffic")]
    pub length: Option<u32>,
    /// Assignment of packets to flows.
    #[arg(
        long,
        value_name = "HOW",
        default_value = "permuted",
        help_heading = "Traffic"
    )]
    pub spread: Spread,
    /// Maximum number of packets sent back to back [default: as fit into 256 KiB].
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = "Traffic")]
    pub burst: Option<u32>,
    /// Duration of the test.
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = TimeSpan::positive)]
    pub duration: TimeSpan,
    /// Maximum payload to send, both hosts together; the test ends there [default: no limit].
    #[arg(long, value_name = "BYTES", value_parser = ByteCount::positive)]
    pub max_bytes: Option<ByteCount>,
    /// Send from the agent to here.
    #[arg(long, conflicts_with = "both")]
    pub reverse: bool,
    /// Send in both directions at the same time.
    #[arg(long)]
    pub both: bool,
    /// Declare a missing packet lost after N later packets, after TIME, or after the first of both.
    ///
    /// A count such as 4096, a time such as 50ms, or both as in 4096,50ms. A missing part keeps its default.
    #[arg(
        long,
        value_name = "N,TIME",
        default_value = "65536,50ms",
        help_heading = "Receiver"
    )]
    pub reorder_depth: ReorderDepth,
    /// Receive buffer to request from the kernel, per flow.
    #[arg(long, value_name = "BYTES", default_value = "4MiB", value_parser = receive_buffer, help_heading = "Receiver")]
    pub receive_buffer: ByteCount,
    /// Mark packets as capable of ECN (ECT(0)), and count those that arrive with a congestion mark, per flow.
    #[arg(long, help_heading = "Traffic")]
    pub ecn: bool,
    /// Send packets one by one, without segmentation offload (GSO).
    #[arg(long, help_heading = "Traffic")]
    pub no_gso: bool,
    /// Receive packets one by one, without receive offload (GRO).
    #[arg(long, help_heading = "Receiver")]
    pub no_gro: bool,
    /// First sequence number, to test the wrap.
    #[arg(long, value_name = "N", default_value_t = 0, hide = true)]
    pub first_sequence: u32,
    /// Random seed of the assignment to flows [default: 1].
    #[arg(long, value_name = "N", hide = true)]
    pub seed: Option<u64>,
    /// Where this host is.
    #[command(flatten)]
    pub cost: CloudOption,
    /// Options of every command that measures.
    #[command(flatten)]
    pub measure: MeasureOptions,
}

/// Maximum receive buffer: the kernel takes the size as a signed 32-bit number, and doubles it.
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
    pub fn traffic(&self) -> Traffic {
        Traffic::of(self.format, self.rate, self.bytes_per_frame, self.frame_rate)
    }

    /// Direction to send in.
    pub fn way(&self) -> Way {
        match (self.reverse, self.both) {
            (_, true) => Way::Both,
            (true, false) => Way::Reverse,
            (false, false) => Way::Forward,
        }
    }
}
