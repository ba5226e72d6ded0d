//! Arguments of `weir recv`.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum, value_parser};
use weir_protect::Protection;
use weir_stream::Threads;
use weir_video::PixelFormat;

use super::events::EventArgs;
use super::packing_names;
use crate::units::{ByteCount, Share, TimeSpan};

/// Ways to combine several senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum JoinBy {
    /// All senders send; the first copy of each packet is used.
    Merge,
    /// One sender sends; another takes over when it fails.
    Switch,
}

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WriteAs {
    /// Frames only.
    Raw,
    /// Y4M, which contains its format.
    Y4m,
}

/// Concealment of missing data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConcealBy {
    /// Repeat the previous frame.
    Repeat,
    /// Black.
    Blank,
}

/// Arguments of `weir recv`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir recv --from camera.example.net --as y4m --token-file weir.token | ffplay -
    $ weir recv --from a.example.net --from b.example.net --verify --token-file weir.token
    $ weir recv --from a.example.net --on-event 'logger -t weir \"$WEIR_DETAIL\"' --metrics 127.0.0.1:9464

Without FILE, frames are received, counted and discarded.")]
pub struct RecvArgs {
    /// File or FIFO to write frames to; '-' is standard output.
    #[arg(value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Host name or address of a sender, with an optional port; repeat for further senders of the same stream.
    #[arg(long, value_name = "HOST[:PORT]", required = true, action = ArgAction::Append)]
    pub from: Vec<String>,
    /// Latency budget: maximum time to wait for missing packets.
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = TimeSpan::positive)]
    pub latency: TimeSpan,
    /// Output formats.
    #[arg(
        long = "as",
        value_name = "FORM",
        default_value = "raw",
        help_heading = "Video"
    )]
    pub form: WriteAs,
    /// Convert frames to this packing before writing [default: that of the sender].
    #[arg(long, value_name = "PIXELS", value_parser = packing_names(), help_heading = "Video")]
    pub packing: Option<PixelFormat>,
    /// Concealment of missing data.
    #[arg(long, value_name = "BY", default_value = "repeat", help_heading = "Video")]
    pub conceal: ConcealBy,
    /// Compare every frame with the sender's hash of it; exit with status 1 if one differs.
    #[arg(long, help_heading = "Video")]
    pub verify: bool,
    /// Stop after N frames.
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), help_heading = "Video")]
    pub frames: Option<u64>,
    /// Stop after this time.
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::positive, help_heading = "Video")]
    pub duration: Option<TimeSpan>,
    /// Ways to combine several senders.
    #[arg(long, value_name = "BY", default_value = "merge", help_heading = "Senders")]
    pub join: JoinBy,
    /// With --join switch: switch when a sender is silent for this time.
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = TimeSpan::positive, help_heading = "Senders")]
    pub switch_silence: TimeSpan,
    /// With --join switch: switch when the residual loss over one second exceeds this.
    #[arg(long, value_name = "SHARE", default_value = "0.1%", help_heading = "Senders")]
    pub switch_loss: Share,
    /// With --join switch: return to an earlier sender when it has been healthy for this time.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = TimeSpan::positive, help_heading = "Senders")]
    pub switch_back: TimeSpan,
    /// Maximum number of packet threads, at most 16, or auto: one for each core. The sender chooses.
    ///
    /// With --join switch there is one.
    #[arg(long, value_name = "N", default_value = "auto", help_heading = "Senders")]
    pub threads: Threads,
    /// Events and metrics.
    #[command(flatten)]
    pub events: EventArgs,
    /// Maximum time to wait for a sender that has not started.
    #[arg(long, value_name = "TIME", default_value = "10s", help_heading = "Session")]
    pub wait: TimeSpan,
    /// Socket receive buffer of each flow [default: data of the latency budget and 100 ms, 4MiB to 64MiB].
    #[arg(long, value_name = "BYTES", value_parser = super::flows::receive_buffer, help_heading = "Session")]
    pub receive_buffer: Option<ByteCount>,
    /// Receive packets one by one, without receive offload (GRO).
    #[arg(long, help_heading = "Session")]
    pub no_gro: bool,
    /// File with the senders' token.
    ///
    /// Without this option, the token is the value of the environment variable WEIR_TOKEN.
    #[arg(long, value_name = "FILE", help_heading = "Session")]
    pub token_file: Option<PathBuf>,
    /// Protection of the stream: off, auth, aes-128-gcm, aes-256-gcm or chacha20-poly1305.
    ///
    /// auth authenticates payloads without encryption, off does neither. Default: with a token any of the three ciphers, as
    /// the sender chooses; without a token off. A sender that demands another protection is refused.
    #[arg(long, value_name = "PROTECTION", help_heading = "Session")]
    pub protect: Option<Protection>,
    /// Use IPv4 only.
    #[arg(short = '4', long, conflicts_with = "ipv6", help_heading = "Session")]
    pub ipv4: bool,
    /// Use IPv6 only.
    #[arg(short = '6', long, help_heading = "Session")]
    pub ipv6: bool,
}
