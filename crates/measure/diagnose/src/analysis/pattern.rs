//! Whether a loss that all tests meet is chance: where its packets lay among those sent. A path that loses at random, or in bursts
//! of its own, does so wherever a packet stands in the stream. It must not know which findings there are.

use std::collections::BTreeMap;

use weir_measure::flows::BurstPlaces;
use weir_results::StreamBurst;
use weir_stats::normal_tail;

use super::process::{design_effect, process};
use super::{Step, sequences};

/// Fewer losses than this show no pattern.
const LEAST: u64 = 20;
/// A pattern is believed below this chance.
const CHANCE: f64 = 1e-6;
/// So many of the distances have to be the same.
const SAME: f64 = 0.5;
/// So many where they are said to be the same in every test.
const NEARLY_ALL: f64 = 0.9;
/// Shorter distances are those of bursts.
const LEAST_DISTANCE: u64 = 3;
/// The mean place of the lost packets is this far from the middle of the sender's bursts.
const ASIDE: f64 = 0.05;
/// Numbers of last packets of a burst that are looked at.
const LAST: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// The last packets are spared if less than this share of what chance loses of them is lost.
const SPARED: f64 = 0.5;
/// The last of a burst are few, so that this much chance has to do.
const SPARED_CHANCE: f64 = 1e-4;
/// Packets of a run of lost ones that are looked at: a longer one has every place.
const MOST_OF_ONE: u64 = 1_024;
/// No burst of a network lasts for this number of packets and this long, and lets a tenth of its packets through.
const PERIOD_PACKETS: f64 = 1_000.0;
const PERIOD_NS: f64 = 50e6;
const MOST_OF_PERIOD: f64 = 0.9;
/// Beside such a period nearly nothing is lost.
const BESIDE: f64 = 0.1;
/// What hosts lose depends on the sender's bursts: tests in which they lost more than this share show nothing of the network.
const MOST_ON_HOSTS: f64 = 0.02;

/// What is not chance about lost packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pattern {
    /// One packet is lost in a fixed number.
    Every {
        /// Packets from one to the next.
        packets: u64,
        /// Share of the distances that are this long, 0 to 1.
        share: f64,
    },
    /// More are lost at one end of what the sender sends back to back.
    InBursts {
        /// Mean place of the lost packets: 0 is the beginning of a burst, 1 its end.
        place: f64,
        /// Probability of a place as far from the middle if they were lost anywhere.
        p_value: f64,
    },
    /// The last of what the sender sends back to back are spared: a packet is lost if others come soon after it.
    SparesLast {
        /// So many of the last.
        packets: u64,
        /// Lost ones among them.
        lost: u64,
        /// Lost ones among them if they were lost anywhere.
        expected: f64,
        /// Probability of so few then, at most.
        p_value: f64,
    },
    /// Some are lost for a while, and nearly none before and after.
    AtTimes {
        /// How long that lasts on average, nanoseconds.
        lasts_ns: u64,
        /// Share of the packets that is lost then, 0 to 1.
        loss: f64,
        /// Probability of losses as close together if they were independent.
        p_value: f64,
    },
}

/// The pattern of the losses of these tests.
pub(crate) fn pattern(steps: &[&Step]) -> Option<Pattern> {
    let steps: Vec<&Step> = steps
        .iter()
        .copied()
        .filter(|step| step.spoiled_by_hosts() <= MOST_ON_HOSTS)
        .collect();
    every(&steps)
        .or_else(|| in_bursts(&steps))
        .or_else(|| at_times(&steps))
}

fn every(steps: &[&Step]) -> Option<Pattern> {
    let mut all: BTreeMap<u64, u64> = BTreeMap::new();
    for step in steps {
        for (distance, count) in distances(step) {
            *all.entry(distance).or_default() += count;
        }
    }
    let (packets, share) = usual(&all)?;
    (share >= SAME).then_some(Pattern::Every { packets, share })
}

/// Whether tests of several lengths all lose one packet in the same number: a limit lets more packets of one length through than of
/// another.
pub(super) fn is_every_length_alike(steps: &[Step]) -> bool {
    let usual = |step: &Step| {
        let (packets, share) = usual(&distances(step))?;
        Some((step.test.payload, packets, share))
    };
    let found: Vec<(u32, u64, f64)> = steps.iter().filter_map(usual).collect();
    let alike = |pair: &[(u32, u64, f64)]| pair[0].1 == pair[1].1;
    let several = found.windows(2).any(|pair| pair[0].0 != pair[1].0);
    several && found.windows(2).all(alike) && found.iter().all(|(.., share)| *share >= NEARLY_ALL)
}

/// Share of the packets that is lost of the first half of what is sent back to back, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Early {
    /// Of all flows together.
    pub of_all: f64,
    /// Of each flow.
    pub of_each: f64,
}

impl Early {
    /// None where a test does not show it.
    pub fn of(step: &Step) -> Option<Self> {
        if !has_bursts(step) || !step.test.bursts_complete {
            return None;
        }
        let mut bursts = BurstPlaces::new(&step.test.plan);
        let (mut of_all, mut of_each) = (0.0, 0.0);
        for burst in sequences::undisturbed(step) {
            let looked_at = burst.length.min(MOST_OF_ONE);
            for sequence in (0..looked_at).map(|offset| burst.first_sequence.saturating_add(offset)) {
                of_all += f64::from(u8::from(bursts.place(sequence) < 0.5));
                of_each += f64::from(u8::from(bursts.place_in_flow(sequence) < 0.5));
            }
            let others = 0.5 * (burst.length - looked_at) as f64;
            of_all += others;
            of_each += others;
        }
        let half = 0.5 * step.loss().trials.max(1) as f64;
        Some(Early {
            of_all: of_all / half,
            of_each: of_each / half,
        })
    }

