//! The code rate of a stream: fixed, or adapted to the loss. It must not know how the code works.
//!
//! The choice, and its reasons:
//!
//! - The loss rate is estimated from above: by the upper confidence bound of a Poisson count over the last seconds (a
//!   score interval of two standard deviations). Without losses, the bound reflects the sample size; it is not zero.
//! - Losses occur in bursts. Their size is estimated, too (the index of dispersion of the losses between reports), and
//!   the code is dimensioned for that many bursts, not for that many packets.
//! - A code n/w recovers a lost packet if no more packets are lost within w than there are repairs in that time, R = w/n.
//!   The residual loss is about p P(X >= R), with X the losses among w sources and their R repairs. That is close to what
//!   `docs/fec.md` computes while it is small, and above it. The cheapest code is chosen: overhead, a little
//!   for R multiply-adds per packet, and the residual loss, weighted by [`COST_OF_LOSS`]. Against independent
//!   losses that leaves almost none; against long bursts, it does not spend much overhead for little gain.
//! - Slack: if the mean loss uses up all repairs, none are left for its variance, and the code collapses. With d of L
//!   flows dark, a loss that is regular rather than random, n is at most [`SLACK`] (L - d)/d, so below L - 1 for one, and
//!   there are at least [`LEAST_IN_DARK`] repairs in a window: 12/96 with 16 flows, 6/48 with 8. Flows that are dark are
//!   counted separately, not as random loss. Where the maximum overhead leaves no slack, windows of a single
//!   repair are used: they fail one by one and not together.
//! - An increase of the loss counts at once: if the loss of the last 200 ms exceeds the estimate significantly (three
//!   standard deviations, of bursts), the estimate is the bound of these 200 ms. A decrease counts slowly, as the
//!   weight of the past decays, and the overhead falls by at most one step per second.

use weir_fec::CodeRate;

/// Repair packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fec {
    /// At a rate that does not change.
    Fixed(CodeRate),
    /// At a rate adapted to the loss that the receiver reports.
    Adaptive(AdaptiveLimits),
}

impl Fec {
    /// Maximum window of a repair, 1 to 4,095 packets, as the receiver must know it.
    pub fn window(&self) -> u16 {
        match self {
            Fec::Fixed(rate) => rate.window(),
            Fec::Adaptive(limits) => limits.bounded_window(),
        }
    }
}

/// Limits of an adaptive code rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveLimits {
    /// Maximum window of a repair, 4 to 4,095 packets: no more than are sent within the latency, since a repair that
    /// arrives later is useless.
    pub window: u16,
    /// Maximum overhead: repair packets as a share of the source packets, 1/64 to 1.
    pub most_overhead: f64,
}

impl AdaptiveLimits {
    fn bounded_window(&self) -> u16 {
        self.window.clamp(4, weir_fec::MAX_WINDOW)
    }

    /// Minimum number of sources per repair.
    fn fewest_sources(&self) -> u16 {
        let sources = (1.0 / self.most_overhead.clamp(1.0 / 64.0, 1.0) - 1e-9).ceil();
        sources as u16
    }
}

/// Cost of residual loss, relative to overhead: a residual loss of 10^-8 costs as much as 1 % of overhead.
const COST_OF_LOSS: f64 = 1e6;
/// Cost of one more open repair, relative to overhead.
const COST_OF_REPAIR: f64 = 2e-4;
/// Maximum share of the repairs that regular losses use up: 12 sources per repair with one of 16 flows dark, 6 with one
/// of 8.
const SLACK: f64 = 0.86;
const LEAST_IN_DARK: u16 = 8;
/// Sources per repair.
const STEPS: [u16; 12] = [64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1];
/// Open repairs at a time.
const REPAIRS: [u16; 7] = [2, 3, 4, 6, 8, 12, 16];
/// Time constants of the long and of the short average, seconds.
const PAST_S: f64 = 8.0;
const RECENT_S: f64 = 0.2;
/// Minimum time between steps down, and how long a dark flow is remembered, nanoseconds.
const STEP_NS: u64 = 1_000_000_000;
const DARK_NS: u64 = 10_000_000_000;
/// The prior: some loss, in few packets.
const SUPPOSED_PACKETS: f64 = 4_000.0;
const SUPPOSED_LOST: f64 = 4.0;
/// Single losses in the prior.
const SUPPOSED_SINGLE: f64 = 4.0;

