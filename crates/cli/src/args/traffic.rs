//! What a test carries: a named video format, frames of a given size, or a plain rate. And where it costs money.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command};

use crate::units::{FormatName, FrameRate, RateOrMax};

/// Default format.
pub const DEFAULT_FORMAT: &str = "1080p59.94-422-10";

/// The rule of names of formats, for the long help.
pub(super) const FORMAT_RULE: &str = "\
Video format, such as 1080p25-422-10: HEIGHT or WIDTHxHEIGHT, p or i, RATE-SAMPLING-BITS [default: 1080p59.94-422-10]

HEIGHT alone is 480, 576, 720, 1080, 1440, 2160 or 4320. RATE is 23.98, 24, 25, 29.97, 30, 50, 59.94, 60, 100, 119.88 or \
120 frames per second with p, and 50, 59.94 or 60 fields per second with i: 1080i59.94 has 29.97 frames per second. \
SAMPLING is 420, 422, 444 (also RGB) or 4444 (with opacity), BITS 8, 10, 12 or 16 per sample.";

/// Formats that shells complete; any other of the rule is read, too.
const COMPLETED: [&str; 12] = [
    "720p50-422-10",
    "720p59.94-422-10",
    "1080i50-422-10",
    "1080i59.94-422-10",
    "1080p25-422-10",
    "1080p50-422-10",
    DEFAULT_FORMAT,
    "1080p59.94-444-16",
    "1080p59.94-4444-16",
    "2160p50-422-10",
    "2160p59.94-422-10",
    "2160p59.94-444-12",
];

/// Reads the name of a format.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormatParser;

impl TypedValueParser for FormatParser {
    type Value = FormatName;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<FormatName, clap::Error> {
        (|text: &str| text.parse::<FormatName>()).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(COMPLETED.into_iter().map(PossibleValue::new)))
    }
}

/// Default frame rate of a plain rate or frame size.
const DEFAULT_FRAME_RATE: FrameRate = FrameRate {
    numerator: 60_000,
    denominator: 1001,
};

/// What a test carries, from all options of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// A named format.
    Format(FormatName),
    /// Frames of the size that gives this rate.
    Rate(RateOrMax, FrameRate),
    /// Frames of this many bytes.
    Frames(u32, FrameRate),
}

impl Traffic {
    /// The traffic that options name; they exclude each other in the argument tree.
    pub(super) fn of(
        format: Option<FormatName>,
        rate: Option<RateOrMax>,
        bytes_per_frame: Option<u32>,
        frame_rate: Option<FrameRate>,
    ) -> Traffic {
        let frame_rate = frame_rate.unwrap_or(DEFAULT_FRAME_RATE);
        match (rate, bytes_per_frame) {
            (Some(rate), _) => Traffic::Rate(rate, frame_rate),
            (None, Some(bytes)) => Traffic::Frames(bytes, frame_rate),
            (None, None) => Traffic::Format(format.unwrap_or_default()),
        }
    }
}

/// Where this host is, for an estimate of the cost.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Cost")]
pub struct CloudOption {
    /// Estimate the cost of egress from this host's cloud, as in aws:us-east-1.
    ///
    /// CLOUD is aws, gcp (or google), azure or oracle; 'weir mesh regions' lists the regions. Without a region, the price
    /// of the cloud's regions that have no other price. Prices are list prices of traffic to the internet. Only what
    /// this host sends is counted.
    #[arg(long, value_name = "CLOUD[:REGION]")]
    pub cloud: Option<String>,
}
