//! Why something was refused: each text says what is wrong and what to do. Text from outside is quoted short and
//! without control characters, so that an error is always one line.

use std::io;

use thiserror::Error;
use weir_units::{FormatName, FormatNameError, PictureName};

use super::format::{MAX_FRAME_BYTES, MAX_FRAME_RATE, MAX_HEIGHT, MAX_WIDTH};
use super::quoted::quoted;
use super::y4m::Y4mError;
use super::{PixelFormat, VideoFormat};

/// An unsupported video format, or a text that is not a format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    /// Not of the form.
    #[error(
        "'{text}' is not a video format; write it like 1920x1080@59.94:yuv422p10le, with :tff or :bff at the end if interlaced"
    )]
    NotAFormat {
        /// What was given, shortened.
        text: String,
    },
    /// A name that is not by the rule of [`FormatName`].
    #[error("{0}, or like 1920x1080@59.94:yuv422p10le")]
    Name(#[from] FormatNameError),
    /// Named samples that no packing here carries without padding.
    #[error(
        "no packing carries the samples of {name}; those that have one are {packings}; write others like {}x{}@{}:yuv444p10le",
        .name.picture().width(),
        .name.picture().height(),
        .name.picture().frame_rate()
    )]
    NoPacking {
        /// The format.
        name: FormatName,
        /// Samples that have a packing, with it.
        packings: String,
    },
    /// An interlaced picture without a standard that gives its field order.
    #[error("{picture} does not say which field is first; write {format}:tff or {format}:bff")]
    FieldOrder {
        /// The picture.
        picture: PictureName,
        /// The same, as if it was progressive.
        format: VideoFormat,
    },
    /// No pixel format has this name.
    #[error("unknown pixel format '{name}'; use one of {}", PixelFormat::names())]
    UnknownPixels {
        /// What was given, shortened.
        name: String,
    },
    /// Width or height of zero, or too large.
    #[error(
        "unsupported frame size {width}x{height}; sizes from 1x1 to {MAX_WIDTH}x{MAX_HEIGHT} are supported"
    )]
    Size {
        /// Pixels in a line.
        width: u32,
        /// Lines.
        height: u32,
    },
    /// Frames too large together with their pixels.
    #[error("frames of {width}x{height} {pixels} have {bytes} bytes; the maximum is {MAX_FRAME_BYTES}")]
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
    #[error("{pixels} packs pixels in pairs and needs an even width, not {width}; use {}", .width + 1)]
    OddWidth {
        /// Pixels in a line.
        width: u32,
        /// Pixel format.
        pixels: PixelFormat,
    },
    /// Too fast, too slow, or no rate at all.
    #[error(
        "unsupported frame rate {numerator}/{denominator}; rates from 1 per hour to {MAX_FRAME_RATE} per second are supported"
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

/// Why there is no next frame.
#[derive(Debug, Error)]
pub enum FrameReadError {
    /// The input could not be read. After an error that passes (such as `WouldBlock`) the call can be repeated with the
    /// same buffer.
    #[error("cannot read the input: {0}")]
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
    #[error("the input does not begin with YUV4MPEG2; give its format, such as 1920x1080@59.94:yuv422p10le")]
    FormatNeeded,
    /// The input is broken Y4M.
    #[error(transparent)]
    Y4m(#[from] Y4mError),
    /// The caller's buffer has not the length of a frame.
    #[error("a buffer of {given} bytes does not fit frames of {frame_bytes}")]
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
    #[error("cannot write the output: {0}")]
    Io(#[from] io::Error),
    /// Y4M cannot hold such frames.
    #[error(transparent)]
    Y4m(#[from] Y4mError),
    /// Not a whole frame.
    #[error("{given} bytes are not a frame of {frame_bytes} bytes")]
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
        "cannot repack {from} as {to} without changing samples; convert the frames first, or send them in their own packing"
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
    #[error("a buffer of {given} bytes does not fit a frame of {format}, which has {}", .format.frame_bytes())]
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
        "a test pattern of {width}x{height} is too small for its frame counter; use at least {least}x{least}"
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
    #[error("a buffer of {given} bytes does not fit frames of {frame_bytes}")]
    Length {
        /// Length of the buffer.
        given: usize,
        /// Bytes of a frame.
        frame_bytes: usize,
    },
}
