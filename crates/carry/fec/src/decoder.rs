//! Recovers lost packets, RFC 8681, section 6.2. It must not know when packets are due: the caller says which ESIs have
//! expired.
//!
//! A repair over packets that have all arrived costs a check of a few words of bits. One over missing packets becomes an
//! equation, and elimination is done on coefficients alone, some hundred bytes per equation; symbols are touched only
//! once they yield a packet that is still wanted. A stream with much reordering thus costs little more than one in
//! order: most packets arrive before their equations could be solved.

mod config;
mod equations;
mod sources;

use std::collections::VecDeque;

use crate::adui::{ADUI_HEADER, Adu};
use crate::coefficients::Coefficients;
use crate::payload_id::RepairPayloadId;

pub use config::{
    DecoderConfig, DecoderConfigError, DecoderCounters, MAX_HISTORY, RepairArrival, SourceArrival,
};
use equations::{Equations, Inserted};
use sources::Sources;

/// Positions count sources and do not wrap: the first ESI is mapped above 2^32, so that earlier positions stay positive.
const FIRST_EPOCH: u64 = 1 << 32;

/// A recovered packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered<'a> {
    /// Its ESI.
    pub esi: u32,
    /// The packet.
    pub adu: Adu<'a>,
}

/// Whether the position of the stream is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    /// No packet has arrived.
    No,
    /// One packet has arrived, which may be garbage.
    Perhaps,
    /// Two packets near each other have arrived.
    Yes,
}

/// Takes sources and repairs in any order and returns the missing packets.
#[derive(Debug)]
pub struct Decoder {
    config: DecoderConfig,
    sources: Sources,
    equations: Equations,
    begun: Begun,
    /// Sources before this position are no longer wanted.
    deadline: u64,
    /// Sources before this position are presumed lost.
    lost: u64,
    /// The oldest source that the equations determine and that may only be late.
    determined: Option<u64>,
    /// The ESI of a source far ahead of all others: a second one near it confirms a jump of the stream.
    far_esi: Option<u32>,
    /// Recovered and not yet polled.
    ready: VecDeque<u64>,
    counters: DecoderCounters,
}

impl Decoder {
    /// A decoder without packets. It allocates all its memory: at most
    /// `(history + equations) * (max_payload + 140) + equations * (2 * history + equations)` bytes, with `history`
    /// rounded up to a power of two, 64 at least.
    ///
    /// # Errors
    /// [`DecoderConfigError`], when the numbers do not fit together.
    pub fn new(config: DecoderConfig) -> Result<Self, DecoderConfigError> {
        let config = config.check()?;
        let room = ADUI_HEADER + config.max_payload;
        let sources = Sources::new(config.history, room);
        Ok(Self {
            equations: Equations::new(config.equations, sources.capacity(), room, config.engine),
            ready: VecDeque::with_capacity(sources.capacity()),
            sources,
            begun: Begun::No,
            deadline: 0,
            lost: 0,
            determined: None,
            far_esi: None,
            counters: DecoderCounters::default(),
            config,
        })
    }

    /// The counters so far.
    pub fn counters(&self) -> DecoderCounters {
        self.counters
    }

    /// Number of unsolved equations, at most `equations` of the configuration.
    pub fn pending(&self) -> usize {
        self.equations.pending()
    }

    /// Whether a source has arrived or been recovered, as far as the decoder remembers.
    pub fn has(&self, esi: u32) -> bool {
        self.begun != Begun::No && self.sources.knows(self.position(esi))
    }

    /// The position of an ESI: the one nearest to the newest source.
    fn position(&self, esi: u32) -> u64 {
        let newest = self.sources.end() - 1;
        let ahead = esi.wrapping_sub(newest as u32) as i32;
        newest.saturating_add_signed(i64::from(ahead))
    }

    /// Begins at the first ESI, and again at the second if that is far away: then one of them is garbage, and the third
    /// shows which.
    fn begin(&mut self, esi: u32) {
        let history = u64::from(self.config.history);
        if self.begun == Begun::Yes {
            return;
        }
        let seen = self.begun == Begun::Perhaps;
        if seen && self.position(esi).abs_diff(self.sources.end()) <= history {
            self.begun = Begun::Yes;
            return;
        }
        self.begun = Begun::Perhaps;
        self.equations.clear();
        self.sources.begin(FIRST_EPOCH + u64::from(esi));
        (self.deadline, self.lost, self.determined) = (0, 0, None);
    }

    /// Takes a source, from the stream itself or from a retransmission. Poll for recovered packets after the call.
    pub fn source(&mut self, esi: u32, adu: Adu<'_>) -> SourceArrival {
        let begun = self.begun;
        let arrival = self.take_source(esi, &adu);
        if self.begun != begun {
            self.solve();
        }
        match arrival {
            SourceArrival::New => self.counters.sources += 1,
            SourceArrival::Duplicate => self.counters.duplicates += 1,
            SourceArrival::Old => self.counters.old += 1,
            SourceArrival::Far => self.counters.far += 1,
            SourceArrival::TooLong => self.counters.malformed += 1,
        }
        arrival
    }

    fn take_source(&mut self, esi: u32, adu: &Adu<'_>) -> SourceArrival {
        if adu.payload.len() > self.config.max_payload {
            return SourceArrival::TooLong;
        }
        self.begin(esi);
        let position = self.position(esi);
        if position < self.sources.base() {
            return SourceArrival::Old;
        }
        if position >= self.sources.end() + u64::from(self.config.history) && !self.confirms_jump(esi) {
            return SourceArrival::Far;
        }
        if self.sources.knows(position) {
            return SourceArrival::Duplicate;
        }
        self.make_room(position + 1);
        self.sources.put(position, adu);
        if self.equations.pending() > 0 {
            let changed = self.equations.learn(position, &self.sources);
            if changed
                || self
                    .determined
                    .is_some_and(|oldest| oldest < self.presumed_lost())
            {
                self.solve();
            }
        }
        SourceArrival::New
    }

