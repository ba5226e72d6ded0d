//! Where the lines of each plane lie in a frame. It knows no colours.

use super::{PixelFormat, VideoFormat};

/// A plane of a frame: lines of equal length, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plane {
    /// First byte in the frame.
    pub(super) offset: usize,
    /// From one line to the next, bytes.
    pub(super) stride: usize,
    /// Lines.
    pub(super) lines: usize,
    /// Lines of the picture for each line of the plane: 2 for the chroma of 4:2:0.
    pub(super) picture_lines: usize,
    /// Bytes of six pixels: no format has a group of pixels that does not divide six.
    pub(super) six_pixels: usize,
}

/// Bytes of a line of `width` pixels in each plane, each plane's lines, lines of the picture for each of them, and bytes
/// of six pixels. Chroma of an odd width or height is rounded up, as ffmpeg does. Nothing here can overflow for
/// sizes that fit into 32 bits.
fn shapes(pixels: PixelFormat, width: u32, height: u32) -> [(u64, u64, usize, usize); 3] {
    let (w, h) = (u64::from(width), u64::from(height));
    let none = (0, 0, 1, 0);
    let packed = |bytes: u64, six| [(bytes, h, 1, six), none, none];
    let (half_w, half_h) = (w.div_ceil(2), h.div_ceil(2));
    match pixels {
        PixelFormat::Gray => packed(w, 6),
        PixelFormat::Yuv420p => [(w, h, 1, 6), (half_w, half_h, 2, 3), (half_w, half_h, 2, 3)],
        PixelFormat::Yuv422p => [(w, h, 1, 6), (half_w, h, 1, 3), (half_w, h, 1, 3)],
        PixelFormat::Yuv444p => [(w, h, 1, 6), (w, h, 1, 6), (w, h, 1, 6)],
        PixelFormat::Yuv420p10le => [
            (2 * w, h, 1, 12),
            (2 * half_w, half_h, 2, 6),
            (2 * half_w, half_h, 2, 6),
        ],
        PixelFormat::Yuv422p10le => [(2 * w, h, 1, 12), (2 * half_w, h, 1, 6), (2 * half_w, h, 1, 6)],
        PixelFormat::Yuv444p10le => [(2 * w, h, 1, 12), (2 * w, h, 1, 12), (2 * w, h, 1, 12)],
        PixelFormat::Uyvy422 => packed(4 * half_w, 12),
        // Lines are padded to a multiple of 48 pixels, which take 128 bytes (Apple's TN2162, "v210").
        PixelFormat::V210 => packed(w.div_ceil(48) * 128, 16),
        PixelFormat::St2110 => packed(5 * half_w, 15),
        PixelFormat::Rgb24 => packed(3 * w, 18),
        PixelFormat::Rgba => packed(4 * w, 24),
        PixelFormat::Rgb48le => packed(6 * w, 36),
        PixelFormat::Rgba64le => packed(8 * w, 48),
    }
}

/// Bytes of a frame.
pub(super) fn frame_bytes(pixels: PixelFormat, width: u32, height: u32) -> u64 {
    shapes(pixels, width, height)
        .iter()
        .map(|(stride, lines, _, _)| stride * lines)
        .sum()
}

/// The planes of a format's frames; those that it does not have are empty.
pub(super) fn planes(format: VideoFormat) -> [Plane; 3] {
    let mut offset = 0;
    shapes(format.pixels(), format.width(), format.height()).map(
        |(stride, lines, picture_lines, six_pixels)| {
            // Lossless: the frame is bounded by MAX_FRAME_BYTES.
            let (stride, lines) = (stride as usize, lines as usize);
            let plane = Plane {
                offset,
                stride,
                lines,
                picture_lines,
                six_pixels,
            };
            offset += stride * lines;
            plane
        },
    )
}
