//! What all requests share: storage, caches, counts, limits. It must not know what a request is.

use std::sync::Arc;

use bytes::Bytes;

use super::access_log::AccessLog;
use super::config::{Config, Limits};
use super::error::OriginError;
use super::tls::Tls;
use super::versions::Versions;
use crate::cache::{DiskCache, Flights, MemoryCache};
use crate::configuration::Configuration;
use crate::keys::Keys;
use crate::metrics::{Kind, Metrics, Tier};
use crate::path::ObjectPath;
use crate::storage::{Meta, Storage, StorageError};
use crate::titles::{Piece, TitleSettings, Titles, at_hand};
use weir_net::arena::Arena;
use weir_pacing::Pacing;

/// Ranges longer than this are not cached but read for each request, so that a request takes little memory.
const LONGEST_CACHED: u64 = 32 << 20;

/// Media segments up to this length are kept ready to be sent where their files lie on this host: to open and to read a file
/// takes longer than to send as little as that.
const SHORT_SEGMENT: u64 = 64 << 10;

/// Short segments have this part of the memory, and each at least this much of it.
const SHORT_SEGMENTS: u64 = 8;
const LEAST_KEPT: u64 = 4096;
/// Short segments that the kernel sends without a copy, at most: their slots take addresses.
const MOST_SLOTS: usize = 1 << 16;

/// Slots for short segments of `bytes` bytes together. Without TLS and paces, the kernel sends them without a copy.
fn arena(bytes: u64) -> Option<Arc<Arena>> {
    let slots = usize::try_from(bytes / LEAST_KEPT).ok()?;
    let arena = Arena::new(slots.min(MOST_SLOTS), SHORT_SEGMENT as usize);
    arena
        .inspect_err(|error| tracing::debug!(%error, "short segments are copied to be sent"))
        .ok()
}

type Ranged = Result<Bytes, StorageError>;

/// What all requests share.
#[derive(Debug)]
pub struct App {
    pub storage: Storage,
    pub configuration: Configuration,
    pub metrics: Arc<Metrics>,
    pub limits: Limits,
    /// Stored files are served as they are.
    pub files: bool,
    /// The page at `/` is served.
    pub page: bool,
    pub log: Option<AccessLog>,
    pub tls: Option<Tls>,
    pub titles: Arc<Titles>,
    pub keys: Keys,
    /// How answers are paced, if at all.
    pub pacing: Option<Pacing>,
    /// By ETag.
    short_segments: Option<MemoryCache<String, Piece>>,
    /// Where their bytes are; none where the system has no such memory.
    arena: Option<Arc<Arena>>,
    ranges: MemoryCache<Arc<str>, Bytes>,
    disk: Option<DiskCache>,
    reads: Flights<Arc<str>, Ranged>,
    versions: Versions,
}

