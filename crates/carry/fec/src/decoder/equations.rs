//! Unsolved repairs, and elimination over them. It must not know packets: a symbol is bytes here.
//!
//! A repair is kept as received. Beside the repairs there are rows: combinations of repairs that together form a matrix
//! in reduced row echelon form over the missing sources, the oldest first. A row holds the coefficients of those
//! sources, and the factors by which the repairs add up to it; adding rows therefore touches no symbol. A row with a
//! single source left determines it: only then are the repairs' known sources subtracted, each once, and the repairs
//! added up.
//!
//! The invariant, for each row and each source that is missing and remembered: the row's coefficient is the sum of the
//! repairs' coefficients times the factors. A row without missing sources expresses a dependency between its repairs, and
//! removes one of them from the other rows: there are then as many repairs as rows, and the oldest of them do not live
//! on in the rows of newer ones.

use std::ops::Range;

use super::sources::Sources;
use crate::adui::ADUI_HEADER;
use crate::coefficients::Coefficients;
use crate::engine::Engine;
use crate::gf256;
use crate::slots::Slots;

/// A repair as received, less those of its sources that were subtracted since.
#[derive(Debug)]
struct Held {
    /// The positions of its sources. Empty if the slot is free.
    window: Range<u64>,
    /// For each place of the ring, the coefficient of the source that its symbol still contains.
    coefficients: Box<[u8]>,
    /// Length of its symbol, bytes. Zeros follow.
    length: usize,
}

/// A combination of repairs.
#[derive(Debug)]
struct Row {
    /// Its oldest source. The coefficient is 1, and no other row contains it.
    pivot: u64,
    /// For each place of the ring, the coefficient of a source that is missing.
    coefficients: Box<[u8]>,
    /// For each repair its factor.
    factors: Box<[u8]>,
}

impl Row {
    fn add(&mut self, other: &Row, factor: u8, engine: Engine) {
        engine.multiply_add_into(&mut self.coefficients, &other.coefficients, factor);
        engine.multiply_add_into(&mut self.factors, &other.factors, factor);
    }

    fn multiply(&mut self, factor: u8, engine: Engine) {
        engine.multiply_in_place(&mut self.coefficients, factor);
        engine.multiply_in_place(&mut self.factors, factor);
    }

    /// Whether it contains only its pivot, whose place is given.
    fn is_solved(&self, place: usize) -> bool {
        let (before, from) = self.coefficients.split_at(place);
        // Without an early exit the compiler vectorises it.
        let any = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum | byte) != 0;
        !any(before) && !any(&from[1..])
    }
}

/// Result of an equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inserted {
    /// It followed from the others.
    Redundant,
    /// It is independent of the others.
    Independent {
        /// Rows dropped to make room.
        dropped: u64,
    },
}

/// All equations.
#[derive(Debug)]
pub(super) struct Equations {
    engine: Engine,
    held: Vec<Held>,
    symbols: Slots,
    /// Repairs that are held.
    occupied: usize,
    /// No held repair contains a source before this position, except forgotten ones.
    oldest: u64,
    /// The first `active` are rows; the others are spare memory.
    rows: Vec<Row>,
    active: usize,
    /// Number of places of the ring, minus 1.
    mask: u64,
}

impl Equations {
    /// Room for `count` equations over a ring of `capacity` sources (a power of two), with symbols of `room` bytes.
    pub(super) fn new(count: u16, capacity: usize, room: usize, engine: Engine) -> Self {
        let count = usize::from(count);
        let held = || Held {
            window: 0..0,
            coefficients: vec![0; capacity].into(),
            length: 0,
        };
        let row = || Row {
            pivot: 0,
            coefficients: vec![0; capacity].into(),
            factors: vec![0; count].into(),
        };
        Self {
            engine,
            held: std::iter::repeat_with(held).take(count).collect(),
            symbols: Slots::new(count, room),
            occupied: 0,
            oldest: 0,
            rows: std::iter::repeat_with(row).take(count).collect(),
            active: 0,
            mask: capacity as u64 - 1,
        }
    }

    /// Number of unsolved equations.
    pub(super) fn pending(&self) -> usize {
        self.active
    }

    /// Drops all.
    pub(super) fn clear(&mut self) {
        self.active = 0;
        self.release_unused();
    }

    fn place(&self, position: u64) -> usize {
        (position & self.mask) as usize
    }

    /// Takes a repair over the sources of `window`, all remembered and some missing.
    pub(super) fn insert(
        &mut self,
        window: Range<u64>,
        coefficients: Coefficients,
        symbol: &[u8],
        sources: &Sources,
    ) -> Inserted {
        let dropped = self.drop_oldest_if_full();
        let Some(slot) = self.held.iter().position(|held| held.window.is_empty()) else {
            return Inserted::Redundant;
        };
        self.hold(slot, window.clone(), coefficients, symbol);
        self.begin_row(slot, window.clone(), sources);
        if self.reduce_and_place(window.start, sources.end()) {
            Inserted::Independent { dropped }
        } else {
            self.release(slot);
            Inserted::Redundant
        }
    }

