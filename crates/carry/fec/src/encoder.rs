//! Generates repairs for a stream of packets, RFC 8681, section 6.1. Each packet is folded, on arrival, into all repairs
//! that cover it, while it is still in the processor's cache. It must not know when or where packets are sent.

use std::collections::VecDeque;

use crate::adui::{ADUI_HEADER, Adu, MAX_PAYLOAD};
use crate::code_rate::CodeRate;
use crate::coefficients::{Coefficients, Density};
use crate::engine::Engine;
use crate::gf256;
use crate::payload_id::RepairPayloadId;
use crate::slots::Slots;

/// Configuration of an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncoderConfig {
    /// The code rate.
    pub rate: CodeRate,
    /// Maximum length of a packet, bytes; repairs are at most three bytes longer.
    pub max_payload: usize,
    /// Share of nonzero coefficients. [`Density::FULL`] repairs best; less saves CPU time.
    pub density: Density,
    /// The ESI of the first packet.
    pub first_esi: u32,
    /// The key of the first repair; the next ones count up.
    pub first_key: u16,
    /// The kernel for the arithmetic.
    pub engine: Engine,
}

impl EncoderConfig {
    /// Full density, numbers from 0, the fastest kernel.
    pub fn new(rate: CodeRate, max_payload: usize) -> Self {
        Self {
            rate,
            max_payload,
            density: Density::FULL,
            first_esi: 0,
            first_key: 0,
            engine: Engine::detect(),
        }
    }
}

/// Why a packet cannot be protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncoderError {
    /// It is longer than `max_payload` of the configuration.
    #[error("a packet of {length} bytes is longer than the encoder's maximum of {most}")]
    TooLong {
        /// Its length, bytes.
        length: usize,
        /// The maximum, bytes.
        most: usize,
    },
}

/// A repair that is ready to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair<'a> {
    /// Its key, density and window.
    pub id: RepairPayloadId,
    /// Its bytes: as many as the longest source symbol of its window has. An RFC 8681 receiver with symbols of fixed
    /// length appends zeros.
    pub symbol: &'a [u8],
}

/// An open repair.
#[derive(Debug)]
struct Open {
    coefficients: Coefficients,
    key: u16,
    /// Number of sources before its first one.
    before: u64,
    /// Number of sources after which it is complete.
    due: u64,
    /// Length of its longest source symbol, bytes.
    length: usize,
    buffer: Slots,
}

/// Generates one repair after every n packets, over the last w.
#[derive(Debug)]
pub struct Encoder {
    engine: Engine,
    density: Density,
    first_esi: u32,
    max_payload: usize,
    rate: CodeRate,
    /// Replaces `rate` after the next repair.
    next_rate: Option<CodeRate>,
    next_key: u16,
    /// Sources so far.
    pushed: u64,
    /// When the first repair that is not yet open is due.
    next_due: u64,
    /// In the order of their due times, which is also the order of their first sources.
    open: VecDeque<Open>,
    /// The repair returned last. Its buffer is reused at the next call.
    finished: Option<Open>,
    /// Buffers without a repair, all zero.
    free: Vec<Slots>,
}

impl Encoder {
    /// An encoder before its first packet. A `max_payload` above [`MAX_PAYLOAD`] is reduced to it.
    pub fn new(config: EncoderConfig) -> Self {
        let mut encoder = Self {
            engine: config.engine,
            density: config.density,
            first_esi: config.first_esi,
            max_payload: config.max_payload.min(MAX_PAYLOAD),
            rate: config.rate,
            next_rate: None,
            next_key: config.first_key,
            pushed: 0,
            next_due: u64::from(config.rate.sources()),
            open: VecDeque::new(),
            finished: None,
            free: Vec::new(),
        };
        encoder.reserve(config.rate);
        encoder
    }

    /// The code rate in force: the old one until the first repair after [`Encoder::set_rate`].
    pub fn rate(&self) -> CodeRate {
        self.rate
    }

    /// The ESI of the next packet.
    pub fn next_esi(&self) -> u32 {
        // ESIs count modulo 2^32.
        self.first_esi.wrapping_add(self.pushed as u32)
    }

    /// Sets the code rate from the next repair on: open repairs continue under the new schedule, as far as they fit, so
    /// that every packet stays covered. Allocates if there are more open repairs than ever before.
    pub fn set_rate(&mut self, rate: CodeRate) {
        self.reserve(rate);
        if self.open.is_empty() {
            self.rate = rate;
            self.next_due = self.pushed + u64::from(rate.sources());
        } else {
            self.next_rate = Some(rate);
        }
    }

