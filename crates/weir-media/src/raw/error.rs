//! Why something was refused: each text says what is wrong and what to do. Text from outside is quoted short and without
//! control characters, so that an error is always one line.

use std::io;

use thiserror::Error;

use super::format::{MAX_FRAME_BYTES, MAX_FRAME_RATE, MAX_HEIGHT, MAX_WIDTH};
use super::media_type::MAX_MEDIA_TYPE_BYTES;
use super::y4m::MAX_Y4M_LINE_BYTES;
use super::{PixelFormat, VideoFormat};

/// A video format that cannot be, or a text that is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    /// Not of the form.
    #[error(
        "'{text}' is not a video format; write it like 1920x1080@59.94:yuv422p10le, with :tff or :bff behind it if it is interlaced"
    )]
    NotAFormat {
        /// What was given, shortened.
        text: String,
    },
    /// No pixel format has this name.
    #[error(
        "'{name}' is not a pixel format that Weir knows; these are: {}",
        PixelFormat::names()
    )]
    UnknownPixels {
        /// What was given, shortened.
        name: String,
    },
    /// Width or height of zero, or too large.
    #[error("a picture of {width}x{height} cannot be; from 1x1 up to {MAX_WIDTH}x{MAX_HEIGHT} can")]
    Size {
        /// Pixels in a line.
        width: u32,
        /// Lines.
        height: u32,
    },
    /// Frames too large together with their pixels.
    #[error(
        "frames of {width}x{height} {pixels} take {bytes} bytes, more than the {MAX_FRAME_BYTES} that are taken"
    )]
    FrameTooLarge {
        /// Pixels in a line.
        width: u32,
        /// Lines.
        height: u32,
        /// Pixel format.
        pixels: PixelFormat,
        /// Bytes of a frame.
        bytes: u64,
    },
    /// Half a group of two pixels at the end of each line.
    #[error("{pixels} keeps two pixels together, so a width of {width} cannot be; make it {}", .width + 1)]
    OddWidth {
        /// Pixels in a line.
        width: u32,
        /// Pixel format.
        pixels: PixelFormat,
    },
    /// Too fast, too slow, or no rate at all.
    #[error(
        "{numerator}/{denominator} frames a second cannot be; from one in an hour up to {MAX_FRAME_RATE} a second can"
    )]
    FrameRate {
        /// Frames.
        numerator: u32,
        /// In this many seconds.
        denominator: u32,
    },
}

impl FormatError {
    pub(super) fn not_a_format(text: &str) -> Self {
        FormatError::NotAFormat { text: quoted(text) }
    }

    pub(super) fn unknown_pixels(name: &str) -> Self {
        FormatError::UnknownPixels { name: quoted(name) }
    }
}

