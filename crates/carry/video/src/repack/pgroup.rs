//! Pgroups of 10-bit 4:2:2 (SMPTE ST 2110-20, 6.2; RFC 4175, 4.3): `Cb Y0 Cr Y1`, 10 bits each, the highest bit first,
//! five bytes for two pixels. It knows no lines: groups follow each other without padding.

use super::padded;

/// Sixteen bits each, of which ten count.
const TEN_BITS: u64 = 0x03ff_03ff_03ff_03ff;
const SAMPLE: u64 = 0x3ff;

/// Bytes of eight pixels: as pgroups, as luma, as one kind of chroma.
const PACKED: usize = 20;
const LUMA: usize = 16;
const CHROMA: usize = 8;

/// Packs planes of little-endian samples; the planes hold as many pixels as `packed` holds, an even number.
pub(super) fn pack(luma: &[u8], blue: &[u8], red: &[u8], packed: &mut [u8]) {
    let (luma, last_luma) = luma.as_chunks::<LUMA>();
    let (blue, last_blue) = blue.as_chunks::<CHROMA>();
    let (red, last_red) = red.as_chunks::<CHROMA>();
    let (packed, last_packed) = packed.as_chunks_mut::<PACKED>();
    for (((luma, blue), red), packed) in luma.iter().zip(blue).zip(red).zip(packed) {
        pack_eight(luma, blue, red, packed);
    }
    // What is left goes through buffers of a whole step.
    let mut step = [0; PACKED];
    pack_eight(
        &padded(last_luma),
        &padded(last_blue),
        &padded(last_red),
        &mut step,
    );
    last_packed.copy_from_slice(&step[..last_packed.len()]);
}

/// The reverse of [`pack`]; the bits above each sample come out as zeros.
pub(super) fn unpack(packed: &[u8], luma: &mut [u8], blue: &mut [u8], red: &mut [u8]) {
    let (luma, last_luma) = luma.as_chunks_mut::<LUMA>();
    let (blue, last_blue) = blue.as_chunks_mut::<CHROMA>();
    let (red, last_red) = red.as_chunks_mut::<CHROMA>();
    let (packed, last_packed) = packed.as_chunks::<PACKED>();
    for (((luma, blue), red), packed) in luma.iter_mut().zip(blue).zip(red).zip(packed) {
        unpack_eight(packed, luma, blue, red);
    }
    let (mut luma, mut blue, mut red) = ([0; LUMA], [0; CHROMA], [0; CHROMA]);
    unpack_eight(&padded(last_packed), &mut luma, &mut blue, &mut red);
    last_luma.copy_from_slice(&luma[..last_luma.len()]);
    last_blue.copy_from_slice(&blue[..last_blue.len()]);
    last_red.copy_from_slice(&red[..last_red.len()]);
}

/// Four little-endian samples in one word, the first in the lowest bits.
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

#[inline(always)]
fn pack_eight(luma: &[u8; LUMA], blue: &[u8; CHROMA], red: &[u8; CHROMA], packed: &mut [u8; PACKED]) {
    let luma = [word(&luma[..8]) & TEN_BITS, word(&luma[8..]) & TEN_BITS];
    let (blue, red) = (word(blue) & TEN_BITS, word(red) & TEN_BITS);
    let group = |index: usize| {
        let two = luma[index / 2] >> (32 * (index % 2));
        let (blue, red) = (blue >> (16 * index), red >> (16 * index));
        (blue & SAMPLE) << 30 | (two & SAMPLE) << 20 | (red & SAMPLE) << 10 | two >> 16 & SAMPLE
    };
    let [a, b, c, d] = [group(0), group(1), group(2), group(3)];
    // Four groups of 40 bits are two and a half words of 64: three stores instead of twenty.
    packed[..8].copy_from_slice(&(a << 24 | b >> 16).to_be_bytes());
    packed[8..16].copy_from_slice(&(b << 48 | c << 8 | d >> 32).to_be_bytes());
    packed[16..].copy_from_slice(&(d as u32).to_be_bytes());
}

#[inline(always)]
fn unpack_eight(
    packed: &[u8; PACKED],
    luma: &mut [u8; LUMA],
    blue: &mut [u8; CHROMA],
    red: &mut [u8; CHROMA],
) {
    let big = |at: usize| u64::swap_bytes(word(&packed[at..at + 8]));
    // Each load has its group in the 40 bits that are named; the last one must not read behind the end.
    let [a, b, c, d] = [big(0) >> 24, big(5) >> 24, big(10) >> 24, big(12)];
    let two = |group: u64| group >> 20 & SAMPLE | (group & SAMPLE) << 16;
    luma[..8].copy_from_slice(&(two(a) | two(b) << 32).to_le_bytes());
    luma[8..].copy_from_slice(&(two(c) | two(d) << 32).to_le_bytes());
    let four = |shift: u32| {
        let sample = |group: u64| group >> shift & SAMPLE;
        sample(a) | sample(b) << 16 | sample(c) << 32 | sample(d) << 48
    };
    blue.copy_from_slice(&four(30).to_le_bytes());
    red.copy_from_slice(&four(10).to_le_bytes());
}