impl App {
    pub fn new(
        config: &Config,
        storage: Storage,
        tls: Option<Tls>,
        log: Option<AccessLog>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, OriginError> {
        let disk = match &config.disk_cache {
            Some((folder, limit)) => Some(DiskCache::open(folder, *limit)?),
            None => None,
        };
        let configuration = config.configuration;
        // Media, where it is kept, takes half of the memory, and titles the other half.
        let for_ranges = if configuration.caches_media() {
            config.memory_cache / 2
        } else {
            0
        };
        let keeps_short = configuration.caches_indexes() && storage.is_local();
        let for_short = if keeps_short {
            config.memory_cache / SHORT_SEGMENTS
        } else {
            0
        };
        let settings = TitleSettings {
            segment: config.segment,
            keep: configuration.caches_indexes(),
            memory: config.memory_cache - for_ranges - for_short,
            fresh: config.fresh,
        };
        let titles = Titles::new(settings, storage.clone(), disk.clone(), metrics.clone());
        Ok(App {
            titles: Arc::new(titles),
            keys: Keys::open(&config.keys)?,
            pacing: config.pacing.clone(),
            storage,
            configuration,
            metrics,
            limits: config.limits.clone(),
            files: config.files,
            page: config.page,
            log,
            tls,
            short_segments: keeps_short.then(|| MemoryCache::new(for_short)),
            arena: keeps_short.then(|| arena(for_short)).flatten(),
            ranges: MemoryCache::new(for_ranges),
            disk,
            reads: Flights::default(),
            versions: Versions::new(config.fresh),
        })
    }

    /// Whether a range goes through the cache.
    pub fn caches(&self, kind: Kind, length: u64) -> bool {
        let wanted = match kind {
            Kind::Manifest | Kind::Index => self.configuration.caches_indexes(),
            _ => self.configuration.caches_media(),
        };
        wanted && length <= LONGEST_CACHED
    }

    /// A short segment that is kept.
    pub fn short_segment(&self, etag: &String) -> Option<Piece> {
        let kept = self.short_segments.as_ref()?.get(etag)?;
        self.metrics.looked_up(Kind::Media, Tier::Memory);
        Some(kept)
    }

    /// Whether a segment is to be read whole and kept.
    pub fn keeps(&self, segment: &Piece) -> bool {
        let is_ready = segment.content.at_hand().is_some() || segment.remake.is_some();
        self.short_segments.is_some() && !is_ready && segment.content.length() <= SHORT_SEGMENT
    }

    /// Keeps a segment that has been read, and has these bytes; returns the bytes as they are kept.
    pub fn keep(&self, etag: String, segment: &mut Piece, bytes: Vec<u8>) {
        let slot = self.arena.as_ref().and_then(|arena| arena.keep(&bytes));
        segment.content = at_hand(slot.map_or_else(|| bytes.into(), Bytes::from_owner));
        if let Some(kept) = &self.short_segments {
            let length = segment.content.length().next_multiple_of(LEAST_KEPT);
            kept.insert(etag, segment.clone(), length);
        }
    }

    /// Memory of which sockets send pieces without a copy.
    pub fn arena(&self) -> Option<Arc<Arena>> {
        self.arena.clone()
    }

    /// The version of an object that there is: from storage, or as it said a short time ago where something of it is kept.
    pub async fn version(&self, kind: Kind, path: &ObjectPath) -> Result<Meta, StorageError> {
        if self.caches(kind, 0) {
            return self
                .versions
                .current(&self.storage, &self.metrics, kind, path)
                .await;
        }
        self.metrics.bypassed(kind);
        self.storage.head(kind, path).await
    }

    /// An object, or a file of a title, is no longer what it was.
    pub fn changed(&self, path: &ObjectPath) {
        self.versions.forget(path);
        self.titles.forget(path);
    }

    /// A range of one version of an object: from the caches, or read once for all who ask at the same time.
    pub async fn cached(
        self: &Arc<Self>,
        kind: Kind,
        path: &ObjectPath,
        version: &Meta,
        range: std::ops::Range<u64>,
    ) -> Ranged {
        let key: Arc<str> = format!(
            "range\n{path}\n{}\n{}-{}",
            version.version(),
            range.start,
            range.end
        )
        .into();
        if let Some(bytes) = self.ranges.get(&key) {
            self.metrics.looked_up(kind, Tier::Memory);
            return Ok(bytes);
        }
        let begin = || {
            let (app, key) = (self.clone(), key.clone());
            let (path, version) = (path.clone(), version.clone());
            async move { app.fetch(kind, &key, &path, &version, range).await }
        };
        let (bytes, is_first) = self.reads.join(key.clone(), begin).await;
        if !is_first {
            self.metrics.looked_up(kind, Tier::Shared);
        }
        bytes
    }

    async fn fetch(
        &self,
        kind: Kind,
        key: &Arc<str>,
        path: &ObjectPath,
        version: &Meta,
        range: std::ops::Range<u64>,
    ) -> Ranged {
        // Who came just after another had finished finds it here.
        if let Some(bytes) = self.ranges.get(key) {
            self.metrics.looked_up(kind, Tier::Memory);
            return Ok(bytes);
        }
        let length = range.end - range.start;
        if let Some(disk) = &self.disk
            && let Some(bytes) = disk.get(key).await
            && bytes.len() as u64 == length
        {
            self.metrics.looked_up(kind, Tier::Disk);
            self.ranges.insert(key.clone(), bytes.clone(), length);
            return Ok(bytes);
        }
        self.metrics.looked_up(kind, Tier::Missed);
        let (_, bytes) = self.storage.read_whole(kind, path, range, Some(version)).await?;
        self.ranges.insert(key.clone(), bytes.clone(), length);
        if let Some(disk) = &self.disk {
            disk.insert(key, bytes.clone()).await;
        }
        Ok(bytes)
    }

    /// Writes what is left of the access log.
    pub fn finish_log(&self) {
        if let Some(log) = &self.log {
            log.finish();
        }
    }
}
