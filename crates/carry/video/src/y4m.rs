//! The header lines of Y4M (YUV4MPEG2), as yuv4mpeg(5) of the MJPEG tools describes it with the colour spaces that ffmpeg
//! added. It reads and writes single lines; `frame_reader` and `frame_writer` put streams together of them.

use thiserror::Error;
use weir_units::FrameRate;

use super::quoted::{quoted, quoted_bytes};
use super::whole_number::whole_number;
use super::{FormatError, PixelFormat, Scan, VideoFormat};

/// Most bytes of a header line; ffmpeg writes less than 100 and reads no more than 128.
pub const MAX_Y4M_LINE_BYTES: usize = 1024;

/// A Y4M stream that cannot be read, or frames that Y4M cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Y4mError {
    /// The first word is another one.
    #[error("a Y4M header must begin with YUV4MPEG2, not with '{found}'")]
    NotY4m {
        /// What is there, shortened.
        found: String,
    },
    /// A line that does not end.
    #[error(
        "the Y4M header line is longer than {MAX_Y4M_LINE_BYTES} bytes; the stream is damaged or not Y4M"
    )]
    LineTooLong,
    /// Between two frames stands something else than a frame's header.
    #[error("frame {frame} of the Y4M stream must begin with FRAME, not with '{found}'")]
    NotAFrame {
        /// Which, counted from 0.
        frame: u64,
        /// What is there, shortened.
        found: String,
    },
    /// A parameter that cannot be read.
    #[error("invalid Y4M parameter '{parameter}'; write it like {example}")]
    Parameter {
        /// What was given, shortened.
        parameter: String,
        /// One that would do.
        example: &'static str,
    },
    /// Given twice.
    #[error("the Y4M header has two parameters '{letter}'")]
    Twice {
        /// The letter that it begins with.
        letter: char,
    },
    /// Needed and not given.
    #[error("the Y4M header lacks the {what} (parameter '{letter}')")]
    Missing {
        /// The letter that it begins with.
        letter: char,
        /// What it says.
        what: &'static str,
    },
    /// A colour space that Weir does not know.
    #[error(
        "unsupported Y4M colour space '{name}'; supported are 420, 420jpeg, 420paldv, 420mpeg2, 422, 444, mono, 420p10, 422p10 and 444p10"
    )]
    UnknownColourSpace {
        /// What was given, shortened.
        name: String,
    },
    /// Y4M has no name for these pixels.
    #[error(
        "Y4M does not support {pixels}; write raw frames, or convert to a planar format such as yuv422p10le first"
    )]
    NoColourSpace {
        /// The pixel format.
        pixels: PixelFormat,
    },
    /// The format that the header describes cannot be.
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// What a stream begins with.
pub(super) const STREAM: &[u8] = b"YUV4MPEG2";
/// What each frame begins with.
pub(super) const FRAME: &[u8] = b"FRAME";

/// Colour spaces that are read; the first name of a pixel format is the one that is written. The kinds of 8-bit 4:2:0
/// differ in where chroma is sampled, which Weir does not look at.
const COLOUR_SPACES: [(&str, PixelFormat); 10] = [
    ("420jpeg", PixelFormat::Yuv420p),
    ("420", PixelFormat::Yuv420p),
    ("420paldv", PixelFormat::Yuv420p),
    ("420mpeg2", PixelFormat::Yuv420p),
    ("422", PixelFormat::Yuv422p),
    ("444", PixelFormat::Yuv444p),
    ("mono", PixelFormat::Gray),
    ("420p10", PixelFormat::Yuv420p10le),
    ("422p10", PixelFormat::Yuv422p10le),
    ("444p10", PixelFormat::Yuv444p10le),
];

/// Whether a line is the word, alone or with parameters behind it.
pub(super) fn begins_with(line: &[u8], word: &[u8]) -> bool {
    line.strip_prefix(word)
        .is_some_and(|rest| rest.is_empty() || rest[0] == b' ')
}

/// The parameters of a stream header that mean something here, as they stand.
#[derive(Default)]
struct Parameters<'l> {
    width: Option<&'l str>,
    height: Option<&'l str>,
    rate: Option<&'l str>,
    interlacing: Option<&'l str>,
    colour_space: Option<&'l str>,
}

impl<'l> Parameters<'l> {
    fn parse(parameters: &'l [u8]) -> Result<Self, Y4mError> {
        let mut found = Parameters::default();
        for parameter in parameters.split(|byte| *byte == b' ') {
            let Some((letter, value)) = parameter.split_first() else {
                continue;
            };
            let place = match letter {
                b'W' => &mut found.width,
                b'H' => &mut found.height,
                b'F' => &mut found.rate,
                b'I' => &mut found.interlacing,
                b'C' => &mut found.colour_space,
                // Aspect of the pixels, comments, and whatever a later version adds.
                _ => continue,
            };
            let value = str::from_utf8(value).map_err(|_| Y4mError::Parameter {
                parameter: quoted_bytes(parameter),
                example: "W1920",
            })?;
            if place.replace(value).is_some() {
                return Err(Y4mError::Twice {
                    letter: char::from(*letter),
                });
            }
        }
        Ok(found)
    }
}

