//! Arguments of `weir survey`.

use clap::{Args, value_parser};

use super::traffic::{FORMAT_RULE, FormatParser, Traffic};
use super::{MOST_FLOWS, MeasureOptions};
use crate::units::{ByteCount, FormatName, FrameRate, Rate, RateOrMax, TimeSpan};

/// Arguments of `weir survey`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir survey far.example.net --format 1080p59.94-422-10 --max-bytes 50GB
    $ weir survey far.example.net --rate 800Mbit/s --max-flows 8")]
pub struct SurveyArgs {
    /// Host name or address of the agent, with an optional port.
    #[arg(value_name = "HOST[:PORT]")]
    pub host: String,
    /// Video format to plan for, such as 1080p25-422-10 [default: 1080p59.94-422-10].
    #[arg(long, value_name = "NAME", value_parser = FormatParser, hide_possible_values = true, long_help = FORMAT_RULE,
          conflicts_with_all = ["rate", "bytes_per_frame", "frame_rate"], help_heading = "Traffic")]
    pub format: Option<FormatName>,
    /// Plan for this rate instead of a format.
    #[arg(long, value_name = "RATE", group = "custom", help_heading = "Traffic")]
    pub rate: Option<Rate>,
    /// Plan for frames of this many bytes instead of a format.
    #[arg(long, value_name = "N", group = "custom", value_parser = value_parser!(u32).range(1..), help_heading = "Traffic")]
    pub bytes_per_frame: Option<u32>,
    /// Frames per second, with --rate or --bytes-per-frame [default: 59.94].
    #[arg(long, value_name = "F", requires = "custom", help_heading = "Traffic")]
    pub frame_rate: Option<FrameRate>,
    /// Duration of each step, at one number of flows.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = TimeSpan::positive)]
    pub step: TimeSpan,
    /// Maximum payload to send, both hosts together; the test ends there [default: no limit].
    #[arg(long, value_name = "BYTES", value_parser = ByteCount::positive)]
    pub max_bytes: Option<ByteCount>,
    /// Maximum number of flows to try, up to 1024.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = value_parser!(u16).range(1..=i64::from(MOST_FLOWS)))]
    pub max_flows: u16,
    /// Options of every command that measures.
    #[command(flatten)]
    pub measure: MeasureOptions,
}

impl SurveyArgs {
    /// What to plan for.
    pub fn traffic(&self) -> Traffic {
        let rate = self.rate.map(RateOrMax::Rate);
        Traffic::of(self.format, rate, self.bytes_per_frame, self.frame_rate)
    }
}
