//! What a decoder is told and what it tells. It must not know how it decodes.

use crate::adui::MAX_PAYLOAD;
use crate::engine::Engine;
use crate::payload_id::MAX_WINDOW;

/// The most sources that a decoder can remember.
pub const MAX_HISTORY: u16 = 1 << 15;
/// The most equations that a decoder can keep.
const MAX_EQUATIONS: u16 = 1 << 12;

/// What a decoder takes and remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecoderConfig {
    /// The most sources that a repair may be over (1 to 4,095); repairs over more are refused.
    pub window: u16,
    /// How many sources back a source may still be missing, and its repairs be used: the window and the deadline
    /// together, or more (up to 32,768).
    pub history: u16,
    /// Equations that may wait at a time (1 to 4,096). When one more comes, that of the oldest source goes.
    pub equations: u16,
    /// A missing source is not reconstructed before so many sources after it have been seen, or a repair over them: it
    /// may only be late. 0 reconstructs as soon as possible, which where packets overtake each other is work for
    /// nothing.
    pub patience: u16,
    /// The most bytes of a packet.
    pub max_payload: usize,
    /// The kernel for the arithmetic.
    pub engine: Engine,
}

/// Why there cannot be such a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecoderConfigError {
    /// The window is none that a repair can have.
    #[error("a window has 1 to 4095 packets, not {0}")]
    Window(u16),
    /// The history is shorter than a window, or too long.
    #[error(
        "a decoder remembers at least the {window} packets of a window, and at most 32768, not {history}"
    )]
    History {
        /// Sources to be remembered.
        history: u16,
        /// Sources in a window.
        window: u16,
    },
    /// No equations, or too many.
    #[error("a decoder keeps 1 to 4096 equations, not {0}")]
    Equations(u16),
    /// Packets cannot be so long.
    #[error("a packet has at most 65535 bytes, not {0}")]
    Payload(usize),
}

impl DecoderConfig {
    /// For repairs over at most `window` sources and packets that are wanted for `deadline` packets after they were
    /// due, of at most `max_payload` bytes. Up to 128 equations may wait, and no source is waited for.
    pub fn new(window: u16, deadline: u16, max_payload: usize) -> Self {
        Self {
            window,
            history: window.saturating_add(deadline).min(MAX_HISTORY),
            equations: 128,
            patience: 0,
            max_payload,
            engine: Engine::detect(),
        }
    }

    pub(super) fn check(self) -> Result<Self, DecoderConfigError> {
        if self.window == 0 || self.window > MAX_WINDOW {
            return Err(DecoderConfigError::Window(self.window));
        }
        if self.history < self.window || self.history > MAX_HISTORY {
            return Err(DecoderConfigError::History {
                history: self.history,
                window: self.window,
            });
        }
        if self.equations == 0 || self.equations > MAX_EQUATIONS {
            return Err(DecoderConfigError::Equations(self.equations));
        }
        if self.max_payload > MAX_PAYLOAD {
            return Err(DecoderConfigError::Payload(self.max_payload));
        }
        Ok(self)
    }
}

/// What became of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceArrival {
    /// It is the first of its ESI, and nothing has been recovered in its place.
    New,
    /// It has come before, or was recovered before it came.
    Duplicate,
    /// It lies before all that the decoder remembers.
    Old,
    /// It lies far ahead of all others. A second near it is taken, and what lies between as lost.
    Far,
    /// It has more bytes than a packet of the stream.
    TooLong,
}

/// What became of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RepairArrival {
    /// All its sources are there.
    NotNeeded,
    /// It says nothing that the repairs before it have not said.
    Redundant,
    /// It was used, now or for later.
    Kept,
    /// It is over sources before all that the decoder remembers.
    Old,
    /// It is over sources far ahead of all that have come.
    Far,
    /// It is over more sources than a window has, or its length is none that a symbol can have.
    Malformed,
}

/// What a decoder has seen and done. Counts are packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecoderCounters {
    /// Sources that were the first of their ESI.
    pub sources: u64,
    /// Sources that had come, or had been recovered, before.
    pub duplicates: u64,
    /// Sources from before all that is remembered.
    pub old: u64,
    /// Sources far ahead of all others, on their own.
    pub far: u64,
    /// Sources that were too long.
    pub malformed: u64,
    /// Repairs whose sources were all there.
    pub repairs_not_needed: u64,
    /// Repairs that said nothing new.
    pub repairs_redundant: u64,
    /// Repairs that were used or kept.
    pub repairs_kept: u64,
    /// Repairs over sources from before all that is remembered.
    pub repairs_old: u64,
    /// Repairs far ahead.
    pub repairs_far: u64,
    /// Repairs that no encoder makes.
    pub repairs_malformed: u64,
    /// Sources that were recovered and given to the caller.
    pub recovered: u64,
    /// Sources that were recovered and not asked for in time.
    pub recovered_late: u64,
    /// Reconstructions that were no packet: a repair was forged or damaged.
    pub inconsistent: u64,
    /// Equations that gave way to newer ones.
    pub equations_dropped: u64,
}
