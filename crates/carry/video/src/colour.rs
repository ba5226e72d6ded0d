//! Colours as the samples of a pixel format: levels and matrix of ITU-R BT.709, whatever the size of the picture. It
//! knows no places in a frame.

use super::PixelFormat;

/// The components of one pixel at the depth of its format: Y', Cb, Cr, or R', G', B', or brightness first and the rest
/// unused.
pub(super) type Pixel = [u16; 3];

/// A colour as R', G', B' from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Colour(pub(super) [f64; 3]);

impl Colour {
    pub(super) const BLACK: Colour = Colour([0.0; 3]);
    pub(super) const WHITE: Colour = Colour([1.0; 3]);

    /// A colour without colour, from 0 (black) to 1 (white).
    pub(super) fn grey(level: f64) -> Colour {
        Colour([level; 3])
    }

    /// Its samples in a format. Luma and chroma are those of BT.709-6, items 3.2 to 3.4 and 4.6, in the narrow range:
    /// Y' from 16 to 235 and Cb, Cr from 16 to 240 at 8 bits, and four times that at 10. RGB and grey have the full range.
    pub(super) fn pixel(self, pixels: PixelFormat) -> Pixel {
        let Colour([r, g, b]) = self;
        let luma = 0.2126 * r + 0.7152 * g + 0.0722 * b;
        let full = f64::from((1_u32 << pixels.depth()) - 1);
        let sampling = pixels.sampling();
        if sampling.is_yuv() {
            let step = f64::from(1_u32 << (pixels.depth() - 8));
            let chroma = |difference: f64| round((224.0 * difference + 128.0) * step);
            [
                round((219.0 * luma + 16.0) * step),
                chroma((b - luma) / 1.8556),
                chroma((r - luma) / 1.5748),
            ]
        } else if pixels == PixelFormat::Gray {
            [round(full * luma), 0, 0]
        } else {
            [round(full * r), round(full * g), round(full * b)]
        }
    }
}

/// To the nearest whole number; what it is given is never negative and never above 65,535.
fn round(value: f64) -> u16 {
    (value + 0.5).floor() as u16
}

/// A sample that grows with brightness, where it is black, where white: luma, or green in RGB.
pub(super) fn brightness_range(pixels: PixelFormat) -> (u16, u16) {
    let of = |colour: Colour| brightness(colour.pixel(pixels), pixels);
    (of(Colour::BLACK), of(Colour::WHITE))
}

/// That sample of a pixel.
pub(super) fn brightness(pixel: Pixel, pixels: PixelFormat) -> u16 {
    if pixels.sampling().is_yuv() || pixels == PixelFormat::Gray {
        pixel[0]
    } else {
        pixel[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTHS: [(Colour, Pixel); 8] = [
        (Colour([0.75, 0.75, 0.75]), [721, 512, 512]),
        (Colour([0.75, 0.75, 0.0]), [674, 176, 543]),
        (Colour([0.0, 0.75, 0.75]), [581, 589, 176]),
        (Colour([0.0, 0.75, 0.0]), [534, 253, 207]),
        (Colour([0.75, 0.0, 0.75]), [251, 771, 817]),
        (Colour([0.75, 0.0, 0.0]), [204, 435, 848]),
        (Colour([0.0, 0.0, 0.75]), [111, 848, 481]),
        (Colour::BLACK, [64, 512, 512]),
    ];

    #[test]
    fn bars_have_the_published_levels() {
        // The 10-bit table of the 75 % bars in SMPTE RP 219 (ARIB STD-B28), which is BT.709.
        for (colour, samples) in TENTHS {
            assert_eq!(colour.pixel(PixelFormat::Yuv422p10le), samples, "{colour:?}");
        }
        assert_eq!(Colour::WHITE.pixel(PixelFormat::St2110), [940, 512, 512]);
        assert_eq!(Colour::grey(0.4).pixel(PixelFormat::V210), [414, 512, 512]);
    }

    #[test]
    fn levels_of_eight_bits_and_of_rgb() {
        assert_eq!(Colour::BLACK.pixel(PixelFormat::Yuv420p), [16, 128, 128]);
        assert_eq!(Colour::WHITE.pixel(PixelFormat::Uyvy422), [235, 128, 128]);
        assert_eq!(Colour::WHITE.pixel(PixelFormat::Rgb24), [255; 3]);
        assert_eq!(Colour::WHITE.pixel(PixelFormat::Rgba64le), [65535; 3]);
        assert_eq!(Colour::BLACK.pixel(PixelFormat::Gray), [0; 3]);
        assert_eq!(brightness_range(PixelFormat::Gray), (0, 255));
        assert_eq!(brightness_range(PixelFormat::Yuv444p10le), (64, 940));
        assert_eq!(brightness_range(PixelFormat::Rgb48le), (0, 65535));
    }
}
