//! Kernels for 64-bit Arm: table look-ups of 16 bytes at once, as on x86-64.

// Loads and stores of vectors take pointers. Each is made from a slice or an array of just the vector's length.
#![allow(unsafe_code)]

use std::arch::aarch64::*;

use super::portable::{multiply_add_bytes, multiply_bytes};
use crate::gf256::NIBBLES;

#[inline]
#[target_feature(enable = "neon")]
fn load(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: 16 bytes are there, and the instruction needs no alignment.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn store(bytes: &mut [u8; 16], vector: uint8x16_t) {
    // SAFETY: 16 bytes are there, and the instruction needs no alignment.
    unsafe { vst1q_u8(bytes.as_mut_ptr(), vector) }
}

/// The products of one coefficient with the low and the high nibbles.
#[derive(Clone, Copy)]
struct Table {
    low: uint8x16_t,
    high: uint8x16_t,
}

impl Table {
    #[target_feature(enable = "neon")]
    fn new(coefficient: u8) -> Self {
        let table = &NIBBLES[usize::from(coefficient)];
        Self {
            low: load(&table.low),
            high: load(&table.high),
        }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn product(self, bytes: uint8x16_t) -> uint8x16_t {
        veorq_u8(
            vqtbl1q_u8(self.low, vandq_u8(bytes, vdupq_n_u8(0x0f))),
            vqtbl1q_u8(self.high, vshrq_n_u8::<4>(bytes)),
        )
    }
}

#[target_feature(enable = "neon")]
pub(super) fn multiply_add(destination: &mut [u8], source: &[u8], coefficient: u8) {
    let table = Table::new(coefficient);
    // Four vectors at a time, so that the look-ups' latencies overlap.
    let (to, to_rest) = destination.as_chunks_mut::<64>();
    let (from, from_rest) = source.as_chunks::<64>();
    for (to, from) in to.iter_mut().zip(from) {
        let (to, _) = to.as_chunks_mut::<16>();
        let (from, _) = from.as_chunks::<16>();
        for (to, from) in to.iter_mut().zip(from) {
            let sum = veorq_u8(load(to), table.product(load(from)));
            store(to, sum);
        }
    }
    let (to, to_rest) = to_rest.as_chunks_mut::<16>();
    let (from, from_rest) = from_rest.as_chunks::<16>();
    for (to, from) in to.iter_mut().zip(from) {
        let sum = veorq_u8(load(to), table.product(load(from)));
        store(to, sum);
    }
    multiply_add_bytes(to_rest, from_rest, coefficient);
}

#[target_feature(enable = "neon")]
pub(super) fn multiply(symbol: &mut [u8], coefficient: u8) {
    let table = Table::new(coefficient);
    let (chunks, rest) = symbol.as_chunks_mut::<16>();
    for chunk in chunks {
        let product = table.product(load(chunk));
        store(chunk, product);
    }
    multiply_bytes(rest, coefficient);
}
