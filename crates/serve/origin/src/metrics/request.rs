//! What one request found in the caches and read from storage, for its line in the access log. It follows the futures that
//! work for the request; where no request is counted, nothing is. It must not know what is logged.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use tokio::task::futures::TaskLocalFuture;

use super::{Kind, Tier};

tokio::task_local! {
    /// Of the request that is being worked for.
    static CURRENT: Option<Arc<RequestReads>>;
}

/// How the caches answered a request. The later in this order, the more it cost: of several, the last is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CacheStatus {
    /// Everything was there.
    Hit = 1,
    /// Another request was reading it.
    Shared,
    /// Storage was asked whether it had changed, and it had not.
    Revalidated,
    /// Storage could not be asked, and what was there was used.
    Stale,
    /// It was read from storage, to be kept.
    Miss,
    /// It was read from storage without looking, since it is not kept.
    Bypass,
}

impl CacheStatus {
    const ALL: [CacheStatus; 6] = [
        CacheStatus::Hit,
        CacheStatus::Shared,
        CacheStatus::Revalidated,
        CacheStatus::Stale,
        CacheStatus::Miss,
        CacheStatus::Bypass,
    ];

    /// As the log says it.
    pub fn name(self) -> &'static str {
        match self {
            CacheStatus::Hit => "hit",
            CacheStatus::Shared => "shared",
            CacheStatus::Revalidated => "revalidated",
            CacheStatus::Stale => "stale",
            CacheStatus::Miss => "miss",
            CacheStatus::Bypass => "bypass",
        }
    }
}

impl From<Tier> for CacheStatus {
    fn from(tier: Tier) -> Self {
        match tier {
            Tier::Memory | Tier::Disk => CacheStatus::Hit,
            Tier::Shared => CacheStatus::Shared,
            Tier::Missed => CacheStatus::Miss,
        }
    }
}

/// The counts of one request.
#[derive(Debug, Default)]
pub struct RequestReads {
    /// The highest status of manifests and indexes; 0: none was looked for.
    index: AtomicU8,
    /// The same of everything else.
    media: AtomicU8,
    bytes: AtomicU64,
}

impl RequestReads {
    /// Of manifests and indexes, if any was needed.
    pub fn index(&self) -> Option<CacheStatus> {
        status(&self.index)
    }

    /// Of media, subtitles and files, if any was needed.
    pub fn media(&self) -> Option<CacheStatus> {
        status(&self.media)
    }

    /// Bytes of bodies that came from storage.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

fn status(highest: &AtomicU8) -> Option<CacheStatus> {
    let highest = highest.load(Ordering::Relaxed);
    CacheStatus::ALL
        .into_iter()
        .find(|status| *status as u8 == highest)
}

/// Counts for this request what `work` does.
pub fn counted_for<F: Future>(
    reads: Option<Arc<RequestReads>>,
    work: F,
) -> TaskLocalFuture<Option<Arc<RequestReads>>, F> {
    CURRENT.scope(reads, work)
}

/// Counts for this request what is done here and now.
pub fn counting_for<T>(reads: &Option<Arc<RequestReads>>, work: impl FnOnce() -> T) -> T {
    match reads {
        None => work(),
        Some(_) => CURRENT.sync_scope(reads.clone(), work),
    }
}

/// Counts `work` for the request that begins it, whoever waits for it later.
pub fn counted_for_current<F: Future>(work: F) -> TaskLocalFuture<Option<Arc<RequestReads>>, F> {
    counted_for(CURRENT.try_with(Option::clone).ok().flatten(), work)
}

pub(super) fn found(kind: Kind, status: CacheStatus) {
    with_current(|reads| {
        let highest = match kind {
            Kind::Manifest | Kind::Index => &reads.index,
            _ => &reads.media,
        };
        highest.fetch_max(status as u8, Ordering::Relaxed);
    });
}

pub(super) fn received(bytes: u64) {
    with_current(|reads| {
        reads.bytes.fetch_add(bytes, Ordering::Relaxed);
    });
}

fn with_current(count: impl FnOnce(&RequestReads)) {
    // Outside of a request there is nobody to count for.
    let _ = CURRENT.try_with(|reads| reads.as_deref().map(count));
}

#[cfg(test)]
mod tests {
    use crate::cache::Flights;
    use crate::metrics::Metrics;

    use super::*;

    #[tokio::test]
    async fn a_request_is_charged_for_what_it_began_and_for_no_more() {
        let (metrics, flights) = (Arc::new(Metrics::default()), Arc::new(Flights::default()));
        let read = || {
            let metrics = metrics.clone();
            async move {
                metrics.looked_up(Kind::Media, Tier::Missed);
                tokio::task::yield_now().await;
                metrics.received(Kind::Media, 700);
            }
        };
        let ask = async || {
            let ((), is_first) = flights.join("key", read).await;
            if !is_first {
                metrics.looked_up(Kind::Media, Tier::Shared);
            }
            metrics.looked_up(Kind::Index, Tier::Memory);
        };
        let (first, second) = (Arc::new(RequestReads::default()), Arc::<RequestReads>::default());
        tokio::join!(
            counted_for(Some(first.clone()), ask()),
            counted_for(Some(second.clone()), ask()),
            counted_for(None, ask()),
        );
        metrics.received(Kind::Media, 1);
        assert_eq!((first.media(), first.bytes()), (Some(CacheStatus::Miss), 700));
        assert_eq!((second.media(), second.bytes()), (Some(CacheStatus::Shared), 0));
        assert_eq!(second.index(), Some(CacheStatus::Hit));
        assert_eq!(metrics.bytes_in(Kind::Media), 701);
        // What costs more outweighs what came before it and after.
        let reads = Some(first.clone());
        counting_for(&reads, || metrics.bypassed(Kind::File));
        counting_for(&reads, || metrics.revalidated(Kind::Manifest, Tier::Missed));
        counting_for(&reads, || metrics.looked_up(Kind::Index, Tier::Disk));
        assert_eq!(first.media(), Some(CacheStatus::Bypass));
        assert_eq!(first.index(), Some(CacheStatus::Revalidated));
    }
}
