//! Video formats by name, with their exact bytes per frame and frame rate.

use serde::{Deserialize, Serialize};
use weir_units::{FormatName, FrameRate, Rate};

/// What names are made of when a format is to be named, the most usual first.
const USUAL_HEIGHTS: [u16; 3] = [1080, 2160, 720];
const USUAL_RATES: [&str; 8] = ["59.94", "50", "60", "25", "29.97", "30", "23.98", "24"];
const USUAL_SAMPLES: [&str; 6] = ["422-10", "444-16", "4444-16", "444-10", "422-8", "420-8"];

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
    pub fn rate(&self) -> Rate {
        let bits = u128::from(self.bytes_per_frame) * 8 * u128::from(self.frame_rate.numerator)
            / u128::from(self.frame_rate.denominator);
        Rate(u64::try_from(bits).unwrap_or(u64::MAX))
    }

    /// The format of this name, by the rule of [`FormatName`].
    pub fn named(name: &str) -> Option<VideoFormat> {
        name.parse::<FormatName>().ok().map(VideoFormat::from)
    }

    /// The name of a progressive broadcast format with these frames; none where no usual one has them. Formats of as many
    /// bytes share a rate, and the first in the order of the table is meant.
    pub fn usual_name(self) -> Option<String> {
        let names = USUAL_HEIGHTS.iter().flat_map(|height| {
            USUAL_RATES.iter().flat_map(move |rate| {
                USUAL_SAMPLES
                    .iter()
                    .map(move |samples| format!("{height}p{rate}-{samples}"))
            })
        });
        names
            .into_iter()
            .find(|name| VideoFormat::named(name) == Some(self))
    }

    /// A format of `rate` with frames at `frame_rate`: the bytes per frame that come nearest.
    pub fn of_rate(rate: Rate, frame_rate: FrameRate) -> VideoFormat {
        let bytes =
            u128::from(rate.0) * u128::from(frame_rate.denominator) / (8 * u128::from(frame_rate.numerator));
        VideoFormat {
            bytes_per_frame: u32::try_from(bytes).unwrap_or(u32::MAX).max(1),
            frame_rate,
        }
    }
}

/// All samples of a named format, without padding: 10-bit 4:2:2 takes 20 bits a pixel, as in the pgroups of SMPTE ST
/// 2110-20. A frame of an interlaced format is both of its fields.
impl From<FormatName> for VideoFormat {
    fn from(name: FormatName) -> Self {
        VideoFormat {
            bytes_per_frame: name.frame_bytes(),
            frame_rate: name.picture().frame_rate(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> VideoFormat {
        VideoFormat::named(name).expect("a known format")
    }

    #[test]
    fn published_frame_sizes_and_rates() {
        // Bytes per frame as the Port 9 Labs flow tester publishes them; rates as the order states.
        let bytes = |name| named(name).bytes_per_frame;
        assert_eq!(bytes("1080p59.94-422-10"), 5_184_000);
        assert_eq!(bytes("1080p59.94-444-16"), 12_441_600);
        assert_eq!(bytes("1080p59.94-4444-16"), 16_588_800);
        assert_eq!(named("1080p59.94-4444-16").rate().0 / 10_000_000, 795);
        // 1125 lines at 30000/1001 frames: half of the progressive rate, whole frames of the same size.
        let interlaced = named("1080i59.94-422-10");
        assert_eq!(interlaced.bytes_per_frame, 5_184_000);
        assert_eq!(interlaced.rate().0, 5_184_000 * 8 * 30_000 / 1001);
    }

    #[test]
    fn usual_formats_have_their_names_back() {
        for name in [
            "1080p59.94-422-10",
            "2160p50-444-16",
            "720p25-4444-16",
            "1080p29.97-422-10",
        ] {
            let format = VideoFormat::named(name).expect("a format");
            assert_eq!(format.usual_name().as_deref(), Some(name));
        }
        let odd = VideoFormat::of_rate(Rate(1_234_567), FrameRate::NTSC_60);
        assert_eq!(odd.usual_name(), None);
    }
}
