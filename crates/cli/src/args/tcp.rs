//! Arguments of `weir tcp`.

use clap::{Args, value_parser};

use super::MeasureOptions;
use super::traffic::CloudOption;
use crate::units::{ByteCount, ByteSpan, TimeSpan};

/// Arguments of `weir tcp`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir tcp far.example.net
    $ weir tcp far.example.net --window 64KiB..16MiB --max-bytes 5GB
    $ weir tcp far.example.net --window 1MiB --fill --reverse
    $ weir tcp far.example.net --streams 8 --for 10s --fail-if 'rate < 500Mbit/s'")]
pub struct TcpArgs {
    /// Host name or address of the agent, with an optional port.
    #[arg(value_name = "HOST[:PORT]")]
    pub host: String,
    /// Window of each connection: fixed, or doubled from A to B in one test after the other [default: the kernels choose it].
    ///
    /// The receiver announces at most this much (TCP_WINDOW_CLAMP). Buffers are set for it as far as the hosts allow: without
    /// CAP_NET_ADMIN, net.core.rmem_max and wmem_max, or net.ipv4.tcp_rmem and tcp_wmem limit it. The announced window is
    /// reported.
    #[arg(long, value_name = "A..B")]
    pub window: Option<ByteSpan>,
    /// Number of parallel connections.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u16).range(1..=1024), conflicts_with = "fill")]
    pub streams: u16,
    /// Find the number of connections that fill the path, at most 64.
    ///
    /// Doubles the connections as long as they carry at least 10 % more, then finds the smallest number that carries 95 % of the
    /// path's rate. Takes at most 13 tests.
    #[arg(long)]
    pub fill: bool,
    /// Duration of each test.
    #[arg(long = "for", value_name = "TIME", default_value = "7s", value_parser = TimeSpan::positive)]
    pub duration: TimeSpan,
    /// Time at the beginning of each test that does not count, while connections grow.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub omit: TimeSpan,
    /// Maximum payload to send; the tests end there [default: no limit].
    #[arg(long, value_name = "BYTES", value_parser = ByteCount::positive)]
    pub max_bytes: Option<ByteCount>,
    /// Send from the agent to here.
    #[arg(long)]
    pub reverse: bool,
    /// Where this host is.
    #[command(flatten)]
    pub cost: CloudOption,
    /// Options of every command that measures.
    #[command(flatten)]
    pub measure: MeasureOptions,
}
