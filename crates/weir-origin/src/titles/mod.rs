//! Titles: folders of media files, or single files, as players are offered them. They are looked at once for all who ask, kept
//! in memory with their indexes, and looked at anew when their files change. It must not know HTTP, nor how bytes are sent.

mod address;
mod catalogue;
mod error;
mod indexes;
mod narrow;
mod piece;
mod title;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;

use crate::cache::{DiskCache, Flights, MemoryCache};
use crate::metrics::{Kind, Metrics, Tier};
use crate::path::ObjectPath;
use crate::storage::{Meta, Storage, StorageError};
use indexes::Indexes;
use title::{Source, is_media, is_subtitles};

pub use address::split;
pub use error::TitleError;
pub use title::Title;

type Loaded = Result<Arc<Title>, TitleError>;
type Walked = Result<Arc<Vec<ObjectPath>>, StorageError>;

/// How titles are looked at and kept.
#[derive(Clone, Copy, Debug)]
pub struct TitleSettings {
    /// About how long segments are.
    pub segment: Duration,
    /// Titles are kept between requests.
    pub keep: bool,
    /// Bytes of memory for them.
    pub memory: u64,
    /// How long a title counts as unchanged before its files are looked at again.
    pub fresh: Duration,
}

/// All titles below one place.
#[derive(Debug)]
pub struct Titles {
    settings: TitleSettings,
    storage: Storage,
    metrics: Arc<Metrics>,
    indexes: Indexes,
    kept: MemoryCache<ObjectPath, Kept>,
    loads: Flights<ObjectPath, Loaded>,
    walks: Flights<(), Walked>,
}

#[derive(Clone, Debug)]
struct Kept {
    title: Arc<Title>,
    looked_at: Instant,
}

impl Titles {
    /// Titles in that storage, their indexes on that disk too.
    pub fn new(
        settings: TitleSettings,
        storage: Storage,
        disk: Option<DiskCache>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let disk = disk.filter(|_| settings.keep);
        Titles {
            settings,
            indexes: Indexes::new(storage.clone(), disk, metrics.clone()),
            storage,
            metrics,
            kept: MemoryCache::new(settings.memory),
            loads: Flights::default(),
            walks: Flights::default(),
        }
    }

    /// The title at a path: a folder of media files, or one such file.
    ///
    /// # Errors
    /// When there are no media, they cannot be read, or they are damaged.
    pub async fn get(self: &Arc<Self>, path: &ObjectPath) -> Loaded {
        if !self.settings.keep {
            return self.load(path, None).await;
        }
        let kept = self.kept.get(path);
        if let Some(kept) = &kept
            && kept.looked_at.elapsed() < self.settings.fresh
        {
            self.metrics.looked_up(Kind::Index, Tier::Memory);
            return Ok(kept.title.clone());
        }
        let begin = || {
            let (titles, path) = (self.clone(), path.clone());
            async move { titles.look_again(&path).await }
        };
        let (loaded, is_first) = self.loads.join(path.clone(), begin).await;
        if !is_first {
            self.metrics.looked_up(Kind::Index, Tier::Shared);
        }
        loaded
    }

    /// Titles that there are, by name, at most 1,000: what the storage holds is looked through.
    ///
    /// # Errors
    /// When the storage does not say what it holds.
    pub async fn all(&self) -> Result<Vec<ObjectPath>, StorageError> {
        let storage = self.storage.clone();
        let look = || async move {
            let files = storage.walk(Kind::Other).await?;
            Ok(Arc::new(catalogue::titles(files)))
        };
        let (titles, _) = self.walks.join((), look).await;
        titles.map(|titles| titles.to_vec())
    }

    /// What is known of a title is no longer true.
    pub fn forget(&self, path: &ObjectPath) {
        self.kept.remove(path);
    }

    async fn look_again(self: Arc<Self>, path: &ObjectPath) -> Loaded {
        let kept = self.kept.get(path);
        // Who came just after another had finished finds it here.
        if let Some(kept) = &kept
            && kept.looked_at.elapsed() < self.settings.fresh
        {
            self.metrics.looked_up(Kind::Index, Tier::Memory);
            return Ok(kept.title.clone());
        }
        let known = kept.map(|kept| kept.title);
        match self.load(path, known.clone()).await {
            Ok(title) => {
                let bytes = title.memory_bytes();
                let kept = Kept {
                    title: title.clone(),
                    looked_at: Instant::now(),
                };
                self.kept.insert(path.clone(), kept, bytes);
                Ok(title)
            }
            Err(TitleError::Storage(error)) if error.is_passing() && known.is_some() => {
                tracing::debug!(%path, %error, "the title that was known before is used");
                known.ok_or(TitleError::Storage(error))
            }
            Err(error) => {
                self.kept.remove(path);
                Err(error)
            }
        }
    }

    /// Looks at the files of a title; if they are those of `known`, so is the title.
    async fn load(&self, path: &ObjectPath, known: Option<Arc<Title>>) -> Loaded {
        let files = self.files(path).await?;
        if let Some(known) = known.filter(|known| known.is_of(&files)) {
            self.metrics.looked_up(Kind::Index, Tier::Memory);
            return Ok(known);
        }
        let (media, subtitles): (Vec<_>, Vec<_>) = files.into_iter().partition(|(path, _)| is_media(path));
        let sources = media.into_iter().map(|(path, version)| async move {
            let index = self.indexes.get(&path, &version).await?;
            Ok::<_, TitleError>(Source { path, version, index })
        });
        let sources = try_join_all(sources).await?;
        let (path, segment) = (path.clone(), self.settings.segment);
        // Where to cut is found among all samples.
        let title = tokio::task::spawn_blocking(move || Title::new(&path, sources, subtitles, segment)).await;
        Ok(Arc::new(title.map_err(|_| TitleError::Stopped)??))
    }

    /// Media files and subtitles of a title, by name.
    async fn files(&self, path: &ObjectPath) -> Result<Vec<(ObjectPath, Meta)>, TitleError> {
        if is_media(path) {
            let version = self.storage.head(Kind::Index, path).await?;
            return Ok(vec![(path.clone(), version)]);
        }
        let mut files = self.storage.list(Kind::Index, path).await?;
        files.retain(|(path, _)| is_media(path) || is_subtitles(path));
        if !files.iter().any(|(path, _)| is_media(path)) {
            return Err(TitleError::Nothing { path: path.clone() });
        }
        Ok(files)
    }
}
