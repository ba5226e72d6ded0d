//! The repairs that wait, and elimination over them. It must not know packets: a symbol is bytes here.
//!
//! A repair is kept as it came. Beside them are rows: combinations of repairs that together are a matrix in reduced
//! row echelon form over the missing sources, the oldest first. A row has the coefficients of those sources, and the
//! factors by which the repairs add up to it; adding rows therefore touches no symbol. A row that has a single source
//! left determines it: only then are the repairs' known sources taken out of them, each once, and the repairs added up.
//!
//! What makes this hold, for each row and each source that is missing and remembered: the row's coefficient is the sum
//! of the repairs' coefficients times the factors. A row of which nothing is missing any more says how its repairs depend
//! on each other, and takes one of them out of the others' rows: there are then as many repairs as rows, and the oldest of
//! them do not live on in the rows of newer ones.

use std::ops::Range;

use super::sources::Sources;
use crate::adui::ADUI_HEADER;
use crate::coefficients::Coefficients;
use crate::engine::Engine;
use crate::gf256;
use crate::slots::Slots;

/// A repair as it came, without those of its sources that were taken out since.
#[derive(Debug)]
struct Held {
    /// The positions of its sources. Empty when the place is free.
    window: Range<u64>,
    /// For each place of the ring, the coefficient of the source that its symbol still has in it.
    coefficients: Box<[u8]>,
    /// Bytes of its symbol. Behind them are zeros.
    length: usize,
}

/// A combination of repairs.
#[derive(Debug)]
struct Row {
    /// The oldest source that it has. Its coefficient is 1, and no other row has it.
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

    /// Whether it has nothing but its pivot, whose place is given.
    fn is_solved(&self, place: usize) -> bool {
        let (before, from) = self.coefficients.split_at(place);
        // Without an early end the compiler makes vectors of it.
        let any = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum | byte) != 0;
        !any(before) && !any(&from[1..])
    }
}

/// What became of an equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inserted {
    /// It followed from the others.
    Redundant,
    /// It did not. So many others were dropped to make room.
    Independent {
        /// Rows that were dropped.
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
    /// No repair that is held has a source before this position in it, but for those that were forgotten already.
    oldest: u64,
    /// The first `active` are rows; the others are spare memory.
    rows: Vec<Row>,
    active: usize,
    /// One less than the places of the ring.
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

    /// How many wait.
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

    /// Takes a repair over the sources of `window`, all of them remembered and some missing.
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

    /// Makes the first spare row an active one, after taking the other rows' pivots out of it. False if nothing is
    /// left of it. It has no source before `first`, nor any from `end` on.
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

    /// A missing source has come: it is taken out of the rows. The repairs keep it until their symbols are needed.
    /// False if no row had it.
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
        // What is left of that row needs another pivot.
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

    /// Reconstructs the oldest of the `wanted` sources that a row determines. The row is out of the system afterwards:
    /// the caller says by [`Equations::retire_last`] that the source makes sense and is there, or else by
    /// [`Equations::drop_last`] that it does not.
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

    /// All sources of the row that has just left the system are there. It says that its repairs cancel, so one of
    /// them, the oldest, can be expressed by the others and is needed no more.
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

    /// The row that has just left the system says nothing that is true.
    pub(super) fn drop_last(&mut self) {
        self.release_unused();
    }

    /// Writes what the row at `index` is equal to into the place of its only source.
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

    /// Takes those known sources of a repair that lie in `positions` out of its symbol.
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

    /// The ring is about to lose all sources before `base`: drops the rows that have one of them missing, and takes
    /// those that are known out of the repairs that are still needed.
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
            // Of the missing ones the shares cancel in all rows that are left.
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

    /// Makes a place free by dropping the rows of the oldest sources. Gives how many.
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

/// Adds a symbol to another of the same length. Its header goes by itself, so that the rest, which is almost all,
/// begins where [`Slots`] has aligned it.
fn add_symbol(engine: Engine, destination: &mut [u8], source: &[u8], factor: u8) {
    let (to_header, to_payload) = destination.split_at_mut(ADUI_HEADER);
    let (from_header, from_payload) = source.split_at(ADUI_HEADER);
    for (to, from) in to_header.iter_mut().zip(from_header) {
        *to ^= gf256::multiply(factor, *from);
    }
    engine.multiply_add_into(to_payload, from_payload, factor);
}
