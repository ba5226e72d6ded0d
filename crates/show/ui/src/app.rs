//! What all requests share: the database, verdicts, who may ask, and limits. It must not know what a request is.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderValue;
use tokio::sync::{Semaphore, watch};
use weir_local::{Bounds, Guard};
use weir_results::Store;

use crate::problem::Problem;
use crate::readers::Readers;
use crate::verdicts::Verdicts;

/// Bounds on what clients may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at once; others wait to be let in.
    pub connections: usize,
    /// Runs that are followed at once.
    pub streams: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// How long a client may take for its request, headers and body each.
    pub request: Duration,
    /// How long a client may take nothing of an answer.
    pub stalled: Duration,
    /// How long a list waits for verdicts that are not known yet.
    pub verdicts: Duration,
    /// From one look at a run that is being recorded to the next.
    pub refresh: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 32,
            streams: 16,
            body: 64 << 10,
            request: Duration::from_secs(10),
            stalled: Duration::from_secs(30),
            verdicts: Duration::from_millis(300),
            refresh: Duration::from_secs(1),
        }
    }
}

impl Limits {
    /// Those of connections and requests.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            connections: self.connections,
            body: self.body,
            request: self.request,
            stalled: self.stalled,
        }
    }
}

/// Documents that are made at once: each can take seconds of a core and a hundred megabytes.
const DOCUMENTS: usize = 2;

/// What all requests share.
pub struct App {
    pub database: PathBuf,
    pub readers: Arc<Readers>,
    pub verdicts: Verdicts,
    pub guard: Guard,
    pub limits: Limits,
    pub page_policy: HeaderValue,
    pub documents: Arc<Semaphore>,
    pub streams: Arc<Semaphore>,
    pub stopping: watch::Receiver<bool>,
}

impl App {
    pub fn new(
        database: PathBuf,
        guard: Guard,
        limits: Limits,
        page_policy: HeaderValue,
        stopping: watch::Receiver<bool>,
    ) -> std::io::Result<Self> {
        Ok(App {
            readers: Arc::new(Readers::new(database.clone())),
            verdicts: Verdicts::new(database.clone())?,
            database,
            guard,
            page_policy,
            documents: Arc::new(Semaphore::new(DOCUMENTS)),
            streams: Arc::new(Semaphore::new(limits.streams)),
            limits,
            stopping,
        })
    }

    /// Reads the database on a thread beside.
    pub async fn read<T, E>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Problem>
    where
        T: Send + 'static,
        E: Send + 'static,
        Problem: From<E>,
    {
        self.readers.read(work).await
    }

    /// Changes the database on a thread beside, with a connection of its own that is closed again.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let database = self.database.clone();
        tokio::task::spawn_blocking(move || work(&Store::open_existing(database)?)).await?
    }
}
