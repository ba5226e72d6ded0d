//! Video formats by name, with their exact bytes per frame and frame rate.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::BitRate;

/// Frames per second as a fraction, since 59.94 is 60000/1001.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameRate {
    /// Frames.
    pub numerator: u32,
    /// In this many seconds.
    pub denominator: u32,
}

impl FrameRate {
    /// 60000/1001, which broadcasters call 59.94.
    pub const NTSC_60: FrameRate = FrameRate {
        numerator: 60_000,
        denominator: 1001,
    };

    /// Start of frame `frame` after the first, nanoseconds.
    pub fn start_ns(self, frame: u64) -> u64 {
        let ns =
            u128::from(frame) * 1_000_000_000 * u128::from(self.denominator) / u128::from(self.numerator);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// How many frames begin within `duration_ns`, at least one.
    pub fn frames_in(self, duration_ns: u64) -> u64 {
        let exact = u128::from(duration_ns) * u128::from(self.numerator);
        let per = 1_000_000_000 * u128::from(self.denominator);
        u64::try_from(exact.div_ceil(per)).unwrap_or(u64::MAX).max(1)
    }
}

impl fmt::Display for FrameRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.numerator.is_multiple_of(self.denominator) {
            return write!(f, "{}", self.numerator / self.denominator);
        }
        write!(
            f,
            "{:.2}",
            f64::from(self.numerator) / f64::from(self.denominator)
        )
    }
}

/// Uncompressed video: what has to be carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VideoFormat {
    /// Bytes of one frame.
    pub bytes_per_frame: u32,
    /// How often.
    pub frame_rate: FrameRate,
}

impl VideoFormat {
    /// Media rate, counting the frame's bytes only.
    pub fn rate(&self) -> BitRate {
        let bits = u128::from(self.bytes_per_frame) * 8 * u128::from(self.frame_rate.numerator)
            / u128::from(self.frame_rate.denominator);
        BitRate(u64::try_from(bits).unwrap_or(u64::MAX))
    }

    /// The format called `name`.
    pub fn named(name: &str) -> Option<VideoFormat> {
        FORMATS
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, format)| *format)
    }

    /// A format of `rate` with frames at `frame_rate`: the bytes per frame that come nearest.
    pub fn of_rate(rate: BitRate, frame_rate: FrameRate) -> VideoFormat {
        let bytes =
            u128::from(rate.0) * u128::from(frame_rate.denominator) / (8 * u128::from(frame_rate.numerator));
        VideoFormat {
            bytes_per_frame: u32::try_from(bytes).unwrap_or(u32::MAX).max(1),
            frame_rate,
        }
    }
}

const fn picture(width: u32, height: u32, bits_per_pixel: u32) -> VideoFormat {
    VideoFormat {
        bytes_per_frame: width * height * bits_per_pixel / 8,
        frame_rate: FrameRate::NTSC_60,
    }
}

/// All formats known by name. 10-bit 4:2:2 takes 20 bits a pixel in the pgroups of SMPTE ST 2110-20; 16-bit
/// RGB takes 48 and RGBA 64.
pub const FORMATS: [(&str, VideoFormat); 9] = [
    ("720p59.94-422-10", picture(1280, 720, 20)),
    ("720p59.94-444-16", picture(1280, 720, 48)),
    ("720p59.94-4444-16", picture(1280, 720, 64)),
    ("1080p59.94-422-10", picture(1920, 1080, 20)),
    ("1080p59.94-444-16", picture(1920, 1080, 48)),
    ("1080p59.94-4444-16", picture(1920, 1080, 64)),
    ("2160p59.94-422-10", picture(3840, 2160, 20)),
    ("2160p59.94-444-16", picture(3840, 2160, 48)),
    ("2160p59.94-4444-16", picture(3840, 2160, 64)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_frame_sizes_and_rates() {
        // Bytes per frame as the Port 9 Labs flow tester publishes them; rates as the order states.
        let bytes = |name| VideoFormat::named(name).map(|format| format.bytes_per_frame);
        assert_eq!(bytes("1080p59.94-422-10"), Some(5_184_000));
        assert_eq!(bytes("1080p59.94-444-16"), Some(12_441_600));
        assert_eq!(bytes("1080p59.94-4444-16"), Some(16_588_800));
        assert_eq!(
            VideoFormat::named("1080p59.94-4444-16").map(|f| f.rate().0 / 10_000_000),
            Some(795)
        );
        assert_eq!(VideoFormat::named("nonsense"), None);
    }

    #[test]
    fn frames_do_not_drift() {
        // 60000 frames take exactly 1001 s.
        assert_eq!(FrameRate::NTSC_60.start_ns(60_000), 1_001_000_000_000);
        assert_eq!(FrameRate::NTSC_60.frames_in(1_001_000_000_000), 60_000);
    }
}
