//! Indexes of media files: built from the fewest reads, once for all who ask, and kept on disk by the version of the file. It
//! must not know what is made of them.

use std::sync::Arc;

use weir_media::index::{FileIndex, IndexBuilder, IndexError, Step};

use super::error::TitleError;
use crate::cache::{DiskCache, Flights};
use crate::metrics::{Kind, Metrics, Tier};
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
    metrics: Arc<Metrics>,
}

impl Indexes {
    pub fn new(storage: Storage, disk: Option<DiskCache>, metrics: Arc<Metrics>) -> Self {
        let shared = Shared {
            storage,
            disk,
            metrics,
        };
        Indexes {
            shared: Arc::new(shared),
            builds: Flights::default(),
        }
    }

    /// The index of one version of a file.
    pub async fn get(&self, path: &ObjectPath, version: &Meta) -> Built {
        let key: Arc<str> = format!("index\n{path}\n{}", version.version()).into();
        let begin = || {
            let (shared, key) = (self.shared.clone(), key.clone());
            let (path, version) = (path.clone(), version.clone());
            async move { shared.find(&key, &path, &version).await }
        };
        self.builds.join(key.clone(), begin).await.0
    }
}

impl Shared {
    async fn find(&self, key: &str, path: &ObjectPath, version: &Meta) -> Built {
        if let Some(index) = self.kept(key).await {
            self.metrics.looked_up(Kind::Index, Tier::Disk);
            return Ok(Arc::new(index));
        }
        self.metrics.looked_up(Kind::Index, Tier::Missed);
        let index = Arc::new(self.build(path, version).await?);
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
                tracing::debug!(%error, "a kept index is built anew");
                None
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
