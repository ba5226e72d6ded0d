//! Configuration, results and counters of a decoder. It must not know how it decodes.

use crate::adui::MAX_PAYLOAD;
use crate::engine::Engine;
use crate::payload_id::MAX_WINDOW;

/// Maximum number of sources that a decoder remembers.
pub const MAX_HISTORY: u16 = 1 << 15;
/// Maximum number of equations that a decoder keeps.
const MAX_EQUATIONS: u16 = 1 << 12;

/// Configuration of a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecoderConfig {
    /// Maximum window of a repair, sources (1 to 4,095); repairs over more are refused.
    pub window: u16,
    /// How many sources back a source may be missing and still be repaired: the window plus the deadline, or more (up to
    /// 32,768).
    pub history: u16,
    /// Maximum number of unsolved equations (1 to 4,096). One more replaces that of the oldest source.
    pub equations: u16,
    /// A missing source is reconstructed only after this many later sources, or a repair over them: it may only be
    /// late. 0 reconstructs as soon as possible, which wastes work where packets are reordered.
    pub patience: u16,
    /// Maximum length of a packet, bytes.
    pub max_payload: usize,
    /// The kernel for the arithmetic.
    pub engine: Engine,
}

/// Why a decoder's configuration is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecoderConfigError {
    /// A window outside the range.
    #[error("a window has 1 to 4095 packets, not {0}")]
    Window(u16),
    /// The history is shorter than a window, or too long.
    #[error("the history must be between the window of {window} packets and 32768, not {history}")]
    History {
        /// Sources to remember.
        history: u16,
        /// Sources in a window.
        window: u16,
    },
    /// No equations, or too many.
    #[error("a decoder keeps 1 to 4096 equations, not {0}")]
    Equations(u16),
    /// Packets too long.
    #[error("a packet has at most 65535 bytes, not {0}")]
    Payload(usize),
}

impl DecoderConfig {
    /// For repairs over at most `window` sources, packets that are wanted for `deadline` packets after they were due,
    /// and a length of at most `max_payload` bytes. Up to 128 equations, no patience.
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

/// Result of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceArrival {
    /// The first of its ESI, and not recovered before.
    New,
    /// Received or recovered before.
    Duplicate,
    /// Older than the decoder's history.
    Old,
    /// Far ahead of all others. A second source near it is accepted, and the packets between count as lost.
    Far,
    /// Longer than the maximum length of a packet.
    TooLong,
}

/// Result of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RepairArrival {
    /// All its sources are known.
    NotNeeded,
    /// It follows from earlier repairs.
    Redundant,
    /// Used now, or kept for later.
    Kept,
    /// Over sources older than the decoder's history.
    Old,
    /// Over sources far ahead of all others.
    Far,
    /// Over more sources than a window has, or with an impossible length.
    Malformed,
}

/// Counters of a decoder, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecoderCounters {
    /// Sources that were the first of their ESI.
    pub sources: u64,
    /// Sources received or recovered before.
    pub duplicates: u64,
    /// Sources older than the history.
    pub old: u64,
    /// Sources far ahead of all others, on their own.
    pub far: u64,
    /// Sources that were too long.
    pub malformed: u64,
    /// Repairs whose sources were all known.
    pub repairs_not_needed: u64,
    /// Repairs that followed from earlier ones.
    pub repairs_redundant: u64,
    /// Repairs that were used or kept.
    pub repairs_kept: u64,
    /// Repairs over sources older than the history.
    pub repairs_old: u64,
    /// Repairs far ahead.
    pub repairs_far: u64,
    /// Malformed repairs.
    pub repairs_malformed: u64,
    /// Sources recovered and returned to the caller.
    pub recovered: u64,
    /// Sources recovered but not polled in time.
    pub recovered_late: u64,
    /// Reconstructions that were not a packet: a repair was forged or damaged.
    pub inconsistent: u64,
    /// Equations replaced by newer ones.
    pub equations_dropped: u64,
}
