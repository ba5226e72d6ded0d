//! Objects that are files below a folder of this host. It must not know why it is asked.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::task::{JoinHandle, spawn_blocking};

use super::fault::Fault;
use super::meta::Meta;
use super::{ByteStream, MOST_LISTED};
use crate::path::ObjectPath;

/// Bytes of one read: enough that the way to a thread beside costs little, little enough for many slow clients.
const PIECE: u64 = 80 << 10;

/// A folder.
#[derive(Debug)]
pub struct Folder {
    /// Without symbolic links, so that what lies below can be told from what does not.
    root: PathBuf,
}

impl Folder {
    /// Files below `root`.
    ///
    /// # Errors
    /// When it is not there, or no folder.
    pub fn new(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        if !root.metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Folder { root })
    }

    /// What is known of a file.
    pub async fn head(&self, path: &ObjectPath) -> Result<Meta, Fault> {
        let (root, path) = (self.root.clone(), path.clone());
        beside(move || found(&root, &path)).await
    }

    /// Files that lie in a folder below.
    pub async fn list(&self, folder: &ObjectPath) -> Result<Vec<(ObjectPath, Meta)>, Fault> {
        let (root, folder) = (self.root.clone(), folder.clone());
        beside(move || listed(&root, &folder)).await
    }

    /// Begins to read a range, which must not be empty. A file that was replaced in the meantime is read as it was.
    pub async fn open(
        &self,
        path: &ObjectPath,
        range: Range<u64>,
    ) -> Result<(Meta, Range<u64>, ByteStream), Fault> {
        let (root, path) = (self.root.clone(), path.clone());
        let (reader, meta, given) = beside(move || {
            let (mut file, meta) = opened(&root, &path)?;
            let given = range.start..range.end.min(meta.length);
            if given.is_empty() {
                return Err(Fault::BeyondEnd);
            }
            file.seek(SeekFrom::Start(given.start))
                .map_err(|error| Fault::from_file(&error))?;
            let reader = Reader {
                file,
                meta: meta.clone(),
                left: given.end - given.start,
            };
            Ok((reader, meta, given))
        })
        .await?;
        let stream = stream::try_unfold(reader.ahead(), |next| async move {
            let Some(next) = next else { return Ok(None) };
            let (piece, reader) = next
                .await
                .map_err(|_| Fault::File("the reading stopped".to_owned()))??;
            Ok(Some((piece, reader.ahead())))
        });
        Ok((meta, given, stream.boxed()))
    }
}

/// An open file at the place that is read next.
struct Reader {
    file: File,
    meta: Meta,
    left: u64,
}

type Ahead = JoinHandle<Result<(Bytes, Reader), Fault>>;

impl Reader {
    /// Begins to read the next piece while the one before is being sent.
    fn ahead(self) -> Option<Ahead> {
        (self.left > 0).then(|| spawn_blocking(move || self.piece()))
    }

    fn piece(mut self) -> Result<(Bytes, Reader), Fault> {
        let length = self.left.min(PIECE);
        let mut piece = Vec::with_capacity(length as usize);
        let failed = |error: io::Error| Fault::from_file(&error);
        (&self.file)
            .take(length)
            .read_to_end(&mut piece)
            .map_err(failed)?;
        // One that is written over in place has bytes of two versions.
        let now = meta(&self.file.metadata().map_err(failed)?);
        if !now.is_same_version(&self.meta) {
            return Err(Fault::Changed);
        }
        if piece.len() as u64 != length {
            return Err(Fault::Broken("the file ended early".to_owned()));
        }
        self.left -= length;
        Ok((piece.into(), self))
    }
}

/// Does work that may block on a thread beside.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(Fault::File("the reading stopped".to_owned())))
}

/// Opens a file that lies below the root.
fn opened(root: &Path, path: &ObjectPath) -> Result<(File, Meta), Fault> {
    let failed = |error: io::Error| Fault::from_file(&error);
    let (real, _) = resolved(root, path)?;
    let file = File::open(real).map_err(failed)?;
    let meta = meta(&file.metadata().map_err(failed)?);
    Ok((file, meta))
}

/// Where a file lies with all symbolic links resolved. What lies elsewhere than below the root, or is no file, is not
/// there: strangers need not learn more. Nothing is opened for that: to open a FIFO would wait for its writer.
fn resolved(root: &Path, path: &ObjectPath) -> Result<(PathBuf, Metadata), Fault> {
    let failed = |error: io::Error| Fault::from_file(&error);
    let real = root.join(path.as_str()).canonicalize().map_err(failed)?;
    if !real.starts_with(root) {
        return Err(Fault::NotFound);
    }
    let metadata = real.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(Fault::NotFound);
    }
    Ok((real, metadata))
}

/// What has no name that can be asked for, is no file, or leads elsewhere is passed over.
fn listed(root: &Path, folder: &ObjectPath) -> Result<Vec<(ObjectPath, Meta)>, Fault> {
    let failed = |error: io::Error| Fault::from_file(&error);
    let real = root.join(folder.as_str()).canonicalize().map_err(failed)?;
    if !real.starts_with(root) {
        return Err(Fault::NotFound);
    }
    let entries = std::fs::read_dir(real).map_err(failed)?;
    let names = entries
        .take(MOST_LISTED)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let paths = names.filter_map(|name| folder.join(&name).ok());
    let files = paths.filter_map(|path| {
        let meta = found(root, &path).ok()?;
        Some((path, meta))
    });
    Ok(files.collect())
}

/// What is known of a file that lies below the root with all symbolic links resolved.
fn found(root: &Path, path: &ObjectPath) -> Result<Meta, Fault> {
    let (_, metadata) = resolved(root, path)?;
    Ok(meta(&metadata))
}

fn meta(file: &Metadata) -> Meta {
    Meta {
        length: file.len(),
        etag: Some(format!(
            "\"{:x}-{:x}-{:x}.{:x}\"",
            file.ino(),
            file.len(),
            file.mtime(),
            file.mtime_nsec()
        )),
        modified: file.modified().ok(),
    }
}
