//! v210: three samples of 10 bits in each little-endian word of 32, six pixels in four words, lines padded to 128 bytes
//! with zeros. Apple's Technical Note TN2162 describes it. It knows one line at a time.

use super::padded;

/// Bytes of six pixels: packed, as luma, as one kind of chroma, as pgroups.
const PACKED: usize = 16;
const LUMA: usize = 12;
const CHROMA: usize = 6;
const PGROUPS: usize = 15;

const SAMPLE: u64 = 0x3ff;

/// Packs a line of little-endian samples and its padding. Values from 0 to 3 and from 1020 to 1023, which SDI keeps for
/// itself, stay as they are: whoever writes v210 for SDI has to keep off them.
pub(super) fn pack_line(luma: &[u8], blue: &[u8], red: &[u8], packed: &mut [u8]) {
    let (luma, last_luma) = luma.as_chunks::<LUMA>();
    let (blue, last_blue) = blue.as_chunks::<CHROMA>();
    let (red, last_red) = red.as_chunks::<CHROMA>();
    let (groups, rest) = packed.as_chunks_mut::<PACKED>();
    let (whole, padding) = groups.split_at_mut(luma.len());
    for (((luma, blue), red), group) in luma.iter().zip(blue).zip(red).zip(whole) {
        pack_six(luma, blue, red, group);
    }
    padding.fill([0; PACKED]);
    rest.fill(0);
    if let Some(group) = padding.first_mut().filter(|_| !last_luma.is_empty()) {
        pack_six(&padded(last_luma), &padded(last_blue), &padded(last_red), group);
    }
}

/// The reverse of [`pack_line`]; padding is not looked at.
pub(super) fn unpack_line(packed: &[u8], luma: &mut [u8], blue: &mut [u8], red: &mut [u8]) {
    let (luma, last_luma) = luma.as_chunks_mut::<LUMA>();
    let (blue, last_blue) = blue.as_chunks_mut::<CHROMA>();
    let (red, last_red) = red.as_chunks_mut::<CHROMA>();
    let (groups, _) = packed.as_chunks::<PACKED>();
    let (whole, rest) = groups.split_at(luma.len());
    for (((luma, blue), red), group) in luma.iter_mut().zip(blue).zip(red).zip(whole) {
        unpack_six(group, luma, blue, red);
    }
    if let Some(group) = rest.first() {
        let (mut luma, mut blue, mut red) = ([0; LUMA], [0; CHROMA], [0; CHROMA]);
        unpack_six(group, &mut luma, &mut blue, &mut red);
        last_luma.copy_from_slice(&luma[..last_luma.len()]);
        last_blue.copy_from_slice(&blue[..last_blue.len()]);
        last_red.copy_from_slice(&red[..last_red.len()]);
    }
}

/// From v210 to pgroups (`pgroup.rs`) without a planar line between: both have the samples in the same order, and only
/// the order of bits differs.
pub(super) fn line_to_pgroups(packed: &[u8], pgroups: &mut [u8]) {
    let (six, last) = pgroups.as_chunks_mut::<PGROUPS>();
    let (groups, _) = packed.as_chunks::<PACKED>();
    let (whole, rest) = groups.split_at(six.len());
    for (group, pgroups) in whole.iter().zip(six) {
        *pgroups = six_to_pgroups(group);
    }
    if let Some(group) = rest.first() {
        last.copy_from_slice(&six_to_pgroups(group)[..last.len()]);
    }
}

/// The reverse of [`line_to_pgroups`], with the padding of the line.
pub(super) fn line_from_pgroups(pgroups: &[u8], packed: &mut [u8]) {
    let (six, last) = pgroups.as_chunks::<PGROUPS>();
    let (groups, rest) = packed.as_chunks_mut::<PACKED>();
    let (whole, padding) = groups.split_at_mut(six.len());
    for (group, pgroups) in whole.iter_mut().zip(six) {
        *group = six_from_pgroups(pgroups);
    }
    padding.fill([0; PACKED]);
    rest.fill(0);
    if let Some(group) = padding.first_mut().filter(|_| !last.is_empty()) {
        *group = six_from_pgroups(&padded(last));
    }
}

