//! Names of uncompressed video formats: `1080p59.94-422-10`, `1280x720p50-444-12`. It knows what a frame takes in bits,
//! not how its samples lie in memory.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::FrameRate;

/// Largest width of a named format, pixels.
const MOST_WIDTH: u32 = 16_384;
/// Largest height of a named format, lines.
const MOST_HEIGHT: u32 = 8_640;
/// Heights that have a width of their own: BT.601, SMPTE ST 296 and ST 274, 1440p, UHD-1 and UHD-2 of BT.2020.
const SIZES: [(u32, u32); 7] = [
    (720, 480),
    (720, 576),
    (1280, 720),
    (1920, 1080),
    (2560, 1440),
    (3840, 2160),
    (7680, 4320),
];
/// Rates as they are written, with their numerator and denominator.
const RATES: [(&str, u32, u32); 11] = [
    ("23.98", 24_000, 1001),
    ("24", 24, 1),
    ("25", 25, 1),
    ("29.97", 30_000, 1001),
    ("30", 30, 1),
    ("50", 50, 1),
    ("59.94", 60_000, 1001),
    ("60", 60, 1),
    ("100", 100, 1),
    ("119.88", 120_000, 1001),
    ("120", 120, 1),
];
/// Rates of [`RATES`] that interlaced formats have, fields per second.
const FIELD_RATES: [&str; 3] = ["50", "59.94", "60"];
/// Sampling structures: name, and samples of 2 x 2 pixels.
const SAMPLINGS: [(&str, Sampling, u64); 4] = [
    ("420", Sampling::S420, 6),
    ("422", Sampling::S422, 8),
    ("444", Sampling::S444, 12),
    ("4444", Sampling::S4444, 16),
];
/// Bits per sample.
const DEPTHS: [u8; 4] = [8, 10, 12, 16];

/// Colour samples per pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sampling {
    /// 4:2:0.
    S420,
    /// 4:2:2.
    S422,
    /// 4:4:4 or RGB.
    S444,
    /// 4:4:4:4 or RGBA: with opacity.
    S4444,
}

/// Size, scan and rate of a picture: `1080p59.94`, `1080i50`, `1280x720p25`. Within the limits of [`FormatName::RULE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PictureName {
    width: u32,
    height: u32,
    interlaced: bool,
    /// Position in [`RATES`].
    rate: usize,
}

/// A whole format: a picture, its sampling and the bits per sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FormatName {
    picture: PictureName,
    sampling: Sampling,
    bits: u8,
}

/// A text that names no video format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{text}' is not a video format: {problem}; write it like {example}")]
pub struct FormatNameError {
    text: String,
    problem: String,
    example: String,
}

impl PictureName {
    /// Pixels of a line, even, 2 to 16384.
    pub fn width(self) -> u32 {
        self.width
    }

    /// Lines of a frame, even, 2 to 8640.
    pub fn height(self) -> u32 {
        self.height
    }

    /// A frame is two fields.
    pub fn is_interlaced(self) -> bool {
        self.interlaced
    }

    /// Frames per second: half of the rate in the name of an interlaced format, which counts fields.
    pub fn frame_rate(self) -> FrameRate {
        let (_, numerator, denominator) = RATES[self.rate];
        let fields = if self.interlaced { 2 } else { 1 };
        FrameRate::new(numerator, denominator * fields).unwrap_or(FrameRate {
            numerator,
            denominator,
        })
    }

    /// Reads a picture at the beginning of `text`, up to a `-`: the picture, or the nearest where a part is wrong, and the
    /// rest.
    fn take(text: &str) -> (Part<PictureName>, &str) {
        let digits = |c: char| c.is_ascii_digit() || c == 'x';
        let (size, rest) = text.split_at(text.find(|c| !digits(c)).unwrap_or(text.len()));
        let (picture, rest) = rest.split_at(rest.find('-').unwrap_or(rest.len()));
        let mut after_scan = picture.chars();
        let scan = after_scan.next();
        let size = size_of(size);
        let interlaced = scan == Some('i');
        let rate = rate_of(after_scan.as_str(), interlaced);
        let no_scan = || "the size is followed by p or i".to_owned();
        let scan_problem = (!matches!(scan, Some('p' | 'i'))).then(no_scan);
        let picture = Part {
            value: PictureName {
                width: size.value.0,
                height: size.value.1,
                interlaced,
                rate: rate.value,
            },
            problem: size.problem.or(scan_problem).or(rate.problem),
        };
        (picture, rest)
    }
}

