//! Values in memory, as many as fit; those that were used longest ago leave first. It must not know how they are made.

use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

/// What an entry takes besides its value: its key, its places in the table and in the list.
const OVERHEAD: u64 = 256;

/// A cache of limited size in bytes. Entries above an eighth of it are not cached, so that one entry does not evict all
/// others.
#[derive(Debug)]
pub struct MemoryCache<K: Eq + Hash, V> {
    limit: u64,
    entries: Mutex<Entries<K, V>>,
}

#[derive(Debug)]
struct Entries<K: Eq + Hash, V> {
    /// The library bounds the number of entries or nothing; their bytes are bounded here.
    by_use: LruCache<K, Entry<V>>,
    bytes: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    bytes: u64,
}

impl<K: Eq + Hash, V: Clone> MemoryCache<K, V> {
    /// An empty cache for `limit` bytes.
    pub fn new(limit: u64) -> Self {
        MemoryCache {
            limit,
            entries: Mutex::new(Entries {
                by_use: LruCache::unbounded(),
                bytes: 0,
            }),
        }
    }

    /// The value under that key, which counts as a use.
    pub fn get(&self, key: &K) -> Option<V> {
        self.lock().by_use.get(key).map(|entry| entry.value.clone())
    }

    /// Stores a value of `bytes` bytes under the key, replacing the previous one.
    pub fn insert(&self, key: K, value: V, bytes: u64) {
        let bytes = bytes.saturating_add(OVERHEAD);
        let mut entries = self.lock();
        entries.remove(&key);
        if bytes > self.limit / 8 {
            return;
        }
        while entries.bytes + bytes > self.limit {
            let Some((_, oldest)) = entries.by_use.pop_lru() else {
                break;
            };
            entries.bytes -= oldest.bytes;
        }
        entries.bytes += bytes;
        entries.by_use.put(key, Entry { value, bytes });
    }

    /// Forgets what is under that key.
    pub fn remove(&self, key: &K) {
        self.lock().remove(key);
    }

    /// Bytes that are held.
    pub fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, Entries<K, V>> {
        // The table and its sum are whole between any two lines that could panic.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash, V> Entries<K, V> {
    fn remove(&mut self, key: &K) {
        if let Some(entry) = self.by_use.pop(key) {
            self.bytes -= entry.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_was_used_longest_ago_leaves_first() {
        let cache = MemoryCache::new(10 * (1000 + OVERHEAD));
        for key in 0..10 {
            cache.insert(key, key, 1000);
        }
        assert_eq!(cache.get(&0), Some(0));
        cache.insert(10, 10, 1000);
        assert_eq!(
            (cache.get(&1), cache.get(&0), cache.get(&10)),
            (None, Some(0), Some(10))
        );
        assert_eq!(cache.bytes(), 10 * (1000 + OVERHEAD));
    }

    #[test]
    fn one_entry_never_takes_it_all() {
        let cache = MemoryCache::new(80_000);
        cache.insert("small", 1, 1000);
        cache.insert("large", 2, 10_001);
        assert_eq!((cache.get(&"small"), cache.get(&"large")), (Some(1), None));
        // Not even the value that it replaces is left: it is no longer true.
        cache.insert("small", 3, 10_001);
        assert_eq!((cache.get(&"small"), cache.bytes()), (None, 0));
        let none = MemoryCache::new(0);
        none.insert("a", 1, 0);
        assert_eq!(none.get(&"a"), None);
    }

    proptest! {
        #[test]
        fn it_never_holds_more_than_its_limit_and_never_a_wrong_value(
            steps in prop::collection::vec((0u8..3, 0u32..20, 0u64..3000), 1..200)
        ) {
            let cache = MemoryCache::new(16_384);
            let mut last = HashMap::new();
            for (step, (what, key, bytes)) in steps.into_iter().enumerate() {
                match what {
                    0 => {
                        cache.insert(key, step, bytes);
                        last.insert(key, step);
                    }
                    1 => {
                        cache.remove(&key);
                        last.remove(&key);
                    }
                    _ => {
                        let found = cache.get(&key);
                        prop_assert!(found.is_none() || found == last.get(&key).copied());
                    }
                }
                prop_assert!(cache.bytes() <= 16_384);
                let entries = cache.lock();
                let sum: u64 = entries.by_use.iter().map(|(_, entry)| entry.bytes).sum();
                prop_assert_eq!(sum, entries.bytes);
            }
        }
    }
}
