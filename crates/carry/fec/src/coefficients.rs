//! The coefficients of a repair, RFC 8681, section 3.6 (m = 8). They are generated one by one, in the order of the
//! window's sources, so that an encoder can draw each with its source. It must not know where a window begins.

use crate::tinymt32::TinyMt32;

/// The density threshold DT, 0 to 15: a coefficient is not zero with probability (DT + 1) / 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Density(u8);

impl Density {
    /// No coefficient is zero.
    pub const FULL: Density = Density(15);

    /// Creates a threshold; none above 15.
    pub const fn new(threshold: u8) -> Option<Density> {
        if threshold <= 15 {
            Some(Density(threshold))
        } else {
            None
        }
    }

    /// The threshold, 0 to 15.
    pub const fn threshold(self) -> u8 {
        self.0
    }
}

/// The coefficients that belong to a repair key, without end: `generate_coding_coefficients` of RFC 8681.
#[derive(Clone, Debug)]
pub struct Coefficients {
    generator: TinyMt32,
    density: Density,
}

impl Coefficients {
    /// The coefficients of `repair_key`, from that of the window's first source on.
    pub fn new(repair_key: u16, density: Density) -> Self {
        Self {
            generator: TinyMt32::new(u32::from(repair_key)),
            density,
        }
    }

    /// The coefficient of the next source of the window.
    #[inline]
    pub fn draw(&mut self) -> u8 {
        if self.density != Density::FULL && self.generator.next_16() > self.density.0 {
            return 0;
        }
        // Terminates: the generator's low byte does not stay 0, and its sequence is fixed by 16 bits of key.
        loop {
            let coefficient = self.generator.next_256();
            if coefficient != 0 {
                return coefficient;
            }
        }
    }
}
