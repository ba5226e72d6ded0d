//! Kernels for x86-64. A byte shuffle looks up 16 or 32 nibbles at once in a table of 16 products; the product of a
//! byte is the sum of those of its two nibbles.

// Loads and stores of vectors take pointers. Each is made from a slice or an array of just the vector's length.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::portable::{multiply_add_bytes, multiply_bytes};
use crate::gf256::NIBBLES;

/// Two vectors at a time, so that the loads of one overlap the shuffles of the other.
const PAIR: usize = 64;

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: 32 bytes are there, and the instruction needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(bytes: &mut [u8; 32], vector: __m256i) {
    // SAFETY: 32 bytes are there, and the instruction needs no alignment.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), vector) }
}

#[inline]
#[target_feature(enable = "ssse3")]
fn load_16(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: 16 bytes are there, and the instruction needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "ssse3")]
fn store_16(bytes: &mut [u8; 16], vector: __m128i) {
    // SAFETY: 16 bytes are there, and the instruction needs no alignment.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), vector) }
}

/// The products of one coefficient with the low and the high nibbles, in both halves of a vector.
#[derive(Clone, Copy)]
struct Table {
    low: __m256i,
    high: __m256i,
}

impl Table {
    #[target_feature(enable = "avx2")]
    fn new(coefficient: u8) -> Self {
        let table = &NIBBLES[usize::from(coefficient)];
        Self {
            low: _mm256_broadcastsi128_si256(load_16(&table.low)),
            high: _mm256_broadcastsi128_si256(load_16(&table.high)),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn product(self, bytes: __m256i) -> __m256i {
        let nibble = _mm256_set1_epi8(0x0f);
        let low = _mm256_and_si256(bytes, nibble);
        let high = _mm256_and_si256(_mm256_srli_epi64::<4>(bytes), nibble);
        _mm256_xor_si256(
            _mm256_shuffle_epi8(self.low, low),
            _mm256_shuffle_epi8(self.high, high),
        )
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn xor_into(destination: &mut [u8], source: &[u8]) {
    let (to, to_rest) = destination.as_chunks_mut::<32>();
    let (from, from_rest) = source.as_chunks::<32>();
    for (to, from) in to.iter_mut().zip(from) {
        let sum = _mm256_xor_si256(load(to), load(from));
        store(to, sum);
    }
    for (to, from) in to_rest.iter_mut().zip(from_rest) {
        *to ^= from;
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn multiply_add_avx2(destination: &mut [u8], source: &[u8], coefficient: u8) {
    let table = Table::new(coefficient);
    let (pairs, to_rest) = destination.as_chunks_mut::<PAIR>();
    let (from_pairs, from_rest) = source.as_chunks::<PAIR>();
    for (to, from) in pairs.iter_mut().zip(from_pairs) {
        let (to, _) = to.as_chunks_mut::<32>();
        let (from, _) = from.as_chunks::<32>();
        let first = table.product(load(&from[0]));
        let second = table.product(load(&from[1]));
        let first = _mm256_xor_si256(load(&to[0]), first);
        let second = _mm256_xor_si256(load(&to[1]), second);
        store(&mut to[0], first);
        store(&mut to[1], second);
    }
    multiply_add_ssse3(to_rest, from_rest, coefficient);
}

#[target_feature(enable = "avx2")]
pub(super) fn multiply_avx2(symbol: &mut [u8], coefficient: u8) {
    let table = Table::new(coefficient);
    let (chunks, rest) = symbol.as_chunks_mut::<32>();
    for chunk in chunks {
        let product = table.product(load(chunk));
        store(chunk, product);
    }
    multiply_ssse3(rest, coefficient);
}

#[inline]
#[target_feature(enable = "ssse3")]
fn product_16(low: __m128i, high: __m128i, bytes: __m128i) -> __m128i {
    let nibble = _mm_set1_epi8(0x0f);
    let lower = _mm_and_si128(bytes, nibble);
    let upper = _mm_and_si128(_mm_srli_epi64::<4>(bytes), nibble);
    _mm_xor_si128(_mm_shuffle_epi8(low, lower), _mm_shuffle_epi8(high, upper))
}

#[target_feature(enable = "ssse3")]
pub(super) fn multiply_add_ssse3(destination: &mut [u8], source: &[u8], coefficient: u8) {
    let table = &NIBBLES[usize::from(coefficient)];
    let (low, high) = (load_16(&table.low), load_16(&table.high));
    let (to, to_rest) = destination.as_chunks_mut::<16>();
    let (from, from_rest) = source.as_chunks::<16>();
    for (to, from) in to.iter_mut().zip(from) {
        let sum = _mm_xor_si128(load_16(to), product_16(low, high, load_16(from)));
        store_16(to, sum);
    }
    multiply_add_bytes(to_rest, from_rest, coefficient);
}

#[target_feature(enable = "ssse3")]
pub(super) fn multiply_ssse3(symbol: &mut [u8], coefficient: u8) {
    let table = &NIBBLES[usize::from(coefficient)];
    let (low, high) = (load_16(&table.low), load_16(&table.high));
    let (chunks, rest) = symbol.as_chunks_mut::<16>();
    for chunk in chunks {
        let product = product_16(low, high, load_16(chunk));
        store_16(chunk, product);
    }
    multiply_bytes(rest, coefficient);
}
