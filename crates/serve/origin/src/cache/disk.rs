//! Bytes in a folder, as many as fit; those that were used longest ago leave first. What was damaged is not there. It
//! must not know what the bytes are.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use lru::LruCache;
use sha2::{Digest, Sha256};

use crate::outside::cache_entry::{HEAD, body, head};

/// How names of kept files end, and of those that are being written.
const KEPT: &str = "kept";
const WRITTEN: &str = "new";

/// Why a folder cannot be used to keep things in.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the disk cache {folder}: {source}; name a writable folder")]
pub struct CacheError {
    folder: String,
    source: io::Error,
}

/// A cache folder of limited size. It belongs to one process at a time, which takes over the entries of an earlier one.
/// Clones share it.
#[derive(Clone, Debug)]
pub struct DiskCache {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    limit: u64,
    files: Mutex<Files>,
}

#[derive(Debug)]
struct Files {
    /// Bytes of each file, by its name.
    by_use: LruCache<String, u64>,
    bytes: u64,
    written: u64,
}

impl DiskCache {
    /// A cache of at most `limit` bytes in `folder`, which is created if missing. Files that are not part of a cache
    /// are left alone.
    ///
    /// # Errors
    /// When the folder cannot be made, listed or written to.
    pub fn open(folder: &Path, limit: u64) -> Result<Self, CacheError> {
        let files = taken_over(folder).map_err(|source| CacheError {
            folder: folder.display().to_string(),
            source,
        })?;
        let shared = Shared {
            folder: folder.to_owned(),
            limit,
            files: Mutex::new(files),
        };
        shared.make_room(0);
        Ok(DiskCache {
            shared: Arc::new(shared),
        })
    }

    /// What is kept under that key.
    pub async fn get(&self, key: &str) -> Option<Bytes> {
        let (shared, key) = (self.shared.clone(), key.to_owned());
        tokio::task::spawn_blocking(move || shared.get(&key)).await.ok()?
    }

    /// Keeps bytes under that key, in place of those that are there. A disk that does not take them is no reason to
    /// fail: they are not kept, and that is logged.
    pub async fn insert(&self, key: &str, body: Bytes) {
        let (shared, key) = (self.shared.clone(), key.to_owned());
        let done = tokio::task::spawn_blocking(move || shared.insert(&key, &body)).await;
        if let Ok(Err(error)) = done {
            tracing::warn!(%error, folder = %self.shared.folder.display(), "cannot write to the disk cache");
        }
    }

    /// Bytes that are held.
    pub fn bytes(&self) -> u64 {
        self.shared.lock().bytes
    }
}

impl Shared {
    fn get(&self, key: &str) -> Option<Bytes> {
        let name = name(key);
        self.lock().by_use.get(&name)?;
        let path = self.folder.join(&name);
        match read(&path, key, self.limit) {
            Some(body) => {
                // For the order in which another process takes the files over; it is no harm if that is not exact.
                let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
                Some(body)
            }
            None => {
                self.forget(&name);
                None
            }
        }
    }

    fn insert(&self, key: &str, body: &[u8]) -> io::Result<()> {
        let bytes = (HEAD + key.len() + body.len()) as u64;
        if bytes > self.limit / 8 {
            self.forget(&name(key));
            return Ok(());
        }
        self.make_room(bytes);
        let name = name(key);
        let number = {
            let mut files = self.lock();
            files.written += 1;
            files.written
        };
        let new = self.folder.join(format!("{name}.{number}.{WRITTEN}"));
        let written = write(&new, key, body).and_then(|()| fs::rename(&new, self.folder.join(&name)));
        if let Err(error) = written {
            // What is left of it is taken away when the cache is opened next, at the latest.
            let _ = fs::remove_file(&new);
            return Err(error);
        }
        let mut files = self.lock();
        files.bytes += bytes;
        if let Some(before) = files.by_use.put(name, bytes) {
            files.bytes -= before;
        }
        Ok(())
    }

    /// Removes what was used longest ago until so many more bytes fit.
    fn make_room(&self, bytes: u64) {
        loop {
            let oldest = {
                let files = self.lock();
                if files.bytes + bytes <= self.limit {
                    return;
                }
                files.by_use.peek_lru().map(|(name, _)| name.clone())
            };
            match oldest {
                Some(name) => self.forget(&name),
                None => return,
            }
        }
    }

