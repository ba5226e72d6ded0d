//! Which version of an object there is, as storage said when it was asked last. It must not know what the object is.

use std::time::Duration;

use tokio::time::Instant;

use crate::cache::{Flights, MemoryCache};
use crate::metrics::{Kind, Metrics, Tier};
use crate::path::ObjectPath;
use crate::storage::{Meta, Storage, StorageError};

/// What versions are kept in: some ten thousand of them.
const MEMORY: u64 = 8 << 20;
/// Besides its path, bytes of a version.
const BYTES: u64 = 200;

/// Versions of objects, asked for once by many, and again when what is known is too old.
#[derive(Debug)]
pub struct Versions {
    /// How long what storage said counts as true.
    fresh: Duration,
    known: MemoryCache<ObjectPath, (Meta, Instant)>,
    asks: Flights<ObjectPath, Result<Meta, StorageError>>,
}

impl Versions {
    pub fn new(fresh: Duration) -> Self {
        Versions {
            fresh,
            known: MemoryCache::new(MEMORY),
            asks: Flights::default(),
        }
    }

    /// The version there is. While storage cannot be reached, it is the one that was there before.
    pub async fn current(
        &self,
        storage: &Storage,
        metrics: &Metrics,
        kind: Kind,
        path: &ObjectPath,
    ) -> Result<Meta, StorageError> {
        let before = self.known.get(path);
        if let Some((meta, asked)) = &before
            && asked.elapsed() < self.fresh
        {
            metrics.looked_up(kind, Tier::Memory);
            return Ok(meta.clone());
        }
        let begin = || {
            let (storage, path) = (storage.clone(), path.clone());
            async move { storage.head(kind, &path).await }
        };
        let (told, is_first) = self.asks.join(path.clone(), begin).await;
        let is_as_before =
            |(known, _): &(Meta, Instant)| told.as_ref().is_ok_and(|told| told.is_same_version(known));
        if !is_first {
            metrics.looked_up(kind, Tier::Shared);
        } else if before.as_ref().is_some_and(is_as_before) {
            metrics.revalidated(kind, Tier::Missed);
        } else {
            metrics.looked_up(kind, Tier::Missed);
        }
        match (told, before) {
            (Ok(meta), _) => {
                self.learn(path, &meta);
                Ok(meta)
            }
            (Err(error), Some((meta, _))) if error.is_passing() => {
                tracing::debug!(%path, %error, "using the previous version");
                metrics.used_stale(kind);
                Ok(meta)
            }
            (Err(error), _) => {
                self.forget(path);
                Err(error)
            }
        }
    }

    /// Storage has just said that this is the version.
    pub fn learn(&self, path: &ObjectPath, meta: &Meta) {
        let bytes = path.as_str().len() as u64 + BYTES;
        self.known
            .insert(path.clone(), (meta.clone(), Instant::now()), bytes);
    }

    /// What is known is no longer true.
    pub fn forget(&self, path: &ObjectPath) {
        self.known.remove(path);
    }
}
