//! Indexes of media files: built from the fewest reads, once for all who ask, and kept on disk by the version of the
//! file, or found where they are stored beside it. It must not know what is made of them.

use std::sync::Arc;

use weir_media::index::{FileIndex, IndexBuilder, IndexError, Step};

use super::beside::{self, Beside};
use super::error::TitleError;
use crate::cache::{DiskCache, Flights};
use crate::metrics::{Kind, Metrics, Tier};
use crate::outside::stored_index;
use crate::path::ObjectPath;
use crate::storage::{Meta, Storage};

type Built = Result<Arc<FileIndex>, TitleError>;

/// Where indexes come from.
#[derive(Debug)]
pub struct Indexes {
    shared: Arc<Shared>,
    builds: Flights<Arc<str>, Built>,
}

#[derive(Debug)]
struct Shared {
    storage: Storage,
    disk: Option<DiskCache>,
    /// Who asks keeps what it is given.
    keep: bool,
    metrics: Arc<Metrics>,
}

impl Indexes {
    pub fn new(storage: Storage, disk: Option<DiskCache>, keep: bool, metrics: Arc<Metrics>) -> Self {
        let shared = Shared {
            storage,
            disk,
            keep,
            metrics,
        };
        Indexes {
            shared: Arc::new(shared),
            builds: Flights::default(),
        }
    }

    /// The index of one version of a file. Without a cache each who asks has it read anew.
    pub async fn get(&self, path: &ObjectPath, version: &Meta, beside: Beside) -> Built {
        let key: Arc<str> = key(path, version).into();
        if !self.shared.keep {
            return self.shared.find(&key, path, version, beside).await;
        }
        let begin = || {
            let (shared, key) = (self.shared.clone(), key.clone());
            let (path, version) = (path.clone(), version.clone());
            async move { shared.find(&key, &path, &version, beside).await }
        };
        self.builds.join(key.clone(), begin).await.0
    }

    /// The index of one version of a file, and whether it was built for that: it is kept on disk if there is a disk,
    /// else beside the file.
    pub async fn ahead(
        &self,
        path: &ObjectPath,
        version: &Meta,
        beside: Beside,
    ) -> Result<(FileIndex, bool), TitleError> {
        let shared = &self.shared;
        let key = key(path, version);
        if let Some(disk) = &shared.disk {
            if let Some(index) = shared.kept(&key).await {
                return Ok((index, false));
            }
            let index = shared.build(path, version).await?;
            disk.insert(&key, index.to_bytes().into()).await;
            let is_kept = disk.get(&key).await.is_some();
            return if is_kept {
                Ok((index, true))
            } else {
                Err(TitleError::NotKept { path: path.clone() })
            };
        }
        if let Some(index) = shared.stored(path, version, beside).await? {
            return Ok((index, false));
        }
        let not_kept = || TitleError::NotKept { path: path.clone() };
        let place = beside::index_path(path).ok_or_else(not_kept)?;
        let index = shared.build(path, version).await?;
        let bytes = stored_index::to_bytes(&index, version);
        let written = shared.storage.put(&place, bytes.into()).await;
        written.map_err(|error| TitleError::NotWritten {
            path: path.clone(),
            error,
        })?;
        Ok((index, true))
    }
}

/// The key under which the index of a version is kept.
fn key(path: &ObjectPath, version: &Meta) -> String {
    format!("index\n{path}\n{}", version.version())
}

impl Shared {
    async fn find(&self, key: &str, path: &ObjectPath, version: &Meta, beside: Beside) -> Built {
        if let Some(index) = self.kept(key).await {
            self.metrics.looked_up(Kind::Index, Tier::Disk);
            return Ok(Arc::new(index));
        }
        self.metrics.looked_up(Kind::Index, Tier::Missed);
        // Who keeps nothing would look in vain for each request.
        let beside = if beside == Beside::Unknown && !self.keep {
            Beside::Absent
        } else {
            beside
        };
        let index = match self.stored(path, version, beside).await? {
            Some(index) => index,
            None => self.build(path, version).await?,
        };
        let index = Arc::new(index);
        if let Some(disk) = &self.disk {
            disk.insert(key, index.to_bytes().into()).await;
        }
        Ok(index)
    }

    async fn kept(&self, key: &str) -> Option<FileIndex> {
        let bytes = self.disk.as_ref()?.get(key).await?;
        match FileIndex::from_bytes(&bytes) {
            Ok(index) => Some(index),
            Err(error) => {
                tracing::debug!(%error, "rebuilding a cached index");
                None
            }
        }
    }

    /// The index that is stored beside a file, if it is of this version of it.
    async fn stored(
        &self,
        path: &ObjectPath,
        version: &Meta,
        beside: Beside,
    ) -> Result<Option<FileIndex>, TitleError> {
        let Some(place) = beside::index_path(path).filter(|_| beside != Beside::Absent) else {
            return Ok(None);
        };
        let range = 0..beside::MOST_BYTES;
        let bytes = match self.storage.read_whole(Kind::Index, &place, range, None).await {
            Ok((_, bytes)) => bytes,
            Err(error) if error.is_passing() => return Err(error.into()),
            // Some storages forbid what is not there.
            Err(_) => return Ok(None),
        };
        let version = version.clone();
        let read = tokio::task::spawn_blocking(move || stored_index::from_bytes(&bytes, &version)).await;
        match read.map_err(|_| TitleError::Stopped)? {
            Ok(index) => Ok(Some(index)),
            Err(why) => {
                tracing::debug!(path = %place, %why, "ignoring a stored index");
                Ok(None)
            }
        }
    }

    async fn build(&self, path: &ObjectPath, version: &Meta) -> Result<FileIndex, TitleError> {
        let mut builder = IndexBuilder::new(version.length);
        loop {
            let (back, step) = stepped(builder).await.ok_or(TitleError::Stopped)?;
            builder = back;
            let step = step.map_err(|error| TitleError::Media {
                path: path.clone(),
                error,
            })?;
            let range = match step {
                Step::Read(range) => range,
                Step::Done(index) => return Ok(index),
            };
            let from = range.start;
            let (_, bytes) = self
                .storage
                .read_whole(Kind::Index, path, range, Some(version))
                .await?;
            builder.give(from, &bytes);
        }
    }
}

/// Goes on with an index on a thread beside: the tables of a long film take a while. Nothing if the thread ended.
async fn stepped(mut builder: IndexBuilder) -> Option<(IndexBuilder, Result<Step, IndexError>)> {
    let step = tokio::task::spawn_blocking(move || {
        let step = builder.step();
        (builder, step)
    });
    step.await.ok()
}