/// Three samples of a word, the first of which changes from the lowest bits to the highest or back.
#[inline(always)]
fn turned(word: u32) -> u32 {
    let sample = SAMPLE as u32;
    (word & sample) << 20 | word & sample << 10 | word >> 20 & sample
}

#[inline(always)]
fn six_to_pgroups(group: &[u8; PACKED]) -> [u8; PGROUPS] {
    let words = group.as_chunks::<4>().0.iter();
    let samples = words.fold(0_u128, |samples, word| {
        samples << 30 | u128::from(turned(u32::from_le_bytes(*word)))
    });
    let mut pgroups = [0; PGROUPS];
    pgroups.copy_from_slice(&samples.to_be_bytes()[1..]);
    pgroups
}

#[inline(always)]
fn six_from_pgroups(pgroups: &[u8; PGROUPS]) -> [u8; PACKED] {
    let mut samples = [0; PACKED];
    samples[1..].copy_from_slice(pgroups);
    let samples = u128::from_be_bytes(samples);
    let mut group = [0; PACKED];
    for (index, word) in group.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *word = turned((samples >> (90 - 30 * index)) as u32).to_le_bytes();
    }
    group
}

/// Up to eight bytes as a little-endian number.
#[inline(always)]
fn number<const N: usize>(bytes: &[u8]) -> u64 {
    let mut number = [0; 8];
    number[..N].copy_from_slice(&bytes[..N]);
    u64::from_le_bytes(number)
}

#[inline(always)]
fn pack_six(luma: &[u8; LUMA], blue: &[u8; CHROMA], red: &[u8; CHROMA], group: &mut [u8; PACKED]) {
    // Loads of several samples, and stores of two words: single ones take twice as long.
    let (y, y_rest) = (number::<8>(&luma[..8]), number::<4>(&luma[8..]));
    let (b, b_rest) = (number::<4>(&blue[..4]), number::<2>(&blue[4..]));
    let (r, r_rest) = (number::<4>(&red[..4]), number::<2>(&red[4..]));
    let at = |samples: u64, index: u32| samples >> (16 * index) & SAMPLE;
    let first = at(b, 0) | at(y, 0) << 10 | at(r, 0) << 20 | at(y, 1) << 32 | at(b, 1) << 42 | at(y, 2) << 52;
    let second = at(r, 1)
        | at(y, 3) << 10
        | at(b_rest, 0) << 20
        | at(y_rest, 0) << 32
        | at(r_rest, 0) << 42
        | at(y_rest, 1) << 52;
    group[..8].copy_from_slice(&first.to_le_bytes());
    group[8..].copy_from_slice(&second.to_le_bytes());
}

#[inline(always)]
fn unpack_six(group: &[u8; PACKED], luma: &mut [u8; LUMA], blue: &mut [u8; CHROMA], red: &mut [u8; CHROMA]) {
    let (first, second) = (number::<8>(&group[..8]), number::<8>(&group[8..]));
    let at = |words: u64, bit: u32| words >> bit & SAMPLE;
    let y = at(first, 10) | at(first, 32) << 16 | at(first, 52) << 32 | at(second, 10) << 48;
    let y_rest = at(second, 32) | at(second, 52) << 16;
    luma[..8].copy_from_slice(&y.to_le_bytes());
    luma[8..].copy_from_slice(&y_rest.to_le_bytes()[..4]);
    let b = at(first, 0) | at(first, 42) << 16 | at(second, 20) << 32;
    blue.copy_from_slice(&b.to_le_bytes()[..CHROMA]);
    let r = at(first, 20) | at(second, 0) << 16 | at(second, 42) << 32;
    red.copy_from_slice(&r.to_le_bytes()[..CHROMA]);
}
