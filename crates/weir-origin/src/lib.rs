//! The origin: it reads media from storage, keeps what is worth keeping, and answers players and CDNs over HTTP. It
//! knows storage, caches and HTTP; it must not know how load is made, nor what a player does with an answer.
//!
//! [`Storage`] reads objects from a folder, an object store or another server, [`Server`] answers requests from it. What
//! is kept between requests is decided by a [`Configuration`].

mod cache;
mod configuration;
mod content;
mod keys;
mod metrics;
#[doc(hidden)]
pub mod outside;
mod pacing;
mod path;
mod server;
mod storage;
mod titles;

pub use cache::{CacheError, DiskCache, Flights, MemoryCache};
pub use configuration::{Configuration, UnknownConfiguration};
pub use content::NotEncrypted;
pub use keys::{KeySettings, KeysError};
pub use metrics::{Handshake, Kind, Metrics, Tier};
pub use pacing::{BadBurst, Burst, Pacing};
pub use path::{ObjectPath, PathError};
pub use server::{Config, Limits, LogTo, OriginError, Server, TlsError, TlsFiles};
pub use storage::{
    Access, AuthoritiesError, Bucket, Meta, OpenError, Patience, Place, PlaceError, Provider, Reading,
    S3Style, Storage, StorageError,
};
pub use titles::{AheadError, AheadSettings, Indexed, IndexedFile, KeepIndexes, TitleError, index_ahead};
