//! Reads and writes big-endian integers at fixed offsets of a header. It must not know any packet's layout.
//!
//! Callers pass constant offsets into arrays of constant size, so the bounds checks vanish when these are
//! inlined.

#[inline]
pub(crate) fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}

#[inline]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes_at(bytes, at))
}

#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes_at(bytes, at))
}

#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes_at(bytes, at))
}

#[inline]
pub(crate) fn put<const N: usize>(out: &mut [u8], at: usize, field: [u8; N]) {
    out[at..at + N].copy_from_slice(&field);
}

#[inline]
pub(crate) fn put_u16(out: &mut [u8], at: usize, value: u16) {
    put(out, at, value.to_be_bytes());
}

#[inline]
pub(crate) fn put_u32(out: &mut [u8], at: usize, value: u32) {
    put(out, at, value.to_be_bytes());
}

#[inline]
pub(crate) fn put_u64(out: &mut [u8], at: usize, value: u64) {
    put(out, at, value.to_be_bytes());
}
