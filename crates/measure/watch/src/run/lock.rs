//! One watcher for a store: a lock on a file beside it, which says who holds it. The kernel releases the lock when its holder
//! ends, however it ends, so that none stays behind.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use weir_net::clock;
use weir_units::format_utc;

use super::WatchError;

/// Maximum length of what the file has about its holder.
const MOST_BYTES: u64 = 300;

/// The lock, until it is dropped.
#[derive(Debug)]
pub(super) struct StoreLock(#[expect(dead_code, reason = "open for as long as the lock is held")] File);

impl StoreLock {
    /// Takes the lock of a store.
    ///
    /// # Errors
    /// When another watcher holds it, or the file cannot be written.
    pub fn take(db: &Path, host: &str) -> Result<Self, WatchError> {
        let path = beside(db);
        let failed = |error: std::io::Error| WatchError::Lock {
            path: path.clone(),
            error,
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(WatchError::Locked {
                    db: db.to_path_buf(),
                    holder: holder(&file),
                });
            }
            Err(error) => return Err(failed(error.into())),
        }
        let now = format_utc(clock::unix_ns());
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| write!(file, "process {} on {host} since {now} UTC", std::process::id()));
        // A full disk does not keep the watcher from measuring.
        if let Err(error) = written {
            tracing::warn!("cannot write {}: {error}", path.display());
        }
        Ok(StoreLock(file))
    }
}

fn beside(db: &Path) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push("-watcher");
    PathBuf::from(name)
}

/// Who holds it, in one line; the file may be anybody's work.
fn holder(file: &File) -> String {
    let mut said = Vec::new();
    // What cannot be read leaves the name out.
    let _ = file.take(MOST_BYTES).read_to_end(&mut said);
    let said = String::from_utf8_lossy(&said);
    let line: String = said.chars().filter(|letter| !letter.is_control()).collect();
    if line.is_empty() {
        "another process".to_owned()
    } else {
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_watcher_is_refused_and_a_lock_ends_with_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("weir.db");
        let first = StoreLock::take(&db, "lon").unwrap();
        let said = StoreLock::take(&db, "lon").unwrap_err().to_string();
        let holder = format!("process {} on lon since 20", std::process::id());
        assert!(said.contains(&holder) && said.contains("weir.db"), "{said}");
        assert!(!said.contains('\n'), "{said}");
        drop(first);
        // What a killed holder left in the file is in nobody's way.
        std::fs::write(
            beside(&db),
            "process 1 on ams since ever, and more of it than fits the new line",
        )
        .unwrap();
        let again = StoreLock::take(&db, "lon").unwrap();
        let text = std::fs::read_to_string(beside(&db)).unwrap();
        assert!(text.starts_with(&holder) && !text.contains("ams"), "{text}");
        drop(again);
        assert!(StoreLock::take(&folder.path().join("none/weir.db"), "lon").is_err());
    }
}