/// 1080p59.94.
impl Default for PictureName {
    fn default() -> Self {
        PictureName {
            width: 1920,
            height: 1080,
            interlaced: false,
            rate: 6,
        }
    }
}

/// A part of a name: its value, or the nearest, and what is wrong with it.
struct Part<T> {
    value: T,
    problem: Option<String>,
}

impl<T> Part<T> {
    fn right(value: T) -> Self {
        Part { value, problem: None }
    }

    fn wrong(value: T, problem: impl Into<String>) -> Self {
        Part {
            value,
            problem: Some(problem.into()),
        }
    }
}

/// `1080` or `1280x720`: width and height.
fn size_of(text: &str) -> Part<(u32, u32)> {
    let none = || Part::wrong((1920, 1080), format!("the form is {}", FormatName::RULE));
    let (width, height) = match text.split_once('x') {
        Some((width, height)) => (Some(width), height),
        None => (None, text),
    };
    // A number that does not fit is too large in any case.
    let number = |text: &str| match text.parse::<u32>() {
        Err(_) if text.is_empty() || text.contains('x') => None,
        parsed => Some(parsed.unwrap_or(u32::MAX)),
    };
    let Some(height) = number(height) else {
        return none();
    };
    let Some(width) = width else {
        return match SIZES.iter().min_by_key(|(_, lines)| lines.abs_diff(height)) {
            Some(size) if size.1 == height => Part::right(*size),
            Some(size) => Part::wrong(
                *size,
                "a height without a width is 480, 576, 720, 1080, 1440, 2160 or 4320",
            ),
            None => none(),
        };
    };
    let Some(width) = number(width) else {
        return none();
    };
    let even = |number: u32, most: u32| number.saturating_add(number % 2).clamp(2, most);
    let nearest = (even(width, MOST_WIDTH), even(height, MOST_HEIGHT));
    if nearest == (width, height) {
        return Part::right(nearest);
    }
    Part::wrong(
        nearest,
        format!("width and height are even, from 2x2 to {MOST_WIDTH}x{MOST_HEIGHT}"),
    )
}

/// `59.94`: its position in [`RATES`].
fn rate_of(text: &str, interlaced: bool) -> Part<usize> {
    let usual = PictureName::default().rate;
    let allowed = |name: &str| !interlaced || FIELD_RATES.contains(&name);
    let places = || (0..RATES.len()).filter(|place| allowed(RATES[*place].0));
    let exact = |place: usize| {
        let (_, numerator, denominator) = RATES[place];
        FrameRate {
            numerator,
            denominator,
        }
    };
    let asked = text.parse::<FrameRate>().ok().filter(|_| text.trim() == text);
    if let Some(place) = places().find(|place| asked == Some(exact(*place))) {
        return Part::right(place);
    }
    let number = |rate: FrameRate| f64::from(rate.numerator) / f64::from(rate.denominator);
    let asked = asked.map(number).or_else(|| text.parse().ok());
    let nearest = asked.and_then(|asked| {
        let distance = |place: &usize| (number(exact(*place)) - asked).abs();
        places().min_by(|one, other| distance(one).total_cmp(&distance(other)))
    });
    let names: Vec<&str> = places().map(|place| RATES[place].0).collect();
    let unit = if interlaced { "fields" } else { "frames" };
    let (last, first) = names.split_last().unwrap_or((&"", &[]));
    Part::wrong(
        nearest.unwrap_or(usual),
        format!(
            "the rate, in {unit} per second, is {} or {last}",
            first.join(", ")
        ),
    )
}

