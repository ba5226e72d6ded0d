//! Packed 8-bit 4:2:2, `Cb Y0 Cr Y1`: also the pgroup of SMPTE ST 2110-20 for 8 bits. It knows no lines.

/// Bytes of sixteen pixels: as luma, as one kind of chroma, packed. Loops over so many are what the compiler makes vector
/// instructions of.
const LUMA: usize = 16;
const CHROMA: usize = 8;
const PACKED: usize = 32;

/// Packs planes of an even number of pixels.
pub(super) fn pack(luma: &[u8], blue: &[u8], red: &[u8], packed: &mut [u8]) {
    let (luma, last_luma) = luma.as_chunks::<LUMA>();
    let (blue, last_blue) = blue.as_chunks::<CHROMA>();
    let (red, last_red) = red.as_chunks::<CHROMA>();
    let (packed, last_packed) = packed.as_chunks_mut::<PACKED>();
    for (((luma, blue), red), packed) in luma.iter().zip(blue).zip(red).zip(packed) {
        for pair in 0..CHROMA {
            packed[4 * pair] = blue[pair];
            packed[4 * pair + 1] = luma[2 * pair];
            packed[4 * pair + 2] = red[pair];
            packed[4 * pair + 3] = luma[2 * pair + 1];
        }
    }
    let planes = last_luma.as_chunks::<2>().0.iter().zip(last_blue).zip(last_red);
    for (group, ((luma, blue), red)) in last_packed.as_chunks_mut::<4>().0.iter_mut().zip(planes) {
        *group = [*blue, luma[0], *red, luma[1]];
    }
}

/// The reverse of [`pack`].
pub(super) fn unpack(packed: &[u8], luma: &mut [u8], blue: &mut [u8], red: &mut [u8]) {
    let (luma, last_luma) = luma.as_chunks_mut::<LUMA>();
    let (blue, last_blue) = blue.as_chunks_mut::<CHROMA>();
    let (red, last_red) = red.as_chunks_mut::<CHROMA>();
    let (packed, last_packed) = packed.as_chunks::<PACKED>();
    for (((luma, blue), red), packed) in luma.iter_mut().zip(blue).zip(red).zip(packed) {
        for pixel in 0..LUMA {
            luma[pixel] = packed[2 * pixel + 1];
        }
        for pair in 0..CHROMA {
            blue[pair] = packed[4 * pair];
            red[pair] = packed[4 * pair + 2];
        }
    }
    let planes = last_luma
        .as_chunks_mut::<2>()
        .0
        .iter_mut()
        .zip(last_blue)
        .zip(last_red);
    for ([b, first, r, second], ((luma, blue), red)) in last_packed.as_chunks::<4>().0.iter().zip(planes) {
        *luma = [*first, *second];
        (*blue, *red) = (*b, *r);
    }
}
