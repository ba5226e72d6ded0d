//! The short tag of packet headers. It must not know their layout.

use siphasher::sip::SipHasher24;

/// Key of the tags in UDP headers: 128 bits for SipHash-2-4.
///
/// SipHash is a MAC with a 64-bit tag: short enough for a small header, and fast enough (tens of nanoseconds per header)
/// for a million packets per second. One guess in 2^64 passes.
#[derive(Clone, Copy)]
pub struct HeaderKey([u8; 16]);

impl HeaderKey {
    /// A key of these bytes, in the order of the SipHash paper (k0 first, each half little-endian).
    #[must_use]
    pub const fn new(key: [u8; 16]) -> Self {
        Self(key)
    }

    /// SipHash-2-4 of `bytes`.
    #[inline]
    #[must_use]
    pub fn tag(&self, bytes: &[u8]) -> u64 {
        SipHasher24::new_with_key(&self.0).hash(bytes)
    }
}

impl std::fmt::Debug for HeaderKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("UdpKey(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appendix A of "SipHash: a fast short-input PRF" (Aumasson and Bernstein, 2012).
    #[test]
    fn siphash_paper_vector() {
        let key = HeaderKey::new(std::array::from_fn(|index| index as u8));
        let input: [u8; 15] = std::array::from_fn(|index| index as u8);
        assert_eq!(key.tag(&input), 0xa129_ca61_49be_45e5);
    }
}
