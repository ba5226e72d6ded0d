//! How a packet becomes a source symbol: the ADUI of RFC 8681, section 3.2. In front of the packet's bytes stand one
//! of flow identifier and two of length, behind them as many zeros as a symbol has room for. It must not know how
//! symbols are combined.
//!
//! Here each packet is one symbol. Neither the three bytes nor the zeros travel with a source packet: both ends know
//! them.

/// Bytes in front of the packet's: flow identifier and length.
pub const ADUI_HEADER: usize = 3;

/// The most bytes that a packet can have: its length has 16 bits.
pub const MAX_PAYLOAD: usize = 0xffff;

/// A packet of the protected stream (an Application Data Unit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adu<'a> {
    /// Which of the flows that are protected together it belongs to; any number that both ends agree on.
    pub flow: u8,
    /// Its bytes, at most [`MAX_PAYLOAD`].
    pub payload: &'a [u8],
}

/// Why a symbol holds no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AduiError {
    /// It has less than a header.
    #[error("a source symbol has at least 3 bytes, this one {0}")]
    Short(usize),
    /// Its length says more than is there.
    #[error("the symbol says that it holds {said} bytes, and has room for {room}")]
    Length {
        /// Bytes it says.
        said: usize,
        /// Bytes it has room for.
        room: usize,
    },
    /// What stands behind the packet is not zero.
    #[error("what follows the packet in its symbol is not zero")]
    Padding,
}

impl<'a> Adu<'a> {
    /// The three bytes before the packet's own. The length is cut to 16 bits: check for [`MAX_PAYLOAD`] before.
    pub fn header(&self) -> [u8; ADUI_HEADER] {
        let [high, low] = (self.payload.len() as u16).to_be_bytes();
        [self.flow, high, low]
    }

    /// Bytes of the symbol, without zeros.
    pub fn symbol_length(&self) -> usize {
        ADUI_HEADER + self.payload.len()
    }

    /// The packet in a symbol. A symbol that was reconstructed from a forged repair rarely passes for one.
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
