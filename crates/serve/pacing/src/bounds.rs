//! What a server makes of the rate that a player asks for: the rate at which it sends the body of one answer, or none.
//! Players ask for less than they need: dash.js tells a rate below the bitrate once its buffer is long, and others tell
//! one at start-up too (docs/player.md). So the rate is held within bounds, and what is urgent is never paced.
//!
//! The player's model is checked against it, too. It must not know how a rate is kept, nor what carries the bytes.

use std::time::Duration;

use thiserror::Error;
use weir_media::cmcd::{Cmcd, CmcdError};
use weir_units::Rate;

use crate::header::{self, PaceHeaderError};

/// The largest [`PaceBounds::factor`] that counts.
pub const MAX_FACTOR: f64 = 1_000.0;
/// Segments in the buffer below which nothing is paced, whatever [`PaceBounds::low_buffer`] says.
const LOW_SEGMENTS: u64 = 2;

/// Pacing data in the headers and the query of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaceRequest {
    /// The keys of CMCD, from header fields or, where there are none, from the query.
    pub keys: Option<Cmcd>,
    /// The header field of [`header`].
    pub header: Option<Rate>,
}

/// A request whose wish cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PaceRequestError {
    /// CMCD, in header fields or query.
    #[error(transparent)]
    Cmcd(#[from] CmcdError),
    /// The header field of [`header`].
    #[error(transparent)]
    Header(#[from] PaceHeaderError),
}

impl PaceRequest {
    /// Reads header fields, by name and value, and a query as it stands in a URI, without its question mark.
    ///
    /// # Errors
    ///
    /// Where any of it is malformed.
    pub fn read<'a>(
        fields: impl IntoIterator<Item = (&'a str, &'a [u8])>,
        query: &str,
    ) -> Result<Self, PaceRequestError> {
        let is_plain = |(name, _): &(&str, _)| name.eq_ignore_ascii_case(header::NAME);
        let (plain, others): (Vec<_>, Vec<_>) = fields.into_iter().partition(is_plain);
        let keys = match Cmcd::from_headers(others)? {
            Some(keys) => Some(keys),
            None => Cmcd::from_query(query)?,
        };
        let mut asked = None;
        for (_, value) in plain {
            asked = asked.max(Some(header::read(value)?));
        }
        Ok(PaceRequest { keys, header: asked })
    }

    /// What is asked for, bits each second: `rtp` of CMCD before the plain header field.
    pub fn rate(&self) -> Option<Rate> {
        let kbits = self.keys.as_ref().and_then(|keys| keys.requested_throughput);
        kbits.map(|kbits| Rate(kbits * 1_000)).or(self.header)
    }

    /// The highest known rung, bits per second: the top rung that the player reports, or the requested rung where that
    /// is higher or the only one.
    fn top_rung(&self) -> Rate {
        let keys = self.keys.as_ref();
        let told = |of: fn(&Cmcd) -> Option<u64>| keys.and_then(of).unwrap_or(0);
        Rate(told(|keys| keys.top_bitrate).max(told(|keys| keys.bitrate)) * 1_000)
    }

    /// Why the player cannot wait, if it says so.
    fn urgency(&self, low_buffer: Duration) -> Option<PaceReason> {
        let keys = self.keys.as_ref()?;
        if keys.startup {
            return Some(PaceReason::Startup);
        }
        if keys.starved {
            return Some(PaceReason::Starved);
        }
        let segments_ms = keys.duration_ms.unwrap_or(0) * LOW_SEGMENTS;
        let low_ms = low_buffer.as_millis().max(u128::from(segments_ms));
        let is_low = keys.buffer_ms.is_some_and(|ms| u128::from(ms) < low_ms);
        is_low.then_some(PaceReason::LowBuffer)
    }
}

/// What an operator allows.
#[derive(Clone, Debug, PartialEq)]
pub struct PaceBounds {
    /// No answer is sent slower than this many times the top rung that its player tells; from 1 to [`MAX_FACTOR`].
    pub factor: f64,
    /// No answer is sent slower than this.
    pub floor: Rate,
    /// What is asked for beyond this counts as this. The bounds below win over it.
    pub ceiling: Option<Rate>,
    /// With less in its buffer, or less than two segments, a player is not paced.
    pub low_buffer: Duration,
    /// No answer is sent so slowly that it takes longer than this.
    pub longest: Duration,
}

