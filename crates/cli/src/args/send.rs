//! Arguments of `weir send`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum, value_parser};
use weir_fec::Choice;
use weir_protect::Protection;
use weir_stream::Threads;
use weir_video::{PixelFormat, VideoFormat};

use super::events::EventArgs;
use super::{RunName, packing_names};
use crate::units::{TimeSpan, parse_length};

/// Default format of the test pattern.
const DEFAULT_PATTERN: &str = "1080p59.94-422-10";

/// FEC setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FecChoice {
    /// None.
    Off,
    /// Repair packets follow the measured loss rate.
    Auto,
    /// Fixed repair rate.
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

/// Clocks that pace frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Pace {
    /// The frame rate, even if the input delivers frames faster.
    FrameRate,
    /// The input, which has its own clock.
    Input,
}

/// Frame numbering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Numbers {
    /// Count from 0.
    Count,
    /// Derive numbers from this host's clock, so that several senders of one live source agree.
    Clock,
}

/// Arguments of `weir send`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ ffmpeg -i in.mxf -f rawvideo -pix_fmt yuv422p10le - |
        weir send --format 1920x1080@50:yuv422p10le --packing st2110-20 --token-file weir.token
    $ weir send --test-pattern --fec 12/96 --flows 16 --token-file weir.token
    $ weir send --test-pattern 2160p59.94-422-10 --threads 4 --flows 16 --token-file weir.token

On the other host: weir recv --from HOST --token-file weir.token")]
pub struct SendArgs {
    /// File or FIFO with raw frames or Y4M; '-' is standard input.
    #[arg(value_name = "FILE", default_value = "-", conflicts_with = "test_pattern")]
    pub input: PathBuf,
    /// Format of raw frames, as WIDTHxHEIGHT@RATE:PIXELS, or a name of 'weir flows --format'.
    ///
    /// As in 1920x1080@59.94:yuv422p10le or 720x576@25:uyvy422:tff. Y4M input contains its format.
    #[arg(long, value_name = "FORMAT", help_heading = "Video")]
    pub format: Option<VideoFormat>,
    /// Send moving bars with a frame counter instead of an input [default format: 1080p59.94-422-10].
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, default_missing_value = DEFAULT_PATTERN, conflicts_with = "format", help_heading = "Video")]
    pub test_pattern: Option<VideoFormat>,
    /// Convert frames to this packing before sending [default: that of the input].
    #[arg(long, value_name = "PIXELS", value_parser = packing_names(), help_heading = "Video")]
    pub packing: Option<PixelFormat>,
    /// Clock that paces frames [default: input if it is a pipe, else frame-rate].
    #[arg(long, value_name = "BY", help_heading = "Video")]
    pub pace: Option<Pace>,
    /// Frame numbering.
    #[arg(long, value_name = "BY", default_value = "count", help_heading = "Video")]
    pub numbers: Numbers,
    /// Stop after N frames.
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), help_heading = "Video")]
    pub frames: Option<u64>,
    /// Stop after this duration of video.
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::positive, conflicts_with = "frames", help_heading = "Video")]
    pub duration: Option<TimeSpan>,
    /// Number of flows to split the stream into, at most 64 [default: 8].
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=64), help_heading = "Transport")]
    pub flows: Option<u16>,
    /// Number of packet threads, at most 16, or auto: one unless the rate needs more, then at most half of the cores.
    ///
    /// Flows are divided among the threads, and each frame with them. Each thread encrypts and repairs its own packets. With
    /// more than one, UDP source ports are counted from --media-port.
    #[arg(long, value_name = "N", default_value = "auto", help_heading = "Transport")]
    pub threads: Threads,
    /// Maximum UDP payload in bytes, Weir's headers included [default: MTU of the interface].
    #[arg(long, value_name = "N", value_parser = parse_length, help_heading = "Transport")]
    pub length: Option<u32>,
    /// FEC setting: SOURCES/WINDOW, OVERHEAD/TIME, auto, or off [default: off].
    ///
    /// 12/96 sends one repair packet per 12 packets over a window of 96; 8%/20ms chooses such numbers for this overhead
    /// and latency; auto follows the measured loss rate.
    #[arg(long, value_name = "FEC", help_heading = "Transport")]
    pub fec: Option<FecChoice>,
    /// Do not retransmit lost packets.
    #[arg(long, help_heading = "Transport")]
    pub no_arq: bool,
    /// Use the flows, length, burst, FEC and ARQ that 'weir diagnose' recommends for this run; explicit options override.
    #[arg(long, value_name = "RUN", help_heading = "Transport")]
    pub from_run: Option<RunName>,
    /// Use a different source port for each flow as well.
    #[arg(long, help_heading = "Transport")]
    pub source_ports: bool,
    /// Maximum number of packets of a flow sent back to back [default: as fit into 33 kB, and all flows' into 2 ms].
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=64), help_heading = "Transport")]
    pub burst: Option<u32>,
    /// Send packets one by one, without segmentation offload.
    #[arg(long, help_heading = "Transport")]
    pub no_gso: bool,
    /// Address to listen on; may be given more than once [default: all addresses with a token or --open, else
    /// loopback].
    #[arg(long, value_name = "ADDR", help_heading = "Session")]
    pub listen: Vec<IpAddr>,
    /// TCP port for the receiver's session; 0 selects a free port and prints it.
    #[arg(long, value_name = "PORT", default_value_t = 4848, help_heading = "Session")]
    pub port: u16,
    /// UDP source port, with --source-ports or --threads the first of them; 0 selects free ports.
    #[arg(long, value_name = "PORT", default_value_t = 4848, help_heading = "Session")]
    pub media_port: u16,
    /// File with the token shared with receivers.
    ///
    /// Without this option, the token is the value of the environment variable WEIR_TOKEN.
    #[arg(long, value_name = "FILE", help_heading = "Session")]
    pub token_file: Option<PathBuf>,
    /// Protection of the stream: off, auth, aes-128-gcm, aes-256-gcm or chacha20-poly1305.
    ///
    /// auth authenticates payloads without encryption, off does neither. Default: with a token aes-128-gcm, or
    /// chacha20-poly1305 if a host has no instructions for AES; without a token off. A receiver that demands another
    /// protection is refused.
    #[arg(long, value_name = "PROTECTION", help_heading = "Session")]
    pub protect: Option<Protection>,
    /// Accept receivers without a token, from anywhere that reaches this host.
    #[arg(long, conflicts_with = "token_file", help_heading = "Session")]
    pub open: bool,
    /// Maximum raw loss rate, before repair; stop when it is exceeded for 3 s.
    #[arg(long, value_name = "SHARE", default_value = "10%", help_heading = "Session")]
    pub most_loss: crate::units::Share,
    /// Events and metrics.
    #[command(flatten)]
    pub events: EventArgs,
}