    fn hold(&mut self, slot: usize, window: Range<u64>, mut coefficients: Coefficients, symbol: &[u8]) {
        self.oldest = match self.occupied {
            0 => window.start,
            _ => self.oldest.min(window.start),
        };
        let mask = self.mask;
        let held = &mut self.held[slot];
        held.coefficients.fill(0);
        for position in window.clone() {
            held.coefficients[(position & mask) as usize] = coefficients.draw();
        }
        held.window = window;
        held.length = symbol.len();
        let place = self.symbols.get_mut(slot);
        place[..symbol.len()].copy_from_slice(symbol);
        place[symbol.len()..].fill(0);
        self.occupied += 1;
    }

    /// Writes the row of one repair to the first spare one.
    fn begin_row(&mut self, slot: usize, window: Range<u64>, sources: &Sources) {
        let mask = self.mask;
        let row = &mut self.rows[self.active];
        row.coefficients.copy_from_slice(&self.held[slot].coefficients);
        for position in window.filter(|position| sources.knows(*position)) {
            row.coefficients[(position & mask) as usize] = 0;
        }
        row.factors.fill(0);
        row.factors[slot] = 1;
    }

    /// Turns the first spare row into an active one, after subtracting the other rows' pivots. False if nothing is left
    /// of it. It contains no source before `first`, nor any from `end` on.
    fn reduce_and_place(&mut self, first: u64, end: u64) -> bool {
        let (engine, mask) = (self.engine, self.mask);
        let (rows, spare) = self.rows.split_at_mut(self.active);
        let Some(new) = spare.first_mut() else {
            return false;
        };
        for row in rows.iter() {
            // No other row has this pivot, so the order does not matter.
            let factor = new.coefficients[(row.pivot & mask) as usize];
            if factor != 0 {
                new.add(row, factor, engine);
            }
        }
        let coefficient = |position: u64| new.coefficients[(position & mask) as usize];
        let Some(pivot) = (first..end).find(|position| coefficient(*position) != 0) else {
            return false;
        };
        let Some(inverse) = gf256::inverse(coefficient(pivot)) else {
            return false;
        };
        new.pivot = pivot;
        new.multiply(inverse, engine);
        for row in rows {
            let factor = row.coefficients[(pivot & mask) as usize];
            if factor != 0 {
                row.add(new, factor, engine);
            }
        }
        self.active += 1;
        true
    }

    /// Removes a missing source that has arrived from the rows. The repairs keep it until their symbols are needed.
    /// False if no row contained it.
    pub(super) fn learn(&mut self, position: u64, sources: &Sources) -> bool {
        let place = self.place(position);
        let (mut changed, mut had_it_first) = (false, None);
        for (index, row) in self.rows[..self.active].iter_mut().enumerate() {
            changed |= row.coefficients[place] != 0;
            row.coefficients[place] = 0;
            if row.pivot == position {
                had_it_first = Some(index);
            }
        }
        let Some(index) = had_it_first else {
            return changed;
        };
        // The rest of that row needs another pivot.
        self.active -= 1;
        self.rows.swap(index, self.active);
        if !self.reduce_and_place(position + 1, sources.end()) {
            self.retire_last();
        }
        true
    }

    /// The oldest source from `first` on that a row determines.
    pub(super) fn oldest_determined(&self, first: u64) -> Option<u64> {
        let rows = self.rows[..self.active].iter();
        let solved = rows.filter(|row| row.pivot >= first && row.is_solved(self.place(row.pivot)));
        solved.map(|row| row.pivot).min()
    }

    /// Reconstructs the oldest of the `wanted` sources that a row determines, and removes the row. The caller then calls
    /// [`Equations::retire_last`] if the source is valid, or else [`Equations::drop_last`].
    pub(super) fn reconstruct(&mut self, wanted: Range<u64>, sources: &mut Sources) -> Option<u64> {
        let rows = self.rows[..self.active].iter().enumerate();
        let solved =
            rows.filter(|(_, row)| wanted.contains(&row.pivot) && row.is_solved(self.place(row.pivot)));
        let (index, position) = solved
            .map(|(index, row)| (index, row.pivot))
            .min_by_key(|(_, pivot)| *pivot)?;
        self.active -= 1;
        self.rows.swap(index, self.active);
        self.add_up(self.active, position, sources);
        Some(position)
    }