impl Default for PaceBounds {
    fn default() -> Self {
        PaceBounds {
            factor: 2.0,
            floor: Rate(1_000_000),
            ceiling: None,
            low_buffer: Duration::from_secs(4),
            longest: Duration::from_secs(60),
        }
    }
}

/// How one answer is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Of its body, bits each second; none: as fast as the network carries it.
    pub rate: Option<Rate>,
    /// Why so.
    pub reason: PaceReason,
}

/// What decided on a pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PaceReason {
    /// Paced as asked.
    Asked,
    /// Paced at the ceiling, since more was asked for.
    Ceiling,
    /// Paced at the multiple of the top rung, since less was asked for.
    TopRung,
    /// Paced at the floor, since less was asked for.
    Floor,
    /// Paced so that it ends in time, since less was asked for.
    Time,
    /// Unpaced: nothing was asked for.
    NotAsked,
    /// Unpaced: what was asked for cannot be read.
    Malformed,
    /// Unpaced: playback starts (`su`).
    Startup,
    /// Unpaced: the buffer ran empty (`bs`).
    Starved,
    /// Unpaced: there is little in the buffer (`bl`).
    LowBuffer,
}

impl PaceReason {
    /// All of them.
    pub const ALL: [PaceReason; 10] = [
        PaceReason::Asked,
        PaceReason::Ceiling,
        PaceReason::TopRung,
        PaceReason::Floor,
        PaceReason::Time,
        PaceReason::NotAsked,
        PaceReason::Malformed,
        PaceReason::Startup,
        PaceReason::Starved,
        PaceReason::LowBuffer,
    ];

    /// Whether an answer has a rate for that reason.
    pub fn is_paced(self) -> bool {
        use PaceReason::{Asked, Ceiling, Floor, Time, TopRung};
        matches!(self, Asked | Ceiling | TopRung | Floor | Time)
    }

    /// In one word, as headers, labels and logs say it.
    pub fn name(self) -> &'static str {
        match self {
            PaceReason::Asked => "asked",
            PaceReason::Ceiling => "ceiling",
            PaceReason::TopRung => "top_rung",
            PaceReason::Floor => "floor",
            PaceReason::Time => "time",
            PaceReason::NotAsked => "not_asked",
            PaceReason::Malformed => "malformed",
            PaceReason::Startup => "startup",
            PaceReason::Starved => "starved",
            PaceReason::LowBuffer => "low_buffer",
        }
    }
}

impl Pace {
    /// No pace.
    pub fn unpaced(reason: PaceReason) -> Self {
        Pace { rate: None, reason }
    }

    /// Whether anything was asked for.
    pub fn is_asked(self) -> bool {
        self.reason != PaceReason::NotAsked
    }
}

impl PaceBounds {
    /// The pace of an answer with a body of `bytes`. What cannot be read asks for nothing that could be trusted, so
    /// that it is not paced.
    pub fn decide(&self, request: &Result<PaceRequest, PaceRequestError>, bytes: u64) -> Pace {
        let Ok(request) = request else {
            return Pace::unpaced(PaceReason::Malformed);
        };
        let Some(asked) = request.rate() else {
            return Pace::unpaced(PaceReason::NotAsked);
        };
        if let Some(reason) = request.urgency(self.low_buffer) {
            return Pace::unpaced(reason);
        }
        let mut pace = match self.ceiling {
            Some(ceiling) if asked.0 > ceiling.0 => (ceiling, PaceReason::Ceiling),
            _ => (asked, PaceReason::Asked),
        };
        for least in [
            (self.least_of(request.top_rung()), PaceReason::TopRung),
            (self.floor, PaceReason::Floor),
            (self.in_time(bytes), PaceReason::Time),
        ] {
            if least.0 > pace.0 {
                pace = least;
            }
        }
        Pace {
            rate: Some(pace.0),
            reason: pace.1,
        }
    }

    fn least_of(&self, top_rung: Rate) -> Rate {
        // Exact enough: at most 10^12 times 1,000, where doubles are whole numbers apart.
        Rate((top_rung.0 as f64 * self.factor.clamp(1.0, MAX_FACTOR)).ceil() as u64)
    }

    /// The rate at which `bytes` take [`PaceBounds::longest`].
    fn in_time(&self, bytes: u64) -> Rate {
        let nanobits = u128::from(bytes) * 8 * 1_000_000_000;
        let rate = nanobits.div_ceil(self.longest.as_nanos().max(1));
        Rate(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}
