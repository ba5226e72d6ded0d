//! Lines of pixels as the bytes of a format, and single pixels read back. It must not know what the picture shows.

use super::colour::Pixel;
use super::layout::{Plane, planes};
use super::{PixelFormat, VideoFormat};

/// A line of pixels, in the bytes that it has in each plane of its format. It may be longer than a line of the picture,
/// of which it then gives windows: a picture moves by taking another window, without encoding anything anew.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pixels: PixelFormat,
    planes: [Vec<u8>; 3],
}

/// Windows begin at multiples of this many pixels, since no format has a group that does not divide it.
pub(super) const WINDOW_STEP: usize = 6;

impl Row {
    /// An empty row.
    pub(super) fn new(pixels: PixelFormat) -> Row {
        Row {
            pixels,
            planes: [Vec::new(), Vec::new(), Vec::new()],
        }
    }

    /// Replaces the row by these pixels; allocates only if none so long was there. Where pixels share their chroma, the
    /// first of them gives it. A group at the end that is not full is filled with zeros.
    pub(super) fn encode(&mut self, line: &[Pixel]) {
        for plane in &mut self.planes {
            plane.clear();
        }
        let [first, second, third] = &mut self.planes;
        let byte = |sample: u16| sample.to_le_bytes()[0];
        match self.pixels {
            PixelFormat::Gray => first.extend(line.iter().map(|pixel| byte(pixel[0]))),
            PixelFormat::Yuv420p | PixelFormat::Yuv422p => {
                first.extend(line.iter().map(|pixel| byte(pixel[0])));
                second.extend(line.iter().step_by(2).map(|pixel| byte(pixel[1])));
                third.extend(line.iter().step_by(2).map(|pixel| byte(pixel[2])));
            }
            PixelFormat::Yuv444p => {
                first.extend(line.iter().map(|pixel| byte(pixel[0])));
                second.extend(line.iter().map(|pixel| byte(pixel[1])));
                third.extend(line.iter().map(|pixel| byte(pixel[2])));
            }
            PixelFormat::Yuv420p10le | PixelFormat::Yuv422p10le => {
                first.extend(line.iter().flat_map(|pixel| pixel[0].to_le_bytes()));
                second.extend(line.iter().step_by(2).flat_map(|pixel| pixel[1].to_le_bytes()));
                third.extend(line.iter().step_by(2).flat_map(|pixel| pixel[2].to_le_bytes()));
            }
            PixelFormat::Yuv444p10le => {
                first.extend(line.iter().flat_map(|pixel| pixel[0].to_le_bytes()));
                second.extend(line.iter().flat_map(|pixel| pixel[1].to_le_bytes()));
                third.extend(line.iter().flat_map(|pixel| pixel[2].to_le_bytes()));
            }
            PixelFormat::Uyvy422 => {
                for [a, b] in pairs(line) {
                    first.extend([byte(a[1]), byte(a[0]), byte(a[2]), byte(b[0])]);
                }
            }
            PixelFormat::St2110 => {
                for [a, b] in pairs(line) {
                    let group = [a[1], a[0], a[2], b[0]]
                        .iter()
                        .fold(0_u64, |group, sample| group << 10 | u64::from(*sample));
                    first.extend(&group.to_be_bytes()[3..]);
                }
            }
            PixelFormat::V210 => {
                for six in line.chunks(WINDOW_STEP) {
                    let mut samples = [0_u16; 12];
                    for ([a, b], four) in pairs(six).zip(samples.chunks_exact_mut(4)) {
                        four.copy_from_slice(&[a[1], a[0], a[2], b[0]]);
                    }
                    for three in samples.chunks_exact(3) {
                        let word = three
                            .iter()
                            .rev()
                            .fold(0_u32, |word, sample| word << 10 | u32::from(*sample));
                        first.extend(word.to_le_bytes());
                    }
                }
            }
            PixelFormat::Rgb24 => first.extend(line.iter().flat_map(|pixel| pixel.map(byte))),
            PixelFormat::Rgba => {
                first.extend(line.iter().flat_map(|&[r, g, b]| [r, g, b, 0xff].map(byte)));
            }
            PixelFormat::Rgb48le => {
                first.extend(line.iter().flatten().flat_map(|sample| sample.to_le_bytes()));
            }
            PixelFormat::Rgba64le => {
                let pixels = line.iter().flat_map(|&[r, g, b]| [r, g, b, 0xffff]);
                first.extend(pixels.flat_map(u16::to_le_bytes));
            }
        }
    }

