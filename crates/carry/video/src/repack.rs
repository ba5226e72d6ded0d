//! The same samples in another order of bytes: planar 4:2:2 to and from the pgroups of SMPTE ST 2110-20 and v210. It
//! changes no sample and converts no colours; what would need that is refused.
//!
//! Samples of 10 bits in two bytes have six bits above them, which say nothing: packing drops whatever is in these, and
//! unpacking makes them zero. Repacking is the identity on frames that have zeros there.

mod pgroup;
mod uyvy;
mod v210;

use super::layout::planes;
use super::{PixelFormat, RepackError, VideoFormat};

/// Repacks frame after frame of one format into another packing of the same samples.
#[derive(Clone, Copy, Debug)]
pub struct Repacker {
    from: VideoFormat,
    to: VideoFormat,
    way: Way,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Copy,
    PackPgroups,
    UnpackPgroups,
    PackV210,
    UnpackV210,
    PgroupsToV210,
    V210ToPgroups,
    PackUyvy,
    UnpackUyvy,
}

impl Repacker {
    /// From frames of `from` to the same picture as `to`: between `yuv422p10le`, `st2110-20` and `v210` any way,
    /// between `yuv422p` and `uyvy422`, and from any format to itself, which copies.
    ///
    /// # Errors
    ///
    /// Packings whose samples are others, and formats that cannot be in the new packing, such as odd widths.
    pub fn new(from: VideoFormat, to: PixelFormat) -> Result<Repacker, RepackError> {
        use PixelFormat::{St2110, Uyvy422, V210, Yuv422p, Yuv422p10le};
        let way = match (from.pixels(), to) {
            (same, other) if same == other => Way::Copy,
            (Yuv422p10le, St2110) => Way::PackPgroups,
            (St2110, Yuv422p10le) => Way::UnpackPgroups,
            (Yuv422p10le, V210) => Way::PackV210,
            (V210, Yuv422p10le) => Way::UnpackV210,
            (St2110, V210) => Way::PgroupsToV210,
            (V210, St2110) => Way::V210ToPgroups,
            (Yuv422p, Uyvy422) => Way::PackUyvy,
            (Uyvy422, Yuv422p) => Way::UnpackUyvy,
            (from, to) => return Err(RepackError::Unsupported { from, to }),
        };
        Ok(Repacker {
            from,
            to: from.with_pixels(to)?,
            way,
        })
    }

    /// Format of its input.
    pub fn from(&self) -> VideoFormat {
        self.from
    }

    /// What it gives.
    pub fn to(&self) -> VideoFormat {
        self.to
    }

    /// Repacks one frame. Allocates nothing.
    ///
    /// # Errors
    ///
    /// Buffers that have not the length of a frame of their format.
    pub fn run(&self, input: &[u8], output: &mut [u8]) -> Result<(), RepackError> {
        for (given, format) in [(input.len(), self.from), (output.len(), self.to)] {
            if given != format.frame_bytes() {
                return Err(RepackError::Length { given, format });
            }
        }
        let [from, to] = [self.from, self.to].map(|format| planes(format)[0]);
        // Planar lines have no padding, so that planes can be taken whole unless the packing pads its lines.
        match self.way {
            Way::Copy => output.copy_from_slice(input),
            Way::PackPgroups => {
                let (luma, blue, red) = planar(input);
                pgroup::pack(luma, blue, red, output);
            }
            Way::UnpackPgroups => {
                let (luma, blue, red) = planar_mut(output);
                pgroup::unpack(input, luma, blue, red);
            }
            Way::PackUyvy => {
                let (luma, blue, red) = planar(input);
                uyvy::pack(luma, blue, red, output);
            }
            Way::UnpackUyvy => {
                let (luma, blue, red) = planar_mut(output);
                uyvy::unpack(input, luma, blue, red);
            }
            Way::PackV210 => {
                let (luma, blue, red) = planar(input);
                let half = from.stride / 2;
                let planar = luma
                    .chunks_exact(from.stride)
                    .zip(blue.chunks_exact(half))
                    .zip(red.chunks_exact(half));
                for (packed, ((luma, blue), red)) in output.chunks_exact_mut(to.stride).zip(planar) {
                    v210::pack_line(luma, blue, red, packed);
                }
            }
            Way::UnpackV210 => {
                let (luma, blue, red) = planar_mut(output);
                let half = to.stride / 2;
                let planar = luma
                    .chunks_exact_mut(to.stride)
                    .zip(blue.chunks_exact_mut(half))
                    .zip(red.chunks_exact_mut(half));
                for (packed, ((luma, blue), red)) in input.chunks_exact(from.stride).zip(planar) {
                    v210::unpack_line(packed, luma, blue, red);
                }
            }
            Way::PgroupsToV210 => {
                let lines = input.chunks_exact(from.stride);
                for (pgroups, packed) in lines.zip(output.chunks_exact_mut(to.stride)) {
                    v210::line_from_pgroups(pgroups, packed);
                }
            }
            Way::V210ToPgroups => {
                let lines = input.chunks_exact(from.stride);
                for (packed, pgroups) in lines.zip(output.chunks_exact_mut(to.stride)) {
                    v210::line_to_pgroups(packed, pgroups);
                }
            }
        }
        Ok(())
    }
}

/// Luma, Cb and Cr of planar 4:2:2: half of the bytes, a quarter, a quarter.
fn planar(frame: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let (luma, chroma) = frame.split_at(frame.len() / 2);
    let (blue, red) = chroma.split_at(chroma.len() / 2);
    (luma, blue, red)
}

/// The bytes, with zeros up to a whole step or group.
fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut whole = [0; N];
    whole[..bytes.len()].copy_from_slice(bytes);
    whole
}

fn planar_mut(frame: &mut [u8]) -> (&mut [u8], &mut [u8], &mut [u8]) {
    let (luma, chroma) = frame.split_at_mut(frame.len() / 2);
    let (blue, red) = chroma.split_at_mut(chroma.len() / 2);
    (luma, blue, red)
}

#[cfg(test)]
mod tests;
