//! The delay that queues on the path add while a stream runs.

use std::collections::BTreeMap;

use weir_stats::median;

use super::routes::RouteView;
use crate::measured::FlowTest;

/// Packets that a queue which never runs empty holds, at least.
const STANDING_PACKETS: f64 = 3.0;

/// What queues add, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Queueing {
    /// Smallest delay of a later second above the smallest of the test: a queue that never ran empty.
    pub standing_ns: f64,
    /// Median delay above the smallest of the test.
    pub median_ns: f64,
    /// 99 % quantile above the smallest of the test.
    pub p99_ns: f64,
    /// Time that the path took for one packet, at the rate at which they arrived.
    pub packet_ns: f64,
    /// Bytes of a sender's burst that came through, on average.
    pub burst_bytes: f64,
}

impl Queueing {
    /// From the delays of all flows, each less what its route is longer.
    pub fn of(test: &FlowTest, routes: &RouteView) -> Self {
        let mut longer: BTreeMap<u16, f64> = BTreeMap::new();
        for (flows, level_ns) in routes.members.iter().zip(&routes.levels_ns) {
            longer.extend(flows.iter().map(|flow| (*flow, *level_ns)));
        }
        let mut slots: BTreeMap<u32, (i64, Vec<f64>, Vec<f64>)> = BTreeMap::new();
        for slot in &test.slots {
            if let Some(delay) = slot.delay {
                let entry = slots
                    .entry(slot.slot)
                    .or_insert((i64::MAX, Vec::new(), Vec::new()));
                let longer = longer.get(&slot.flow).copied().unwrap_or(0.0);
                entry.0 = entry.0.min(delay.min - longer as i64);
                entry.1.push(delay.p50 as f64 - longer);
                entry.2.push(delay.p99 as f64 - longer);
            }
        }
        let Some(base) = slots.values().map(|slot| slot.0).min() else {
            return Queueing::default();
        };
        let later = || slots.values().skip(usize::from(slots.len() > 1));
        let above = |values: Vec<f64>| median(values) - base as f64;
        let packet_ns = test.active_ns as f64 / test.received.max(1) as f64;
        let passed = test.received as f64 / test.sent.max(1) as f64;
        Queueing {
            standing_ns: above(later().map(|slot| slot.0 as f64).collect()),
            median_ns: above(later().map(|slot| median(slot.1.clone())).collect()),
            p99_ns: above(later().map(|slot| median(slot.2.clone())).collect()),
            packet_ns,
            burst_bytes: f64::from(test.plan.burst_packets()) * f64::from(test.payload) * passed,
        }
    }

    /// A queue was there all the time.
    pub fn stands(&self) -> bool {
        self.standing_ns > STANDING_PACKETS * self.packet_ns
    }

    /// Rate at which the path sends a burst on: what of it came through, over the time by which its last packet came
    /// later than its first. `usual_ns` is the median delay above the smallest where nothing is lost.
    pub fn drain_rate(&self, usual_ns: f64) -> f64 {
        // Delays within a burst rise evenly, so that the middle one is half of the last.
        8e9 * self.burst_bytes / (2.0 * (self.median_ns - usual_ns)).max(1.0)
    }
}
