//! Indexes of many files, built in advance and stored where an origin finds them. It must not know who watches the
//! progress.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::{StreamExt, stream};

use super::error::TitleError;
use super::indexes::Indexes;
use super::made_of::{self, MediaFile};
use crate::cache::{CacheError, DiskCache};
use crate::metrics::{Kind, Metrics};
use crate::path::ObjectPath;
use crate::storage::{Access, OpenError, Patience, Storage, StorageError, StorageLocation};

/// Files that are looked at.
const MOST_FILES: usize = 1_000_000;
/// Files that are read at once.
const AT_ONCE: usize = 8;

/// Where indexes are kept.
#[derive(Clone, Debug)]
pub enum KeepIndexes {
    /// Beside their files, in the same storage.
    Beside,
    /// In a folder that an origin takes for its cache on disk, and its bytes at most.
    Folder(PathBuf, u64),
}

/// What is indexed, and how it is read.
#[derive(Clone, Debug)]
pub struct AheadSettings {
    /// Where media lies.
    pub place: StorageLocation,
    /// Options of object stores.
    pub access: Access,
    /// How long storage is waited for.
    pub patience: Patience,
    /// Where indexes are kept.
    pub keep: KeepIndexes,
}

/// A file that was looked at.
#[derive(Debug)]
pub struct Indexed {
    /// The file.
    pub path: ObjectPath,
    /// What it came to.
    pub outcome: Result<IndexedFile, TitleError>,
    /// How many have been looked at, this one included.
    pub done: usize,
    /// How many there are.
    pub total: usize,
}

/// A file whose index is kept now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedFile {
    /// It was built; else it was there already.
    pub built: bool,
    /// Tracks that can be served.
    pub tracks: usize,
    /// Their samples.
    pub samples: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Why nothing can be indexed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AheadError {
    /// The storage cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The folder cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A title that was named cannot be looked at.
    #[error(transparent)]
    Title(#[from] TitleError),
    /// The storage cannot say what it has.
    #[error(
        "the storage {0} cannot list its files: name the titles to index, as in 'weir origin index {0} FILE.mp4 -o DIR'"
    )]
    NoLists(Arc<str>),
    /// The place cannot be listed.
    #[error(transparent)]
    List(StorageError),
    /// The operating system gave no threads.
    #[error("cannot start: {0}")]
    Runtime(#[from] std::io::Error),
}

/// Stores the index of each media file of these titles, or of all below the place if none is named, and reports each;
/// ends when `stop` is set.
///
/// # Errors
/// When the storage, the folder or a title cannot be read. A file that cannot be indexed is reported and skipped.
pub fn index_ahead(
    settings: &AheadSettings,
    titles: &[ObjectPath],
    stop: impl Fn() -> bool,
    tell: impl FnMut(&Indexed),
) -> Result<(), AheadError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_io()
        .enable_time()
        .build()?;
    let metrics = Arc::<Metrics>::default();
    let places = std::slice::from_ref(&settings.place);
    let patience = settings.patience.clone();
    let storage = Storage::open(places, &settings.access, true, patience, metrics.clone())?;
    let disk = match &settings.keep {
        KeepIndexes::Beside => None,
        KeepIndexes::Folder(folder, limit) => Some(DiskCache::open(folder, *limit)?),
    };
    let indexes = Indexes::new(storage.clone(), disk, true, metrics);
    runtime.block_on(async {
        let files = files(&storage, titles).await?;
        all(&indexes, files, stop, tell).await;
        Ok(())
    })
}

/// The media files of titles, each once.
async fn files(storage: &Storage, titles: &[ObjectPath]) -> Result<Vec<MediaFile>, AheadError> {
    if titles.is_empty() {
        let listed = storage
            .list_all(Kind::Index, MOST_FILES)
            .await
            .map_err(|error| match error {
                StorageError::NoLists { endpoint, .. } => AheadError::NoLists(endpoint),
                other => AheadError::List(other),
            })?;
        return Ok(made_of::media_in(&listed));
    }
    let mut files = Vec::new();
    for title in titles {
        files.extend(made_of::files(storage, title, None).await?.media);
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files.dedup_by(|one, other| one.path == other.path);
    Ok(files)
}

async fn all(
    indexes: &Indexes,
    files: Vec<MediaFile>,
    stop: impl Fn() -> bool,
    mut tell: impl FnMut(&Indexed),
) {
    let total = files.len();
    let work = files.into_iter().take_while(|_| !stop()).map(async |file| {
        let outcome = indexes.ahead(&file.path, &file.version, file.beside).await;
        (file, outcome)
    });
    let mut work = std::pin::pin!(stream::iter(work).buffer_unordered(AT_ONCE));
    let mut done = 0;
    while let Some((file, outcome)) = work.next().await {
        done += 1;
        let outcome = outcome.map(|(index, built)| IndexedFile {
            built,
            tracks: index.tracks.len(),
            samples: index
                .tracks
                .iter()
                .map(|track| u64::from(track.samples().len()))
                .sum(),
            bytes: file.version.length,
        });
        tell(&Indexed {
            path: file.path,
            outcome,
            done,
            total,
        });
    }
}
