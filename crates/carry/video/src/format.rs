//! What a stream of raw frames consists of: size of the picture, pixels, frame rate. It must not know how formats are
//! written down (`format_text`, `media_type` and `y4m` do).

use weir_units::FrameRate;

use super::{FormatError, PixelFormat, layout};

/// Most pixels in a line.
pub const MAX_WIDTH: u32 = 16_384;
/// Most lines.
pub const MAX_HEIGHT: u32 = 16_384;
/// Most bytes of a frame: 8K UHD (7680x4320) as 16-bit RGBA has 265,420,800.
pub const MAX_FRAME_BYTES: u64 = 1 << 28;
/// Most frames a second.
pub const MAX_FRAME_RATE: u32 = 1_000;
/// Longest time of a frame, seconds.
const MAX_FRAME_SECONDS: u64 = 3_600;

/// Whether lines were scanned one after another. Weir passes the word on and does nothing about it: an interlaced frame
/// is two fields, line by line in turns, and the frame rate counts frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scan {
    /// One picture.
    #[default]
    Progressive,
    /// Two fields; that of the first line is the earlier one.
    TopFieldFirst,
    /// Two fields; that of the second line is the earlier one.
    BottomFieldFirst,
}

/// Size, pixels and frame rate of raw video. A value of this type is always within the limits of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VideoFormat {
    width: u32,
    height: u32,
    frame_rate: FrameRate,
    pixels: PixelFormat,
    scan: Scan,
    frame_bytes: usize,
}

impl VideoFormat {
    /// A progressive format, if it is within the limits.
    ///
    /// # Errors
    ///
    /// Sizes outside of 1x1 to [`MAX_WIDTH`] x [`MAX_HEIGHT`], frames above [`MAX_FRAME_BYTES`], frame rates outside of
    /// one in an hour to [`MAX_FRAME_RATE`] a second, and odd widths of a packing that keeps two pixels together.
    pub fn new(
        width: u32,
        height: u32,
        frame_rate: FrameRate,
        pixels: PixelFormat,
    ) -> Result<VideoFormat, FormatError> {
        if !(1..=MAX_WIDTH).contains(&width) || !(1..=MAX_HEIGHT).contains(&height) {
            return Err(FormatError::Size { width, height });
        }
        if pixels.needs_even_width() && !width.is_multiple_of(2) {
            return Err(FormatError::OddWidth { width, pixels });
        }
        let too_large = |bytes| FormatError::FrameTooLarge {
            width,
            height,
            pixels,
            bytes,
        };
        let bytes = layout::frame_bytes(pixels, width, height);
        if bytes > MAX_FRAME_BYTES {
            return Err(too_large(bytes));
        }
        let FrameRate {
            numerator,
            denominator,
        } = frame_rate;
        let too_fast = u64::from(numerator) > u64::from(MAX_FRAME_RATE) * u64::from(denominator);
        let too_slow = u64::from(denominator) > MAX_FRAME_SECONDS * u64::from(numerator);
        // The fields of a rate are open, so that nothing but this keeps a zero out.
        let frame_rate = FrameRate::new(numerator, denominator)
            .filter(|_| !too_fast && !too_slow)
            .ok_or(FormatError::FrameRate {
                numerator,
                denominator,
            })?;
        Ok(VideoFormat {
            width,
            height,
            frame_rate,
            pixels,
            scan: Scan::Progressive,
            frame_bytes: usize::try_from(bytes).map_err(|_| too_large(bytes))?,
        })
    }

    /// The same format with another word about its scan.
    pub fn with_scan(self, scan: Scan) -> VideoFormat {
        VideoFormat { scan, ..self }
    }

    /// The same picture with other pixels.
    ///
    /// # Errors
    ///
    /// As [`VideoFormat::new`].
    pub fn with_pixels(self, pixels: PixelFormat) -> Result<VideoFormat, FormatError> {
        Ok(VideoFormat::new(self.width, self.height, self.frame_rate, pixels)?.with_scan(self.scan))
    }

    /// Pixels in a line.
    pub fn width(self) -> u32 {
        self.width
    }

    /// Lines.
    pub fn height(self) -> u32 {
        self.height
    }

    /// Frames a second, in lowest terms.
    pub fn frame_rate(self) -> FrameRate {
        self.frame_rate
    }

    /// How samples lie in a frame.
    pub fn pixels(self) -> PixelFormat {
        self.pixels
    }

    /// Progressive or interlaced.
    pub fn scan(self) -> Scan {
        self.scan
    }

    /// Bytes of one frame, at most [`MAX_FRAME_BYTES`].
    pub fn frame_bytes(self) -> usize {
        self.frame_bytes
    }
}