    /// What takes packets wherever they stand takes no more of all of them than of either half.
    pub fn least(&self) -> f64 {
        self.of_all.min(self.of_each)
    }
}

fn has_bursts(step: &Step) -> bool {
    step.test.plan.length > 0 && step.test.plan.burst_packets() > 1
}

/// How often each distance from one lost packet to the next occurs.
fn distances(step: &Step) -> BTreeMap<u64, u64> {
    let lost: Vec<&StreamBurst> = sequences::undisturbed(step).collect();
    let mut distances = BTreeMap::new();
    for pair in lost.windows(2) {
        let distance = pair[1].first_sequence.saturating_sub(pair[0].first_sequence);
        *distances.entry(distance).or_default() += 1;
    }
    distances
}

/// The most frequent distance, and its share; none of few losses, or within bursts.
fn usual(distances: &BTreeMap<u64, u64>) -> Option<(u64, f64)> {
    let all: u64 = distances.values().sum();
    let (packets, same) = distances.iter().max_by_key(|(_, count)| **count)?;
    (all >= LEAST && *packets >= LEAST_DISTANCE).then_some((*packets, *same as f64 / all as f64))
}

/// Lost packets by where they stood in what was sent back to back.
struct Stood {
    /// Sum of their places, each weighed.
    places: f64,
    /// Sum of the weights.
    weight: f64,
    /// For each of [`LAST`]: weight of those among the last, and what it would be if they were lost anywhere.
    last: [(f64, f64); LAST.len()],
}

impl Stood {
    fn of(steps: &[&Step]) -> Self {
        let mut stood = Stood {
            places: 0.0,
            weight: 0.0,
            last: [(0.0, 0.0); LAST.len()],
        };
        for step in steps.iter().filter(|step| has_bursts(step)) {
            stood.add(step);
        }
        stood
    }

    fn add(&mut self, step: &Step) {
        let mut bursts = BurstPlaces::new(&step.test.plan);
        // Each loss weighs what it says beside those of its burst.
        let of_one = 1.0 / design_effect(step);
        let shares = LAST.map(|packets| bursts.share_of_last(packets));
        for burst in sequences::undisturbed(step) {
            for offset in 0..burst.length.min(MOST_OF_ONE) {
                let sequence = burst.first_sequence.saturating_add(offset);
                self.places += of_one * bursts.place(sequence);
                self.weight += of_one;
                let until_end = bursts.until_end(sequence);
                for ((packets, share), (lost, expected)) in LAST.iter().zip(shares).zip(&mut self.last) {
                    *expected += of_one * share;
                    if until_end < *packets as f64 {
                        *lost += of_one;
                    }
                }
            }
        }
    }
}

fn in_bursts(steps: &[&Step]) -> Option<Pattern> {
    let stood = Stood::of(steps);
    if stood.weight < LEAST as f64 {
        return None;
    }
    let mean = stood.places / stood.weight;
    // Twelve: the variance of places that are all alike is a twelfth.
    let off = (mean - 0.5).abs() * (12.0 * stood.weight).sqrt();
    let p_value = 2.0 * normal_tail(off);
    let is_pattern = (mean - 0.5).abs() >= ASIDE && p_value < CHANCE;
    is_pattern
        .then_some(Pattern::InBursts { place: mean, p_value })
        .or_else(|| spares_last(&stood))
}

fn spares_last(stood: &Stood) -> Option<Pattern> {
    let few = LAST.iter().zip(stood.last).map(|(packets, (lost, expected))| {
        // Chernoff's bound of a Poisson variable, for each of the numbers that are looked at (Bonferroni).
        let ratio = lost / expected;
        let excess = if lost > 0.0 { lost * ratio.ln() } else { 0.0 };
        let p_value = LAST.len() as f64 * (lost - expected - excess).exp();
        (*packets, lost, expected, p_value.min(1.0))
    });
    few.filter(|(_, lost, expected, p_value)| *lost < SPARED * expected && *p_value < SPARED_CHANCE)
        .min_by(|one, other| one.3.total_cmp(&other.3))
        .map(|(packets, lost, expected, p_value)| Pattern::SparesLast {
            packets,
            lost: lost.round() as u64,
            expected,
            p_value,
        })
}

fn at_times(steps: &[&Step]) -> Option<Pattern> {
    let process = process(steps)?;
    let fit = process.fit.as_ref()?;
    let packets = 1.0 / fit.process.to_good;
    let test_ns = steps.iter().map(|step| step.test.active_ns).sum::<u64>() as f64 / steps.len() as f64;
    let lasts_ns = packets / process.sequence_packets.max(1.0) * test_ns;
    let (loss, beside) = (fit.process.loss_bad, fit.process.loss_good);
    let is_pattern = packets >= PERIOD_PACKETS
        && lasts_ns >= PERIOD_NS
        && loss <= MOST_OF_PERIOD
        && beside <= BESIDE * loss;
    is_pattern.then_some(Pattern::AtTimes {
        lasts_ns: lasts_ns as u64,
        loss,
        p_value: process.p_value,
    })
}