    /// Writes lines `lines` of a frame, each the window of this row that begins `from` pixels in it. `from` is a multiple
    /// of [`WINDOW_STEP`], and the row has the width of the picture behind it.
    pub(super) fn write(
        &self,
        format: VideoFormat,
        frame: &mut [u8],
        lines: std::ops::Range<usize>,
        from: usize,
    ) {
        for (plane, bytes) in planes(format).iter().zip(&self.planes) {
            // Chroma of 4:2:0 belongs to even lines.
            let lines = lines.start.div_ceil(plane.picture_lines)
                ..lines.end.div_ceil(plane.picture_lines).min(plane.lines);
            let bytes = &bytes[from / WINDOW_STEP * plane.six_pixels..];
            for line in lines {
                let start = plane.offset + line * plane.stride;
                self.write_line(format, &mut frame[start..start + plane.stride], bytes);
            }
        }
    }

    fn write_line(&self, format: VideoFormat, line: &mut [u8], bytes: &[u8]) {
        if self.pixels != PixelFormat::V210 {
            line.copy_from_slice(&bytes[..line.len()]);
            return;
        }
        // The window may end inside a group, and the line is padded.
        let width = format.width() as usize;
        let used = width.div_ceil(WINDOW_STEP) * 16;
        let (picture, padding) = line.split_at_mut(used);
        picture.copy_from_slice(&bytes[..used]);
        padding.fill(0);
        let kept = match width % WINDOW_STEP {
            2 => 4 * 10 + 2,
            4 => 8 * 10 + 4,
            _ => return,
        };
        // Three samples take 30 bits of each 32, hence the 2 for each whole word.
        if let Some(group) = picture.last_chunk_mut::<16>() {
            let samples = u128::from_le_bytes(*group) & ((1 << kept) - 1);
            *group = samples.to_le_bytes();
        }
    }
}

/// Pixels in twos; an odd one at the end stands for both.
fn pairs(line: &[Pixel]) -> impl Iterator<Item = [Pixel; 2]> {
    line.chunks(2).map(|pair| [pair[0], pair[pair.len() - 1]])
}

/// Reads the brightness of single pixels: luma, or green in RGB.
pub(super) struct Brightness<'f> {
    pixels: PixelFormat,
    plane: Plane,
    frame: &'f [u8],
}

impl<'f> Brightness<'f> {
    /// None unless `frame` is a whole one.
    pub(super) fn of(format: VideoFormat, frame: &'f [u8]) -> Option<Self> {
        let [plane, ..] = planes(format);
        (frame.len() == format.frame_bytes()).then_some(Brightness {
            pixels: format.pixels(),
            plane,
            frame,
        })
    }

    /// The sample at column `x` of line `y`, both inside the picture.
    pub(super) fn at(&self, x: usize, y: usize) -> u16 {
        let start = self.plane.offset + y * self.plane.stride;
        let line = &self.frame[start..start + self.plane.stride];
        let little = |at: usize| u16::from_le_bytes([line[at], line[at + 1]]);
        match self.pixels {
            PixelFormat::Gray | PixelFormat::Yuv420p | PixelFormat::Yuv422p | PixelFormat::Yuv444p => {
                u16::from(line[x])
            }
            PixelFormat::Yuv420p10le | PixelFormat::Yuv422p10le | PixelFormat::Yuv444p10le => little(2 * x),
            PixelFormat::Uyvy422 => u16::from(line[2 * x + 1]),
            PixelFormat::St2110 => {
                let group = &line[x / 2 * 5..];
                // Bits 10 to 19 of the group, or 30 to 39.
                if x.is_multiple_of(2) {
                    u16::from_be_bytes([group[1] & 0x3f, group[2]]) >> 4
                } else {
                    u16::from_be_bytes([group[3] & 0x03, group[4]])
                }
            }
            PixelFormat::V210 => {
                // Luma is every second sample of a group, from the second on.
                let sample = 2 * (x % WINDOW_STEP) + 1;
                let word = x / WINDOW_STEP * 16 + sample / 3 * 4;
                let word = u32::from_le_bytes([line[word], line[word + 1], line[word + 2], line[word + 3]]);
                (word >> (sample % 3 * 10) & 0x3ff) as u16
            }
            PixelFormat::Rgb24 => u16::from(line[3 * x + 1]),
            PixelFormat::Rgba => u16::from(line[4 * x + 1]),
            PixelFormat::Rgb48le => little(6 * x + 2),
            PixelFormat::Rgba64le => little(8 * x + 2),
        }
    }
}
