//! Arguments of `weir survey`.

use clap::{Args, value_parser};

use super::traffic::{Traffic, format_names};
use super::{MOST_FLOWS, MeasureOptions};
use crate::units::{ByteCount, FrameRate, Rate, RateOrMax, TimeSpan};

/// Arguments of `weir survey`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir survey far.example.net --format 1080p59.94-422-10 --max-bytes 50GB
    $ weir survey far.example.net --rate 800Mbit/s --max-flows 8")]
pub struct SurveyArgs {
    /// The agent's host name or address, with an optional port.
    #[arg(value_name = "HOST[:PORT]")]
    pub host: String,
    /// Video format to plan for [default: 1080p59.94-422-10].
    #[arg(long, value_name = "NAME", value_parser = format_names(),
          conflicts_with_all = ["rate", "bytes_per_frame", "frame_rate"], help_heading = "Traffic")]
    pub format: Option<String>,
    /// Plan for this rate instead of a format.
    #[arg(long, value_name = "RATE", group = "custom", help_heading = "Traffic")]
    pub rate: Option<Rate>,
    /// Plan for frames of this many bytes instead of a format.
    #[arg(long, value_name = "N", group = "custom", value_parser = value_parser!(u32).range(1..), help_heading = "Traffic")]
    pub bytes_per_frame: Option<u32>,
    /// Frames per second, with --rate or --bytes-per-frame [default: 59.94].
    #[arg(long, value_name = "F", requires = "custom", help_heading = "Traffic")]
    pub frame_rate: Option<FrameRate>,
    /// How long to send at each number of flows.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = TimeSpan::positive)]
    pub step: TimeSpan,
    /// Send no more than this in all: cut steps short or leave them out [default: no limit].
    #[arg(long, value_name = "BYTES", value_parser = ByteCount::positive)]
    pub max_bytes: Option<ByteCount>,
    /// Most flows to try, at most 1024.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = value_parser!(u16).range(1..=i64::from(MOST_FLOWS)))]
    pub max_flows: u16,
    /// Options of every command that measures.
    #[command(flatten)]
    pub measure: MeasureOptions,
}

impl SurveyArgs {
    /// What to plan for.
    pub fn traffic(&self) -> Traffic<'_> {
        let rate = self.rate.map(RateOrMax::Rate);
        Traffic::of(
            self.format.as_deref(),
            rate,
            self.bytes_per_frame,
            self.frame_rate,
        )
    }
}
