//! What a test carries: a video format by name, frames of a given size, or a plain rate.

use clap::builder::{PossibleValue, PossibleValuesParser};

use crate::units::{FrameRate, RateOrMax};

/// Names of the video formats, with what they need.
pub const FORMAT_NAMES: [(&str, &str); 9] = [
    ("720p59.94-422-10", "1.105 Gbit/s"),
    ("720p59.94-444-16", "2.652 Gbit/s"),
    ("720p59.94-4444-16", "3.535 Gbit/s"),
    ("1080p59.94-422-10", "2.486 Gbit/s"),
    ("1080p59.94-444-16", "5.966 Gbit/s"),
    ("1080p59.94-4444-16", "7.955 Gbit/s"),
    ("2160p59.94-422-10", "9.943 Gbit/s"),
    ("2160p59.94-444-16", "23.86 Gbit/s"),
    ("2160p59.94-4444-16", "31.82 Gbit/s"),
];

/// Format that is sent unless asked otherwise.
pub const DEFAULT_FORMAT: &str = "1080p59.94-422-10";

/// Frame rate that goes with a plain rate or size unless asked otherwise.
const DEFAULT_FRAME_RATE: FrameRate = FrameRate {
    numerator: 60_000,
    denominator: 1001,
};

/// What a test carries, as the options say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic<'a> {
    /// A format by its name, one of [`FORMAT_NAMES`].
    Format(&'a str),
    /// Frames of the size that gives this rate.
    Rate(RateOrMax, FrameRate),
    /// Frames of this many bytes.
    Frames(u32, FrameRate),
}

impl<'a> Traffic<'a> {
    /// The traffic that options name; they exclude each other in the argument tree.
    pub(super) fn of(
        format: Option<&'a str>,
        rate: Option<RateOrMax>,
        bytes_per_frame: Option<u32>,
        frame_rate: Option<FrameRate>,
    ) -> Traffic<'a> {
        let frame_rate = frame_rate.unwrap_or(DEFAULT_FRAME_RATE);
        match (rate, bytes_per_frame) {
            (Some(rate), _) => Traffic::Rate(rate, frame_rate),
            (None, Some(bytes)) => Traffic::Frames(bytes, frame_rate),
            (None, None) => Traffic::Format(format.unwrap_or(DEFAULT_FORMAT)),
        }
    }
}

/// Reads the name of a format.
pub(super) fn format_names() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMAT_NAMES.map(|(name, rate)| PossibleValue::new(name).help(rate)))
}
