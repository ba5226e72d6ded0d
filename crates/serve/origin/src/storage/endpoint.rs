//! One of several storages that hold the same: how it is asked, and whether it answered lately. It must not know what
//! to do when it does not.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;

use super::ask::{Answer, Ask};
use super::authorities::Authorities;
use super::cloud::Cloud;
use super::error::OpenError;
use super::fault::Fault;
use super::folder::Folder;
use super::location::{Access, StorageLocation};
use super::meta::Meta;
use super::plain::Plain;
use super::transport::{Patience, Transport};
use crate::metrics::Metrics;
use crate::path::ObjectPath;

/// Failures one after the other until a storage counts as down.
const FAILURES: u32 = 3;

#[derive(Debug)]
enum Backend {
    Folder(Folder),
    Plain(Plain),
    Cloud(Cloud),
}

/// A storage with its name.
#[derive(Debug)]
pub struct Endpoint {
    name: Arc<str>,
    backend: Backend,
    /// Failures since the last answer.
    failures: AtomicU32,
}

impl Endpoint {
    /// The storage at a place.
    pub fn open(
        place: &StorageLocation,
        access: &Access,
        authorities: &Authorities,
        pooled: bool,
        patience: &Patience,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, OpenError> {
        let settings = |why: String| OpenError::Settings {
            place: place.to_string(),
            why,
        };
        let transport = || {
            Transport::new(pooled, patience, authorities.clone(), metrics.clone())
                .map_err(|fault| settings(fault.to_string()))
        };
        let backend = match place {
            StorageLocation::Folder(folder) => Backend::Folder(open_folder(folder)?),
            StorageLocation::Http(base) => Backend::Plain(Plain::new(transport()?, base)),
            StorageLocation::Bucket(bucket) => {
                let cloud = Cloud::new(bucket, access, transport()?);
                Backend::Cloud(cloud.map_err(|error| settings(Fault::innermost(&error)))?)
            }
        };
        Ok(Endpoint {
            name: place.to_string().into(),
            backend,
            failures: AtomicU32::new(0),
        })
    }

    /// As it was named.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whether it is a folder of this host.
    pub fn is_local(&self) -> bool {
        matches!(self.backend, Backend::Folder(_))
    }

    /// Asks once.
    pub async fn ask(&self, path: &ObjectPath, ask: &Ask, version: Option<&Meta>) -> Result<Answer, Fault> {
        let range = match ask {
            Ask::Head => return self.head(path).await,
            Ask::Range(range) => range.clone(),
        };
        let name = version.and_then(Meta::strong_etag);
        let (meta, range, stream) = match &self.backend {
            Backend::Folder(folder) => folder.open(path, range).await?,
            Backend::Plain(plain) => plain.open(path, range, name).await?,
            Backend::Cloud(cloud) => cloud.open(path, range, name).await?,
        };
        Ok(Answer {
            meta,
            range,
            stream: Some(stream),
            endpoint: self.name.clone(),
        })
    }

    async fn head(&self, path: &ObjectPath) -> Result<Answer, Fault> {
        let meta = match &self.backend {
            Backend::Folder(folder) => folder.head(path).await?,
            Backend::Plain(plain) => plain.head(path).await?,
            Backend::Cloud(cloud) => cloud.head(path).await?,
        };
        Ok(Answer {
            range: 0..meta.length,
            meta,
            stream: None,
            endpoint: self.name.clone(),
        })
    }

    /// Objects that lie in a folder, in any order.
    pub async fn list(&self, folder: &ObjectPath) -> Result<Vec<(ObjectPath, Meta)>, Fault> {
        match &self.backend {
            Backend::Folder(root) => root.list(folder).await,
            Backend::Plain(_) => Err(Fault::NoLists),
            Backend::Cloud(cloud) => cloud.list(folder).await,
        }
    }

    /// All objects, in any order, or that many of them.
    pub async fn list_all(&self, most: usize) -> Result<Vec<(ObjectPath, Meta)>, Fault> {
        match &self.backend {
            Backend::Folder(root) => root.list_all(most).await,
            Backend::Plain(_) => Err(Fault::NoLists),
            Backend::Cloud(cloud) => cloud.list_all(most).await,
        }
    }

    /// Writes an object.
    pub async fn put(&self, path: &ObjectPath, body: Bytes) -> Result<(), Fault> {
        match &self.backend {
            Backend::Folder(root) => root.put(path, body).await,
            Backend::Plain(_) => Err(Fault::ReadOnly),
            Backend::Cloud(cloud) => cloud.put(path, body).await,
        }
    }

    /// Whether it is worth asking before the others.
    pub fn is_up(&self) -> bool {
        self.failures.load(Ordering::Relaxed) < FAILURES
    }

    /// Takes note of how a request to it ended: with an answer, which may be that there is no such object, or not.
    pub fn judge(&self, fault: Option<&Fault>) {
        if !fault.is_some_and(Fault::is_passing) {
            self.failures.store(0, Ordering::Relaxed);
            return;
        }
        let before = self.failures.fetch_add(1, Ordering::Relaxed);
        if before + 1 == FAILURES {
            tracing::warn!(endpoint = %self.name, "the storage does not respond; trying mirrors first");
        }
    }

    /// Asks whether it answers again, if it did not.
    pub async fn probe_if_down(&self) {
        if self.is_up() {
            return;
        }
        let answered = match &self.backend {
            Backend::Folder(_) => Ok(()),
            Backend::Plain(plain) => plain.probe().await,
            Backend::Cloud(cloud) => cloud.probe().await,
        };
        if answered.is_ok() {
            tracing::warn!(endpoint = %self.name, "the storage responds again");
            self.failures.store(0, Ordering::Relaxed);
        }
    }
}

fn open_folder(folder: &Path) -> Result<Folder, OpenError> {
    Folder::new(folder).map_err(|source| OpenError::Folder {
        folder: folder.display().to_string(),
        source,
    })
}
