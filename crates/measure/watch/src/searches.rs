//! When the path MTU of a path is searched: once in an interval, beside a flow test, and once more to confirm what is unlike before.
//! A confirmation takes the place of a later search, so that there are no more than the plan counts. Pure.

/// The searches of a path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Searches {
    next_ns: u64,
}

impl Searches {
    /// Whether a flow test that starts now (Unix nanoseconds) has a search, which then counts. `in_doubt` says that one is to be
    /// confirmed.
    pub fn start(&mut self, now_ns: u64, every_ns: u64, in_doubt: bool) -> bool {
        let ahead_ns = self.next_ns.saturating_sub(now_ns);
        if ahead_ns == 0 || ahead_ns > every_ns.saturating_mul(2) {
            // It is time, or the clock was set back.
            self.next_ns = now_ns.saturating_add(every_ns);
            return true;
        }
        let may_confirm = in_doubt && ahead_ns <= every_ns;
        if may_confirm {
            self.next_ns = self.next_ns.saturating_add(every_ns);
        }
        may_confirm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_in_an_interval_and_one_ahead_for_doubt() {
        let started = |in_doubt: fn(u64) -> bool| -> Vec<u64> {
            let mut searches = Searches::default();
            let times = (1_000..2_000).step_by(10);
            times
                .filter(|now| searches.start(*now, 60, in_doubt(*now)))
                .collect()
        };
        assert_eq!(started(|_| false)[..3], [1_000, 1_060, 1_120]);
        assert_eq!(started(|now| now == 1_070)[..4], [1_000, 1_060, 1_070, 1_180]);
        // Ever in doubt: one more in all.
        assert_eq!(started(|_| true).len(), started(|_| false).len() + 1);
        let mut searches = Searches { next_ns: 9_000 };
        assert!(searches.start(1_000, 60, false), "the clock was set back");
    }
}
