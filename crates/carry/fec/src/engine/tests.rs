//! Every kernel against multiplication bit by bit, and against each other.

use super::{Engine, Kernel};
use proptest::prelude::*;

/// Carry-less multiplication bit by bit with reduction after each shift: shares nothing with the kernels.
fn product_by_bits(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a = if a & 0x80 == 0 { a << 1 } else { a << 1 ^ 0x1d };
        b >>= 1;
    }
    product
}

fn engines() -> Vec<Engine> {
    Kernel::ALL.into_iter().filter_map(Engine::with).collect()
}

#[test]
fn portable_is_everywhere_and_the_detected_one_is_the_last() {
    let engines = engines();
    assert_eq!(engines[0].kernel(), Kernel::Portable);
    assert_eq!(engines.last(), Some(&Engine::detect()));
    #[cfg(target_arch = "aarch64")]
    assert_eq!(Engine::detect().kernel(), Kernel::Neon);
}

/// Every coefficient with every byte, at each place of a vector.
#[test]
fn all_coefficients_and_bytes() {
    let source: Vec<u8> = (0..256 + 79).map(|at| at as u8).collect();
    let before: Vec<u8> = (0..source.len()).map(|at| (at * 7 + 1) as u8).collect();
    for coefficient in 0..=255 {
        let products: Vec<u8> = source
            .iter()
            .map(|byte| product_by_bits(*byte, coefficient))
            .collect();
        let sums: Vec<u8> = before.iter().zip(&products).map(|(a, b)| a ^ b).collect();
        for engine in engines() {
            let mut added = before.clone();
            engine.multiply_add_into(&mut added, &source, coefficient);
            assert_eq!(added, sums, "{engine:?} adds {coefficient} times");
            let mut multiplied = source.clone();
            engine.multiply_in_place(&mut multiplied, coefficient);
            assert_eq!(multiplied, products, "{engine:?} multiplies by {coefficient}");
        }
    }
}

/// Every length up to some vectors and every offset in one, with bytes around that must stay.
#[test]
fn all_lengths_and_alignments() {
    let pattern: Vec<u8> = (0..512_u32).map(|at| (at * at / 3 + 5) as u8).collect();
    for engine in engines() {
        for length in 0..200 {
            for offset in [0, 1, 3, 15, 16, 31, 33, 63] {
                let source = &pattern[offset * 2 + 1..][..length];
                let mut whole = pattern.clone();
                engine.multiply_add_into(&mut whole[offset..offset + length], source, 0x8e);
                for (at, byte) in whole.iter().enumerate() {
                    let inside = (offset..offset + length).contains(&at);
                    let added = if inside {
                        product_by_bits(source[at - offset], 0x8e)
                    } else {
                        0
                    };
                    assert_eq!(*byte, pattern[at] ^ added, "{engine:?} {length} at {offset}");
                }
                let mut whole = pattern.clone();
                engine.xor_into(&mut whole[offset..offset + length], source);
                engine.multiply_in_place(&mut whole[offset..offset + length], 0x53);
                for (at, byte) in whole.iter().enumerate() {
                    let inside = (offset..offset + length).contains(&at);
                    let expected = if inside {
                        product_by_bits(pattern[at] ^ source[at - offset], 0x53)
                    } else {
                        pattern[at]
                    };
                    assert_eq!(*byte, expected, "{engine:?} {length} at {offset}");
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "both symbols have one length")]
fn lengths_must_agree() {
    Engine::detect().xor_into(&mut [0; 2], &[0; 3]);
}

proptest! {
    #[test]
    fn kernels_agree(
        bytes in proptest::collection::vec(any::<(u8, u8)>(), 0..700),
        coefficient: u8,
        shift in 0_usize..64,
    ) {
        let shift = shift.min(bytes.len());
        let (before, source): (Vec<u8>, Vec<u8>) = bytes.into_iter().unzip();
        let expected: Vec<u8> = before[shift..]
            .iter()
            .zip(&source)
            .map(|(to, from)| to ^ product_by_bits(coefficient, *from))
            .collect();
        for engine in engines() {
            let mut sum = before.clone();
            let length = sum.len() - shift;
            engine.multiply_add_into(&mut sum[shift..], &source[..length], coefficient);
            prop_assert_eq!(&sum[shift..], &expected[..]);
            prop_assert_eq!(&sum[..shift], &before[..shift]);
        }
    }
}