    /// Retires the row removed last: all of its sources are known, so its repairs cancel, and the oldest of them can be
    /// expressed by the others.
    pub(super) fn retire_last(&mut self) {
        let (rows, spare) = self.rows.split_at_mut(self.active);
        let Some(last) = spare.first() else {
            return;
        };
        let held = self.held.iter().enumerate();
        let oldest = held
            .filter(|(slot, _)| last.factors[*slot] != 0)
            .min_by_key(|(_, held)| held.window.start);
        if let Some((slot, _)) = oldest
            && let Some(inverse) = gf256::inverse(last.factors[slot])
        {
            for row in rows {
                let factor = gf256::multiply(row.factors[slot], inverse);
                self.engine
                    .multiply_add_into(&mut row.factors, &last.factors, factor);
            }
        }
        self.release_unused();
    }

    /// Drops the row removed last: it is inconsistent.
    pub(super) fn drop_last(&mut self) {
        self.release_unused();
    }

    /// Writes the value of the row at `index` into the place of its only source.
    fn add_up(&mut self, index: usize, position: u64, sources: &mut Sources) {
        let mut length = ADUI_HEADER;
        for slot in 0..self.held.len() {
            if self.rows[index].factors[slot] != 0 {
                self.take_out_known(slot, self.held[slot].window.clone(), sources);
                length = length.max(self.held[slot].length);
            }
        }
        let target = sources.blank(position, length);
        for (slot, factor) in self.rows[index].factors.iter().enumerate() {
            if *factor != 0 {
                let length = self.held[slot].length;
                let symbol = &self.symbols.get(slot)[..length];
                add_symbol(self.engine, &mut target[..length], symbol, *factor);
            }
        }
    }

    /// Subtracts the known sources in `positions` from a repair's symbol.
    fn take_out_known(&mut self, slot: usize, positions: Range<u64>, sources: &Sources) {
        let mask = self.mask;
        let held = &mut self.held[slot];
        for position in positions {
            let coefficient = &mut held.coefficients[(position & mask) as usize];
            if *coefficient == 0 || !sources.knows(position) {
                continue;
            }
            let source = sources.symbol(position);
            // A repair that is shorter than one of its sources was not made by an encoder; no harm is done.
            held.length = held.length.max(source.len());
            let symbol = &mut self.symbols.get_mut(slot)[..source.len()];
            add_symbol(self.engine, symbol, source, *coefficient);
            *coefficient = 0;
        }
    }

    /// Before the ring drops all sources before `base`: drops the rows with missing ones among them, and subtracts the
    /// known ones from the repairs that are still needed.
    pub(super) fn forget_before(&mut self, base: u64, sources: &Sources) {
        if self.occupied == 0 || base <= self.oldest {
            return;
        }
        let mut index = 0;
        let before = self.active;
        while index < self.active {
            if self.rows[index].pivot < base {
                self.active -= 1;
                self.rows.swap(index, self.active);
            } else {
                index += 1;
            }
        }
        if self.active < before {
            self.release_unused();
        }
        for slot in 0..self.held.len() {
            let window = self.held[slot].window.clone();
            let leaving = window.start.max(sources.base())..window.end.min(base);
            if leaving.is_empty() {
                continue;
            }
            self.take_out_known(slot, leaving.clone(), sources);
            // The shares of the missing ones cancel in all remaining rows.
            for position in leaving {
                let place = self.place(position);
                self.held[slot].coefficients[place] = 0;
            }
        }
        let windows = self.held.iter().map(|held| &held.window);
        let starts = windows
            .filter(|window| !window.is_empty())
            .map(|window| window.start.max(base));
        self.oldest = starts.min().unwrap_or(base);
    }

    /// Frees a slot by dropping the rows of the oldest sources. Returns their number.
    fn drop_oldest_if_full(&mut self) -> u64 {
        let mut dropped = 0;
        while self.occupied == self.held.len() && self.active > 0 {
            let rows = self.rows[..self.active].iter().enumerate();
            let oldest = rows
                .min_by_key(|(_, row)| row.pivot)
                .map_or(0, |(index, _)| index);
            self.active -= 1;
            self.rows.swap(oldest, self.active);
            dropped += 1;
            self.release_unused();
        }
        dropped
    }

    fn release(&mut self, slot: usize) {
        self.held[slot].window = 0..0;
        self.occupied -= 1;
    }

    /// Frees the repairs that are in no row.
    fn release_unused(&mut self) {
        for slot in 0..self.held.len() {
            let held = !self.held[slot].window.is_empty();
            if held && self.rows[..self.active].iter().all(|row| row.factors[slot] == 0) {
                self.release(slot);
            }
        }
    }
}

/// Adds a symbol to another of the same length. Its header is added separately, so that the rest, almost all of it,
/// starts where [`Slots`] has aligned it.
fn add_symbol(engine: Engine, destination: &mut [u8], source: &[u8], factor: u8) {
    let (to_header, to_payload) = destination.split_at_mut(ADUI_HEADER);
    let (from_header, from_payload) = source.split_at(ADUI_HEADER);
    for (to, from) in to_header.iter_mut().zip(from_header) {
        *to ^= gf256::multiply(factor, *from);
    }
    engine.multiply_add_into(to_payload, from_payload, factor);
}
