//! Formats as people write them: `1920x1080@59.94:yuv422p10le`, `720x576@25:uyvy422:tff`, and names by the rule of
//! [`FormatName`], such as `1080p59.94-422-10`. It must not know which option such a text belongs to.

use std::fmt;
use std::str::FromStr;

use weir_units::{FormatName, FrameRate, PictureName};

use super::whole_number::whole_number;
use super::{FormatError, PixelFormat, Scan, VideoFormat};

/// No format needs more bytes; what is longer is not looked at.
const MOST_BYTES: usize = 128;

/// Samples by name, and the packing that carries them without padding; other samples have none here.
const SAMPLES: [(&str, PixelFormat); 7] = [
    ("-420-8", PixelFormat::Yuv420p),
    ("-422-8", PixelFormat::Uyvy422),
    ("-422-10", PixelFormat::St2110),
    ("-444-8", PixelFormat::Rgb24),
    ("-444-16", PixelFormat::Rgb48le),
    ("-4444-8", PixelFormat::Rgba),
    ("-4444-16", PixelFormat::Rgba64le),
];

/// Heights of interlaced formats, and which of their fields is first: ITU-R BT.601 and SMPTE ST 274.
const FIELD_ORDERS: [(u32, Scan); 4] = [
    (480, Scan::BottomFieldFirst),
    (486, Scan::BottomFieldFirst),
    (576, Scan::TopFieldFirst),
    (1080, Scan::TopFieldFirst),
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

/// The packing of `1080p59.94-422-10` or `1920x1080@59.94-422-10`, and what stands before its samples.
fn parse_samples(text: &str) -> Option<(&str, PixelFormat)> {
    SAMPLES
        .iter()
        .find_map(|(end, pixels)| Some((text.strip_suffix(end)?, *pixels)))
}

/// `1080p59.94-422-10`.
fn parse_name(text: &str) -> Result<VideoFormat, FormatError> {
    let name: FormatName = text.parse()?;
    let printed = name.to_string();
    let (_, pixels) = parse_samples(&printed).ok_or(FormatError::NoPacking {
        name,
        packings: packings(),
    })?;
    of_picture(name.picture(), pixels, None)
}

/// `420-8 (yuv420p), 422-8 (uyvy422), ...`.
fn packings() -> String {
    let all = SAMPLES.map(|(samples, pixels)| format!("{} ({pixels})", &samples[1..]));
    all.join(", ")
}

/// A picture by name. An interlaced one has the field order of its standard, unless `scan` says which.
fn of_picture(
    picture: PictureName,
    pixels: PixelFormat,
    scan: Option<Scan>,
) -> Result<VideoFormat, FormatError> {
    let (width, height, rate) = (picture.width(), picture.height(), picture.frame_rate());
    let format = VideoFormat::new(width, height, rate, pixels)?;
    let known = || FIELD_ORDERS.iter().find(|(lines, _)| *lines == height);
    let scan = match scan {
        Some(scan) => scan,
        None if !picture.is_interlaced() => Scan::Progressive,
        None => known()
            .map(|(_, scan)| *scan)
            .ok_or(FormatError::FieldOrder { picture, format })?,
    };
    Ok(format.with_scan(scan))
}

impl FromStr for VideoFormat {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        let wrong = || FormatError::not_a_format(text);
        if text.len() > MOST_BYTES {
            return Err(wrong());
        }
        if !text.contains([':', '@']) && text.starts_with(|first: char| first.is_ascii_digit()) {
            return parse_name(text);
        }
        let mut parts = text.split(':');
        let picture = parts.next().unwrap_or_default();
        let (picture, pixels, scan) = match parts.next() {
            Some(name) => (picture, name.parse()?, parts.next()),
            None => {
                let (picture, pixels) = parse_samples(picture).ok_or_else(wrong)?;
                (picture, pixels, None)
            }
        };
        let scan = match scan {
            Some(word) => Some(parse_scan(word).ok_or_else(wrong)?),
            None => None,
        };
        if parts.next().is_some() {
            return Err(wrong());
        }
        let Some((size, rate)) = picture.split_once('@') else {
            let picture: PictureName = picture.parse()?;
            let contradiction = picture.is_interlaced() && scan == Some(Scan::Progressive);
            return if contradiction {
                Err(wrong())
            } else {
                of_picture(picture, pixels, scan)
            };
        };
        let (width, height) = parse_size(size).ok_or_else(wrong)?;
        let rate: FrameRate = rate.parse().map_err(|_| wrong())?;
        Ok(VideoFormat::new(width, height, rate, pixels)?.with_scan(scan.unwrap_or_default()))
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
