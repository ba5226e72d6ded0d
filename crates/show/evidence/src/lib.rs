//! Evidence of a watched path for the support of a provider: one archive with a page that a stranger can read, plots, the rows
//! behind them, and the digest of each file. The same store and span make the same bytes.
//!
//! It knows stored records; it must not know sockets, or how a number was measured.

mod archive;
mod facts;
mod others;
mod page;
mod plot;
mod tables;

use thiserror::Error;
use weir_results::{Store, StoreError};

pub use archive::{Archive, File};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Near host of the path, which ran the watcher.
    pub near: String,
    /// Far host.
    pub far: String,
    /// From this moment on, Unix nanoseconds.
    pub since_ns: u64,
    /// Until before this one.
    pub until_ns: u64,
    /// Version of the Weir that makes the archive.
    pub version: String,
}

/// Why there is no evidence.
#[derive(Debug, Error)]
pub enum EvidenceError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store has no such path.
    #[error("no watcher has measured from '{near}' to '{far}'; measured are {known}")]
    NoPath {
        /// Near host.
        near: String,
        /// Far host.
        far: String,
        /// The paths of the store.
        known: String,
    },
    /// Nothing was measured then.
    #[error("nothing was measured {asked}; the store has {stored}")]
    Nothing {
        /// Path and span in words.
        asked: String,
        /// Starts of the first and the last cell of the path.
        stored: String,
    },
    /// A table cannot be written.
    #[error("cannot write a table: {0}")]
    Table(#[from] csv::Error),
}

/// Collects what the store has of a path in a span of time.
///
/// # Errors
/// When the store cannot be read, has no such path, or nothing was measured then.
pub fn collect(store: &Store, request: &Request) -> Result<Archive, EvidenceError> {
    let facts = facts::read(store, request)?;
    let mut files = tables::all(&facts)?;
    files.push(File::text("rtt.svg", plot::rtt(&facts)));
    files.push(File::text("loss.svg", plot::loss(&facts)));
    files.sort_by(|one, other| one.name.cmp(&other.name));
    let page = File::text("index.html", page::html(&facts, &files));
    files.insert(0, page);
    let folder = format!("evidence-{}-{}", request.near, request.far);
    Ok(Archive::new(folder.replace([':', '/'], "_"), files))
}
