//! Arguments of `weir recv`.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum, value_parser};
use weir_media::raw::PixelFormat;

use super::packing_names;
use crate::units::{ByteCount, Share, TimeSpan};

/// What several senders are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum JoinBy {
    /// All send; each packet counts from whichever sender it comes first.
    Merge,
    /// One sends; another when it fails.
    Switch,
}

/// As what frames are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WriteAs {
    /// Frames and nothing else.
    Raw,
    /// Y4M, which tells its format.
    Y4m,
}

/// What is shown instead of what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConcealBy {
    /// The frame before.
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

Without FILE frames are received, counted and thrown away.")]
pub struct RecvArgs {
    /// File or FIFO to write frames to; '-' is standard output.
    #[arg(value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// A sender's host name or address, with an optional port; once more for another sender of the same stream.
    #[arg(long, value_name = "HOST[:PORT]", required = true, action = ArgAction::Append)]
    pub from: Vec<String>,
    /// How long to wait for what is missing: the latency that may be added.
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = TimeSpan::positive)]
    pub latency: TimeSpan,
    /// As what frames are written.
    #[arg(
        long = "as",
        value_name = "FORM",
        default_value = "raw",
        help_heading = "Video"
    )]
    pub form: WriteAs,
    /// Pack the samples in this way before they are written [default: as they come].
    #[arg(long, value_name = "PIXELS", value_parser = packing_names(), help_heading = "Video")]
    pub packing: Option<PixelFormat>,
    /// What is shown instead of what is missing.
    #[arg(long, value_name = "BY", default_value = "repeat", help_heading = "Video")]
    pub conceal: ConcealBy,
    /// Compare every frame with a hash that the sender makes of it; exit with status 1 if one differs.
    #[arg(long, help_heading = "Video")]
    pub verify: bool,
    /// End after so many frames.
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), help_heading = "Video")]
    pub frames: Option<u64>,
    /// End after so much time.
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::positive, help_heading = "Video")]
    pub duration: Option<TimeSpan>,
    /// What several senders are to each other.
    #[arg(long, value_name = "BY", default_value = "merge", help_heading = "Senders")]
    pub join: JoinBy,
    /// With --join switch: a sender is failing when nothing comes from it for so long.
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = TimeSpan::positive, help_heading = "Senders")]
    pub switch_silence: TimeSpan,
    /// With --join switch: and when more than this share stays lost over a second.
    #[arg(long, value_name = "SHARE", default_value = "0.1%", help_heading = "Senders")]
    pub switch_loss: Share,
    /// With --join switch: go back to an earlier sender when it has been there again for so long.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = TimeSpan::positive, help_heading = "Senders")]
    pub switch_back: TimeSpan,
    /// Run a command, or post to an http:// or https:// address, at each event; the event is JSON.
    ///
    /// A command gets it on standard input, and as WEIR_EVENT, WEIR_SENDER and WEIR_DETAIL.
    #[arg(long, value_name = "COMMAND|URL", action = ArgAction::Append, help_heading = "Senders")]
    pub on_event: Vec<String>,
    /// How long to look for a sender that is not there yet.
    #[arg(long, value_name = "TIME", default_value = "10s", help_heading = "Session")]
    pub wait: TimeSpan,
    /// Receive buffer to ask the kernel for, for each flow [default: for what comes in the latency and 100 ms, 4MiB to 64MiB].
    #[arg(long, value_name = "BYTES", value_parser = super::flows::receive_buffer, help_heading = "Session")]
    pub receive_buffer: Option<ByteCount>,
    /// Receive packets one by one, without merging.
    #[arg(long, help_heading = "Session")]
    pub no_gro: bool,
    /// File with the token that the senders ask for.
    ///
    /// Without this option, the environment variable WEIR_TOKEN is the token itself.
    #[arg(long, value_name = "FILE", help_heading = "Session")]
    pub token_file: Option<PathBuf>,
    /// Use IPv4 only.
    #[arg(short = '4', long, conflicts_with = "ipv6", help_heading = "Session")]
    pub ipv4: bool,
    /// Use IPv6 only.
    #[arg(short = '6', long, help_heading = "Session")]
    pub ipv6: bool,
}
