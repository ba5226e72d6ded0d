//! How many requests of a connection are being answered, and since when, so that one that does nothing for too long, or one
//! thing for too long, can be ended. It must not know what a request is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// What a connection is doing. Clones speak of the same connection.
#[derive(Clone, Debug)]
pub struct Activity(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    under_way: usize,
    /// The last change from something to nothing or back.
    since: Instant,
}

/// A request that is being answered, until it is dropped.
#[derive(Debug)]
pub struct UnderWay {
    activity: Activity,
    /// When it came.
    pub since: Instant,
}

impl Activity {
    /// A connection that does nothing yet.
    pub fn new() -> Self {
        Activity(Arc::new(Mutex::new(State {
            under_way: 0,
            since: Instant::now(),
        })))
    }

    /// A request has come.
    pub fn begin(&self) -> UnderWay {
        let since = Instant::now();
        let mut state = self.state();
        if state.under_way == 0 {
            state.since = since;
        }
        state.under_way += 1;
        let activity = self.clone();
        UnderWay { activity, since }
    }

    /// Waits until nothing was under way for as long as `limit`.
    pub async fn idle_for(&self, limit: Duration) {
        self.lasts(limit, |state| state.under_way == 0).await;
    }

    /// Waits until something was under way all the time for as long as `limit`.
    pub async fn busy_for(&self, limit: Duration) {
        self.lasts(limit, |state| state.under_way > 0).await;
    }

    async fn lasts(&self, limit: Duration, is_so: fn(&State) -> bool) {
        loop {
            let left = self.left(limit, is_so);
            if left.is_zero() {
                return;
            }
            sleep(left).await;
        }
    }

    /// Until it has lasted so long at the earliest. What is not so now begins later, so that looking again after the whole
    /// time is soon enough.
    fn left(&self, limit: Duration, is_so: fn(&State) -> bool) -> Duration {
        let state = self.state();
        if !is_so(&state) {
            return limit;
        }
        limit.saturating_sub(state.since.elapsed())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = self.activity.state();
        state.under_way -= 1;
        if state.under_way == 0 {
            state.since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_busy_until_its_last_request_has_ended() {
        let activity = Activity::new();
        let begun = Instant::now();
        activity.idle_for(HOUR).await;
        assert_eq!(begun.elapsed(), HOUR);

        let (first, second) = (activity.begin(), activity.begin());
        sleep(HOUR / 2).await;
        drop(first);
        activity.busy_for(HOUR).await;
        assert_eq!(second.since.elapsed(), HOUR);

        sleep(HOUR).await;
        drop(second);
        let begun = Instant::now();
        activity.idle_for(HOUR).await;
        assert_eq!(begun.elapsed(), HOUR);
        let busy = tokio::time::timeout(24 * HOUR, activity.busy_for(HOUR));
        assert!(busy.await.is_err(), "nothing is under way");
    }
}
