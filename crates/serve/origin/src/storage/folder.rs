//! Objects that are files below a folder of this host. It must not know why it is asked.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::task::{JoinHandle, spawn_blocking};

use super::ask::{ByteStream, MOST_LISTED};
use super::at_hand;
use super::buffers::Buffers;
use super::fault::Fault;
use super::meta::Meta;
use crate::path::ObjectPath;

/// Bytes of one read: enough that a read costs little, little enough for many slow clients.
const PIECE: usize = 80 << 10;

/// A folder.
#[derive(Debug)]
pub struct Folder {
    /// Without symbolic links, so that paths outside it can be detected.
    root: PathBuf,
    /// The same, open.
    opened: File,
    buffers: Buffers,
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
        Ok(Folder {
            opened: File::open(&root)?,
            root,
            buffers: Buffers::new(PIECE),
        })
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

    /// All files below.
    pub async fn list_all(&self, most: usize) -> Result<Vec<(ObjectPath, Meta)>, Fault> {
        let root = self.root.clone();
        beside(move || listed_in_all(&root, most)).await
    }

    /// Writes a file into a folder that is there, in place of the file of that name.
    pub async fn put(&self, path: &ObjectPath, body: Bytes) -> Result<(), Fault> {
        let (root, path) = (self.root.clone(), path.clone());
        beside(move || written(&root, &path, &body)).await
    }

    /// Begins to read a range, which must not be empty. A file that was replaced in the meantime is read as it was.
    /// What the kernel has in memory is read at once, the rest by threads beside.
    pub async fn open(
        &self,
        path: &ObjectPath,
        range: Range<u64>,
    ) -> Result<(Meta, Range<u64>, ByteStream), Fault> {
        let (file, metadata) = match self.open_at_hand(path) {
            Some(opened) => opened,
            None => {
                let (root, path) = (self.root.clone(), path.clone());
                beside(move || opened(&root, &path)).await?
            }
        };
        let given = range.start..range.end.min(metadata.len());
        if given.is_empty() {
            return Err(Fault::BeyondEnd);
        }
        let reader = Reader {
            file,
            version: version(&metadata),
            left: given.clone(),
            buffers: self.buffers.clone(),
        };
        let stream = stream::try_unfold(Next::AtHand(reader), Next::piece);
        Ok((meta(&metadata), given, stream.boxed()))
    }

    fn open_at_hand(&self, path: &ObjectPath) -> Option<(File, Metadata)> {
        let file = at_hand::open(&self.opened, path)?;
        let metadata = file.metadata().ok()?;
        metadata.is_file().then_some((file, metadata))
    }
}

/// An open file and what is still to be read of it.
struct Reader {
    file: File,
    version: Version,
    left: Range<u64>,
    buffers: Buffers,
}

type Ahead = JoinHandle<Result<(Bytes, Reader), Fault>>;

/// How the next piece comes.
enum Next {
    /// At once, if the kernel has it.
    AtHand(Reader),
    /// From a thread that reads it while the one before is being sent.
    Ahead(Ahead),
    /// There is none.
    End,
}

impl Next {
    async fn piece(self) -> Result<Option<(Bytes, Next)>, Fault> {
        let ahead = match self {
            Next::End => return Ok(None),
            Next::Ahead(ahead) => ahead,
            Next::AtHand(reader) if reader.left.is_empty() => return Ok(None),
            Next::AtHand(mut reader) => match reader.at_hand()? {
                Some(piece) => return Ok(Some((piece, Next::AtHand(reader)))),
                None => spawn_blocking(move || reader.piece()),
            },
        };
        let read = ahead.await;
        let (piece, reader) = read.map_err(|_| Fault::File("the reader stopped".to_owned()))??;
        let next = if reader.left.is_empty() {
            Next::End
        } else {
            Next::Ahead(spawn_blocking(move || reader.piece()))
        };
        Ok(Some((piece, next)))
    }
}

impl Reader {
    /// The next piece as far as the kernel has it in memory.
    fn at_hand(&mut self) -> Result<Option<Bytes>, Fault> {
        let mut buffer = self.buffers.take();
        let length = self.length();
        let room = buffer.room().get_mut(..length).unwrap_or_default();
        let Some(read) = at_hand::read(&self.file, room, self.left.start) else {
            return Ok(None);
        };
        self.check_version()?;
        self.left.start += read as u64;
        Ok(Some(buffer.filled(read)))
    }