/// A report of the time since the previous one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// Packets over flows that were not dark, and the lost ones among them.
    pub packets: u64,
    pub lost: u64,
    /// Live flows, and the dark ones among them.
    pub live: usize,
    pub dark: usize,
}

/// Exponentially decaying sums.
#[derive(Clone, Copy, Debug)]
struct Fading {
    seconds: f64,
    packets: f64,
    lost: f64,
}

impl Fading {
    fn add(&mut self, passed_s: f64, packets: f64, lost: f64) {
        let left = (-passed_s / self.seconds).exp();
        self.packets = self.packets * left + packets;
        self.lost = self.lost * left + lost;
    }

    fn share(&self) -> f64 {
        self.lost / self.packets.max(1.0)
    }

    /// Upper bound of the share: two standard deviations of a Poisson count, by the score interval.
    fn bound(&self) -> f64 {
        let most = self.lost + 2.0 + 2.0 * (self.lost + 1.0).sqrt();
        (most / self.packets.max(1.0)).min(1.0)
    }
}

/// An adaptive code rate.
#[derive(Clone, Debug)]
pub(crate) struct Adaptive {
    limits: AdaptiveLimits,
    past: Fading,
    recent: Fading,
    /// Losses, and half the squared differences between consecutive reports.
    dispersion: Fading,
    last_lost: f64,
    reported_ns: Option<u64>,
    /// Sources per repair that a dark flow requires, and until when this is remembered.
    dark: Option<(u16, u64)>,
    rate: CodeRate,
    changed_ns: u64,
}

impl Adaptive {
    /// The state before the first report.
    pub(crate) fn new(limits: AdaptiveLimits) -> Self {
        let past = Fading {
            seconds: PAST_S,
            packets: SUPPOSED_PACKETS,
            lost: SUPPOSED_LOST,
        };
        let nothing = |seconds| Fading {
            seconds,
            packets: 0.0,
            lost: 0.0,
        };
        let mut adaptive = Adaptive {
            limits,
            past,
            recent: nothing(RECENT_S),
            dispersion: nothing(PAST_S),
            last_lost: 0.0,
            reported_ns: None,
            dark: None,
            rate: rate(1, 2),
            changed_ns: 0,
        };
        adaptive.rate = adaptive.wanted(0);
        adaptive
    }

    /// The current rate.
    pub(crate) fn rate(&self) -> CodeRate {
        self.rate
    }

    /// Takes a report; returns the new rate if it changes.
    pub(crate) fn on_report(&mut self, now_ns: u64, observed: &Observed) -> Option<CodeRate> {
        let passed_ns = now_ns.saturating_sub(self.reported_ns.replace(now_ns).unwrap_or(now_ns));
        self.learn(passed_ns as f64 / 1e9, observed);
        if observed.dark > 0 && observed.live > observed.dark {
            let slack = SLACK * (observed.live - observed.dark) as f64 / observed.dark as f64;
            self.dark = Some(((slack as u16).max(1), now_ns + DARK_NS));
        }
        let wanted = self.wanted(now_ns);
        let chosen = if wanted.sources() > self.rate.sources() {
            self.one_step_down(now_ns, wanted)?
        } else {
            wanted
        };
        if chosen == self.rate {
            return None;
        }
        (self.rate, self.changed_ns) = (chosen, now_ns);
        Some(chosen)
    }

    fn learn(&mut self, passed_s: f64, observed: &Observed) {
        let (packets, lost) = (observed.packets as f64, observed.lost as f64);
        self.past.add(passed_s, packets, lost);
        self.recent.add(passed_s, packets, lost);
        let difference = lost - std::mem::replace(&mut self.last_lost, lost);
        self.dispersion.add(passed_s, lost, difference * difference / 2.0);
        let expected = self.past.share() * self.recent.packets;
        let clump = self.clump();
        if self.recent.lost > expected + 3.0 * (expected * clump).sqrt() + 3.0 * clump {
            self.past.lost = self.recent.bound() * self.past.packets;
        }
    }

    /// Upper bound of the loss rate.
    fn loss(&self) -> f64 {
        self.past.bound()
    }

    /// Mean burst length. The variance of independent losses equals their mean; taken between consecutive reports,
    /// the variance contains little of a trend.
    fn clump(&self) -> f64 {
        let (lost, variance) = (self.dispersion.packets, self.dispersion.lost);
        ((variance + SUPPOSED_SINGLE) / (lost + SUPPOSED_SINGLE)).max(1.0)
    }