fn bad(letter: char, value: &str, example: &'static str) -> Y4mError {
    Y4mError::Parameter {
        parameter: quoted(&format!("{letter}{value}")),
        example,
    }
}

fn size(letter: char, what: &'static str, value: Option<&str>) -> Result<u32, Y4mError> {
    let value = value.ok_or(Y4mError::Missing { letter, what })?;
    whole_number(value).ok_or_else(|| bad(letter, value, "W1920 or H1080"))
}

/// `30000:1001`; none for `0:0`, which stands for an unknown rate.
fn rate(value: &str) -> Result<Option<FrameRate>, Y4mError> {
    let wrong = || bad('F', value, "F30000:1001");
    let (numerator, denominator) = value.split_once(':').ok_or_else(wrong)?;
    let numerator = whole_number(numerator).ok_or_else(wrong)?;
    let denominator = whole_number(denominator).ok_or_else(wrong)?;
    match (numerator, denominator) {
        (0, 0) => Ok(None),
        (0, _) | (_, 0) => Err(wrong()),
        _ => Ok(FrameRate::new(numerator, denominator)),
    }
}

/// Reads the first line of a stream, without its line feed. A stream that does not know its frame rate (`F0:0`, or no
/// `F`) has `unknown_rate`.
///
/// Frames that are interlaced in turns (`Im`) or in an unknown way (`I?`) are read as progressive: Weir does nothing with
/// that word. The shape of pixels (`A`) and comments (`X`) are passed over.
///
/// # Errors
///
/// Lines above [`MAX_Y4M_LINE_BYTES`], other first words, parameters that are missing, doubled or cannot be, colour spaces
/// that Weir does not know, and formats outside of the limits of [`VideoFormat::new`].
pub fn parse_y4m_header(line: &[u8], unknown_rate: Option<FrameRate>) -> Result<VideoFormat, Y4mError> {
    if line.len() > MAX_Y4M_LINE_BYTES {
        return Err(Y4mError::LineTooLong);
    }
    if !begins_with(line, STREAM) {
        return Err(Y4mError::NotY4m {
            found: quoted_bytes(line),
        });
    }
    let parameters = Parameters::parse(&line[STREAM.len()..])?;
    let width = size('W', "width", parameters.width)?;
    let height = size('H', "height", parameters.height)?;
    let frame_rate = match parameters.rate {
        Some(value) => rate(value)?,
        None => None,
    };
    let frame_rate = frame_rate.or(unknown_rate).ok_or(Y4mError::Missing {
        letter: 'F',
        what: "frame rate",
    })?;
    let scan = match parameters.interlacing {
        None | Some("p" | "?" | "m") => Scan::Progressive,
        Some("t") => Scan::TopFieldFirst,
        Some("b") => Scan::BottomFieldFirst,
        Some(value) => return Err(bad('I', value, "Ip")),
    };
    // Without a colour space it is 4:2:0 (yuv4mpeg(5)).
    let name = parameters.colour_space.unwrap_or("420");
    let pixels = COLOUR_SPACES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, pixels)| *pixels)
        .ok_or_else(|| Y4mError::UnknownColourSpace { name: quoted(name) })?;
    Ok(VideoFormat::new(width, height, frame_rate, pixels)?.with_scan(scan))
}

/// The first line of a stream of this format, without its line feed: `YUV4MPEG2 W1920 H1080 F60000:1001 Ip A0:0
/// C422p10`. Pixels are of unknown shape (`A0:0`).
///
/// # Errors
///
/// Pixels for which Y4M has no name: all that are packed.
pub fn y4m_header(format: VideoFormat) -> Result<String, Y4mError> {
    let (name, _) = COLOUR_SPACES
        .iter()
        .find(|(_, pixels)| *pixels == format.pixels())
        .ok_or(Y4mError::NoColourSpace {
            pixels: format.pixels(),
        })?;
    let rate = format.frame_rate();
    let interlacing = match format.scan() {
        Scan::Progressive => 'p',
        Scan::TopFieldFirst => 't',
        Scan::BottomFieldFirst => 'b',
    };
    Ok(format!(
        "YUV4MPEG2 W{} H{} F{}:{} I{interlacing} A0:0 C{name}",
        format.width(),
        format.height(),
        rate.numerator,
        rate.denominator
    ))
}
