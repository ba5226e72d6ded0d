//! Formats as people write them: `1920x1080@59.94:yuv422p10le`, `720x576@25:uyvy422:tff`, and the names that
//! `weir flows` takes, such as `1080p59.94-422-10`. It must not know which option such a text belongs to.

use std::fmt;
use std::str::FromStr;

use weir_units::FrameRate;

use super::whole_number::whole_number;
use super::{FormatError, PixelFormat, Scan, VideoFormat};

/// No format needs more bytes; what is longer is not looked at.
const MOST_BYTES: usize = 128;

/// Sizes that are called by their lines.
const SIZES: [(&str, u32, u32); 3] = [("720p", 1280, 720), ("1080p", 1920, 1080), ("2160p", 3840, 2160)];

/// Pixels as `weir flows` calls them: by what they take on the wire, where 10-bit 4:2:2 goes in pgroups.
const SAMPLES: [(&str, PixelFormat); 3] = [
    ("-422-10", PixelFormat::St2110),
    ("-444-16", PixelFormat::Rgb48le),
    ("-4444-16", PixelFormat::Rgba64le),
];

fn parse_scan(word: &str) -> Option<Scan> {
    match word {
        "progressive" => Some(Scan::Progressive),
        "tff" => Some(Scan::TopFieldFirst),
        "bff" => Some(Scan::BottomFieldFirst),
        _ => None,
    }
}

/// `1920x1080`.
fn parse_size(text: &str) -> Option<(u32, u32)> {
    let (width, height) = text.split_once('x')?;
    Some((whole_number(width)?, whole_number(height)?))
}

/// `1080p59.94`.
fn parse_line_count(text: &str) -> Option<(u32, u32, &str)> {
    SIZES.iter().find_map(|(name, width, height)| {
        let rate = text.strip_prefix(name)?;
        Some((*width, *height, rate))
    })
}

impl FromStr for VideoFormat {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        let wrong = || FormatError::not_a_format(text);
        if text.len() > MOST_BYTES {
            return Err(wrong());
        }
        let mut parts = text.split(':');
        let picture = parts.next().unwrap_or_default();
        let (picture, pixels, scan) = match parts.next() {
            Some(name) => (picture, name.parse()?, parts.next()),
            None => {
                let named = SAMPLES
                    .iter()
                    .find_map(|(end, pixels)| Some((picture.strip_suffix(end)?, *pixels)));
                let (picture, pixels) = named.ok_or_else(wrong)?;
                (picture, pixels, None)
            }
        };
        let scan = match scan {
            Some(word) => parse_scan(word).ok_or_else(wrong)?,
            None => Scan::Progressive,
        };
        if parts.next().is_some() {
            return Err(wrong());
        }
        let (width, height, rate) = match picture.split_once('@') {
            Some((size, rate)) => {
                let (width, height) = parse_size(size).ok_or_else(wrong)?;
                (width, height, rate)
            }
            None => parse_line_count(picture).ok_or_else(wrong)?,
        };
        let rate: FrameRate = rate.parse().map_err(|_| wrong())?;
        Ok(VideoFormat::new(width, height, rate, pixels)?.with_scan(scan))
    }
}

/// The form that is read back to the same format.
impl fmt::Display for VideoFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (width, height) = (self.width(), self.height());
        write!(f, "{width}x{height}@{}:{}", self.frame_rate(), self.pixels())?;
        f.write_str(match self.scan() {
            Scan::Progressive => "",
            Scan::TopFieldFirst => ":tff",
            Scan::BottomFieldFirst => ":bff",
        })
    }
}
