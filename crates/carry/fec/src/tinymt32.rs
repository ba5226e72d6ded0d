//! TinyMT32, the small Mersenne Twister of RFC 8682, with the two mappings to small integers of RFC 8681. It must not
//! know what the numbers are for. They are not for cryptography.

const MAT1: u32 = 0x8f70_11ee;
const MAT2: u32 = 0xfc78_ff1f;
const TMAT: u32 = 0x3793_fdff;
/// The state has 127 bits: the highest bit of the first word is not part of it.
const MASK: u32 = 0x7fff_ffff;
/// Rounds of mixing the seed into the state, and numbers discarded after it.
const SEED_ROUNDS: u32 = 8;

/// The generator, with the one set of parameters that RFC 8682 allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TinyMt32 {
    state: [u32; 4],
}

impl TinyMt32 {
    /// A generator at the start of the sequence that belongs to `seed` (any value, 0 too).
    pub fn new(seed: u32) -> Self {
        let mut state = [seed, MAT1, MAT2, TMAT];
        for round in 1..SEED_ROUNDS {
            let previous = state[(round as usize - 1) % 4];
            let mixed = 1_812_433_253_u32.wrapping_mul(previous ^ (previous >> 30));
            state[round as usize % 4] ^= round.wrapping_add(mixed);
        }
        let mut generator = Self { state };
        for _ in 0..SEED_ROUNDS {
            generator.step();
        }
        generator
    }

    #[inline]
    fn step(&mut self) {
        let [first, second, third, fourth] = self.state;
        let mut x = (first & MASK) ^ second ^ third;
        x ^= x << 1;
        let y = fourth ^ (fourth >> 1) ^ x;
        let odd = (y & 1).wrapping_neg();
        self.state = [second, third ^ (odd & MAT1), x ^ (y << 10) ^ (odd & MAT2), y];
    }

    /// The next number of 32 bits, `tinymt32_generate_uint32` of RFC 8682.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        self.step();
        let [first, _, third, fourth] = self.state;
        let sum = first.wrapping_add(third >> 8);
        fourth ^ sum ^ ((sum & 1).wrapping_neg() & TMAT)
    }

    /// The next number in 0..=15, `tinymt32_rand16` of RFC 8681, section 3.5.
    #[inline]
    pub fn next_16(&mut self) -> u8 {
        (self.next_u32() & 0x0f) as u8
    }

    /// The next number in 0..=255, `tinymt32_rand256` of RFC 8681, section 3.5.
    #[inline]
    pub fn next_256(&mut self) -> u8 {
        (self.next_u32() & 0xff) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::TinyMt32;

    /// RFC 8682, section 2.3, figure 2: the first 50 numbers of seed 1, from the authors' `check32.out.txt`.
    const PUBLISHED: [u32; 50] = [
        2545341989, 981918433, 3715302833, 2387538352, 3591001365, 3820442102, 2114400566, 2196103051,
        2783359912, 764534509, 643179475, 1822416315, 881558334, 4207026366, 3690273640, 3240535687,
        2921447122, 3984931427, 4092394160, 44209675, 2188315343, 2908663843, 1834519336, 3774670961,
        3019990707, 4065554902, 1239765502, 4035716197, 3412127188, 552822483, 161364450, 353727785,
        140085994, 149132008, 2547770827, 4064042525, 4078297538, 2057335507, 622384752, 2041665899,
        2193913817, 1080849512, 33160901, 662956935, 642999063, 3384709977, 1723175122, 3866752252,
        521822317, 2292524454,
    ];

    #[test]
    fn published_values_of_rfc_8682() {
        let mut generator = TinyMt32::new(1);
        for expected in PUBLISHED {
            assert_eq!(generator.next_u32(), expected);
        }
    }

    /// RFC 8681, appendix A, figures 9 and 10, begin with these.
    #[test]
    fn published_small_values_of_rfc_8681() {
        let mut generator = TinyMt32::new(1);
        for expected in [37, 225, 177, 176, 21, 246, 54, 139, 168, 237] {
            assert_eq!(generator.next_256(), expected);
        }
        let mut generator = TinyMt32::new(1);
        for expected in [5, 1, 1, 0, 5, 6, 6, 11, 8, 13] {
            assert_eq!(generator.next_16(), expected);
        }
    }
}
