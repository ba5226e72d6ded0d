//! BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): a model of the path, its largest delivery rate and its
//! least round-trip time, from which pace and window follow. Losses change neither.

mod policer;

use std::collections::VecDeque;
use std::ops::Range;

use policer::Policer;

use super::{Acked, INITIAL_WINDOW, RateSample, Repair, Window};

const MS: u64 = 1_000_000;
/// 2 / ln 2: doubles the rate in each round (section 4.1.1.3).
const HIGH_GAIN: f64 = 2.885;
/// Gain of the window while the rate is probed.
const WINDOW_GAIN: f64 = 2.0;
/// The cycle of pacing gains (section 4.3.4.2).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Rounds for which a delivery rate counts.
const RATE_ROUNDS: u64 = 10;
/// How long a least round-trip time counts, and how long it is probed for.
const RTT_LASTS_NS: u64 = 10_000 * MS;
const RTT_PROBE_NS: u64 = 200 * MS;
/// Window while the round-trip time is probed, and least window, packets.
const SMALL_WINDOW: u64 = 4;
/// The pipe is full when the rate grows by less than a quarter in three rounds (section 4.3.2.2).
const GROWTH: f64 = 1.25;
const ROUNDS_WITHOUT_GROWTH: u32 = 3;
/// Hosts gather what the rate carries in 2^-10 s before they send it; three times as much is in flight beyond the gain.
const GATHERINGS: u64 = 3;
const GATHERINGS_PER_SECOND: f64 = 1024.0;
const LEAST_GATHERED: u64 = 2;
const MOST_GATHERED: u64 = 45;
/// The most that acknowledgements were ahead of the rate counts for one to two times as many rounds; and at most so long at the rate.
const AHEAD_ROUNDS: u32 = 5;
const MOST_AHEAD_NS: f64 = 100.0 * MS as f64;
/// Leaves the bottleneck a little less than it can carry, as Linux does.
const MARGIN: f64 = 0.99;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Startup,
    Drain,
    ProbeRate { step: usize, began_ns: u64 },
    ProbeRtt { until_ns: Option<u64>, round: u64 },
}

/// How far acknowledgements are ahead of the rate.
#[derive(Debug, Default)]
struct Ahead {
    /// Since then packets have been acknowledged faster than the rate.
    since_ns: u64,
    packets: u64,
    /// The most in the last rounds, and in as many before them.
    most: (u64, u64),
    rounds: u32,
}

impl Ahead {
    fn note(&mut self, acked: &Acked, rate: f64, window: &Window, round_began: bool) {
        self.rounds += u32::from(round_began);
        if self.rounds >= AHEAD_ROUNDS {
            (self.most, self.rounds) = ((0, self.most.0), 0);
        }
        let expected = |since_ns| (rate * (acked.now_ns - since_ns) as f64) as u64;
        if self.packets <= expected(self.since_ns) {
            (self.since_ns, self.packets) = (acked.now_ns, 0);
        }
        self.packets += acked.packets;
        let ahead = self.packets.saturating_sub(expected(self.since_ns));
        self.most.0 = self.most.0.max(ahead.min(window.packets));
    }

    fn most(&self) -> u64 {
        self.most.0.max(self.most.1)
    }
}

#[derive(Debug)]
pub(crate) struct Bbr {
    mode: Mode,
    /// Delivery rates in packets per nanosecond with their rounds: a falling sequence, whose first is the largest.
    rates: VecDeque<(u64, f64)>,
    /// Least round-trip time, and when it was seen, nanoseconds.
    least_rtt: Option<(u64, u64)>,
    round: u64,
    /// Packets delivered at the end of this round.
    round_ends: u64,
    full_rate: f64,
    rounds_without_growth: u32,
    is_full: bool,
    /// Acknowledgements that came in bunches (section 4.5.4 of version 02 of the draft: extra_acked).
    ahead: Ahead,
    policer: Policer,
    /// Window before a recovery or a probe.
    saved: u64,
    /// In the first round of a recovery a packet is sent for each that arrives.
    conserving: bool,
    repair: Repair,
    /// Packets sent between these counts of delivered ones left while the round-trip time was probed: their rates are low.
    probed: Range<u64>,
    seed: u64,
}

impl Bbr {
    pub fn new(seed: u64) -> Self {
        Self {
            mode: Mode::Startup,
            rates: VecDeque::new(),
            least_rtt: None,
            round: 0,
            round_ends: 0,
            full_rate: 0.0,
            rounds_without_growth: 0,
            is_full: false,
            ahead: Ahead::default(),
            policer: Policer::default(),
            saved: 0,
            conserving: false,
            repair: Repair::None,
            probed: 0..0,
            seed,
        }
    }