/// `-422-10`: sampling and bits.
fn samples_of(text: &str) -> Part<(Sampling, u8)> {
    let usual = FormatName::default();
    let parts = text.strip_prefix('-').and_then(|text| text.split_once('-'));
    let Some((sampling, bits)) = parts else {
        return Part::wrong(
            (usual.sampling, usual.bits),
            "the rate is followed by -SAMPLING-BITS",
        );
    };
    let known = SAMPLINGS.iter().find(|(name, _, _)| *name == sampling);
    let asked = bits.parse::<u8>().ok();
    let nearest = asked.and_then(|asked| DEPTHS.into_iter().min_by_key(|depth| depth.abs_diff(asked)));
    let depth = nearest.unwrap_or(usual.bits);
    match known {
        Some((_, sampling, _)) if depth.to_string() == bits => Part::right((*sampling, depth)),
        Some((_, sampling, _)) => Part::wrong((*sampling, depth), "the bits per sample are 8, 10, 12 or 16"),
        None => Part::wrong((usual.sampling, depth), "the sampling is 420, 422, 444 or 4444"),
    }
}

impl FormatName {
    /// The rule, in one line.
    pub const RULE: &str = "HEIGHT or WIDTHxHEIGHT, p or i, RATE-SAMPLING-BITS";

    /// Size, scan and rate.
    pub fn picture(self) -> PictureName {
        self.picture
    }

    /// Samples per pixel.
    pub fn sampling(self) -> Sampling {
        self.sampling
    }

    /// Bits per sample: 8, 10, 12 or 16.
    pub fn bits(self) -> u8 {
        self.bits
    }

    /// Bytes of one frame, both fields of an interlaced one: all samples without padding, as in the pgroups of SMPTE
    /// ST 2110-20, and the last byte whole.
    pub fn frame_bytes(self) -> u32 {
        let known = SAMPLINGS
            .iter()
            .find(|(_, sampling, _)| *sampling == self.sampling);
        let samples = known.map_or(0, |(_, _, samples)| *samples);
        let blocks = u64::from(self.picture.width) * u64::from(self.picture.height) / 4;
        let bits = blocks * samples * u64::from(self.bits);
        // 16384 x 8640 of 64 bits are 1.1 GB.
        u32::try_from(bits.div_ceil(8)).unwrap_or(u32::MAX)
    }
}

/// 1080p59.94-422-10.
impl Default for FormatName {
    fn default() -> Self {
        FormatName {
            picture: PictureName::default(),
            sampling: Sampling::S422,
            bits: 10,
        }
    }
}

fn not_a_format(text: &str, problem: String, example: impl fmt::Display) -> FormatNameError {
    const MOST: usize = 40;
    let mut shown: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push_str("...");
    }
    FormatNameError {
        text: shown,
        problem,
        example: example.to_string(),
    }
}

impl FromStr for PictureName {
    type Err = FormatNameError;

    fn from_str(text: &str) -> Result<Self, FormatNameError> {
        let (picture, rest) = PictureName::take(text);
        let more = (!rest.is_empty()).then(|| "nothing follows the rate".to_owned());
        match picture.problem.or(more) {
            None => Ok(picture.value),
            Some(problem) => Err(not_a_format(text, problem, picture.value)),
        }
    }
}

impl FromStr for FormatName {
    type Err = FormatNameError;

    fn from_str(text: &str) -> Result<Self, FormatNameError> {
        let (picture, rest) = PictureName::take(text);
        let samples = samples_of(rest);
        let format = FormatName {
            picture: picture.value,
            sampling: samples.value.0,
            bits: samples.value.1,
        };
        match picture.problem.or(samples.problem) {
            None => Ok(format),
            Some(problem) => Err(not_a_format(text, problem, format)),
        }
    }
}

impl fmt::Display for PictureName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !SIZES.contains(&(self.width, self.height)) {
            write!(f, "{}x", self.width)?;
        }
        let scan = if self.interlaced { 'i' } else { 'p' };
        write!(f, "{}{scan}{}", self.height, RATES[self.rate].0)
    }
}

/// The form that is read back to the same format, the shortest of them.
impl fmt::Display for FormatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = SAMPLINGS
            .iter()
            .find(|(_, sampling, _)| *sampling == self.sampling);
        let sampling = known.map_or("", |(name, _, _)| *name);
        write!(f, "{}-{sampling}-{}", self.picture, self.bits)
    }
}

#[cfg(test)]
#[path = "format_name_tests.rs"]
mod tests;