    fn forget(&self, name: &str) {
        let mut files = self.lock();
        if let Some(bytes) = files.by_use.pop(name) {
            files.bytes -= bytes;
        }
        // It may never have been there.
        let _ = fs::remove_file(self.folder.join(name));
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn name(key: &str) -> String {
    let hash = Sha256::digest(key.as_bytes());
    let mut name = String::with_capacity(64 + 1 + KEPT.len());
    for byte in hash.iter().take(24) {
        name.push_str(&format!("{byte:02x}"));
    }
    format!("{name}.{KEPT}")
}

fn write(path: &Path, key: &str, body: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(&head(key, body))?;
    file.write_all(body)
}

/// The body of a file of at most `most` bytes, if it is whole and belongs to that key.
fn read(path: &Path, key: &str, most: u64) -> Option<Bytes> {
    let file = File::open(path).ok()?;
    // Nothing of this cache's own is longer than the whole of it.
    if file.metadata().ok()?.len() > most {
        return None;
    }
    let mut all = Vec::new();
    file.take(most).read_to_end(&mut all).ok()?;
    body(all, key)
}

/// Files that an earlier process left, by when they were used; those that it was writing are removed.
fn taken_over(folder: &Path) -> io::Result<Files> {
    fs::create_dir_all(folder)?;
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let stem = name.split('.').next().unwrap_or_default();
        let is_ours = stem.len() == 48 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_ours && name.ends_with(&format!(".{WRITTEN}")) {
            fs::remove_file(entry.path())?;
        } else if is_ours && name.ends_with(&format!(".{KEPT}")) {
            let meta = entry.metadata()?;
            found.push((meta.modified()?, name, meta.len()));
        }
    }
    let probe = folder.join(format!("{}.{WRITTEN}", "0".repeat(48)));
    File::create(&probe)?;
    fs::remove_file(probe)?;
    found.sort();
    let mut files = Files {
        by_use: LruCache::unbounded(),
        bytes: 0,
        written: 0,
    };
    for (_, name, bytes) in found {
        files.bytes += bytes;
        files.by_use.put(name, bytes);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        runtime.block_on(test);
    }

    fn bytes_of(byte: u8, length: usize) -> Bytes {
        vec![byte; length].into()
    }

    #[test]
    fn what_is_kept_outlives_the_process_that_kept_it() {
        run(async {
            let folder = TempDir::new().expect("a folder");
            let cache = DiskCache::open(folder.path(), 1 << 20).expect("a cache");
            cache.insert("a", bytes_of(1, 1000)).await;
            cache.insert("b", bytes_of(2, 2000)).await;
            cache.insert("a", bytes_of(3, 3000)).await;
            let bytes = cache.bytes();
            drop(cache);
            fs::write(folder.path().join("other.txt"), "not ours").expect("a file");
            let again = DiskCache::open(folder.path(), 1 << 20).expect("a cache");
            assert_eq!(again.bytes(), bytes);
            assert_eq!(again.get("a").await, Some(bytes_of(3, 3000)));
            assert_eq!(again.get("b").await, Some(bytes_of(2, 2000)));
            assert_eq!(again.get("c").await, None);
            // A smaller one keeps what was used last.
            drop(again);
            let small = DiskCache::open(folder.path(), 3000).expect("a cache");
            assert!(small.bytes() <= 3000);
            assert_eq!(
                (small.get("a").await, small.get("b").await),
                (None, Some(bytes_of(2, 2000)))
            );
            assert!(folder.path().join("other.txt").exists());
        });
    }

    #[test]
    fn it_holds_no_more_than_its_limit() {
        run(async {
            let folder = TempDir::new().expect("a folder");
            let cache = DiskCache::open(folder.path(), 20_000).expect("a cache");
            for key in 0..30 {
                cache.insert(&key.to_string(), bytes_of(key, 2000)).await;
                assert!(cache.bytes() <= 20_000);
            }
            cache.insert("large", bytes_of(0, 2600)).await;
            assert_eq!(cache.get("large").await, None);
            assert_eq!(cache.get("0").await, None);
            assert_eq!(cache.get("29").await, Some(bytes_of(29, 2000)));
            let on_disk: u64 = fs::read_dir(folder.path())
                .expect("the folder")
                .map(|entry| entry.expect("an entry").metadata().expect("a size").len())
                .sum();
            assert_eq!(on_disk, cache.bytes());
        });
    }

    #[test]
    fn what_was_damaged_is_not_there() {
        run(async {
            let folder = TempDir::new().expect("a folder");
            let cache = DiskCache::open(folder.path(), 1 << 20).expect("a cache");
            let path = folder.path().join(name("a"));
            for damage in 0..4 {
                cache.insert("a", bytes_of(1, 1000)).await;
                let mut bytes = fs::read(&path).expect("the file");
                match damage {
                    0 => bytes.truncate(900),
                    1 => bytes.truncate(3),
                    2 => bytes[500] ^= 1,
                    _ => bytes[8..12].fill(0xff),
                }
                fs::write(&path, bytes).expect("the damage");
                assert_eq!(cache.get("a").await, None, "damage {damage}");
                assert!(!path.exists());
                assert_eq!(cache.bytes(), 0);
            }
            cache.insert("a", bytes_of(1, 1000)).await;
            fs::remove_file(&path).expect("it is there");
            assert_eq!(cache.get("a").await, None);
        });
    }

    #[test]
    fn a_folder_that_takes_nothing_is_said() {
        let folder = TempDir::new().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "").expect("a file");
        let error = DiskCache::open(&file, 1 << 20).expect_err("no folder");
        assert!(error.to_string().contains("name a writable folder"), "{error}");
    }
}
