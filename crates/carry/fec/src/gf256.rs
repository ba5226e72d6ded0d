//! The field GF(256) of RFC 8681, section 3.7: bytes as polynomials over GF(2), modulo
//! x^8 + x^4 + x^3 + x^2 + 1 (0x11d). One byte at a time; [`crate::Engine`] handles whole symbols.
//! It must not know what the bytes mean.

/// The polynomial without its x^8: what is subtracted when a product grows to nine bits.
pub(crate) const REDUCTION: u8 = 0x1d;

/// Twice 255 powers of x, so that a sum of two logarithms needs no reduction.
const EXP: [u8; 510] = powers();
const LOG: [u8; 256] = logarithms();
const INVERSE: [u8; 256] = inverses();

/// The products of each coefficient with the 16 low and the 16 high nibbles: the tables of a byte shuffle.
pub(crate) static NIBBLES: [NibbleTable; 256] = nibble_tables();

/// The product with each coefficient as a matrix over GF(2), as GFNI's affine instruction takes it: the row of bit i of the
/// product is byte 7 - i; its bit j says whether bit j of the factor counts.
pub(crate) static MATRICES: [u64; 256] = matrices();

/// The product of one coefficient with a byte is `low[byte & 15] ^ high[byte >> 4]`.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(crate) struct NibbleTable {
    pub(crate) low: [u8; 16],
    pub(crate) high: [u8; 16],
}

/// The product of two elements.
#[inline]
pub const fn multiply(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    EXP[LOG[a as usize] as usize + LOG[b as usize] as usize]
}

/// The element that gives 1 when multiplied with `a`; none for 0.
#[inline]
pub const fn inverse(a: u8) -> Option<u8> {
    if a == 0 { None } else { Some(INVERSE[a as usize]) }
}

const fn times_x(a: u8) -> u8 {
    (a << 1) ^ (if a & 0x80 == 0 { 0 } else { REDUCTION })
}

const fn powers() -> [u8; 510] {
    let mut table = [0; 510];
    let mut power = 1;
    let mut exponent = 0;
    while exponent < 255 {
        table[exponent] = power;
        table[exponent + 255] = power;
        power = times_x(power);
        exponent += 1;
    }
    table
}

const fn logarithms() -> [u8; 256] {
    let mut table = [0; 256];
    let mut exponent = 0;
    while exponent < 255 {
        table[EXP[exponent] as usize] = exponent as u8;
        exponent += 1;
    }
    table
}

const fn inverses() -> [u8; 256] {
    let mut table = [0; 256];
    let mut element = 1;
    while element < 256 {
        table[element] = EXP[255 - LOG[element] as usize];
        element += 1;
    }
    table
}

const fn nibble_tables() -> [NibbleTable; 256] {
    let empty = NibbleTable {
        low: [0; 16],
        high: [0; 16],
    };
    let mut tables = [empty; 256];
    let mut coefficient = 0;
    while coefficient < 256 {
        let mut nibble = 0;
        while nibble < 16 {
            tables[coefficient].low[nibble] = multiply(coefficient as u8, nibble as u8);
            tables[coefficient].high[nibble] = multiply(coefficient as u8, (nibble as u8) << 4);
            nibble += 1;
        }
        coefficient += 1;
    }
    tables
}

const fn matrices() -> [u64; 256] {
    let mut matrices = [0; 256];
    let mut coefficient = 0;
    while coefficient < 256 {
        let mut column = 0;
        while column < 8 {
            let product = multiply(coefficient as u8, 1 << column) as u64;
            let mut row = 0;
            while row < 8 {
                matrices[coefficient] |= (product >> row & 1) << (8 * (7 - row) + column);
                row += 1;
            }
            column += 1;
        }
        coefficient += 1;
    }
    matrices
}

#[cfg(test)]
mod tests {
    use super::{NIBBLES, inverse, multiply};

    /// Carry-less multiplication bit by bit, then long division: no tables, and not the code above.
    fn product_by_bits(a: u8, b: u8) -> u8 {
        let mut product = 0_u16;
        for bit in 0..8 {
            if b >> bit & 1 == 1 {
                product ^= u16::from(a) << bit;
            }
        }
        for bit in (8..16).rev() {
            if product >> bit & 1 == 1 {
                product ^= 0x11d << (bit - 8);
            }
        }
        product as u8
    }

    #[test]
    fn all_products() {
        for a in 0..=255 {
            for b in 0..=255 {
                let expected = product_by_bits(a, b);
                assert_eq!(multiply(a, b), expected);
                let table = NIBBLES[usize::from(a)];
                assert_eq!(
                    table.low[usize::from(b & 15)] ^ table.high[usize::from(b >> 4)],
                    expected
                );
            }
        }
    }

    #[test]
    fn all_inverses() {
        assert_eq!(inverse(0), None);
        for a in 1..=255 {
            assert_eq!(product_by_bits(a, inverse(a).unwrap()), 1);
        }
    }
}