    pub fn connected(&mut self, now_ns: u64, rtt_ns: u64) {
        self.least_rtt = Some((rtt_ns, now_ns));
    }

    pub fn acknowledged(&mut self, window: &mut Window, acked: &Acked) {
        let round_began = self.learn_rate(acked);
        if let Some(rate) = self.rate() {
            self.ahead.note(acked, rate, window, round_began);
        }
        if round_began {
            self.check_full(acked);
        }
        self.drain(acked);
        self.cycle(acked);
        self.learn_rtt(window, acked);
        self.set_window(window, acked);
    }

    /// Bytes per second.
    pub fn pacing_rate(&self, packet_bytes: u32) -> Option<f64> {
        let rate = match (self.rate(), self.least_rtt) {
            (Some(rate), _) => rate * self.pacing_gain() * MARGIN,
            (None, Some((rtt_ns, _))) => HIGH_GAIN * INITIAL_WINDOW as f64 / rtt_ns.max(1) as f64,
            (None, None) => HIGH_GAIN * INITIAL_WINDOW as f64 / MS as f64,
        };
        Some(rate * f64::from(packet_bytes) * 1e9)
    }

    /// Losses do not end slow start.
    pub fn threshold(&mut self, window: &Window) -> u64 {
        self.save(window);
        window.threshold
    }

    pub fn timed_out(&mut self) {
        self.full_rate = 0.0;
        self.repair = Repair::Restarting;
    }

    /// What has been cut already is not what to come back to.
    fn save(&mut self, window: &Window) {
        let is_cut = self.repair != Repair::None || matches!(self.mode, Mode::ProbeRtt { .. });
        self.saved = window.packets.max(if is_cut { self.saved } else { 0 });
    }

    /// At which it sends.
    fn rate(&self) -> Option<f64> {
        self.policer.rate().or_else(|| self.largest_rate())
    }

