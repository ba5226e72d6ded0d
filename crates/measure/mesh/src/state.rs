//! The folder in which launches are written down: one folder for each with its record, keys, hosts file and the engine's
//! states, which only its user can read. It knows files and locks, not what is launched.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::cloud::leftovers::is_run;
use crate::cloud::record::{MOST_BYTES, Record};

const RECORD: &str = "launch.json";
const LOCK: &str = "lock";

/// Something about a launch's files.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A file or folder cannot be used.
    #[error("{path}: {error}")]
    Files {
        /// What.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// A record that cannot be read.
    #[error("{0}")]
    Record(#[from] crate::MeshError),
}

fn failed(path: &Path) -> impl Fn(io::Error) -> StateError {
    move |error| StateError::Files {
        path: path.display().to_string(),
        error,
    }
}

/// The folder of all launches.
#[derive(Clone, Debug)]
pub struct StateFolder(pub PathBuf);

impl StateFolder {
    /// Makes the folder of a launch that begins, and holds its lock.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn begin(&self, run: &str) -> Result<RunFolder, StateError> {
        let path = self.0.join(run);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .map_err(failed(&path))?;
        let mut folder = RunFolder { path, lock: None };
        folder.try_lock()?;
        Ok(folder)
    }

    /// The launches that are written down; none where there is no folder.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn runs(&self) -> Result<Vec<RunFolder>, StateError> {
        self.folders(true)
    }

    /// The folders without a record: of launches that were killed before they had one, so that nothing was launched, or while
    /// their folder was removed, after everything else.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn unrecorded(&self) -> Result<Vec<RunFolder>, StateError> {
        self.folders(false)
    }

    fn folders(&self, recorded: bool) -> Result<Vec<RunFolder>, StateError> {
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed(&self.0))?,
        };
        let mut runs: Vec<RunFolder> = entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let is_one = is_run(path.file_name()?.to_str()?) && path.is_dir();
                is_one.then_some(RunFolder { path, lock: None })
            })
            .filter(|folder| folder.is_recorded() == recorded)
            .collect();
        runs.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(runs)
    }
}

/// The folder of one launch.
#[derive(Debug)]
pub struct RunFolder {
    /// Where it is.
    pub path: PathBuf,
    lock: Option<Lock>,
}

/// A file that this process has locked.
#[derive(Debug)]
struct Lock(File);

/// Closing the file alone would leave the lock to a child process between its fork and its exec.
impl Drop for Lock {
    fn drop(&mut self) {
        flock(&self.0, FlockOperation::Unlock).ok();
    }
}

impl RunFolder {
    /// Whether it has a record, without which nothing was launched.
    pub fn is_recorded(&self) -> bool {
        self.path.join(RECORD).is_file()
    }

    /// Takes the launch over, unless the process that it belongs to is alive.
    ///
    /// # Errors
    /// When the lock's file cannot be used.
    pub fn try_lock(&mut self) -> Result<bool, StateError> {
        let path = self.path.join(LOCK);
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed(&path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                self.lock = Some(Lock(file));
                Ok(true)
            }
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(failed(&path)(error.into())),
        }
    }

    /// Makes a folder in it.
    ///
    /// # Errors
    /// When that fails.
    pub fn folder(&self, name: &str) -> Result<PathBuf, StateError> {
        let path = self.path.join(name);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .map_err(failed(&path))?;
        Ok(path)
    }

    /// Writes a file that only its user can read, all of it or nothing.
    ///
    /// # Errors
    /// When that fails.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, StateError> {
        let path = self.path.join(name);
        let new = self.path.join(format!("{name}.new"));
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new()
                .create(true)
                .write(true)
                .truncate(true)
                .mode(0o600)
                .open(&new)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &path)
        };
        write().map_err(failed(&path))?;
        Ok(path)
    }

    /// Reads a file of at most `most` bytes; more are cut.
    ///
    /// # Errors
    /// When that fails.
    pub fn read(&self, name: &str, most: usize) -> Result<Vec<u8>, StateError> {
        let path = self.path.join(name);
        let mut bytes = Vec::new();
        let file = File::open(&path).map_err(failed(&path))?;
        file.take(most as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(failed(&path))?;
        Ok(bytes)
    }

    /// The record.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn record(&self) -> Result<Record, StateError> {
        let bytes = self.read(RECORD, MOST_BYTES)?;
        let name = self.path.join(RECORD).display().to_string();
        Ok(Record::read(&name, &bytes)?)
    }

    /// Keeps the record.
    ///
    /// # Errors
    /// When that fails.
    pub fn keep(&self, record: &Record) -> Result<(), StateError> {
        self.write(RECORD, &record.text()).map(drop)
    }

    /// Removes the folder: nothing is left of the launch.
    ///
    /// # Errors
    /// When that fails.
    pub fn remove(&self) -> Result<(), StateError> {
        fs::remove_dir_all(&self.path).map_err(failed(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_that_was_killed_before_its_record_is_found_and_one_that_lives_is_held() {
        let scratch = tempfile::tempdir().unwrap();
        let state = StateFolder(scratch.path().join("mesh"));
        assert!(state.unrecorded().unwrap().is_empty());
        let killed = state.begin("ab12cd34ef").unwrap();
        killed.write("key", "secret").unwrap();
        // A child process that another thread begins at this moment holds the file too.
        let _forked = killed.lock.as_ref().unwrap().0.try_clone().unwrap();
        drop(killed);
        let _alive = state.begin("bc12cd34ef").unwrap();
        fs::write(state.0.join("notes"), "not ours").unwrap();
        let mut found = state.unrecorded().unwrap();
        assert!(state.runs().unwrap().is_empty());
        let held: Vec<bool> = found
            .iter_mut()
            .map(|folder| folder.try_lock().unwrap())
            .collect();
        assert_eq!(held, [true, false]);
        // Written down after it was looked for.
        assert!(!found[0].is_recorded());
        found[0].write(RECORD, "{}").unwrap();
        assert!(found[0].is_recorded());
        found[0].remove().unwrap();
        assert_eq!(state.unrecorded().unwrap().len(), 1);
    }
}
