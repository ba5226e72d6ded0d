//! How the samples of a frame lie in its bytes, by name. It knows no sizes of pictures and no frame rates.

use std::fmt;
use std::str::FromStr;

use super::FormatError;

/// Which colour components a pixel has, and how many of the pixels have them. The words are those of SMPTE ST 2110-20
/// (7.4.1) and RFC 4175 where these have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sampling {
    /// Brightness alone.
    Grayscale,
    /// Luma for each pixel, chroma for each 2 x 2.
    Yuv420,
    /// Luma for each pixel, chroma for each two in a row.
    Yuv422,
    /// Luma and chroma for each pixel.
    Yuv444,
    /// Red, green, blue.
    Rgb,
    /// Red, green, blue and opacity.
    Rgba,
}

impl Sampling {
    /// The value of the media type parameter `sampling`.
    pub(super) fn word(self) -> &'static str {
        match self {
            // RFC 5371 has this word; ST 2110-20 and RFC 4175 have none.
            Sampling::Grayscale => "GRAYSCALE",
            Sampling::Yuv420 => "YCbCr-4:2:0",
            Sampling::Yuv422 => "YCbCr-4:2:2",
            Sampling::Yuv444 => "YCbCr-4:4:4",
            Sampling::Rgb => "RGB",
            Sampling::Rgba => "RGBA",
        }
    }

    /// Samples are luma and chroma, in the narrow range of BT.709 (section 4.6): black is not zero.
    pub(super) fn is_yuv(self) -> bool {
        matches!(self, Sampling::Yuv420 | Sampling::Yuv422 | Sampling::Yuv444)
    }
}

/// The order and width of a frame's samples. Multi-byte samples are little-endian, except in `st2110-20`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PixelFormat {
    /// 8 bits of brightness, full range: 0 is black and 255 white, as ffmpeg has it.
    Gray,
    /// Planar 8-bit 4:2:0.
    Yuv420p,
    /// Planar 8-bit 4:2:2.
    Yuv422p,
    /// Planar 8-bit 4:4:4.
    Yuv444p,
    /// Planar 10-bit 4:2:0, each sample in the low bits of two bytes.
    Yuv420p10le,
    /// Planar 10-bit 4:2:2, each sample in the low bits of two bytes.
    Yuv422p10le,
    /// Planar 10-bit 4:4:4, each sample in the low bits of two bytes.
    Yuv444p10le,
    /// Packed 8-bit 4:2:2, `Cb Y0 Cr Y1`: also the pgroup of SMPTE ST 2110-20 for 8 bits.
    Uyvy422,
    /// Packed 10-bit 4:2:2, three samples in four bytes, lines padded to 128 bytes.
    V210,
    /// Packed 10-bit 4:2:2 in the pgroups of SMPTE ST 2110-20: `Cb Y0 Cr Y1` as 40 bits, the highest first.
    St2110,
    /// Packed 8-bit red, green, blue.
    Rgb24,
    /// Packed 8-bit red, green, blue, opacity.
    Rgba,
    /// Packed 16-bit red, green, blue.
    Rgb48le,
    /// Packed 16-bit red, green, blue, opacity.
    Rgba64le,
}

impl PixelFormat {
    /// All of them.
    pub const ALL: [PixelFormat; 14] = [
        PixelFormat::Gray,
        PixelFormat::Yuv420p,
        PixelFormat::Yuv422p,
        PixelFormat::Yuv444p,
        PixelFormat::Yuv420p10le,
        PixelFormat::Yuv422p10le,
        PixelFormat::Yuv444p10le,
        PixelFormat::Uyvy422,
        PixelFormat::V210,
        PixelFormat::St2110,
        PixelFormat::Rgb24,
        PixelFormat::Rgba,
        PixelFormat::Rgb48le,
        PixelFormat::Rgba64le,
    ];

    /// The name: ffmpeg's of `-pix_fmt` where it has one; `v210` is a codec there, `st2110-20` is its codec `bitpacked`
    /// with `yuv422p10le`.
    pub fn name(self) -> &'static str {
        match self {
            PixelFormat::Gray => "gray",
            PixelFormat::Yuv420p => "yuv420p",
            PixelFormat::Yuv422p => "yuv422p",
            PixelFormat::Yuv444p => "yuv444p",
            PixelFormat::Yuv420p10le => "yuv420p10le",
            PixelFormat::Yuv422p10le => "yuv422p10le",
            PixelFormat::Yuv444p10le => "yuv444p10le",
            PixelFormat::Uyvy422 => "uyvy422",
            PixelFormat::V210 => "v210",
            PixelFormat::St2110 => "st2110-20",
            PixelFormat::Rgb24 => "rgb24",
            PixelFormat::Rgba => "rgba",
            PixelFormat::Rgb48le => "rgb48le",
            PixelFormat::Rgba64le => "rgba64le",
        }
    }

    /// All names, for messages: `gray, yuv420p, ...`.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// Bits of a sample.
    pub fn depth(self) -> u8 {
        match self {
            PixelFormat::Yuv420p10le
            | PixelFormat::Yuv422p10le
            | PixelFormat::Yuv444p10le
            | PixelFormat::V210
            | PixelFormat::St2110 => 10,
            PixelFormat::Rgb48le | PixelFormat::Rgba64le => 16,
            _ => 8,
        }
    }

    pub(super) fn sampling(self) -> Sampling {
        match self {
            PixelFormat::Gray => Sampling::Grayscale,
            PixelFormat::Yuv420p | PixelFormat::Yuv420p10le => Sampling::Yuv420,
            PixelFormat::Yuv422p
            | PixelFormat::Yuv422p10le
            | PixelFormat::Uyvy422
            | PixelFormat::V210
            | PixelFormat::St2110 => Sampling::Yuv422,
            PixelFormat::Yuv444p | PixelFormat::Yuv444p10le => Sampling::Yuv444,
            PixelFormat::Rgb24 | PixelFormat::Rgb48le => Sampling::Rgb,
            PixelFormat::Rgba | PixelFormat::Rgba64le => Sampling::Rgba,
        }
    }

    /// Two pixels share a group of bytes, so that an odd width would leave half a group.
    pub(super) fn needs_even_width(self) -> bool {
        matches!(
            self,
            PixelFormat::Uyvy422 | PixelFormat::V210 | PixelFormat::St2110
        )
    }

    /// The packing whose bytes RFC 4175 (4.3) and SMPTE ST 2110-20 (6.2) prescribe for these samples, where it is one of
    /// ours: what a media type means that names no packing.
    pub(super) fn of_pgroup(sampling: &str, depth: &str) -> Option<PixelFormat> {
        match (sampling, depth) {
            ("YCbCr-4:2:2", "10") => Some(PixelFormat::St2110),
            ("YCbCr-4:2:2", "8") => Some(PixelFormat::Uyvy422),
            ("RGB", "8") => Some(PixelFormat::Rgb24),
            // RFC 4175 only: ST 2110-20 carries opacity as a stream of its own.
            ("RGBA", "8") => Some(PixelFormat::Rgba),
            _ => None,
        }
    }
}

impl fmt::Display for PixelFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PixelFormat {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| FormatError::unknown_pixels(text))
    }
}
