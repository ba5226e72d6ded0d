//! `memcpy` and `memmove` of static builds for x86-64. musl's copy with `rep movsq`, which takes longer to start than most
//! copies take: `weir origin` answered a fifth fewer requests with it (`benches/e2e/static.sh`). Linking this crate replaces
//! them; it must not know who copies, nor need anything that copies itself.
//!
//! Unsafe code: C's functions on raw pointers are its job.
#![no_std]
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod copy;

#[cfg(target_arch = "x86_64")]
pub use copy::copy;

/// Copies `length` bytes, and returns `to` (ISO C, 7.26.2.1).
///
/// # Safety
/// As for [`copy()`]; the ranges do not overlap.
#[cfg(all(target_arch = "x86_64", target_env = "musl"))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
    // SAFETY: the caller promises the same.
    unsafe { copy(to, from, length) };
    to
}

/// Copies `length` bytes between ranges that may overlap, and returns `to` (ISO C, 7.26.2.3).
///
/// # Safety
/// As for [`copy()`].
#[cfg(all(target_arch = "x86_64", target_env = "musl"))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
    // SAFETY: the caller promises the same.
    unsafe { copy(to, from, length) };
    to
}