    /// Allocates buffers for all open repairs of a rate, one returned to the caller, and one opened before that one is
    /// back.
    fn reserve(&mut self, rate: CodeRate) {
        let needed = rate.open_repairs() + 2;
        let there = self.open.len() + self.free.len() + usize::from(self.finished.is_some());
        for _ in there..needed {
            self.free.push(Slots::new(1, ADUI_HEADER + self.max_payload));
        }
        self.open.reserve(needed.saturating_sub(self.open.len()));
        self.free.reserve(needed);
    }

    /// Takes the next packet of the stream, with the ESI [`Encoder::next_esi`], and returns a repair after every n-th.
    /// Send or copy the repair before the next call.
    ///
    /// # Errors
    /// [`EncoderError::TooLong`]; the packet is then not part of the stream.
    pub fn push(&mut self, adu: Adu<'_>) -> Result<Option<Repair<'_>>, EncoderError> {
        if adu.payload.len() > self.max_payload {
            return Err(EncoderError::TooLong {
                length: adu.payload.len(),
                most: self.max_payload,
            });
        }
        self.recycle_finished();
        // Due within a window from here: the window begins with this packet, or before the start of the stream.
        while self.next_due <= self.pushed + u64::from(self.rate.window()) {
            self.open_repair();
        }
        self.pushed += 1;
        self.fold(&adu);
        if self.open.front().is_none_or(|first| first.due > self.pushed) {
            return Ok(None);
        }
        let repair = self.open.pop_front();
        if let Some(rate) = self.next_rate.take() {
            self.reschedule(rate);
        }
        Ok(self.finish(repair))
    }

    /// At the end of a stream, or before a pause: returns the next repair, over the packets of its window so far. Further
    /// calls return the ones after it, until all open repairs are sent (the last packets are then covered as well as
    /// earlier ones) and there is none.
    pub fn flush(&mut self) -> Option<Repair<'_>> {
        self.recycle_finished();
        let repair = self.open.pop_front()?;
        if self.open.is_empty() {
            self.rate = self.next_rate.take().unwrap_or(self.rate);
            self.next_due = self.pushed + u64::from(self.rate.sources());
        }
        self.finish(Some(repair))
    }

    fn open_repair(&mut self) {
        let buffer = self
            .free
            .pop()
            .unwrap_or_else(|| Slots::new(1, ADUI_HEADER + self.max_payload));
        self.open.push_back(Open {
            coefficients: Coefficients::new(self.next_key, self.density),
            key: self.next_key,
            before: self.pushed,
            due: self.next_due,
            length: 0,
            buffer,
        });
        self.next_key = self.next_key.wrapping_add(1);
        self.next_due += u64::from(self.rate.sources());
    }

    /// Adds a packet to each open repair. The zeros after it would change nothing.
    fn fold(&mut self, adu: &Adu<'_>) {
        let header = adu.header();
        for open in &mut self.open {
            let coefficient = open.coefficients.draw();
            let symbol = &mut open.buffer.get_mut(0)[..adu.symbol_length()];
            let (to_header, to_payload) = symbol.split_at_mut(ADUI_HEADER);
            for (to, from) in to_header.iter_mut().zip(header) {
                *to ^= gf256::multiply(coefficient, from);
            }
            self.engine
                .multiply_add_into(to_payload, adu.payload, coefficient);
            open.length = open.length.max(adu.symbol_length());
        }
    }

    /// Gives the open repairs new due times. Each due time takes the repair with the longest window that does not
    /// exceed the new one; surplus repairs are dropped, and missing ones begin with the next packet.
    fn reschedule(&mut self, rate: CodeRate) {
        self.rate = rate;
        let (sources, window) = (u64::from(rate.sources()), u64::from(rate.window()));
        let mut due = self.pushed + sources;
        let mut kept = 0;
        while kept < self.open.len() {
            let fits = due <= self.open[kept].before + window;
            if fits {
                self.open[kept].due = due;
                due += sources;
                kept += 1;
            } else if let Some(dropped) = self.open.remove(kept) {
                self.recycle(dropped);
            }
        }
        self.next_due = due;
    }

    fn finish(&mut self, repair: Option<Open>) -> Option<Repair<'_>> {
        self.finished = repair;
        let finished = self.finished.as_ref()?;
        // A window has at most 4,095 sources, and a repair is opened only with its first source.
        let sources = (self.pushed - finished.before) as u16;
        let first_esi = self.first_esi.wrapping_add(finished.before as u32);
        let id = RepairPayloadId::new(finished.key, self.density, sources, first_esi).ok()?;
        Some(Repair {
            id,
            symbol: &finished.buffer.get(0)[..finished.length],
        })
    }

    fn recycle_finished(&mut self) {
        if let Some(finished) = self.finished.take() {
            self.recycle(finished);
        }
    }

    fn recycle(&mut self, repair: Open) {
        let mut buffer = repair.buffer;
        buffer.get_mut(0)[..repair.length].fill(0);
        self.free.push(buffer);
    }
}

#[cfg(test)]
mod tests;
