//! The packet threads of tests that have several, lent to all sessions together: their number does not grow with that of the
//! sessions.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::MeasureError;
use crate::flows::FlowsRequest;

#[derive(Debug)]
pub(super) struct ThreadPool {
    free: AtomicU32,
}

/// Threads of one test, until dropped.
#[derive(Debug)]
pub(super) struct LentThreads<'a> {
    pool: &'a ThreadPool,
    count: u32,
}

impl ThreadPool {
    /// Enough for one test in both directions with `most` threads in each.
    pub(super) fn new(most: u16) -> Self {
        ThreadPool {
            free: AtomicU32::new(2 * u32::from(most)),
        }
    }

    /// The threads of a test whose number has been checked. A test with one in each direction needs none of these.
    pub(super) fn lend(&self, request: &FlowsRequest) -> Result<LentThreads<'_>, MeasureError> {
        let ways = request.plan.ways;
        let directions = u32::from(ways.forward()) + u32::from(ways.reverse());
        let count = match request.threads {
            0 | 1 => 0,
            several => u32::from(several) * directions,
        };
        let take = |free: u32| free.checked_sub(count);
        match self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(LentThreads { pool: self, count }),
            Err(free) => Err(MeasureError::Refused(format!(
                "{free} of its packet threads are free and {count} were asked; lower --threads, or try again when other tests are over"
            ))),
        }
    }
}

impl Drop for LentThreads<'_> {
    fn drop(&mut self) {
        self.pool.free.fetch_add(self.count, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::{FlowsPlan, FlowsWays};

    #[test]
    fn many_sessions_have_no_more_threads_than_one_test_both_ways() {
        let pool = ThreadPool::new(3);
        let request = |threads, ways| FlowsRequest {
            plan: FlowsPlan {
                ways,
                ..FlowsPlan::default()
            },
            max_bytes: 0,
            threads,
        };
        let both = pool.lend(&request(2, FlowsWays::Both)).expect("4 of 6");
        let forward = pool.lend(&request(2, FlowsWays::Forward)).expect("the other 2");
        let refused = pool.lend(&request(2, FlowsWays::Reverse)).expect_err("none left");
        assert!(refused.is_usage() && refused.to_string().contains("0 of its packet threads"));
        pool.lend(&request(1, FlowsWays::Both)).expect("needs none");
        drop(forward);
        assert!(pool.lend(&request(3, FlowsWays::Forward)).is_err());
        drop(both);
        pool.lend(&request(3, FlowsWays::Both)).expect("all 6");
    }
}
