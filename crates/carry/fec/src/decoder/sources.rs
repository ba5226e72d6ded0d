//! The sources that a decoder remembers: a ring of symbols, and a bit for each known one. It must not know
//! equations.

use std::ops::Range;

use crate::adui::Adu;
use crate::slots::Slots;

/// A ring of the last sources. Positions are those of [`super::Decoder`]: they count sources and never wrap.
#[derive(Debug)]
pub(super) struct Sources {
    slots: Slots,
    /// Bytes of each symbol.
    lengths: Box<[u32]>,
    /// A bit for each place of the ring: the source is known.
    known: Box<[u64]>,
    /// One past the newest position.
    end: u64,
}

impl Sources {
    /// A ring for at least `history` symbols of at most `room` bytes.
    pub(super) fn new(history: u16, room: usize) -> Self {
        // Whole words of bits.
        let capacity = usize::from(history).next_power_of_two().max(64);
        Self {
            slots: Slots::new(capacity, room),
            lengths: vec![0; capacity].into(),
            known: vec![0; capacity / 64].into(),
            end: 0,
        }
    }

    /// Number of sources in the ring, a power of two.
    pub(super) fn capacity(&self) -> usize {
        self.lengths.len()
    }

    /// Where a position is in the ring.
    fn place(&self, position: u64) -> usize {
        position as usize & (self.lengths.len() - 1)
    }

    /// One past the newest position.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The oldest remembered position if the newest is before `end`.
    pub(super) fn base_with_end(&self, end: u64) -> u64 {
        end - self.lengths.len() as u64
    }

    /// The oldest position that is remembered.
    pub(super) fn base(&self) -> u64 {
        self.base_with_end(self.end)
    }

    /// Begins with nothing, and `first` as the newest position.
    pub(super) fn begin(&mut self, first: u64) {
        self.known.fill(0);
        self.end = first + 1;
    }

    /// Forgets sources that are too old if the newest position is just before `end`.
    pub(super) fn advance(&mut self, end: u64) {
        if end - self.end >= self.lengths.len() as u64 {
            self.known.fill(0);
        } else {
            for position in self.end..end {
                let place = self.place(position);
                self.known[place / 64] &= !(1 << (place % 64));
            }
        }
        self.end = end;
    }

    fn remembers(&self, position: u64) -> bool {
        (self.base()..self.end).contains(&position)
    }

    /// Whether the source is known.
    pub(super) fn knows(&self, position: u64) -> bool {
        let place = self.place(position);
        self.remembers(position) && self.known[place / 64] >> (place % 64) & 1 == 1
    }

    /// Whether all of these are known; they must be remembered.
    pub(super) fn knows_all(&self, positions: Range<u64>) -> bool {
        let mut position = positions.start;
        while position < positions.end {
            let place = self.place(position);
            let bits = (64 - place as u64 % 64).min(positions.end - position);
            let wanted = (u64::MAX >> (64 - bits)) << (place % 64);
            if self.known[place / 64] & wanted != wanted {
                return false;
            }
            position += bits;
        }
        true
    }

    /// Stores a source.
    pub(super) fn put(&mut self, position: u64, adu: &Adu<'_>) {
        let place = self.place(position);
        self.slots.put(place, adu);
        // A packet has at most 65,535 bytes.
        self.lengths[place] = adu.symbol_length() as u32;
        self.mark(position);
    }

    /// Marks the source as known.
    pub(super) fn mark(&mut self, position: u64) {
        let place = self.place(position);
        self.known[place / 64] |= 1 << (place % 64);
    }

    /// The bytes of a source that is known, or was just reconstructed.
    pub(super) fn symbol(&self, position: u64) -> &[u8] {
        let place = self.place(position);
        &self.slots.get(place)[..self.lengths[place] as usize]
    }

    /// The place of a source that is missing, all zero, for the caller to fill with `length` bytes.
    pub(super) fn blank(&mut self, position: u64, length: usize) -> &mut [u8] {
        let place = self.place(position);
        self.lengths[place] = length as u32;
        let symbol = &mut self.slots.get_mut(place)[..length];
        symbol.fill(0);
        symbol
    }
}
