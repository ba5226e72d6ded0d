//! The rate of a long test that fell and stayed lower: what instances do whose network runs on credits, once these are spent.
//! Their hypervisors count what they held back, which tells them from a network that became slower.

use weir_units::{format_bytes, format_count, format_duration, format_rate};

use crate::analysis::{RateDrop, Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::measured::Measured;
use crate::sold::Sold;
use crate::words::{rows_of, way};

/// An allowance explains a drop if this share of what it held back was held back after it.
const AFTER: f64 = 0.9;

/// A drop of the rate in one test.
struct Dropped<'a> {
    step: &'a Step<'a>,
    drop: RateDrop,
}

/// The finding, of the test whose rate fell most. A test whose loss a limit explains, which holds in tests without a drop too, is
/// not asked: the two would explain the same packets.
pub(crate) fn find(steps: &Steps, measured: &Measured) -> Option<Finding> {
    let own = !steps.is_limit_a_drop();
    let limited = steps.limit.iter().flat_map(|limit| &limit.steps);
    let limited: Vec<&Step> = limited
        .filter(|_| own)
        .map(|index| &steps.steps[*index])
        .collect();
    let asked = steps
        .with_set_aside()
        .filter(|step| !limited.iter().any(|limited| std::ptr::eq(*limited, *step)));
    let drops = asked.filter_map(|step| step.drop.map(|drop| Dropped { step, drop }));
    let fell = |dropped: &Dropped| dropped.drop.after / dropped.drop.before;
    let largest = drops.min_by(|one, other| fell(one).total_cmp(&fell(other)));
    largest.map(|dropped| dropped.describe(measured))
}

impl Dropped<'_> {
    /// Packets that allowances of both hosts held back before and after it.
    fn throttled(&self) -> (u64, u64) {
        let mut sums = (0_u64, 0_u64);
        for (slot, packets) in &self.step.test.throttled {
            let sum = if *slot < self.drop.slots {
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
                .filter(|slot| (slot.slot < self.drop.slots) == before)
                .fold(0, |sum: u64, slot| sum.saturating_add(slot.received))
        };
        (of(true), of(false))
    }

    fn describe(&self, measured: &Measured) -> Finding {
        let test = self.step.test;
        let ((early, late), (came, came_after)) = (self.throttled(), self.received());
        let by_allowance = late > 0 && late as f64 >= AFTER * (early + late) as f64;
        let drop = &self.drop;
        let sold = Sold::of(measured, test.direction, drop.after);
        let after_s = u64::from(drop.slots) * u64::from(test.slot_seconds);
        let (high, low) = (format_rate(drop.before as u64), format_rate(drop.after as u64));
        let time = format_duration(after_s * 1_000_000_000);
        // What a bucket of credits holds beside what flows into it.
        let credit = ((drop.before - drop.after) / 8.0 * after_s as f64) as u64;
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
                "the rate{} fell from {high} to {low} after {time}, and stayed there. {cause}{}",
                way(test.direction),
                sold.sentences()
            ),
            evidence: [
                vec![
                    Evidence::in_unit("rate before", drop.before.round() as u64, "bit/s"),
                    Evidence::in_unit("rate after", drop.after.round() as u64, "bit/s"),
                    Evidence::in_unit("time until the drop", after_s, "s"),
                    Evidence::of("packets received before", came),
                    Evidence::of("packets received after", came_after),
                    Evidence::of("packets that allowances held back before", early),
                    Evidence::of("packets that allowances held back after", late),
                ],
                sold.evidence(),
            ]
            .concat(),
            query: format!(
                "SELECT sum(received) FILTER (WHERE slot < {0}) AS \"packets received before\",\n       sum(received) FILTER (WHERE slot \
                 >= {0}) AS \"packets received after\"\nFROM (SELECT received, {slots} AS slot FROM flow_seconds WHERE {1})",
                drop.slots,
                rows_of(test.run, test.direction)
            ),
            confidence: Confidence::by_test("Pettitt's test of the rate over time", drop.p_value),
            action: format!(
                "Plan for {low}, or choose an instance whose baseline, and not its burst, carries the rate (docs/clouds.md has what a \
                 sustained Gbit/s costs); test for as long as the media will run."
            ),
        }
    }
}
