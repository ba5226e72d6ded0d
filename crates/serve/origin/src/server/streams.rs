//! The streams of an HTTP/2 connection: each is a task of its own, ended by itself when its client takes nothing of its answer
//! or takes too long. On HTTP/1.1 the kernel sees a client that takes nothing; here only its window for the stream tells,
//! while others go on. It must not know what is answered.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use hyper::rt::Executor;
use tokio::time::{Instant, sleep_until};

tokio::task_local! {
    /// Of the stream whose task this is.
    static TAKING: Taking;
}

/// Whether a stream waits for its client to take more, and since when.
#[derive(Clone, Debug, Default)]
pub struct Taking(Arc<Mutex<Option<Instant>>>);

impl Taking {
    /// That of the stream in whose task this is called; outside of one, one that nobody looks at.
    pub fn current() -> Self {
        TAKING.try_with(Taking::clone).unwrap_or_default()
    }

    /// The client has all that there was: it is to take more from now on, or storage is to give more.
    pub fn waits_for_client(&self, waits: bool) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = waits.then(Instant::now);
    }

    /// How long the client has taken nothing although there was something.
    pub fn stalled(&self) -> Duration {
        let since = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// Runs streams, each within these limits.
#[derive(Clone, Debug)]
pub struct Streams {
    /// For a stream from its request's headers to the last byte of its answer.
    pub request_time: Duration,
    /// How long a client may take nothing of an answer.
    pub stalled: Duration,
}

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let taking = Taking::default();
        let within = within(self.clone(), taking.clone(), stream);
        tokio::spawn(TAKING.scope(taking, within));
    }
}

/// Runs a stream to its end, or to that of its time; to drop it tells the client with RST_STREAM.
async fn within(limits: Streams, taking: Taking, stream: impl Future<Output = ()>) {
    let end = Instant::now() + limits.request_time;
    let next = |stalled: Duration| (Instant::now() + limits.stalled.saturating_sub(stalled)).min(end);
    let mut stream = pin!(stream);
    let mut alarm = pin!(sleep_until(next(Duration::ZERO)));
    poll_fn(|context| {
        while alarm.as_mut().poll(context).is_ready() {
            let stalled = taking.stalled();
            if stalled >= limits.stalled || Instant::now() >= end {
                return Poll::Ready(());
            }
            alarm.as_mut().reset(next(stalled));
        }
        stream.as_mut().poll(context)
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::sleep;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// How long a stream goes on that is to end after ten minutes, or one of which its client takes nothing.
    async fn lasts(stream: impl Future<Output = ()>) -> Duration {
        let limits = Streams {
            request_time: 600 * SECOND,
            stalled: 60 * SECOND,
        };
        let begun = Instant::now();
        let taking = Taking::default();
        let stream = TAKING.scope(taking.clone(), within(limits, taking, stream));
        stream.await;
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_ends_by_itself_or_with_its_client_s_patience() {
        assert_eq!(lasts(sleep(599 * SECOND)).await, 599 * SECOND);
        assert_eq!(lasts(pending()).await, 600 * SECOND);

        // One piece each 50 s is taken, the sixth never.
        let slow = lasts(async {
            for _ in 0..5 {
                Taking::current().waits_for_client(true);
                sleep(50 * SECOND).await;
                Taking::current().waits_for_client(false);
                sleep(50 * SECOND).await;
            }
            Taking::current().waits_for_client(true);
            pending().await
        });
        assert_eq!(slow.await, 560 * SECOND);
    }
}
