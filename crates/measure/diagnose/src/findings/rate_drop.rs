//! The rate of a long test that fell and stayed lower: what instances do whose network runs on credits, once these are spent.
//! Their hypervisors count what they held back, which tells them from a network that became slower.

use weir_stats::{Change, change, median};
use weir_units::{format_bytes, format_count, format_duration, format_rate};

use crate::analysis::{Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::words::{rows_of, way};

/// Shortest test that has a level before and after, seconds.
const SHORTEST_S: u64 = 60;
/// Fewest slots on either side of the drop.
const FEWEST: usize = 10;
/// Highest share of the rate before that the rate after may be.
const LOWER: f64 = 0.9;
/// Below this share of it, flows were dark, which is an outage.
const DARK: f64 = 0.02;
/// Highest p-value of a drop.
const SURE: f64 = 1e-6;
/// An allowance explains a drop if this share of what it held back was held back after it.
const AFTER: f64 = 0.9;

/// A drop of the rate in one test.
struct Drop<'a> {
    step: &'a Step<'a>,
    change: Change,
    /// Slots of the test before it.
    slots: u32,
    /// Bits per second.
    before: f64,
    after: f64,
}

/// The finding, of the test whose rate fell most.
pub(crate) fn find(steps: &Steps) -> Option<Finding> {
    let drops = steps.with_set_aside().filter_map(Drop::of);
    let largest =
        drops.min_by(|one, other| (one.after / one.before).total_cmp(&(other.after / other.before)));
    largest.map(|drop| drop.describe())
}

impl<'a> Drop<'a> {
    /// The drop of a test: one change of level, with nearly all of the rates before above nearly all of those after.
    fn of(step: &'a Step<'a>) -> Option<Self> {
        let rates = rates(step);
        if rates.len() as u64 * u64::from(step.test.slot_seconds) < SHORTEST_S {
            return None;
        }
        let change = change(&rates).filter(|change| change.p_value < SURE)?;
        let (before, after) = rates.split_at(change.at);
        if before.len() < FEWEST || after.len() < FEWEST {
            return None;
        }
        let apart = share_of(before, 0.1) > share_of(after, 0.9);
        let (high, low) = (median(before.to_vec()), median(after.to_vec()));
        (apart && low < LOWER * high && low > DARK * high).then_some(Drop {
            step,
            change,
            // The first slot is not among the rates.
            slots: change.at as u32 + 1,
            before: high,
            after: low,
        })
    }

    /// Packets that allowances of both hosts held back before and after it.
    fn throttled(&self) -> (u64, u64) {
        let mut sums = (0_u64, 0_u64);
        for (slot, packets) in &self.step.test.throttled {
            let sum = if *slot < self.slots {
                &mut sums.0
            } else {
                &mut sums.1
            };
            *sum = sum.saturating_add(*packets);
        }
        sums
    }

    /// Packets that were received before and after it.
    fn received(&self) -> (u64, u64) {
        let of = |before: bool| {
            let slots = self.step.test.slots.iter();
            slots
                .filter(|slot| (slot.slot < self.slots) == before)
                .fold(0, |sum: u64, slot| sum.saturating_add(slot.received))
        };
        (of(true), of(false))
    }

    fn describe(&self) -> Finding {
        let test = self.step.test;
        let ((early, late), (came, came_after)) = (self.throttled(), self.received());
        let by_allowance = late > 0 && late as f64 >= AFTER * (early + late) as f64;
        let after_s = u64::from(self.slots) * u64::from(test.slot_seconds);
        let (high, low) = (format_rate(self.before as u64), format_rate(self.after as u64));
        let time = format_duration(after_s * 1_000_000_000);
        // What a bucket of credits holds beside what flows into it.
        let credit = ((self.before - self.after) / 8.0 * after_s as f64) as u64;
        let cause = if by_allowance {
            format!(
                "Allowances of the instances held back {} packets after that and {} before: burst credits were spent, some {}.",
                format_count(late),
                format_count(early),
                format_bytes(credit)
            )
        } else {
            "No allowance of an instance was counted: burst credits, a policer with a large bucket and other traffic look alike."
                .to_owned()
        };
        let slots = format!(
            "(dense_rank() OVER (ORDER BY unix_ns) - 1) / {}",
            test.slot_seconds
        );
        Finding {
            name: FindingName::RateDrop,
            severity: Severity::Fault,
            direction: Some(test.direction),
            brief: format!(
                "the rate fell from {high} to {low} after {time}{}",
                way(test.direction)
            ),
            sentence: format!(
                "the rate{} fell from {high} to {low} after {time}, and stayed there. {cause}",
                way(test.direction)
            ),
            evidence: vec![
                Evidence::in_unit("rate before", self.before.round() as u64, "bit/s"),
                Evidence::in_unit("rate after", self.after.round() as u64, "bit/s"),
                Evidence::in_unit("time until the drop", after_s, "s"),
                Evidence::of("packets received before", came),
                Evidence::of("packets received after", came_after),
                Evidence::of("packets that allowances held back before", early),
                Evidence::of("packets that allowances held back after", late),
            ],
            query: format!(
                "SELECT sum(received) FILTER (WHERE slot < {0}) AS \"packets received before\",\n       sum(received) FILTER (WHERE slot \
                 >= {0}) AS \"packets received after\"\nFROM (SELECT received, {slots} AS slot FROM flow_seconds WHERE {1})",
                self.slots,
                rows_of(test.run, test.direction)
            ),
            confidence: Confidence::by_test("Pettitt's test of the rate over time", self.change.p_value),
            action: format!(
                "Plan for {low}, or choose an instance whose baseline, and not its burst, carries the rate; test for as long as the \
                 media will run."
            ),
        }
    }
}

/// Payload rate of each slot but the first and the last, which may be shorter, bits per second.
fn rates(step: &Step) -> Vec<f64> {
    let test = step.test;
    let last = test.slots.iter().map(|slot| slot.slot).max().unwrap_or(0);
    let mut received = vec![0_u64; last as usize + 1];
    for slot in &test.slots {
        let sum = &mut received[slot.slot as usize];
        *sum = sum.saturating_add(slot.received);
    }
    let bits = f64::from(test.payload) * 8.0 / f64::from(test.slot_seconds.max(1));
    let inner = received.get(1..last as usize).unwrap_or_default();
    inner.iter().map(|packets| *packets as f64 * bits).collect()
}

/// The value below which this share of the others lies.
fn share_of(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (share * sorted.len().saturating_sub(1) as f64).round() as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}
