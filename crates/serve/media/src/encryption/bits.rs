//! Bits of a NAL unit, as H.264 (7.2, 7.4.1) and H.265 (7.2, 7.4.2) read them. It must not know what they mean.

use super::error::UnitError;

/// The bits of a NAL unit from its first byte on, without the bytes that prevent the emulation of start codes.
pub(super) struct NalBits<'n> {
    nal: &'n [u8],
    /// Bytes taken from the NAL unit, with those that were passed over.
    taken: usize,
    /// Zero bytes right before, two at most.
    zeros: u8,
    byte: u8,
    /// Bits of `byte` that have not been taken.
    left: u32,
}

impl<'n> NalBits<'n> {
    pub(super) fn new(nal: &'n [u8]) -> Self {
        NalBits {
            nal,
            taken: 0,
            zeros: 0,
            byte: 0,
            left: 0,
        }
    }

    /// Bytes of the NAL unit that have been read, the last one in part or in whole.
    pub(super) fn bytes_read(&self) -> usize {
        self.taken
    }

    fn next_byte(&mut self) -> Result<u8, UnitError> {
        let at = |place: usize| self.nal.get(place).copied().ok_or(UnitError::Truncated);
        let mut byte = at(self.taken)?;
        if self.zeros == 2 && byte == 3 {
            byte = at(self.taken + 1)?;
            self.taken += 1;
            self.zeros = 0;
        }
        self.taken += 1;
        self.zeros = if byte == 0 { (self.zeros + 1).min(2) } else { 0 };
        Ok(byte)
    }

    /// One bit, as a flag: `u(1)`.
    pub(super) fn flag(&mut self) -> Result<bool, UnitError> {
        if self.left == 0 {
            self.byte = self.next_byte()?;
            self.left = 8;
        }
        self.left -= 1;
        Ok(self.byte >> self.left & 1 == 1)
    }

    /// Up to 32 bits: `u(n)`.
    pub(super) fn bits(&mut self, count: u32) -> Result<u32, UnitError> {
        let mut value = 0;
        for _ in 0..count {
            value = value << 1 | u32::from(self.flag()?);
        }
        Ok(value)
    }

    /// Any number of bits that do not matter.
    pub(super) fn skip(&mut self, count: u32) -> Result<(), UnitError> {
        for _ in 0..count {
            self.flag()?;
        }
        Ok(())
    }

    /// An unsigned Exp-Golomb code: `ue(v)`.
    pub(super) fn ue(&mut self) -> Result<u32, UnitError> {
        let mut zeros = 0;
        while !self.flag()? {
            zeros += 1;
            if zeros == 32 {
                return Err(UnitError::Range {
                    field: "an Exp-Golomb code",
                });
            }
        }
        let rest = self.bits(zeros)?;
        Ok(((1_u64 << zeros) - 1 + u64::from(rest)) as u32)
    }

    /// So many Exp-Golomb codes that do not matter, signed or not.
    pub(super) fn skip_codes(&mut self, count: u32) -> Result<(), UnitError> {
        for _ in 0..count {
            self.ue()?;
        }
        Ok(())
    }

    /// An unsigned code of a field that has this value at most.
    pub(super) fn ue_up_to(&mut self, most: u32, field: &'static str) -> Result<u32, UnitError> {
        let value = self.ue()?;
        if value > most {
            return Err(UnitError::Range { field });
        }
        Ok(value)
    }

    /// A signed Exp-Golomb code: `se(v)`.
    pub(super) fn se(&mut self) -> Result<i32, UnitError> {
        let code = i64::from(self.ue()?);
        let value = if code % 2 == 0 { -(code / 2) } else { code / 2 + 1 };
        Ok(value as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_specifications_table() {
        // H.264, table 9-2 and 9-3: 1, 010, 011, 00100, 00101, 00110, 00111, 0001000.
        let bytes = [0b1010_0110, 0b0100_0010, 0b1001_1000, 0b1110_0010, 0b0000_0000];
        let mut bits = NalBits::new(&bytes);
        let codes: Vec<u32> = (0..8).map(|_| bits.ue().unwrap()).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7]);
        let mut bits = NalBits::new(&bytes);
        let codes: Vec<i32> = (0..8).map(|_| bits.se().unwrap()).collect();
        assert_eq!(codes, [0, 1, -1, 2, -2, 3, -3, 4]);
    }

    #[test]
    fn bytes_against_start_codes_are_passed_over_and_counted() {
        let nal = [0, 0, 3, 1, 0, 0, 3, 0, 3, 3];
        let mut bits = NalBits::new(&nal);
        assert_eq!(bits.bits(24), Ok(1));
        assert_eq!(bits.bytes_read(), 4);
        assert_eq!(bits.bits(24), Ok(0));
        assert_eq!(bits.bytes_read(), 8);
        assert_eq!(bits.bits(4), Ok(0));
        assert_eq!(bits.bytes_read(), 9);
        assert_eq!(bits.bits(12), Ok(0x303));
        assert_eq!(bits.flag(), Err(UnitError::Truncated));
        assert_eq!(NalBits::new(&[0, 0, 3]).bits(24), Err(UnitError::Truncated));
    }

    #[test]
    fn codes_that_are_too_long_are_refused() {
        assert!(matches!(NalBits::new(&[0xff; 1]).ue(), Ok(0)));
        // With bytes against start codes in between.
        let zeros = [0, 0, 3, 0, 0, 3, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert!(matches!(NalBits::new(&zeros).ue(), Err(UnitError::Range { .. })));
        let most = [0, 0, 3, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(NalBits::new(&most).ue(), Ok(u32::MAX - 1));
    }
}
