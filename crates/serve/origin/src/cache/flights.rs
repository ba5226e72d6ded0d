//! Work that many ask for at the same time and that is done once. It must not know what the work is.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, WeakShared};

use crate::metrics::counted_for_current;

type Work<V> = BoxFuture<'static, V>;

/// Work under way, by key. It goes on as long as somebody waits for it: when the last one leaves, it ends.
pub struct Flights<K, V: Clone> {
    under_way: Arc<UnderWay<K, V>>,
}

struct UnderWay<K, V: Clone>(Mutex<HashMap<K, WeakShared<Work<V>>>>);

impl<K, V: Clone> std::fmt::Debug for Flights<K, V> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Flights")
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Default for Flights<K, V> {
    fn default() -> Self {
        Flights {
            under_way: Arc::new(UnderWay(Mutex::default())),
        }
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Flights<K, V> {
    /// Waits for the work under that key, which is begun if nobody else has; then says whether it was begun here.
    pub async fn join<F>(&self, key: K, begin: impl FnOnce() -> F) -> (V, bool)
    where
        F: Future<Output = V> + Send + 'static,
    {
        let (shared, is_first) = {
            let mut under_way = self.under_way.lock();
            match under_way.get(&key).and_then(WeakShared::upgrade) {
                Some(shared) => (shared, false),
                None => {
                    let shared = counted_for_current(begin()).boxed().shared();
                    if let Some(weak) = shared.downgrade() {
                        under_way.insert(key.clone(), weak);
                    }
                    (shared, true)
                }
            }
        };
        // Declared before the wait, so that it is dropped after it: the last to leave finds nobody aboard.
        let _passenger = Passenger {
            under_way: &self.under_way,
            key,
        };
        let value = shared.await;
        (value, is_first)
    }
}

#[cfg(test)]
impl<V: Clone> Flights<&'static str, V> {
    /// How many wait for the work under that key.
    fn waiting(&self, key: &str) -> usize {
        let shared = self.under_way.lock().get(key).and_then(WeakShared::upgrade);
        // The look itself counts too.
        shared
            .and_then(|shared| shared.strong_count())
            .map_or(0, |count| count - 1)
    }

    fn len(&self) -> usize {
        self.under_way.lock().len()
    }
}

impl<K, V: Clone> UnderWay<K, V> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, WeakShared<Work<V>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who waits. The last to leave takes the entry away, whether the work is done or not.
struct Passenger<'a, K: Eq + Hash, V: Clone> {
    under_way: &'a UnderWay<K, V>,
    key: K,
}

impl<K: Eq + Hash, V: Clone> Drop for Passenger<'_, K, V> {
    fn drop(&mut self) {
        let mut under_way = self.under_way.lock();
        if under_way
            .get(&self.key)
            .is_some_and(|weak| weak.upgrade().is_none())
        {
            under_way.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::Notify;

    use super::*;

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .expect("a runtime");
        runtime.block_on(test);
    }

    #[test]
    fn it_goes_on_when_the_first_leaves_and_ends_when_the_last_does() {
        struct Ended(Arc<AtomicU32>);
        impl Drop for Ended {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        run(async {
            let (flights, ended) = (
                Arc::new(Flights::<_, u32>::default()),
                Arc::new(AtomicU32::new(0)),
            );
            let gate = Arc::new(Notify::new());
            let ask = |number: u32| {
                let (flights, gate, ended) = (flights.clone(), gate.clone(), Ended(ended.clone()));
                tokio::spawn(async move {
                    let work = move || async move {
                        let _ended = ended;
                        gate.notified().await;
                        number
                    };
                    flights.join("key", work).await.0
                })
            };
            let aboard = async |passengers: usize| {
                while flights.waiting("key") < passengers {
                    tokio::task::yield_now().await;
                }
            };
            let first = ask(1);
            aboard(1).await;
            let second = ask(2);
            aboard(2).await;
            first.abort();
            assert!(first.await.is_err_and(|error| error.is_cancelled()));
            gate.notify_one();
            assert_eq!(second.await.expect("the value"), 1);
            let third = ask(3);
            aboard(1).await;
            third.abort();
            assert!(third.await.is_err_and(|error| error.is_cancelled()));
            assert_eq!((flights.len(), ended.load(Ordering::SeqCst)), (0, 3));
        });
    }
}