    /// A single ESI far ahead may be garbage. A second one near it confirms the loss of the packets between.
    fn confirms_jump(&mut self, esi: u32) -> bool {
        let near = self.far_esi.take().is_some_and(|other| {
            let apart = (esi.wrapping_sub(other) as i32).unsigned_abs();
            apart != 0 && apart <= u32::from(self.config.history)
        });
        if !near {
            self.far_esi = Some(esi);
        }
        near
    }

    /// Extends the remembered sources to `end`, if they end before.
    fn make_room(&mut self, end: u64) {
        if end <= self.sources.end() {
            return;
        }
        self.equations
            .forget_before(self.sources.base_with_end(end), &self.sources);
        self.sources.advance(end);
    }

    /// Takes a repair and the bytes that follow its identifier. Poll for recovered packets after the call.
    pub fn repair(&mut self, id: RepairPayloadId, symbol: &[u8]) -> RepairArrival {
        let begun = self.begun;
        let arrival = self.take_repair(id, symbol);
        if self.begun != begun {
            self.solve();
        }
        match arrival {
            RepairArrival::NotNeeded => self.counters.repairs_not_needed += 1,
            RepairArrival::Redundant => self.counters.repairs_redundant += 1,
            RepairArrival::Kept => self.counters.repairs_kept += 1,
            RepairArrival::Old => self.counters.repairs_old += 1,
            RepairArrival::Far => self.counters.repairs_far += 1,
            RepairArrival::Malformed => self.counters.repairs_malformed += 1,
        }
        arrival
    }

    fn take_repair(&mut self, id: RepairPayloadId, symbol: &[u8]) -> RepairArrival {
        let fits = (ADUI_HEADER..=ADUI_HEADER + self.config.max_payload).contains(&symbol.len());
        if !fits || id.sources() > self.config.window {
            return RepairArrival::Malformed;
        }
        let last_esi = id.first_esi().wrapping_add(u32::from(id.sources()) - 1);
        self.begin(last_esi);
        let end = self.position(last_esi) + 1;
        if end > self.sources.end() + u64::from(self.config.history) {
            return RepairArrival::Far;
        }
        let first = end - u64::from(id.sources());
        if first < self.sources.base_with_end(end.max(self.sources.end())) {
            return RepairArrival::Old;
        }
        self.make_room(end);
        if self.sources.knows_all(first..end) {
            return RepairArrival::NotNeeded;
        }
        let coefficients = Coefficients::new(id.key(), id.density());
        match self
            .equations
            .insert(first..end, coefficients, symbol, &self.sources)
        {
            Inserted::Redundant => RepairArrival::Redundant,
            Inserted::Independent { dropped } => {
                self.counters.equations_dropped += dropped;
                self.solve();
                RepairArrival::Kept
            }
        }
    }

    /// Sources before this position are presumed lost.
    fn presumed_lost(&self) -> u64 {
        self.lost
            .max(self.sources.end() - u64::from(self.config.patience))
    }

    /// Reconstructs all wanted sources that the equations determine and that are presumed lost. Not before the position
    /// of the stream is known: after another beginning they would be returned again.
    fn solve(&mut self) {
        if self.begun != Begun::Yes {
            return;
        }
        let wanted = self.deadline..self.presumed_lost();
        while let Some(position) = self.equations.reconstruct(wanted.clone(), &mut self.sources) {
            let valid = Adu::parse(self.sources.symbol(position)).is_ok();
            if !valid {
                // A forged or damaged repair. The source stays missing, and may still arrive.
                self.counters.inconsistent += 1;
                self.equations.drop_last();
                continue;
            }
            self.sources.mark(position);
            self.equations.retire_last();
            if self.ready.len() == self.sources.capacity() {
                self.ready.pop_front();
                self.counters.recovered_late += 1;
            }
            self.ready.push_back(position);
        }
        // With more patience than sources are remembered, only the caller presumes losses.
        let waits = (1..self.sources.capacity()).contains(&self.config.patience.into());
        self.determined = if waits {
            self.equations.oldest_determined(wanted.end)
        } else {
            None
        };
    }

    /// Presumes the sources before `esi` lost: those that the equations determine are reconstructed without further
    /// patience. At the end of a stream pass the ESI after the last. A retransmission that still arrives is accepted.
    pub fn presume_lost(&mut self, esi: u32) {
        if self.begun != Begun::No {
            // The caller knows the position of the stream.
            self.begun = Begun::Yes;
            self.lost = self.lost.max(self.position(esi));
            self.solve();
        }
    }

    /// Marks the sources before `esi` as no longer wanted. They are not recovered any more, but still serve to recover
    /// later ones.
    pub fn advance(&mut self, esi: u32) {
        if self.begun != Begun::No {
            self.deadline = self.deadline.max(self.position(esi));
        }
    }

    /// The next recovered source; call until there is none. Sources recovered together are returned in the order of their
    /// ESIs, each once, and none that has arrived.
    pub fn poll_recovered(&mut self) -> Option<Recovered<'_>> {
        loop {
            let position = self.ready.pop_front()?;
            if position < self.sources.base() || position < self.deadline {
                self.counters.recovered_late += 1;
                continue;
            }
            self.counters.recovered += 1;
            // Already parsed when it was queued.
            let adu = Adu::parse(self.sources.symbol(position)).ok()?;
            return Some(Recovered {
                esi: position as u32,
                adu,
            });
        }
    }
}

#[cfg(test)]
mod tests;
