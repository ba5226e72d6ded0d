//! Random numbers: separate streams from one seed, so that draws for one purpose never shift those
//! for another. The same on every platform and in every version: xoshiro256++ and SplitMix64 (Blackman and Vigna,
//! "Scrambled linear pseudorandom number generators", ACM TOMS 2021). It must not know the use of the numbers.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// Purposes of streams. Recorded seeds repeat their runs only with these numbers: never change them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Purpose {
    Forward = 1,
    Reverse = 2,
    LongPackets = 3,
    ExtraFlows = 4,
    Ecmp = 5,
    RoutePerPacket = 6,
    Loss = 7,
    Jitter = 8,
    Duplicate = 9,
    Corrupt = 10,
    Queue = 11,
    FlowQueue = 12,
}

/// The output function of SplitMix64: a permutation of the 64-bit numbers in which every bit depends on every other.
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The increment of SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The seed for a purpose, and within it for the `index`-th of its users.
pub(crate) fn derive(seed: u64, purpose: Purpose, index: u64) -> u64 {
    let purpose = (purpose as u64).wrapping_mul(GOLDEN);
    mix(mix(mix(seed.wrapping_add(GOLDEN)).wrapping_add(purpose)).wrapping_add(index.wrapping_mul(GOLDEN)))
}

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    generator: Xoshiro256PlusPlus,
}

impl Stream {
    /// The stream for a purpose, and within it for the `index`-th of its users.
    pub(crate) fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        Self::from_seed(derive(seed, purpose, index))
    }

    fn from_seed(seed: u64) -> Self {
        let mut words = [0; 32];
        for (step, word) in (1_u64..).zip(words.chunks_exact_mut(8)) {
            word.copy_from_slice(&mix(seed.wrapping_add(step.wrapping_mul(GOLDEN))).to_le_bytes());
        }
        Self {
            generator: Xoshiro256PlusPlus::from_seed(words),
        }
    }

    /// A uniform random number.
    pub(crate) fn number(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// True with this probability. 0 and 1 draw no number.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        if probability <= 0.0 {
            return false;
        }
        if probability >= 1.0 {
            return true;
        }
        // 2^-53: the 53 bits are all that a double holds, so each value is exact and the largest is below 1.
        const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;
        ((self.number() >> 11) as f64 * UNIT) < probability
    }

    /// A whole number from 0 to `most`, nearly uniform: no two probabilities differ by more than one part in
    /// 2^64 / (most + 1).
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        scale(self.number(), u128::from(most) + 1)
    }
}

/// Maps a number uniformly onto 0 to `count` - 1.
pub(crate) fn scale(number: u64, count: u128) -> u64 {
    ((u128::from(number) * count) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of the authors' C program with the state 1, 2, 3, 4.
    #[test]
    fn xoshiro256plusplus_is_the_published_one() {
        let mut seed = [0; 32];
        for (word, value) in seed.chunks_exact_mut(8).zip(1_u64..) {
            word.copy_from_slice(&value.to_le_bytes());
        }
        let mut stream = Stream {
            generator: Xoshiro256PlusPlus::from_seed(seed),
        };
        let expected: [u64; 10] = [
            41943041,
            58720359,
            3588806011781223,
            3591011842654386,
            9228616714210784205,
            9973669472204895162,
            14011001112246962877,
            12406186145184390807,
            15849039046786891736,
            10450023813501588000,
        ];
        assert_eq!(expected.map(|_| stream.number()), expected);
    }

    /// SplitMix64 from the seed 1234567, as published with the algorithm's descriptions.
    #[test]
    fn mix_is_the_output_function_of_splitmix64() {
        let expected: [u64; 5] = [
            6457827717110365317,
            3203168211198807973,
            9817491932198370423,
            4593380528125082431,
            16408922859458223821,
        ];
        let mut state = 1234567_u64;
        for value in expected {
            state = state.wrapping_add(GOLDEN);
            assert_eq!(mix(state), value);
        }
    }

    #[test]
    fn streams_differ_by_seed_purpose_and_index() {
        let firsts = [
            Stream::new(1, Purpose::Loss, 0).number(),
            Stream::new(2, Purpose::Loss, 0).number(),
            Stream::new(1, Purpose::Jitter, 0).number(),
            Stream::new(1, Purpose::Loss, 1).number(),
        ];
        let distinct: std::collections::BTreeSet<u64> = firsts.into_iter().collect();
        assert_eq!(distinct.len(), firsts.len());
    }

    #[test]
    fn certainties_are_certain() {
        let mut stream = Stream::new(7, Purpose::Loss, 0);
        assert!((0..1000).all(|_| stream.chance(1.0) && !stream.chance(0.0)));
    }

    #[test]
    fn whole_numbers_stay_in_range_and_reach_both_ends() {
        let mut stream = Stream::new(7, Purpose::Jitter, 0);
        let drawn: std::collections::BTreeSet<u64> = (0..1000).map(|_| stream.up_to(3)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(stream.up_to(0), 0);
        assert_eq!(scale(u64::MAX, 1 << 64), u64::MAX);
    }
}
