//! How a packet becomes a source symbol: the ADUI of RFC 8681, section 3.2. One byte of flow identifier and two bytes of
//! length precede the packet's bytes; zeros follow them up to the length of the symbol. It must not know how symbols are
//! combined.
//!
//! Here each packet is one symbol. Neither the three bytes nor the zeros are sent with a source packet: both ends know
//! them.

/// Bytes before the packet's own: flow identifier and length.
pub const ADUI_HEADER: usize = 3;

/// Maximum length of a packet, bytes: the length field has 16 bits.
pub const MAX_PAYLOAD: usize = 0xffff;

/// A packet of the protected stream (an Application Data Unit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adu<'a> {
    /// Its flow among those protected together; any number that both ends agree on.
    pub flow: u8,
    /// Its bytes, at most [`MAX_PAYLOAD`].
    pub payload: &'a [u8],
}

/// Why a symbol holds no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AduiError {
    /// It is shorter than a header.
    #[error("a source symbol has at least 3 bytes, this one has {0}")]
    Short(usize),
    /// Its length field exceeds the symbol.
    #[error("the symbol's length field says {said} bytes, but only {room} follow")]
    Length {
        /// Length field, bytes.
        said: usize,
        /// Bytes after the header.
        room: usize,
    },
    /// The bytes after the packet are not zero.
    #[error("the bytes after the packet in its symbol are not zero")]
    Padding,
}

impl<'a> Adu<'a> {
    /// The three bytes before the packet's own. The length is cut to 16 bits: check [`MAX_PAYLOAD`] first.
    pub fn header(&self) -> [u8; ADUI_HEADER] {
        let [high, low] = (self.payload.len() as u16).to_be_bytes();
        [self.flow, high, low]
    }

    /// Bytes of the symbol, without zeros.
    pub fn symbol_length(&self) -> usize {
        ADUI_HEADER + self.payload.len()
    }

    /// The packet in a symbol. A symbol reconstructed from a forged repair rarely passes as a packet.
    pub fn parse(symbol: &'a [u8]) -> Result<Self, AduiError> {
        let Some(([flow, high, low], rest)) = symbol.split_first_chunk::<ADUI_HEADER>() else {
            return Err(AduiError::Short(symbol.len()));
        };
        let said = usize::from(u16::from_be_bytes([*high, *low]));
        let Some((payload, padding)) = rest.split_at_checked(said) else {
            return Err(AduiError::Length {
                said,
                room: rest.len(),
            });
        };
        if padding.iter().any(|byte| *byte != 0) {
            return Err(AduiError::Padding);
        }
        Ok(Self { flow: *flow, payload })
    }
}

#[cfg(test)]
mod tests {
    use super::{Adu, AduiError};
    use proptest::prelude::*;

    #[test]
    fn refusals() {
        assert_eq!(Adu::parse(&[1, 0]), Err(AduiError::Short(2)));
        assert_eq!(
            Adu::parse(&[1, 0, 2, 9]),
            Err(AduiError::Length { said: 2, room: 1 })
        );
        assert_eq!(Adu::parse(&[1, 0, 1, 9, 0, 3]), Err(AduiError::Padding));
    }

    proptest! {
        #[test]
        fn there_and_back(flow: u8, payload in proptest::collection::vec(any::<u8>(), 0..600), zeros in 0_usize..9) {
            let adu = Adu { flow, payload: &payload };
            let symbol = [&adu.header()[..], &payload, &vec![0; zeros]].concat();
            prop_assert_eq!(Adu::parse(&symbol), Ok(adu));
            prop_assert_eq!(adu.symbol_length() + zeros, symbol.len());
        }

        #[test]
        fn any_bytes(symbol in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(adu) = Adu::parse(&symbol) {
                prop_assert!(symbol.starts_with(&[&adu.header()[..], adu.payload].concat()));
            }
        }
    }
}
