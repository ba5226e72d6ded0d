//! The Explicit Source FEC Payload ID and the Repair FEC Payload ID of RFC 8681, sections 4.1.2 and 4.1.3. It must not
//! know what follows them in a packet.

use crate::coefficients::Density;

/// Maximum window of a repair, sources: NSS has 12 bits.
pub const MAX_WINDOW: u16 = 0x0fff;

/// Why bytes are not a payload identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadIdError {
    /// Too few bytes.
    #[error("a FEC payload identifier has {needed} bytes, but only {given} were given")]
    Short {
        /// Its length, bytes.
        needed: usize,
        /// Bytes given.
        given: usize,
    },
    /// A repair over no source, or over more than 4,095.
    #[error("a repair covers 1 to 4095 sources, not {0}")]
    Window(u16),
}

fn first<const N: usize>(bytes: &[u8]) -> Result<[u8; N], PayloadIdError> {
    bytes.first_chunk().copied().ok_or(PayloadIdError::Short {
        needed: N,
        given: bytes.len(),
    })
}

/// Which source a packet carries: its Encoding Symbol ID (ESI), which counts sources modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourcePayloadId {
    /// The ESI.
    pub esi: u32,
}

impl SourcePayloadId {
    /// Bytes on the wire.
    pub const LENGTH: usize = 4;

    /// The bytes on the wire.
    pub fn encode(self) -> [u8; Self::LENGTH] {
        self.esi.to_be_bytes()
    }

    /// Reads the identifier from the first bytes of `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<Self, PayloadIdError> {
        first(bytes).map(|bytes| Self {
            esi: u32::from_be_bytes(bytes),
        })
    }
}

/// Key, density and window of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RepairPayloadId {
    key: u16,
    density: Density,
    sources: u16,
    first_esi: u32,
}

impl RepairPayloadId {
    /// Bytes on the wire.
    pub const LENGTH: usize = 8;

    /// A repair over `sources` (NSS, 1 to 4,095) sources from `first_esi` (FSS_ESI) on.
    pub const fn new(
        key: u16,
        density: Density,
        sources: u16,
        first_esi: u32,
    ) -> Result<Self, PayloadIdError> {
        if sources == 0 || sources > MAX_WINDOW {
            return Err(PayloadIdError::Window(sources));
        }
        Ok(Self {
            key,
            density,
            sources,
            first_esi,
        })
    }

    /// The repair key: the seed of the coefficients.
    pub const fn key(self) -> u16 {
        self.key
    }

    /// The density threshold (DT).
    pub const fn density(self) -> Density {
        self.density
    }

    /// Number of sources that it covers (NSS), at least one.
    pub const fn sources(self) -> u16 {
        self.sources
    }

    /// The ESI of the first of them (FSS_ESI). The ESIs may wrap at 2^32.
    pub const fn first_esi(self) -> u32 {
        self.first_esi
    }

    /// The bytes on the wire.
    pub fn encode(self) -> [u8; Self::LENGTH] {
        let density_and_sources = u16::from(self.density.threshold()) << 12 | self.sources;
        let word =
            u64::from(self.key) << 48 | u64::from(density_and_sources) << 32 | u64::from(self.first_esi);
        word.to_be_bytes()
    }

    /// Reads the identifier from the first bytes of `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<Self, PayloadIdError> {
        let word = u64::from_be_bytes(first(bytes)?);
        // Four bits are always a density, so the fallback is never taken.
        let density = Density::new((word >> 44 & 0x0f) as u8).unwrap_or(Density::FULL);
        Self::new(
            (word >> 48) as u16,
            density,
            (word >> 32) as u16 & MAX_WINDOW,
            word as u32,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{PayloadIdError, RepairPayloadId, SourcePayloadId};
    use crate::coefficients::Density;
    use proptest::prelude::*;

    /// The layout of RFC 8681, section 4.1.3: 16 bits of key, 4 of DT, 12 of NSS, 32 of FSS_ESI.
    #[test]
    fn layout_of_the_rfc() {
        let id = RepairPayloadId::new(0x1234, Density::new(10).unwrap(), 0xbcd, 0x89ab_cdef).unwrap();
        let bytes = [0x12, 0x34, 0xab, 0xcd, 0x89, 0xab, 0xcd, 0xef];
        assert_eq!(id.encode(), bytes);
        assert_eq!(RepairPayloadId::decode(&bytes), Ok(id));
        let source = SourcePayloadId { esi: 0x1234_5678 };
        assert_eq!(source.encode(), [0x12, 0x34, 0x56, 0x78]);
    }

    #[test]
    fn refusals() {
        let window = |sources| RepairPayloadId::new(1, Density::FULL, sources, 1);
        assert_eq!(window(0), Err(PayloadIdError::Window(0)));
        assert_eq!(window(4096), Err(PayloadIdError::Window(4096)));
        assert!(window(4095).is_ok());
        assert_eq!(
            RepairPayloadId::decode(&[0xff; 7]),
            Err(PayloadIdError::Short { needed: 8, given: 7 })
        );
        assert_eq!(
            SourcePayloadId::decode(&[]),
            Err(PayloadIdError::Short { needed: 4, given: 0 })
        );
    }

    proptest! {
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..12)) {
            if let Ok(id) = RepairPayloadId::decode(&bytes) {
                prop_assert_eq!(&id.encode()[..], &bytes[..8]);
            }
            if let Ok(id) = SourcePayloadId::decode(&bytes) {
                prop_assert_eq!(&id.encode()[..], &bytes[..4]);
            }
        }
    }
}