    /// The cheapest code for the estimated loss.
    fn wanted(&self, now_ns: u64) -> CodeRate {
        self.choose(now_ns, STEPS[0])
    }

    /// The same with at most `most` sources per repair.
    fn choose(&self, now_ns: u64, most: u16) -> CodeRate {
        let dark = self.dark.filter(|(_, until)| now_ns < *until);
        let (most, least) = dark.map_or((most, 0), |(sources, _)| (sources.min(most), LEAST_IN_DARK));
        choose(&self.limits, (most, least), self.loss(), self.clump())
    }

    /// The next cheaper rate than the one in use, if it is time for it.
    fn one_step_down(&self, now_ns: u64, wanted: CodeRate) -> Option<CodeRate> {
        if now_ns < self.changed_ns + STEP_NS {
            return None;
        }
        let used = self.rate.sources();
        let next = STEPS.into_iter().rev().find(|sources| *sources > used)?;
        let next = next.min(wanted.sources());
        let code = self.choose(now_ns, next);
        (code.sources() > used).then_some(code)
    }
}

/// A code rate of valid numbers.
fn rate(sources: u16, window: u16) -> CodeRate {
    let sources = sources.max(1);
    let window = window.clamp(sources, weir_fec::MAX_WINDOW.max(sources));
    // Both are in range: the fallback is never taken.
    CodeRate::new(sources, window).unwrap_or(ONE_FOR_ONE)
}

const ONE_FOR_ONE: CodeRate = match CodeRate::new(1, 1) {
    Ok(rate) => rate,
    Err(_) => panic!("one source, one repair"),
};

/// The cheapest code for the loss rate `loss` in bursts of `clump`, within the limits: with at most `most`
/// sources per repair, and at least `least` repairs per window, if the limits allow it.
fn choose(limits: &AdaptiveLimits, (most, least): (u16, u16), loss: f64, clump: f64) -> CodeRate {
    let window = limits.bounded_window();
    let fewest = limits.fewest_sources().min(window);
    let most = most.clamp(fewest, window.max(fewest));
    let between = STEPS.into_iter().filter(|step| (fewest + 1..most).contains(step));
    // Without slack, windows of a single repair.
    let (mut best, mut least_cost) = (rate(fewest, fewest), f64::INFINITY);
    for sources in std::iter::once(most).chain(between).chain([fewest]) {
        let least = least.min(window / sources);
        let enough = REPAIRS.into_iter().filter(|repairs| *repairs >= least);
        for repairs in enough.filter(|repairs| repairs * sources <= window) {
            let Some(stays_lost) = residual(sources, repairs, loss, clump) else {
                continue;
            };
            let cost =
                1.0 / f64::from(sources) + COST_OF_LOSS * stays_lost + COST_OF_REPAIR * f64::from(repairs);
            if cost < least_cost {
                (best, least_cost) = (rate(sources, repairs * sources), cost);
            }
        }
    }
    best
}

/// Approximate residual loss rate with one repair per `sources`, over `repairs` times as many; none where
/// there is no slack.
fn residual(sources: u16, repairs: u16, loss: f64, clump: f64) -> Option<f64> {
    let load = loss * f64::from(sources) / (1.0 - loss).max(f64::MIN_POSITIVE);
    if load > SLACK {
        return None;
    }
    let packets = f64::from(repairs) * f64::from(sources + 1);
    let clumps = (f64::from(repairs) / clump).ceil();
    Some(loss * poisson_tail(packets * loss / clump, clumps as u32))
}

