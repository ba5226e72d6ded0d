//! A limit on the rate of events of each kind: whoever can cause events must not be able to fill a disk with them, or to hide
//! events of another kind. It has no clock.

use std::collections::BTreeMap;

/// Events of a kind that pass at once.
const BURST: u64 = 30;
/// Interval of further events of the kind, nanoseconds.
const INTERVAL_NS: u64 = 10_000_000_000;

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Events that may pass now.
    left: u64,
    /// Since when the next one has been filling up.
    since_ns: u64,
    held_back: u64,
}

/// Lets 30 events of each kind pass, and then one every 10 s; unused ones add up to 30 again. There are as many entries as
/// kinds: a kind must not come from outside.
#[derive(Clone, Debug)]
pub struct Gate<K> {
    buckets: BTreeMap<K, Bucket>,
}

impl<K> Default for Gate<K> {
    fn default() -> Self {
        Gate {
            buckets: BTreeMap::new(),
        }
    }
}

impl<K: Ord> Gate<K> {
    /// Whether an event passes: if so, the number of events of its kind that were held back since the last one.
    pub fn pass(&mut self, now_ns: u64, kind: K) -> Option<u64> {
        let bucket = self.buckets.entry(kind).or_insert(Bucket {
            left: BURST,
            since_ns: now_ns,
            held_back: 0,
        });
        let filled = now_ns.saturating_sub(bucket.since_ns) / INTERVAL_NS;
        bucket.left = bucket.left.saturating_add(filled).min(BURST);
        bucket.since_ns += filled * INTERVAL_NS;
        if bucket.left == 0 {
            bucket.held_back += 1;
            return None;
        }
        if bucket.left == BURST {
            bucket.since_ns = now_ns;
        }
        bucket.left -= 1;
        Some(std::mem::take(&mut bucket.held_back))
    }

    /// Events held back that no later event has reported.
    pub fn held_back(&self) -> u64 {
        self.buckets.values().map(|bucket| bucket.held_back).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn a_flood_passes_at_the_rate_and_is_counted_and_other_kinds_pass() {
        let mut gate = Gate::default();
        // A thousand a second for a minute.
        let passed: Vec<(u64, u64)> = (0..60_000)
            .filter_map(|ms| Some((ms, gate.pass(ms * SECOND_NS / 1_000, "refused")?)))
            .collect();
        assert_eq!(passed.len(), 30 + 5, "then at 10, 20, 30, 40 and 50 s");
        assert_eq!(passed[29], (29, 0));
        assert_eq!(passed[30], (10_000, 9_970));
        assert_eq!(passed[31], (20_000, 9_999));
        assert_eq!(gate.held_back(), 9_999);
        assert_eq!(gate.pass(59 * SECOND_NS, "residual_loss"), Some(0));
    }

    #[test]
    fn after_a_quiet_time_as_many_pass_as_at_first() {
        let mut gate = Gate::default();
        let burst = |gate: &mut Gate<u8>, at| (0..100).filter(|_| gate.pass(at, 1).is_some()).count();
        assert_eq!(burst(&mut gate, 0), 30);
        assert_eq!(burst(&mut gate, 25 * SECOND_NS), 2);
        assert_eq!(burst(&mut gate, 10_000 * SECOND_NS), 30);
        assert_eq!(burst(&mut gate, u64::MAX), 30);
    }
}
