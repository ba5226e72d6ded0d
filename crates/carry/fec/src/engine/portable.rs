//! Kernels for any processor: no table, no branch on data, and loops of fixed length that compilers vectorise.

use crate::gf256::{self, REDUCTION};

/// Bytes at a time: two vectors of SSE2, which every x86-64 has, or of NEON.
const LANES: usize = 32;

pub(super) fn xor_into(destination: &mut [u8], source: &[u8]) {
    for (to, from) in destination.iter_mut().zip(source) {
        *to ^= from;
    }
}

/// Masks that take or leave each of the eight multiples x^0 to x^7 of a byte.
fn masks(coefficient: u8) -> [u8; 8] {
    std::array::from_fn(|bit| (coefficient >> bit & 1).wrapping_neg())
}

/// The bytes times a coefficient: the sum of the multiples by powers of x that its bits select.
#[inline(always)]
fn product(mut multiple: [u8; LANES], masks: &[u8; 8]) -> [u8; LANES] {
    let mut sum = [0; LANES];
    for mask in masks {
        for lane in 0..LANES {
            sum[lane] ^= multiple[lane] & mask;
            let carry = (multiple[lane] >> 7).wrapping_neg();
            multiple[lane] = multiple[lane] << 1 ^ carry & REDUCTION;
        }
    }
    sum
}

pub(super) fn multiply_add(destination: &mut [u8], source: &[u8], coefficient: u8) {
    let masks = masks(coefficient);
    let (to, to_rest) = destination.as_chunks_mut::<LANES>();
    let (from, from_rest) = source.as_chunks::<LANES>();
    for (to, from) in to.iter_mut().zip(from) {
        let product = product(*from, &masks);
        for lane in 0..LANES {
            to[lane] ^= product[lane];
        }
    }
    multiply_add_bytes(to_rest, from_rest, coefficient);
}

pub(super) fn multiply(symbol: &mut [u8], coefficient: u8) {
    let masks = masks(coefficient);
    let (chunks, rest) = symbol.as_chunks_mut::<LANES>();
    for chunk in chunks {
        *chunk = product(*chunk, &masks);
    }
    multiply_bytes(rest, coefficient);
}

/// One byte at a time: the rest after the last vector of any kernel.
pub(super) fn multiply_add_bytes(destination: &mut [u8], source: &[u8], coefficient: u8) {
    for (to, from) in destination.iter_mut().zip(source) {
        *to ^= gf256::multiply(*from, coefficient);
    }
}

/// The same for a product in place.
pub(super) fn multiply_bytes(symbol: &mut [u8], coefficient: u8) {
    for byte in symbol {
        *byte = gf256::multiply(*byte, coefficient);
    }
}
