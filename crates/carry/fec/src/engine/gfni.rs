//! Kernel for x86-64 with GFNI and AVX-512. One instruction multiplies 64 bytes by a matrix of 8 x 8 bits, and the product
//! with a coefficient is such a matrix, whatever the polynomial of the field.

// Loads and stores of vectors take pointers. Each is made from an array of just the vector's length, or from a slice with a
// mask of just its length.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use crate::gf256::MATRICES;

const LANES: usize = 64;

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; LANES]) -> __m512i {
    // SAFETY: 64 bytes are there, and the instruction needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(bytes: &mut [u8; LANES], vector: __m512i) {
    // SAFETY: 64 bytes are there, and the instruction needs no alignment.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), vector) }
}

/// As many lanes as a rest of fewer than 64 bytes has.
fn lanes(rest: &[u8]) -> __mmask64 {
    (1 << rest.len()) - 1
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_rest(rest: &[u8]) -> __m512i {
    // SAFETY: only the lanes of the mask are read, and the slice has as many bytes.
    unsafe { _mm512_maskz_loadu_epi8(lanes(rest), rest.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn store_rest(rest: &mut [u8], vector: __m512i) {
    // SAFETY: only the lanes of the mask are written, and the slice has as many bytes.
    unsafe { _mm512_mask_storeu_epi8(rest.as_mut_ptr().cast(), lanes(rest), vector) }
}

/// The matrix of a coefficient, for each eight bytes of a vector.
#[inline]
#[target_feature(enable = "avx512f")]
fn matrix(coefficient: u8) -> __m512i {
    _mm512_set1_epi64(MATRICES[usize::from(coefficient)].cast_signed())
}

#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn xor_into(destination: &mut [u8], source: &[u8]) {
    let (to, to_rest) = destination.as_chunks_mut::<LANES>();
    let (from, from_rest) = source.as_chunks::<LANES>();
    for (to, from) in to.iter_mut().zip(from) {
        let sum = _mm512_xor_si512(load(to), load(from));
        store(to, sum);
    }
    let sum = _mm512_xor_si512(load_rest(to_rest), load_rest(from_rest));
    store_rest(to_rest, sum);
}

#[target_feature(enable = "avx512f,avx512bw,gfni")]
pub(super) fn multiply_add(destination: &mut [u8], source: &[u8], coefficient: u8) {
    let matrix = matrix(coefficient);
    let (to, to_rest) = destination.as_chunks_mut::<LANES>();
    let (from, from_rest) = source.as_chunks::<LANES>();
    for (to, from) in to.iter_mut().zip(from) {
        let product = _mm512_gf2p8affine_epi64_epi8::<0>(load(from), matrix);
        let sum = _mm512_xor_si512(load(to), product);
        store(to, sum);
    }
    let product = _mm512_gf2p8affine_epi64_epi8::<0>(load_rest(from_rest), matrix);
    let sum = _mm512_xor_si512(load_rest(to_rest), product);
    store_rest(to_rest, sum);
}

#[target_feature(enable = "avx512f,avx512bw,gfni")]
pub(super) fn multiply(symbol: &mut [u8], coefficient: u8) {
    let matrix = matrix(coefficient);
    let (chunks, rest) = symbol.as_chunks_mut::<LANES>();
    for chunk in chunks {
        let product = _mm512_gf2p8affine_epi64_epi8::<0>(load(chunk), matrix);
        store(chunk, product);
    }
    let product = _mm512_gf2p8affine_epi64_epi8::<0>(load_rest(rest), matrix);
    store_rest(rest, product);
}
