//! Titles: folders of media files, or single files, as players are offered them. They are looked at once for all who
//! ask, kept in memory with their indexes, and looked at anew when their files change. It must not know HTTP, nor how
//! bytes are sent.

mod ahead;
mod beside;
mod catalogue;
mod chosen;
mod decrypted;
mod error;
mod heads;
mod indexes;
mod made_of;
mod on_demand;
mod piece;
mod protected;
mod title;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::time::Instant;
use weir_media::package::referred_path;

use crate::cache::{DiskCache, Flights, MemoryCache};
use crate::metrics::{Kind, Metrics, Tier};
use crate::path::ObjectPath;
use crate::storage::{Storage, StorageError};
use heads::Heads;
use indexes::Indexes;
use made_of::{FileVersion, Files, MediaFile, Source, relative};

pub use ahead::{AheadError, AheadSettings, Indexed, IndexedFile, KeepIndexes, index_ahead};
pub use error::TitleError;
pub use piece::{Piece, at_hand};
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

/// Of the memory for titles, this part is for heads of segments.
const HEADS: u64 = 8;

/// All titles below one place.
#[derive(Debug)]
pub struct Titles {
    settings: TitleSettings,
    storage: Storage,
    metrics: Arc<Metrics>,
    indexes: Indexes,
    kept: MemoryCache<ObjectPath, Kept>,
    heads: Arc<Heads>,
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
        let for_heads = if settings.keep { settings.memory / HEADS } else { 0 };
        Titles {
            settings,
            indexes: Indexes::new(storage.clone(), disk, settings.keep, metrics.clone()),
            storage,
            metrics,
            kept: MemoryCache::new(settings.memory - for_heads),
            heads: Arc::new(Heads::new(for_heads)),
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
            self.metrics.bypassed(Kind::Index);
            return Box::pin(self.load(path, None)).await;
        }
        if let Some(title) = self.fresh(self.kept.get(path).as_ref()) {
            return Ok(title);
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
            let files = storage.list_all(Kind::Other, catalogue::MOST_FILES).await?;
            let files = files.into_iter().map(|(path, _)| path);
            Ok(Arc::new(catalogue::titles(files)))
        };
        let (titles, _) = self.walks.join((), look).await;
        titles.map(|titles| titles.to_vec())
    }

    /// What is known of a title is no longer true.
    pub fn forget(&self, path: &ObjectPath) {
        self.kept.remove(path);
    }

    /// What was looked at a short while ago counts as unchanged.
    fn fresh(&self, kept: Option<&Kept>) -> Option<Arc<Title>> {
        let kept = kept.filter(|kept| kept.looked_at.elapsed() < self.settings.fresh)?;
        self.metrics.looked_up(Kind::Index, Tier::Memory);
        Some(kept.title.clone())
    }

    async fn look_again(self: Arc<Self>, path: &ObjectPath) -> Loaded {
        let kept = self.kept.get(path);
        // Who came just after another had finished finds it here.
        if let Some(title) = self.fresh(kept.as_ref()) {
            return Ok(title);
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
                tracing::debug!(%path, %error, "using the previous version of the title");
                self.metrics.used_stale(Kind::Index);
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
        let described = known.as_ref().and_then(|known| known.described());
        let files = made_of::files(&self.storage, path, described).await?;
        if let Some(known) = known.filter(|known| known.is_of(&files))
            && self.refers_as_before(&known, &files).await?
        {
            self.metrics.revalidated(Kind::Index, Tier::Memory);
            return Ok(known);
        }
        let sources = self.sources(&files).await?;
        let (path, segment, heads) = (path.clone(), self.settings.segment, self.heads.clone());
        // Where to cut is found among all samples.
        let make = move || Title::new(&path, sources, &files, segment, heads);
        let title = tokio::task::spawn_blocking(make).await;
        Ok(Arc::new(title.map_err(|_| TitleError::Stopped)??))
    }

    /// Media files with their indexes, by path. Where nothing says which files are meant, an MP4 that refers to another
    /// stands for that one: its name, which has `dref` in it, saves the other's index from being read.
    async fn sources(&self, files: &Files) -> Result<Vec<Source>, TitleError> {
        let all = || files.media.iter();
        if files.described.is_some() {
            return try_join_all(all().map(|file| self.source(file))).await;
        }
        let is_called_so = |file: &&MediaFile| file.path.name().contains("dref");
        let first = all().filter(is_called_so).map(|file| self.source(file));
        let mut sources = try_join_all(first).await?;
        let referred: HashSet<ObjectPath> = sources.iter().filter_map(Source::refers_to).cloned().collect();
        let others = all().filter(|file| !is_called_so(file) && !referred.contains(&file.path));
        sources.extend(try_join_all(others.map(|file| self.source(file))).await?);
        let referred: HashSet<ObjectPath> = sources.iter().filter_map(Source::refers_to).cloned().collect();
        sources.retain(|source| source.refers_to().is_some() || !referred.contains(&source.path));
        sources.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(sources)
    }

    async fn source(&self, file: &MediaFile) -> Result<Source, TitleError> {
        let (path, version) = (file.path.clone(), file.version.clone());
        let index = self.indexes.get(&path, &version, file.beside).await?;
        let media = match &index.media {
            None => (path.clone(), version),
            Some(url) => self.referred(&path, url).await?,
        };
        Ok(Source { path, media, index })
    }

    /// The media file that an MP4 refers to, and its version.
    async fn referred(&self, from: &ObjectPath, url: &str) -> Result<FileVersion, TitleError> {
        let wrong = |why: &str| TitleError::Reference {
            path: from.clone(),
            url: url.to_owned(),
            why: why.to_owned(),
        };
        let path = referred_path(url).and_then(|path| relative(from, &path));
        let path = path.ok_or_else(|| wrong("only files in its folder or below are read"))?;
        match self.storage.head(Kind::Index, &path).await {
            Ok(version) => Ok((path, version)),
            Err(StorageError::NotFound { .. }) => Err(wrong("no such file")),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the media that the files of a title refer to are those of before.
    async fn refers_as_before(&self, known: &Title, files: &Files) -> Result<bool, TitleError> {
        for (path, version) in known.referred() {
            let listed = files.media.iter().find(|file| file.path == *path);
            let now = match listed {
                Some(file) => file.version.clone(),
                None => self.storage.head(Kind::Index, path).await?,
            };
            if !now.is_same_version(version) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
