//! A sliding window of one bit per sequence number, in whole words and fixed memory. It must not know
//! the meaning of a bit.

const WORD_BITS: u64 = u64::BITS as u64;

/// Bits for the sequences from [`floor`](Self::floor) up to the end of the newest word; the bits of sequences not yet
/// set are clear.
#[derive(Debug, Clone)]
pub(crate) struct SequenceBitmap {
    words: Vec<u64>,
    /// Number of words minus one; the number is a power of two so that a ring index is one `and`.
    mask: u64,
    /// Absolute number (sequence / 64) of the newest word in the window.
    top: u64,
}

impl SequenceBitmap {
    /// A window of at least `bits` bits (rounded up to a power of two, at least 128) whose newest word holds `start`.
    pub(crate) fn new(bits: u64, start: u64) -> Self {
        let words = bits.max(2 * WORD_BITS).next_power_of_two() / WORD_BITS;
        Self {
            words: vec![0; words as usize],
            mask: words - 1,
            top: start / WORD_BITS,
        }
    }

    /// The lowest sequence in the window.
    #[inline]
    pub(crate) fn floor(&self) -> u64 {
        (self.top + 1).saturating_sub(self.words.len() as u64) * WORD_BITS
    }

    #[inline]
    fn slot(&self, word: u64) -> usize {
        (word & self.mask) as usize
    }

    /// Moves the window up until it holds `sequence`. Costs one write per word entered, and at most one per
    /// word of the window, for any jump.
    #[inline]
    pub(crate) fn cover(&mut self, sequence: u64) {
        let word = sequence / WORD_BITS;
        if word > self.top {
            self.enter(word);
        }
    }

    fn enter(&mut self, word: u64) {
        if word - self.top >= self.words.len() as u64 {
            self.words.fill(0);
        } else {
            for entered in self.top + 1..=word {
                let slot = self.slot(entered);
                // Reading first keeps untouched pages of a rarely set window from becoming resident.
                if self.words[slot] != 0 {
                    self.words[slot] = 0;
                }
            }
        }
        self.top = word;
    }

    /// Whether the bit of `sequence` is set; `false` outside the window.
    #[inline]
    pub(crate) fn contains(&self, sequence: u64) -> bool {
        let word = sequence / WORD_BITS;
        word <= self.top
            && sequence >= self.floor()
            && self.words[self.slot(word)] >> (sequence % WORD_BITS) & 1 == 1
    }

    /// Sets the bit of `sequence`, which must lie in the window.
    #[inline]
    pub(crate) fn set(&mut self, sequence: u64) {
        debug_assert!(sequence >= self.floor() && sequence / WORD_BITS <= self.top);
        let slot = self.slot(sequence / WORD_BITS);
        self.words[slot] |= 1 << (sequence % WORD_BITS);
    }

    /// The lowest set sequence in `from..to`, else `to`. Both ends must lie in the window (`to` may be one past it).
    pub(crate) fn next_set(&self, from: u64, to: u64) -> u64 {
        self.scan(from, to, 0)
    }

    /// The lowest clear sequence in `from..to`, else `to`.
    pub(crate) fn next_clear(&self, from: u64, to: u64) -> u64 {
        self.scan(from, to, u64::MAX)
    }

    /// The lowest sequence in `from..to` whose bit differs from the bits of `uninteresting`, else `to`.
    fn scan(&self, from: u64, to: u64, uninteresting: u64) -> u64 {
        if from >= to {
            return to;
        }
        let mut word = from / WORD_BITS;
        let mut bits = (self.words[self.slot(word)] ^ uninteresting) & (u64::MAX << (from % WORD_BITS));
        while bits == 0 {
            word += 1;
            if word * WORD_BITS >= to {
                return to;
            }
            bits = self.words[self.slot(word)] ^ uninteresting;
        }
        (word * WORD_BITS + u64::from(bits.trailing_zeros())).min(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_set_and_clear_bits_across_words_and_the_ring() {
        let mut bitmap = SequenceBitmap::new(256, 1_000);
        bitmap.cover(1_150);
        for sequence in [1_000, 1_063, 1_064, 1_150] {
            bitmap.set(sequence);
        }
        assert_eq!(bitmap.next_set(1_001, 1_151), 1_063);
        assert_eq!(bitmap.next_clear(1_063, 1_151), 1_065);
        assert_eq!(bitmap.next_set(1_065, 1_151), 1_150);
        assert_eq!(bitmap.next_set(1_065, 1_100), 1_100);
    }

    #[test]
    fn forgets_what_the_window_left_behind() {
        let mut bitmap = SequenceBitmap::new(128, 0);
        bitmap.set(3);
        bitmap.cover(127);
        assert!(bitmap.contains(3));
        bitmap.cover(128);
        assert!(!bitmap.contains(3));
        assert_eq!(bitmap.floor(), 64);
        bitmap.set(128);
        bitmap.cover(1 << 40);
        assert_eq!(bitmap.next_set(bitmap.floor(), (1 << 40) + 1), (1 << 40) + 1);
    }
}