/// The probability that a Poisson count of this mean is `least` or more.
fn poisson_tail(mean: f64, least: u32) -> f64 {
    if least == 0 {
        return 1.0;
    }
    // From the first term on: the terms fall for means below `least`.
    let mut term = (1..=least).fold((-mean).exp(), |term, count| term * mean / f64::from(count));
    let mut sum = 0.0;
    let mut count = least;
    while term > sum * 1e-12 && count < least + 10_000 {
        sum += term;
        count += 1;
        term *= mean / f64::from(count);
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: AdaptiveLimits = AdaptiveLimits {
        window: 512,
        most_overhead: 0.25,
    };

    /// Expected values: the sum of the terms below `least` taken from 1, with 50 digits (Python's `decimal`).
    #[test]
    fn the_tail_of_a_poisson_count() {
        for (mean, least, expected) in [
            (0.5, 1, 0.393_469_340),
            (1.92, 8, 8.479_540e-4),
            (0.1, 4, 3.846_834e-6),
            (20.0, 16, 0.843_486_9),
        ] {
            let tail = poisson_tail(mean, least);
            assert!((tail / expected - 1.0).abs() < 1e-6, "{mean} {least}: {tail}");
        }
        assert_eq!(poisson_tail(3.0, 0), 1.0);
    }

    /// Close to the residual loss that `docs/fec.md` computes exactly, and not much below.
    #[test]
    fn the_residual_is_near_what_the_queue_computes() {
        for (sources, window, loss, computed) in [
            (64, 128, 0.001, 6.17e-6),
            (64, 128, 0.002, 4.66e-5),
            (20, 80, 0.005, 2.48e-6),
            (20, 80, 0.02, 0.001_43),
            (12, 48, 0.01, 1.03e-5),
            (12, 96, 0.02, 1.04e-5),
            (12, 96, 0.03, 0.000_216),
            (6, 48, 0.05, 0.000_15),
        ] {
            let ratio = residual(sources, window / sources, loss, 1.0).unwrap() / computed;
            assert!(
                (1.0..6.0).contains(&ratio),
                "{sources}/{window} at {loss}: {ratio}"
            );
        }
    }

    #[test]
    fn the_cheapest_code_that_leaves_next_to_nothing() {
        let code = |most, loss, clump| choose(&LIMITS, (most, 0), loss, clump).to_string();
        assert_eq!(code(64, 1e-5, 1.0), "64/128");
        assert_eq!(code(64, 4e-4, 1.0), "64/384");
        assert_eq!(code(64, 0.01, 1.0), "16/256");
        assert_eq!(
            code(64, 0.01, 4.0),
            "4/64",
            "packets that are lost four at a time"
        );
        assert_eq!(
            choose(&LIMITS, (12, 8), 4e-4, 1.0).to_string(),
            "12/96",
            "with a dark flow"
        );
        // The maximum overhead; and no window in which failures accumulate without slack.
        assert_eq!(code(64, 0.1, 1.0), "4/64");
        assert_eq!(code(64, 0.2, 1.0), "4/4");
        let narrow = AdaptiveLimits {
            window: 20,
            most_overhead: 0.1,
        };
        assert_eq!(choose(&narrow, (64, 0), 1e-6, 1.0).to_string(), "10/20");
        assert_eq!(choose(&narrow, (64, 0), 0.9, 1.0).to_string(), "10/10");
    }

    /// Ten milliseconds after ten, 400 packets in each.
    struct Reports {
        adaptive: Adaptive,
        now_ns: u64,
    }

    impl Reports {
        fn give(&mut self, seconds: f64, lost: u64, every: u64, dark: usize) {
            for report in 0..(seconds * 100.0) as u64 {
                self.now_ns += 10_000_000;
                let observed = Observed {
                    packets: 400,
                    lost: if report % every == every - 1 { lost } else { 0 },
                    live: 16,
                    dark,
                };
                self.adaptive.on_report(self.now_ns, &observed);
            }
        }

        fn rate(&self) -> String {
            self.adaptive.rate().to_string()
        }
    }

    #[test]
    fn it_rises_at_once_and_falls_slowly() {
        let mut reports = Reports {
            adaptive: Adaptive::new(LIMITS),
            now_ns: 0,
        };
        assert_eq!(reports.rate(), "32/384", "before anything is known");
        reports.give(10.0, 0, 1, 0);
        assert_eq!(reports.rate(), "64/128", "calm");
        reports.give(60.0, 1, 6, 0);
        assert_eq!(reports.adaptive.rate().sources(), 64, "0.04 %");
        // 1 %.
        reports.give(0.3, 4, 1, 0);
        assert!(reports.adaptive.rate().sources() <= 24, "{}", reports.rate());
        reports.give(0.7, 4, 1, 0);
        assert!(reports.adaptive.rate().sources() <= 24, "{}", reports.rate());
        reports.give(3.0, 0, 1, 0);
        assert!(reports.adaptive.rate().sources() <= 32, "{}", reports.rate());
        reports.give(60.0, 0, 1, 0);
        assert_eq!(reports.adaptive.rate().sources(), 64);
        // One of 16 flows.
        reports.give(0.02, 0, 1, 1);
        assert_eq!(reports.adaptive.rate().sources(), 12);
        reports.give(9.0, 0, 1, 0);
        assert_eq!(reports.adaptive.rate().sources(), 12);
        reports.give(10.0, 0, 1, 0);
        assert_eq!(reports.adaptive.rate().sources(), 64);
    }
}
