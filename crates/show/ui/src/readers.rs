//! A few connections that read the database, lent to one request at a time on threads where blocking harms nobody. It
//! must not know what they read.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use weir_results::{Store, StoreError};

use crate::problem::Problem;

/// Connections at once; requests beyond wait their turn.
const MOST: usize = 4;

/// Device and inode: whether a path still leads to the file that was opened.
type FileId = (u64, u64);

/// The connections.
pub struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<(FileId, Store)>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub fn new(path: PathBuf) -> Self {
        Readers {
            path,
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(MOST)),
        }
    }

    /// Does `work` with a connection.
    pub async fn read<T, E>(
        self: &Arc<Self>,
        work: impl FnOnce(&Store) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Problem>
    where
        T: Send + 'static,
        E: Send + 'static,
        Problem: From<E>,
    {
        let permit = self.permits.clone().acquire_owned().await?;
        let readers = self.clone();
        spawn_blocking(move || {
            // The work goes on when whoever asked for it has left, and so does its turn.
            let _permit = permit;
            let (id, store) = readers.take()?;
            let result = work(&store);
            readers.give_back(id, store);
            result.map_err(Problem::from)
        })
        .await?
    }

    /// A connection to the file that the path leads to now: a database may be moved away and replaced.
    fn take(&self) -> Result<(FileId, Store), StoreError> {
        let now = file_id(&self.path);
        {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.retain(|(id, _)| Some(*id) == now);
            if let Some(found) = idle.pop() {
                return Ok(found);
            }
        }
        let store = Store::open_read_only(&self.path)?;
        // Nothing was there before, and something is there now: the next one asks again.
        Ok((now.unwrap_or_default(), store))
    }

    fn give_back(&self, id: FileId, store: Store) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push((id, store));
    }
}

fn file_id(path: &Path) -> Option<FileId> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}