    /// The next piece, for which the disk may be waited.
    fn piece(mut self) -> Result<(Bytes, Reader), Fault> {
        let mut buffer = self.buffers.take();
        let length = self.length();
        let room = buffer.room().get_mut(..length).unwrap_or_default();
        let read = self.file.read_exact_at(room, self.left.start);
        self.check_version()?;
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Fault::Broken("the file ended early".to_owned()),
            _ => error.into(),
        })?;
        self.left.start += length as u64;
        Ok((buffer.filled(length), self))
    }

    /// Bytes of the next piece.
    fn length(&self) -> usize {
        let left = self.left.end - self.left.start;
        usize::try_from(left).map_or(PIECE, |left| left.min(PIECE))
    }

    /// A file that is written over in place has bytes of two versions.
    fn check_version(&self) -> Result<(), Fault> {
        let now = self.file.metadata()?;
        if self.version == version(&now) {
            Ok(())
        } else {
            Err(Fault::Changed)
        }
    }
}

/// Does work that may block on a thread beside.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(Fault::File("the reader stopped".to_owned())))
}

/// Opens a file that lies below the root.
fn opened(root: &Path, path: &ObjectPath) -> Result<(File, Metadata), Fault> {
    let (real, _) = resolved(root, path)?;
    let file = File::open(real)?;
    let metadata = file.metadata()?;
    Ok((file, metadata))
}

/// Where a file lies with all symbolic links resolved. What lies elsewhere than below the root, or is no file, is not
/// there: strangers need not learn more. Nothing is opened for that: to open a FIFO would wait for its writer.
fn resolved(root: &Path, path: &ObjectPath) -> Result<(PathBuf, Metadata), Fault> {
    let real = root.join(path.as_str()).canonicalize()?;
    if !real.starts_with(root) {
        return Err(Fault::NotFound);
    }
    let metadata = real.metadata()?;
    if !metadata.is_file() {
        return Err(Fault::NotFound);
    }
    Ok((real, metadata))
}

/// What has no name that can be asked for, is no file, or leads elsewhere is passed over.
fn listed(root: &Path, folder: &ObjectPath) -> Result<Vec<(ObjectPath, Meta)>, Fault> {
    let real = root.join(folder.as_str()).canonicalize()?;
    if !real.starts_with(root) {
        return Err(Fault::NotFound);
    }
    let entries = std::fs::read_dir(real)?;
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

/// Walks through all folders. Those that are symbolic links are passed over, so that the walk ends.
fn listed_in_all(root: &Path, most: usize) -> Result<Vec<(ObjectPath, Meta)>, Fault> {
    let mut files = Vec::new();
    let mut folders: Vec<Option<ObjectPath>> = vec![None];
    while let Some(folder) = folders.pop() {
        let real = folder
            .as_ref()
            .map_or(root.to_owned(), |path| root.join(path.as_str()));
        for entry in std::fs::read_dir(real)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let path = match &folder {
                Some(folder) => folder.join(&name),
                None => ObjectPath::new(&name),
            };
            let Ok(path) = path else { continue };
            if entry.file_type()?.is_dir() {
                folders.push(Some(path));
            } else if let Ok(meta) = found(root, &path) {
                files.push((path, meta));
            }
            if files.len() + folders.len() >= most {
                return Ok(files);
            }
        }
    }
    Ok(files)
}

/// Writes a file under another name first, so that nobody reads a part of it.
fn written(root: &Path, path: &ObjectPath, body: &[u8]) -> Result<(), Fault> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let folder = path.folder();
    let folder = folder.map_or(root.to_owned(), |folder| root.join(folder.as_str()));
    let folder = folder.canonicalize()?;
    if !folder.starts_with(root) {
        return Err(Fault::NotFound);
    }
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let new = folder.join(format!(".weir-{}-{number}.new", std::process::id()));
    let done = std::fs::write(&new, body).and_then(|()| std::fs::rename(&new, folder.join(path.name())));
    if let Err(error) = done {
        // What is left of it is no use; that it cannot be removed either is no other error.
        let _ = std::fs::remove_file(&new);
        return Err(error.into());
    }
    Ok(())
}

/// What is known of a file that lies below the root with all symbolic links resolved.
fn found(root: &Path, path: &ObjectPath) -> Result<Meta, Fault> {
    let (_, metadata) = resolved(root, path)?;
    Ok(meta(&metadata))
}

/// What tells the versions of a file apart: inode, length, seconds and nanoseconds of its last write.
type Version = (u64, u64, i64, i64);

fn version(file: &Metadata) -> Version {
    (file.ino(), file.len(), file.mtime(), file.mtime_nsec())
}

fn meta(file: &Metadata) -> Meta {
    let (inode, length, seconds, nanoseconds) = version(file);
    Meta {
        length,
        etag: Some(format!("\"{inode:x}-{length:x}-{seconds:x}.{nanoseconds:x}\"")),
        modified: file.modified().ok(),
    }
}