    fn largest_rate(&self) -> Option<f64> {
        self.rates.front().map(|(_, rate)| *rate)
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => 1.0 / HIGH_GAIN,
            Mode::ProbeRate { .. } if self.policer.rate().is_some() => 1.0,
            Mode::ProbeRate { step, .. } => CYCLE[step],
            Mode::ProbeRtt { .. } => 1.0,
        }
    }

    /// Packets in flight with this gain.
    fn target(&self, gain: f64) -> u64 {
        match (self.rate(), self.least_rtt) {
            (Some(rate), Some((rtt_ns, _))) => {
                let gathered = (rate * self.pacing_gain() * 1e9 / GATHERINGS_PER_SECOND) as u64;
                let packets = (gain * rate * rtt_ns as f64).ceil() as u64
                    + GATHERINGS * gathered.clamp(LEAST_GATHERED, MOST_GATHERED);
                let is_probing = matches!(self.mode, Mode::ProbeRate { step: 0, .. });
                packets.next_multiple_of(2) + if is_probing { 2 } else { 0 }
            }
            _ => INITIAL_WINDOW,
        }
    }

    /// Takes the sample of an acknowledgement; true when a round begins with it.
    fn learn_rate(&mut self, acked: &Acked) -> bool {
        let Some(sample) = acked.rate else { return false };
        let began = sample.before >= self.round_ends;
        if began {
            self.round += 1;
            self.round_ends = acked.delivered;
            self.conserving = false;
        }
        let is_low = self.is_low(&sample);
        let probes = matches!(self.mode, Mode::ProbeRate { .. });
        if self.policer.note(acked, began, is_low, probes) {
            self.probe_rate(acked.now_ns);
        }
        let rate = sample.packets as f64 / sample.interval_ns as f64;
        if !is_low || self.largest_rate().is_none_or(|most| rate >= most) {
            while self.rates.back().is_some_and(|(_, before)| *before <= rate) {
                self.rates.pop_back();
            }
            self.rates.push_back((self.round, rate));
        }
        while self
            .rates
            .front()
            .is_some_and(|(round, _)| round + RATE_ROUNDS < self.round)
        {
            self.rates.pop_front();
        }
        began
    }

    /// Whether a sample shows less than the path carries, since little was sent.
    fn is_low(&self, sample: &RateSample) -> bool {
        sample.idle || self.probed.contains(&sample.before)
    }

    fn check_full(&mut self, acked: &Acked) {
        let is_low = acked.rate.is_some_and(|sample| self.is_low(&sample));
        let Some(rate) = self.largest_rate().filter(|_| !self.is_full && !is_low) else {
            return;
        };
        if rate >= self.full_rate * GROWTH {
            (self.full_rate, self.rounds_without_growth) = (rate, 0);
            return;
        }
        self.rounds_without_growth += 1;
        self.is_full = self.rounds_without_growth >= ROUNDS_WITHOUT_GROWTH;
    }

    fn drain(&mut self, acked: &Acked) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && acked.in_flight.1 <= self.target(1.0) {
            self.probe_rate(acked.now_ns);
        }
    }

    /// Begins at any step of the cycle but the one that drains, so that flows do not probe together.
    fn probe_rate(&mut self, now_ns: u64) {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let step = match (self.seed >> 33) as usize % (CYCLE.len() - 1) {
            0 => 0,
            other => other + 1,
        };
        self.mode = Mode::ProbeRate {
            step,
            began_ns: now_ns,
        };
    }

    fn cycle(&mut self, acked: &Acked) {
        let Mode::ProbeRate { step, began_ns } = self.mode else {
            return;
        };
        let least_ns = self.least_rtt.map_or(0, |(rtt_ns, _)| rtt_ns);
        let is_long = acked.now_ns - began_ns > least_ns;
        let gain = self.pacing_gain();
        let is_over = if gain > 1.0 {
            is_long && (acked.lost > 0 || acked.in_flight.0 >= self.target(gain))
        } else if gain < 1.0 {
            is_long || acked.in_flight.0 <= self.target(1.0)
        } else {
            is_long
        };
        if is_over {
            self.mode = Mode::ProbeRate {
                step: (step + 1) % CYCLE.len(),
                began_ns: acked.now_ns,
            };
        }
    }

    fn learn_rtt(&mut self, window: &mut Window, acked: &Acked) {
        let expired = self
            .least_rtt
            .is_some_and(|(_, at_ns)| acked.now_ns > at_ns + RTT_LASTS_NS);
        if let Some(rtt_ns) = acked.rtt_ns
            && self
                .least_rtt
                .is_none_or(|(least_ns, _)| rtt_ns <= least_ns || expired)
        {
            self.least_rtt = Some((rtt_ns, acked.now_ns));
        }
        if expired && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.mode = Mode::ProbeRtt {
                until_ns: None,
                round: 0,
            };
            self.save(window);
            self.probed.start = acked.delivered;
        }
        let Mode::ProbeRtt { until_ns, round } = self.mode else {
            return;
        };
        self.probed.end = acked.delivered + acked.in_flight.1 + 1;
        match until_ns {
            None if acked.in_flight.1 <= SMALL_WINDOW => {
                self.round_ends = acked.delivered;
                self.mode = Mode::ProbeRtt {
                    until_ns: Some(acked.now_ns + RTT_PROBE_NS),
                    round: self.round + 1,
                };
            }
            Some(until_ns) if acked.now_ns > until_ns && self.round >= round => {
                if let Some((rtt_ns, _)) = self.least_rtt {
                    self.least_rtt = Some((rtt_ns, acked.now_ns));
                }
                window.packets = window.packets.max(self.saved);
                match self.is_full {
                    true => self.probe_rate(acked.now_ns),
                    false => self.mode = Mode::Startup,
                }
            }
            _ => {}
        }
    }

    /// Takes losses off the window; true in the first round of a recovery, when as much is sent as arrives.
    fn repair(&mut self, window: &mut Window, acked: &Acked) -> bool {
        let before = std::mem::replace(&mut self.repair, acked.repair);
        window.packets = window.packets.saturating_sub(acked.lost).max(1);
        let arriving = acked.in_flight.1 + acked.packets;
        if acked.repair == Repair::Reducing && before != Repair::Reducing {
            (self.conserving, self.round_ends) = (true, acked.delivered);
            window.packets = arriving;
        } else if acked.repair == Repair::None && before != Repair::None {
            self.conserving = false;
            window.packets = window.packets.max(self.saved);
        }
        if self.conserving {
            window.packets = window.packets.max(arriving);
        }
        self.conserving
    }

    fn set_window(&mut self, window: &mut Window, acked: &Acked) {
        if acked.packets > 0 && !self.repair(window, acked) {
            let gain = match self.mode {
                Mode::Startup | Mode::Drain => HIGH_GAIN,
                Mode::ProbeRate { .. } => WINDOW_GAIN,
                Mode::ProbeRtt { .. } => 1.0,
            };
            let target = self.target(gain);
            if self.is_full {
                let most_ahead = (self.rate().unwrap_or(0.0) * MOST_AHEAD_NS) as u64;
                let target = target + self.ahead.most().min(most_ahead);
                window.packets = (window.packets + acked.packets).min(target);
            } else if window.packets < target || acked.delivered < INITIAL_WINDOW {
                window.packets += acked.packets;
            }
            window.packets = window.packets.max(SMALL_WINDOW);
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            window.packets = window.packets.min(SMALL_WINDOW);
        }
    }
}