/// Media type parameters that describe no format of ours.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MediaTypeError {
    /// Longer than anything that is meant.
    #[error("media type parameters of {length} bytes; {MAX_MEDIA_TYPE_BYTES} are the most")]
    TooLong {
        /// Bytes given.
        length: usize,
    },
    /// Something else than printable ASCII.
    #[error("media type parameters have a byte at {at} that is not printable ASCII")]
    NotText {
        /// Where.
        at: usize,
    },
    /// Given twice.
    #[error("the media type parameter '{name}' is given twice")]
    Twice {
        /// Its name, shortened.
        name: String,
    },
    /// Needed and not given.
    #[error("the media type parameter '{name}' is missing")]
    Missing {
        /// Its name.
        name: &'static str,
    },
    /// A value that is none.
    #[error("the media type parameter {name}={value} cannot be; write it like {example}")]
    Value {
        /// Parameter.
        name: &'static str,
        /// What was given, shortened.
        value: String,
        /// A value that would do.
        example: &'static str,
    },
    /// A pgroup that is none of ours.
    #[error(
        "sampling={sampling} with depth={depth} is a packing that Weir does not know; it knows YCbCr-4:2:2 of 8 and 10 bits and RGB and RGBA of 8"
    )]
    UnknownPacking {
        /// Parameter, shortened.
        sampling: String,
        /// Parameter, shortened.
        depth: String,
    },
    /// The packing has other samples than are said.
    #[error(
        "the media type parameters say {packing}, whose samples are not sampling={sampling} with depth={depth}"
    )]
    Contradiction {
        /// The packing named.
        packing: PixelFormat,
        /// Parameter, shortened.
        sampling: String,
        /// Parameter, shortened.
        depth: String,
    },
    /// The format that they describe cannot be.
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// A Y4M stream that cannot be read, or frames that Y4M cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Y4mError {
    /// The first word is another one.
    #[error("a Y4M header begins with YUV4MPEG2, not with '{found}'")]
    NotY4m {
        /// What is there, shortened.
        found: String,
    },
    /// A line that does not end.
    #[error(
        "a Y4M header line is longer than {MAX_Y4M_LINE_BYTES} bytes; this is not a Y4M stream, or a broken one"
    )]
    LineTooLong,
    /// Between two frames stands something else than a frame's header.
    #[error("frame {frame} of the Y4M stream should begin with FRAME, not with '{found}'")]
    NotAFrame {
        /// Which, counted from 0.
        frame: u64,
        /// What is there, shortened.
        found: String,
    },
    /// A parameter that cannot be read.
    #[error("the Y4M parameter '{parameter}' cannot be; write it like {example}")]
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
    #[error("the Y4M header does not say its {what} (parameter '{letter}')")]
    Missing {
        /// The letter that it begins with.
        letter: char,
        /// What it says.
        what: &'static str,
    },
    /// A colour space that Weir does not know.
    #[error(
        "the Y4M colour space '{name}' is none that Weir reads; it reads 420, 420jpeg, 420paldv, 420mpeg2, 422, 444, mono, 420p10, 422p10 and 444p10"
    )]
    UnknownColourSpace {
        /// What was given, shortened.
        name: String,
    },
    /// Y4M has no name for these pixels.
    #[error(
        "Y4M cannot hold {pixels}; write raw frames, or convert to a planar format such as yuv422p10le first"
    )]
    NoColourSpace {
        /// The pixel format.
        pixels: PixelFormat,
    },
    /// The format that the header describes cannot be.
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// Why there is no next frame.
#[derive(Debug, Error)]
pub enum FrameReadError {
    /// The input could not be read. After an error that passes (such as `WouldBlock`) the call can be repeated with the
    /// same buffer.
    #[error("the input could not be read: {0}")]
    Io(#[from] io::Error),
    /// The input ended where it should not.
    #[error("the input ended inside frame {frame}: {read} of {of} bytes")]
    EndedInFrame {
        /// Which, counted from 0.
        frame: u64,
        /// Bytes of it that are there.
        read: usize,
        /// Bytes that it has.
        of: usize,
    },
    /// The input ended inside a line of Y4M.
    #[error("the input ended inside a Y4M header, after '{line}'")]
    EndedInHeader {
        /// What is there of the line, shortened.
        line: String,
    },
    /// Nothing is there, and nobody has said what it should be.
    #[error("the input is empty")]
    Empty,
    /// The input is no Y4M, and nobody has said what it is.
    #[error(
        "the input does not begin with YUV4MPEG2, so its format has to be given, such as 1920x1080@59.94:yuv422p10le"
    )]
    FormatNeeded,
    /// The input is broken Y4M.
    #[error(transparent)]
    Y4m(#[from] Y4mError),
    /// The caller's buffer has not the length of a frame.
    #[error("a buffer of {given} bytes for frames of {frame_bytes}")]
    Buffer {
        /// Length of the buffer.
        given: usize,
        /// Bytes of a frame.
        frame_bytes: usize,
    },
}

/// Why a frame was not written.
#[derive(Debug, Error)]
pub enum FrameWriteError {
    /// The output could not be written.
    #[error("the output could not be written: {0}")]
    Io(#[from] io::Error),
    /// Y4M cannot hold such frames.
    #[error(transparent)]
    Y4m(#[from] Y4mError),
    /// Not a whole frame.
    #[error("{given} bytes are not a frame, which has {frame_bytes}")]
    Length {
        /// Bytes given.
        given: usize,
        /// Bytes of a frame.
        frame_bytes: usize,
    },
}

/// Why frames cannot be repacked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RepackError {
    /// No way between the two.
    #[error(
        "frames of {from} cannot be repacked as {to}: that would change their samples; convert them first, or send them as they come"
    )]
    Unsupported {
        /// What there is.
        from: PixelFormat,
        /// What was asked for.
        to: PixelFormat,
    },
    /// The format cannot be in the new packing.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A buffer that is not one frame.
    #[error("a buffer of {given} bytes for a frame of {format}, which has {}", .format.frame_bytes())]
    Length {
        /// Length of the buffer.
        given: usize,
        /// The format it should hold.
        format: VideoFormat,
    },
}

/// Why there is no test pattern, or no frame of it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// The frame counter has no room.
    #[error(
        "a test pattern of {width}x{height} has no room for its frame counter; make it {least}x{least} or larger"
    )]
    TooSmall {
        /// Pixels in a line.
        width: u32,
        /// Lines.
        height: u32,
        /// The smallest width and height.
        least: u32,
    },
    /// A buffer that is not one frame.
    #[error("a buffer of {given} bytes for frames of {frame_bytes}")]
    Length {
        /// Length of the buffer.
        given: usize,
        /// Bytes of a frame.
        frame_bytes: usize,
    },
}

/// At most this many characters of somebody else's text stand in an error.
const MOST_QUOTED: usize = 40;

/// Text from outside as it stands in an error: short, one line, nothing that a terminal would obey.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted: String = text
        .chars()
        .take(MOST_QUOTED)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(MOST_QUOTED).is_some() {
        quoted.push_str("...");
    }
    quoted
}

/// The same for bytes.
pub(super) fn quoted_bytes(bytes: &[u8]) -> String {
    // Four bytes are the most that a character takes.
    let start = &bytes[..bytes.len().min(4 * MOST_QUOTED + 4)];
    quoted(&String::from_utf8_lossy(start))
}
