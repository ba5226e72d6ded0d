//! What a viewer got of one session, and the names by which claims speak of it. It must not know how sessions are played.

use serde::Serialize;
use weir_player::virtual_time::{Fetch, Session};

/// What the viewer got. Times are nanoseconds, rates bits a second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionFigures {
    /// From the beginning of the session to the first picture; nothing where there was none.
    pub startup_ns: Option<u64>,
    /// Media played.
    pub played_ns: u64,
    /// How often playback stopped because the buffer was empty.
    pub stalls: u32,
    /// How long it stood still then, in all.
    pub stalled_ns: u64,
    /// That as a share of the time after the first picture, 0 to 1.
    pub stall_ratio: f64,
    /// Mean bit rate of the rungs, weighted by how long each was played.
    pub bitrate: Option<u64>,
    /// The same over the first 20 s of media.
    pub first_20_s_bitrate: Option<u64>,
    /// Bit rate of the rung of the last segment that was fetched.
    pub last_bitrate: Option<u64>,
    /// How often the rung changed on the screen.
    pub switches: u32,
    /// Most media in the buffer when a segment was asked for.
    pub highest_buffer_ns: u64,
    /// Bits over the time from requests to last bytes.
    pub throughput: Option<u64>,
}

impl SessionFigures {
    /// Of a session whose title has rungs of `bitrates`.
    pub(super) fn of(session: &Session, bitrates: &[u64]) -> Self {
        let figures = &session.figures;
        let fetches = &session.fetches;
        let last = fetches.iter().max_by_key(|fetch| fetch.segment);
        let bits: u128 = fetches.iter().map(|fetch| u128::from(fetch.bytes) * 8).sum();
        let time: u128 = fetches
            .iter()
            .map(|fetch| (fetch.done - fetch.asked).as_nanos())
            .sum();
        let throughput = (bits * 1_000_000_000).checked_div(time);
        SessionFigures {
            startup_ns: figures.startup_delay.map(nanoseconds),
            played_ns: nanoseconds(figures.played),
            stalls: figures.stalls,
            stalled_ns: nanoseconds(figures.stalled),
            stall_ratio: figures.stall_ratio(),
            bitrate: figures.bitrate.map(|rate| rate.0),
            first_20_s_bitrate: figures.first_20_s_bitrate.map(|rate| rate.0),
            last_bitrate: last.and_then(|Fetch { rung, .. }| bitrates.get(*rung).copied()),
            switches: figures.switches,
            highest_buffer_ns: fetches
                .iter()
                .map(|fetch| nanoseconds(fetch.buffer))
                .max()
                .unwrap_or(0),
            throughput: throughput.map(|rate| u64::try_from(rate).unwrap_or(u64::MAX)),
        }
    }
}

/// Whole nanoseconds; no session here is as long as what does not fit.
pub(super) fn nanoseconds(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A figure that claims can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// [`SessionFigures::startup_ns`].
    Startup,
    /// [`SessionFigures::stalls`].
    Stalls,
    /// [`SessionFigures::stalled_ns`].
    Stalled,
    /// [`SessionFigures::stall_ratio`].
    StallRatio,
    /// [`SessionFigures::bitrate`].
    Bitrate,
    /// [`SessionFigures::first_20_s_bitrate`].
    First20sBitrate,
    /// [`SessionFigures::last_bitrate`].
    LastBitrate,
    /// [`SessionFigures::switches`].
    Switches,
    /// [`SessionFigures::highest_buffer_ns`].
    HighestBuffer,
    /// [`SessionFigures::throughput`].
    Throughput,
}

impl Figure {
    /// Every figure that claims can be made of.
    pub const ALL: [Figure; 10] = [
        Figure::Startup,
        Figure::Stalls,
        Figure::Stalled,
        Figure::StallRatio,
        Figure::Bitrate,
        Figure::First20sBitrate,
        Figure::LastBitrate,
        Figure::Switches,
        Figure::HighestBuffer,
        Figure::Throughput,
    ];

    /// As in files and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Startup => "startup_ns",
            Figure::Stalls => "stalls",
            Figure::Stalled => "stalled_ns",
            Figure::StallRatio => "stall_ratio",
            Figure::Bitrate => "bitrate",
            Figure::First20sBitrate => "first_20_s_bitrate",
            Figure::LastBitrate => "last_bitrate",
            Figure::Switches => "switches",
            Figure::HighestBuffer => "highest_buffer_ns",
            Figure::Throughput => "throughput",
        }
    }

    /// Of that name.
    pub fn named(name: &str) -> Option<Self> {
        Figure::ALL.into_iter().find(|known| known.name() == name)
    }

    /// Its value in the session; nothing where it has none.
    pub fn value(self, figures: &SessionFigures) -> Option<f64> {
        let whole = |value: u64| Some(value as f64);
        match self {
            Figure::Startup => figures.startup_ns.and_then(whole),
            Figure::Stalls => Some(f64::from(figures.stalls)),
            Figure::Stalled => whole(figures.stalled_ns),
            Figure::StallRatio => Some(figures.stall_ratio),
            Figure::Bitrate => figures.bitrate.and_then(whole),
            Figure::First20sBitrate => figures.first_20_s_bitrate.and_then(whole),
            Figure::LastBitrate => figures.last_bitrate.and_then(whole),
            Figure::Switches => Some(f64::from(figures.switches)),
            Figure::HighestBuffer => whole(figures.highest_buffer_ns),
            Figure::Throughput => figures.throughput.and_then(whole),
        }
    }
}
