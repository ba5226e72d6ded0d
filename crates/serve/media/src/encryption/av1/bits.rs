//! Bits of an OBU, as AV1 reads them (AV1 Bitstream & Decoding Process Specification, 4.10). It must not know what they mean.

use crate::encryption::error::UnitError;

/// The bits of an OBU's payload from its first byte on.
pub(super) struct ObuBits<'o> {
    payload: &'o [u8],
    /// Bits that have been taken.
    taken: usize,
}

impl<'o> ObuBits<'o> {
    pub(super) fn new(payload: &'o [u8]) -> Self {
        ObuBits { payload, taken: 0 }
    }

    /// Bytes that have been read, the last one in part or in whole: `byte_alignment()` ends there.
    pub(super) fn bytes_read(&self) -> usize {
        self.taken.div_ceil(8)
    }

    /// One bit, as a flag: `f(1)`.
    pub(super) fn flag(&mut self) -> Result<bool, UnitError> {
        let byte = self.payload.get(self.taken / 8).ok_or(UnitError::Truncated)?;
        let bit = byte >> (7 - self.taken % 8) & 1;
        self.taken += 1;
        Ok(bit == 1)
    }

    /// A flag that is there on a condition, and clear otherwise.
    pub(super) fn flag_if(&mut self, is_there: bool) -> Result<bool, UnitError> {
        Ok(is_there && self.flag()?)
    }

    /// Up to 32 bits: `f(n)`.
    pub(super) fn bits(&mut self, count: u32) -> Result<u32, UnitError> {
        let mut value = 0;
        for _ in 0..count {
            value = value << 1 | u32::from(self.flag()?);
        }
        Ok(value)
    }

    /// Any number of bits that do not matter.
    pub(super) fn skip(&mut self, count: u32) -> Result<(), UnitError> {
        let taken = self.taken + count as usize;
        if taken > 8 * self.payload.len() {
            return Err(UnitError::Truncated);
        }
        self.taken = taken;
        Ok(())
    }

    /// A signed number of so many bits, the sign included: `su(n)`.
    pub(super) fn su(&mut self, count: u32) -> Result<i32, UnitError> {
        let value = self.bits(count)? as i32;
        let sign = 1 << (count - 1);
        Ok(if value & sign != 0 {
            value - 2 * sign
        } else {
            value
        })
    }

    /// A number below `count`, which is not 0: `ns(n)`.
    pub(super) fn ns(&mut self, count: u32) -> Result<u32, UnitError> {
        let width = count.ilog2() + 1;
        let short = ((1_u64 << width) - u64::from(count)) as u32;
        let value = self.bits(width - 1)?;
        if value < short {
            return Ok(value);
        }
        let extra = u32::from(self.flag()?);
        Ok((value << 1) - short + extra)
    }

    /// A number with its length in front that does not matter: `uvlc()`.
    pub(super) fn skip_uvlc(&mut self) -> Result<(), UnitError> {
        let mut zeros = 0;
        while !self.flag()? {
            zeros += 1;
        }
        // From 32 on it stands for the largest number, and nothing follows.
        self.skip(if zeros < 32 { zeros } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_specification_says() {
        // ns(5), table of 4.10.7: 00, 01, 10, 110, 111.
        let mut bits = ObuBits::new(&[0b0001_1011, 0b0111_0000]);
        let read: Vec<u32> = (0..5).map(|_| bits.ns(5).unwrap()).collect();
        assert_eq!(read, [0, 1, 2, 3, 4]);
        assert_eq!(bits.bytes_read(), 2);
        // One value takes no bit.
        assert_eq!(ObuBits::new(&[]).ns(1), Ok(0));
        // su(4): 0111 is 7, 1000 is -8, 1111 is -1.
        let mut bits = ObuBits::new(&[0b0111_1000, 0b1111_0000]);
        let read: Vec<i32> = (0..3).map(|_| bits.su(4).unwrap()).collect();
        assert_eq!(read, [7, -8, -1]);
        let mut bits = ObuBits::new(&[0b0010_1100]);
        bits.skip_uvlc().unwrap();
        assert_eq!(bits.bits(3), Ok(0b100));
        assert_eq!(bits.skip(1), Err(UnitError::Truncated));
        assert_eq!(bits.flag(), Err(UnitError::Truncated));
    }
}
