//! A test whose rate fell once and stayed lower. It must not know why.

use weir_stats::{change, median};

use crate::measured::FlowTest;

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

/// A drop of the rate in a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RateDrop {
    /// Slots of the test before it.
    pub slots: u32,
    /// Payload rate before it, bits per second.
    pub before: f64,
    /// Payload rate after it, bits per second.
    pub after: f64,
    /// Probability of a change as clear as this if there were none.
    pub p_value: f64,
}

impl RateDrop {
    /// That of a test: one change of level, with nearly all of the rates before above nearly all of those after.
    pub fn of(test: &FlowTest) -> Option<Self> {
        let rates = rates(test);
        if rates.len() as u64 * u64::from(test.slot_seconds) < SHORTEST_S {
            return None;
        }
        let change = change(&rates).filter(|change| change.p_value < SURE)?;
        let (before, after) = rates.split_at(change.at);
        if before.len() < FEWEST || after.len() < FEWEST {
            return None;
        }
        let apart = share_of(before, 0.1) > share_of(after, 0.9);
        let (high, low) = (median(before.to_vec()), median(after.to_vec()));
        (apart && low < LOWER * high && low > DARK * high).then_some(RateDrop {
            // The first slot is not among the rates.
            slots: change.at as u32 + 1,
            before: high,
            after: low,
            p_value: change.p_value,
        })
    }

    /// Packets of a test that were lost since the drop, beyond the share of them that was lost before it.
    pub fn lost(&self, test: &FlowTest) -> f64 {
        let lost_of = |before: bool| {
            let slots = test
                .slots
                .iter()
                .filter(|slot| (slot.slot < self.slots) == before);
            slots.fold((0.0, 0.0), |(lost, all), slot| {
                (lost + slot.lost as f64, all + (slot.lost + slot.received) as f64)
            })
        };
        let ((lost, all), (lost_after, all_after)) = (lost_of(true), lost_of(false));
        let usual = if all > 0.0 { lost / all } else { 0.0 };
        (lost_after - usual * all_after).max(0.0)
    }
}

/// Payload rate of each slot but the first and the last, which may be shorter, bits per second.
fn rates(test: &FlowTest) -> Vec<f64> {
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
pub(super) fn share_of(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (share * sorted.len().saturating_sub(1) as f64).round() as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}
