//! The copy. Loops are in assembly: the compiler replaces a loop that copies by a call of `memmove`, which this is.

use core::arch::asm;
use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_storeu_si128};

/// From this length on, bytes, `rep movsb` is faster than a loop: about its cost to start.
const LONG: usize = 2048;

/// Bytes of one turn of a loop.
const TURN: usize = 64;

/// Copies `length` bytes between ranges that may overlap.
///
/// # Safety
/// `from` is readable and `to` is writable for `length` bytes.
#[inline(always)]
pub unsafe fn copy(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: each call is within the lengths that it names, so within the caller's ranges.
    unsafe {
        match length {
            0 => {}
            1 => *to = *from,
            2..4 => ends::<u16>(to, from, length),
            4..8 => ends::<u32>(to, from, length),
            8..16 => ends::<u64>(to, from, length),
            16..=32 => ends::<Vector<1>>(to, from, length),
            33..=64 => ends::<Vector<2>>(to, from, length),
            65..=128 => ends::<Vector<4>>(to, from, length),
            _ => copy_many(to, from, length),
        }
    }
}

/// Up to 64 bytes, in registers.
#[derive(Clone, Copy)]
struct Vector<const N: usize>([__m128i; N]);

/// What is read whole before it is written.
trait Word: Copy {
    /// # Safety
    /// `from` is readable for the size of the word.
    unsafe fn read(from: *const u8) -> Self;
    /// # Safety
    /// `to` is writable for the size of the word.
    unsafe fn write(self, to: *mut u8);
}

macro_rules! integers_are_words {
    ($($integer:ty)*) => { $(
        impl Word for $integer {
            #[inline(always)]
            unsafe fn read(from: *const u8) -> Self {
                // SAFETY: the caller's promise.
                unsafe { from.cast::<Self>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn write(self, to: *mut u8) {
                // SAFETY: the caller's promise.
                unsafe { to.cast::<Self>().write_unaligned(self) }
            }
        }
    )* };
}

integers_are_words!(u16 u32 u64);

impl<const N: usize> Word for Vector<N> {
    #[inline(always)]
    unsafe fn read(from: *const u8) -> Self {
        // SAFETY: N times 16 bytes are the word's size. x86-64 has SSE2.
        Self(core::array::from_fn(|at| unsafe {
            _mm_loadu_si128(from.add(16 * at).cast())
        }))
    }
    #[inline(always)]
    unsafe fn write(self, to: *mut u8) {
        for (at, part) in self.0.into_iter().enumerate() {
            // SAFETY: N times 16 bytes are the word's size. x86-64 has SSE2.
            unsafe { _mm_storeu_si128(to.add(16 * at).cast(), part) }
        }
    }
}

/// Copies the first and the last word, which together are all bytes.
///
/// # Safety
/// As for [`copy`]; `length` is between one and two words.
#[inline(always)]
unsafe fn ends<W: Word>(to: *mut u8, from: *const u8, length: usize) {
    let last = length - size_of::<W>();
    // SAFETY: both words are within `length`. Both are read before either is written, so the ranges may overlap.
    unsafe {
        let (head, tail) = (W::read(from), W::read(from.add(last)));
        head.write(to);
        tail.write(to.add(last));
    }
}

/// # Safety
/// As for [`copy`]; `length` is over 128.
#[inline(never)]
unsafe fn copy_many(to: *mut u8, from: *const u8, length: usize) {
    let ahead = to.addr().wrapping_sub(from.addr());
    // SAFETY: the branches' own conditions, and the caller's promise.
    unsafe {
        if ahead < length {
            backward(to, from, length);
        } else if length >= LONG && ahead.wrapping_neg() >= length {
            asm!("rep movsb", inout("rcx") length => _, inout("rdi") to => _, inout("rsi") from => _,
                options(nostack, preserves_flags));
        } else {
            forward(to, from, length);
        }
    }
}

/// # Safety
/// As for [`copy`]; `length` is over 64, and `to` does not lie behind `from` within it.
#[inline(always)]
unsafe fn forward(to: *mut u8, from: *const u8, length: usize) {
    let last = length - TURN;
    // SAFETY: the loop copies whole turns that begin before `last`; the last 64 bytes are read before they may be overwritten.
    unsafe {
        let tail = Vector::<4>::read(from.add(last));
        asm!(
            "2:",
            "movups {a}, [{from} + {at}]",
            "movups {b}, [{from} + {at} + 16]",
            "movups {c}, [{from} + {at} + 32]",
            "movups {d}, [{from} + {at} + 48]",
            "movups [{to} + {at}], {a}",
            "movups [{to} + {at} + 16], {b}",
            "movups [{to} + {at} + 32], {c}",
            "movups [{to} + {at} + 48], {d}",
            "add {at}, 64",
            "cmp {at}, {last}",
            "jb 2b",
            at = inout(reg) 0_usize => _, last = in(reg) last, from = in(reg) from, to = in(reg) to,
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
            options(nostack),
        );
        tail.write(to.add(last));
    }
}

/// # Safety
/// As for [`copy`]; `length` is over 64.
#[inline(always)]
unsafe fn backward(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: the loop copies whole turns that end after the first 64 bytes, which are read before they may be overwritten.
    unsafe {
        let head = Vector::<4>::read(from);
        asm!(
            "2:",
            "movups {a}, [{from} + {at} - 16]",
            "movups {b}, [{from} + {at} - 32]",
            "movups {c}, [{from} + {at} - 48]",
            "movups {d}, [{from} + {at} - 64]",
            "movups [{to} + {at} - 16], {a}",
            "movups [{to} + {at} - 32], {b}",
            "movups [{to} + {at} - 48], {c}",
            "movups [{to} + {at} - 64], {d}",
            "sub {at}, 64",
            "cmp {at}, 64",
            "ja 2b",
            at = inout(reg) length => _, from = in(reg) from, to = in(reg) to,
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
            options(nostack),
        );
        head.write(to);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use proptest::prelude::*;

    /// Bytes that tell where they come from.
    fn bytes(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at % 251) as u8).collect()
    }

    /// One buffer, a range of it copied to another place in it; what `copy_within` makes of it is the expected result.
    fn check(length: usize, from: usize, to: usize) {
        let mut buffer = bytes(from.max(to) + length + 64);
        let mut expected = buffer.clone();
        expected.copy_within(from..from + length, to);
        let base = buffer.as_mut_ptr();
        // SAFETY: both ranges lie in the buffer.
        unsafe { super::copy(base.add(to), base.add(from), length) };
        assert!(buffer == expected, "{length} bytes from {from} to {to}");
    }

    #[test]
    fn every_short_length_and_distance() {
        for length in 0..=300 {
            for distance in [0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129, 400] {
                check(length, 5, 5 + distance);
                check(length, 5 + distance, 5);
            }
        }
    }

    proptest! {
        #[test]
        fn any_length_and_overlap(length in 0_usize..9000, from in 0_usize..9000, to in 0_usize..9000) {
            check(length, from, to);
        }
    }
}
