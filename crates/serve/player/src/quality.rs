//! What the viewer got: start-up delay, stalls, bitrates and switches. Counted from what was played, not from what was
//! fetched.

use std::time::Duration;

use weir_units::Rate;

/// The beginning that is told apart.
const BEGINNING: Duration = Duration::from_secs(20);

/// Figures of one session, up to the moment of asking. Bitrates are those of the main track ([`crate::Manifest::main_track`])
/// as its manifest tells them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// From the beginning of the session to the first picture; nothing before it.
    pub startup_delay: Option<Duration>,
    /// Media played.
    pub played: Duration,
    /// How often playback stopped because a buffer was empty.
    pub stalls: u32,
    /// How long it stood still then, in all.
    pub stalled: Duration,
    /// How often the viewer went elsewhere.
    pub seeks: u32,
    /// How long playback stood still after that.
    pub seeking: Duration,
    /// Mean of the bitrates, weighted by how long each was played. Nothing before the first picture.
    pub bitrate: Option<Rate>,
    /// The same over the first 20 s of media played.
    pub first_20_s_bitrate: Option<Rate>,
    /// How often the rung changed on the screen.
    pub switches: u32,
    /// The sum of the bitrates' changes at those switches, bits each second.
    pub switched_by: u64,
    /// Bytes that arrived, those of cancelled and failed fetches included.
    pub bytes: u64,
    /// Fetches asked for.
    pub requests: u32,
    /// Fetches that failed.
    pub failures: u32,
    /// Throughput of the fetches that were done before playback started.
    pub initial_throughput: Option<Rate>,
    /// What the path would carry without a pace, payload; nothing before an answer has shown it.
    pub capacity: Option<Rate>,
}

impl Figures {
    /// Share of the viewing time, after the first picture, that was stalled: 0 to 1.
    pub fn stall_ratio(&self) -> f64 {
        let stalled = self.stalled.as_secs_f64();
        let whole = stalled + self.played.as_secs_f64();
        if whole > 0.0 { stalled / whole } else { 0.0 }
    }
}

/// Bitrates over the time played.
#[derive(Clone, Debug, Default)]
pub(crate) struct Played {
    time: Duration,
    /// Bits each second times seconds.
    bits: f64,
    beginning_bits: f64,
    last: Option<u64>,
    switches: u32,
    switched_by: u64,
}

impl Played {
    /// `time` of media with this bitrate was played.
    pub(crate) fn push(&mut self, time: Duration, bitrate: Rate) {
        if time.is_zero() {
            return;
        }
        self.bits += bitrate.0 as f64 * time.as_secs_f64();
        let beginning = BEGINNING.saturating_sub(self.time).min(time);
        self.beginning_bits += bitrate.0 as f64 * beginning.as_secs_f64();
        self.time += time;
        if let Some(last) = self.last.filter(|last| *last != bitrate.0) {
            self.switches += 1;
            self.switched_by += last.abs_diff(bitrate.0);
        }
        self.last = Some(bitrate.0);
    }

    /// Puts what is known here into `figures`.
    pub(crate) fn fill(&self, figures: &mut Figures) {
        let mean = |bits: f64, time: Duration| {
            (!time.is_zero()).then(|| Rate((bits / time.as_secs_f64()).round() as u64))
        };
        figures.played = self.time;
        figures.bitrate = mean(self.bits, self.time);
        figures.first_20_s_bitrate = mean(self.beginning_bits, self.time.min(BEGINNING));
        figures.switches = self.switches;
        figures.switched_by = self.switched_by;
    }
}
