//! Arguments of `weir send`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum, value_parser};
use weir_fec::Choice;
use weir_media::raw::{PixelFormat, VideoFormat};

use super::{RunName, packing_names};
use crate::units::{TimeSpan, parse_length};

/// Format of a test pattern unless another is asked for.
const DEFAULT_PATTERN: &str = "1080p59.94-422-10";

/// Which repair packets to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FecChoice {
    /// None.
    Off,
    /// As many as the measured loss asks for.
    Auto,
    /// Always so many.
    Fixed(Choice),
}

impl FromStr for FecChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(FecChoice::Off),
            "auto" => Ok(FecChoice::Auto),
            text => text
                .parse()
                .map(FecChoice::Fixed)
                .map_err(|error: weir_fec::ChoiceError| format!("{error}, auto, or off")),
        }
    }
}

/// What frames are paced by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Pace {
    /// The frame rate, however fast the input could give frames.
    FrameRate,
    /// The input, which has a clock of its own.
    Input,
}

/// How frames are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Numbers {
    /// From 0 on.
    Count,
    /// By this host's clock, so that several senders of one live source agree.
    Clock,
}

/// Arguments of `weir send`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ ffmpeg -i in.mxf -f rawvideo -pix_fmt yuv422p10le - |
        weir send --format 1920x1080@50:yuv422p10le --packing st2110-20 --token-file weir.token
    $ weir send --test-pattern --fec 12/96 --flows 16 --token-file weir.token

On the other host: weir recv --from HOST --token-file weir.token")]
pub struct SendArgs {
    /// File or FIFO with raw frames or Y4M; '-' is standard input.
    #[arg(value_name = "FILE", default_value = "-", conflicts_with = "test_pattern")]
    pub input: PathBuf,
    /// Format of raw frames, as WIDTHxHEIGHT@RATE:PIXELS, or a name that 'weir flows --format' knows.
    ///
    /// As in 1920x1080@59.94:yuv422p10le or 720x576@25:uyvy422:tff. Y4M tells its format itself.
    #[arg(long, value_name = "FORMAT", help_heading = "Video")]
    pub format: Option<VideoFormat>,
    /// Send moving bars with a frame counter instead of an input [default format: 1080p59.94-422-10].
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, default_missing_value = DEFAULT_PATTERN, conflicts_with = "format", help_heading = "Video")]
    pub test_pattern: Option<VideoFormat>,
    /// Pack the samples in this way before they are sent [default: as they come].
    #[arg(long, value_name = "PIXELS", value_parser = packing_names(), help_heading = "Video")]
    pub packing: Option<PixelFormat>,
    /// What frames are paced by [default: the input if it is a pipe, else the frame rate].
    #[arg(long, value_name = "BY", help_heading = "Video")]
    pub pace: Option<Pace>,
    /// How frames are numbered.
    #[arg(long, value_name = "BY", default_value = "count", help_heading = "Video")]
    pub numbers: Numbers,
    /// End after so many frames.
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), help_heading = "Video")]
    pub frames: Option<u64>,
    /// End after so much video.
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::positive, conflicts_with = "frames", help_heading = "Video")]
    pub duration: Option<TimeSpan>,
    /// How many flows to split the stream into, at most 64 [default: 8].
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=64), help_heading = "Transport")]
    pub flows: Option<u16>,
    /// Longest UDP payload in bytes, headers included [default: what the interface takes].
    #[arg(long, value_name = "N", value_parser = parse_length, help_heading = "Transport")]
    pub length: Option<u32>,
    /// Repair packets: SOURCES/WINDOW, OVERHEAD/TIME, auto, or off [default: off].
    ///
    /// 12/96 sends one repair packet for every 12 packets over the last 96; 8%/20ms chooses such numbers for this
    /// overhead and time; auto follows the measured loss.
    #[arg(long, value_name = "FEC", help_heading = "Transport")]
    pub fec: Option<FecChoice>,
    /// Do not send again what the receiver misses.
    #[arg(long, help_heading = "Transport")]
    pub no_arq: bool,
    /// Take flows, length, FEC and ARQ from what 'weir diagnose' recommends for a run; options given here win.
    #[arg(long, value_name = "RUN", help_heading = "Transport")]
    pub from_run: Option<RunName>,
    /// Let flows differ in their source port as well.
    #[arg(long, help_heading = "Transport")]
    pub source_ports: bool,
    /// Most packets of a flow that leave together [default: as many as 33 kB hold].
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=64), help_heading = "Transport")]
    pub burst: Option<u32>,
    /// Send packets one by one, without segmentation offload.
    #[arg(long, help_heading = "Transport")]
    pub no_gso: bool,
    /// Address to listen on; may be given more than once [default: all with a token or --open, else loopback].
    #[arg(long, value_name = "ADDR", help_heading = "Session")]
    pub listen: Vec<IpAddr>,
    /// TCP port for the receiver's session; 0 takes any that is free and says which.
    #[arg(long, value_name = "PORT", default_value_t = 4848, help_heading = "Session")]
    pub port: u16,
    /// UDP port to send from, with --source-ports the first of them; 0 takes any that is free.
    #[arg(long, value_name = "PORT", default_value_t = 4848, help_heading = "Session")]
    pub media_port: u16,
    /// File that holds the token that receivers must know.
    ///
    /// Without this option, the environment variable WEIR_TOKEN is the token itself.
    #[arg(long, value_name = "FILE", help_heading = "Session")]
    pub token_file: Option<PathBuf>,
    /// Let anyone who can reach this host receive the stream, without a token.
    #[arg(long, conflicts_with = "token_file", help_heading = "Session")]
    pub open: bool,
    /// Stop when more than this share is lost for three seconds, before any repair.
    #[arg(long, value_name = "SHARE", default_value = "10%", help_heading = "Session")]
    pub most_loss: crate::units::Share,
}
