//! How much is sent besides the stream for repair: a code rate that is fixed, or one that follows the loss. It must not
//! know how the code works.
//!
//! What is chosen, and why:
//!
//! - The loss rate is estimated from above: by the upper confidence bound of a Poisson count over the last seconds (a score
//!   interval of two standard deviations). Where nothing was lost, the bound says how little is known, not that all is well.
//! - Losses come in clumps. Their size is estimated too (the index of dispersion of the losses from report to report), and
//!   a code is to bear that many clumps, not that many packets.
//! - A code n/w gives a lost packet back if no more packets are lost within w than there are repairs in that time, R = w/n.
//!   What stays lost is about p P(X >= R), with X the losses among w sources and their R repairs. That is close to what
//!   `docs/fec.md` computes as long as it is small, and above it. The code is taken that costs least: overhead, a little
//!   for the work of R multiply-adds a packet, and for what stays lost as much as [`COST_OF_LOSS`] says. Against independent
//!   losses that leaves next to nothing; against long bursts, it does not spend much overhead for little gain.
//! - Slack: repairs that are used up by what is lost on average leave none for chance, and the code collapses. With d of L
//!   flows dark, a loss that is regular rather than random, n is at most [`SLACK`] (L - d)/d, so below L - 1 for one, and
//!   there are at least [`LEAST_IN_DARK`] repairs in a window: 12/96 with 16 flows, 6/48 with 8. Flows that are dark are
//!   counted apart and not as random loss. Where the most overhead leaves no slack, windows of a single
//!   repair are used: they fail one by one and not together.
//! - More loss counts at once: if in the last fifth of a second more was lost than the estimate has by chance (three
//!   standard deviations, of clumps), the estimate is the bound of that fifth of a second. Less loss counts slowly, as the
//!   past fades, and the rate falls by one step a second at most.

use weir_fec::CodeRate;

/// Repair packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fec {
    /// At a rate that does not change.
    Fixed(CodeRate),
    /// At a rate that follows the loss that the receiver reports.
    Adaptive(AdaptiveLimits),
}

impl Fec {
    /// The most packets that a repair is over, 1 to 4,095: what the receiver is told.
    pub fn window(&self) -> u16 {
        match self {
            Fec::Fixed(rate) => rate.window(),
            Fec::Adaptive(limits) => limits.bounded_window(),
        }
    }
}

/// Bounds of a code rate that follows the loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveLimits {
    /// The most packets that a repair is over, 4 to 4,095: no more than are sent within the latency, since a repair that
    /// comes later is of no use.
    pub window: u16,
    /// The most repair packets, as a share of the source packets, 1/64 to 1.
    pub most_overhead: f64,
}

impl AdaptiveLimits {
    fn bounded_window(&self) -> u16 {
        self.window.clamp(4, weir_fec::MAX_WINDOW)
    }

    /// The fewest sources for each repair.
    fn fewest_sources(&self) -> u16 {
        let sources = (1.0 / self.most_overhead.clamp(1.0 / 64.0, 1.0) - 1e-9).ceil();
        sources as u16
    }
}

/// One source packet of so many that stays lost is as bad as twice the packets: one of 100 million as 1 % of overhead.
const COST_OF_LOSS: f64 = 1e6;
/// And one repair more in the making as so much overhead.
const COST_OF_REPAIR: f64 = 2e-4;
/// How much of the repairs regular losses may use up: 12 sources for a repair with one of 16 flows dark, 6 with one of 8.
const SLACK: f64 = 0.86;
const LEAST_IN_DARK: u16 = 8;
/// Sources for a repair.
const STEPS: [u16; 12] = [64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1];
/// Repairs that are in the making at a time.
const REPAIRS: [u16; 7] = [2, 3, 4, 6, 8, 12, 16];
/// The past fades to a third in this time, and the recent past in this one, seconds.
const PAST_S: f64 = 8.0;
const RECENT_S: f64 = 0.2;
/// From one step down to the next, and for how long a flow that was dark is remembered, nanoseconds.
const STEP_NS: u64 = 1_000_000_000;
const DARK_NS: u64 = 10_000_000_000;
/// Before anything is known: some loss, in few packets.
const SUPPOSED_PACKETS: f64 = 4_000.0;
const SUPPOSED_LOST: f64 = 4.0;
/// Losses that are supposed to have come alone.
const SUPPOSED_SINGLE: f64 = 4.0;

/// What a report says of the time since the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// Packets over flows that were not dark, and those of them that did not come.
    pub packets: u64,
    pub lost: u64,
    /// Flows that carry their share, and those of them that are dark.
    pub live: usize,
    pub dark: usize,
}

/// Sums that fade.
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

    /// The share from above: two standard deviations of a Poisson count, by the score interval.
    fn bound(&self) -> f64 {
        let most = self.lost + 2.0 + 2.0 * (self.lost + 1.0).sqrt();
        (most / self.packets.max(1.0)).min(1.0)
    }
}

/// The code rate that the loss asks for.
#[derive(Clone, Debug)]
pub(crate) struct Adaptive {
    limits: AdaptiveLimits,
    past: Fading,
    recent: Fading,
    /// Losses, and half the squared differences of those of one report and the next.
    dispersion: Fading,
    last_lost: f64,
    reported_ns: Option<u64>,
    /// With how few sources a dark flow is borne, and until when that is remembered.
    dark: Option<(u16, u64)>,
    rate: CodeRate,
    changed_ns: u64,
}

impl Adaptive {
    /// Nothing is known.
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

    /// The rate that is chosen now.
    pub(crate) fn rate(&self) -> CodeRate {
        self.rate
    }

    /// Takes a report, and gives another rate if that is chosen.
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

    /// Loss rate, from above.
    fn loss(&self) -> f64 {
        self.past.bound()
    }

    /// How many packets are lost together. Independent losses vary as much as their mean; taken from one report to the
    /// next, variance has little in it of loss that grows or ends.
    fn clump(&self) -> f64 {
        let (lost, variance) = (self.dispersion.packets, self.dispersion.lost);
        ((variance + SUPPOSED_SINGLE) / (lost + SUPPOSED_SINGLE)).max(1.0)
    }

    /// The cheapest code that bears what is known of the loss.
    fn wanted(&self, now_ns: u64) -> CodeRate {
        self.choose(now_ns, STEPS[0])
    }

    /// The same with no more than `most` sources for a repair.
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

/// A code rate of numbers that go together.
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

/// The code that costs least against losses of the rate `loss`, `clump` at a time, within the limits: with at most so many
/// sources for a repair, and at least so many repairs in a window, if there is room for them.
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

/// About what share of the sources stays lost with one repair for each `sources` over `repairs` times as many; none where
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

/// The chance that a Poisson count of this mean is `least` or more.
fn poisson_tail(mean: f64, least: u32) -> f64 {
    if least == 0 {
        return 1.0;
    }
    // From the first term on, which are the larger ones where it matters: means below `least`.
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

    /// Beside the residuals that `docs/fec.md` computes exactly: near, and not much below.
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
        // As much as there may be; and no window in which failures add up where there is no slack.
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
