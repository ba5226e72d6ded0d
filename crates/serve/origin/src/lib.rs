//! The origin: it reads media from storage, keeps what is worth keeping, and answers players and CDNs over HTTP. It
//! knows storage, caches and HTTP; it must not know how load is made, nor what a player does with an answer.
//!
//! [`Storage`] reads objects from a folder, an object store or another server, [`Server`] answers requests from it. What
//! is kept between requests is decided by a [`Configuration`].
//!
//! The feature `server` (on by default) has all of that. Without it, the crate is what reads bytes that others wrote.

#[cfg(feature = "server")]
mod cache;
#[cfg(feature = "server")]
mod configuration;
#[cfg(feature = "server")]
mod content;
#[cfg(feature = "server")]
mod keys;
#[cfg(feature = "server")]
mod metrics;
#[doc(hidden)]
pub mod outside;
mod path;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "server")]
mod storage;
#[cfg(feature = "server")]
mod titles;

#[cfg(feature = "server")]
pub use self::{
    cache::{CacheError, DiskCache, Flights, MemoryCache},
    configuration::{Configuration, UnknownConfiguration},
    content::NotEncrypted,
    keys::{KeySettings, KeysError},
    metrics::{Handshake, Kind, Metrics, Tier},
    server::{Config, Limits, Listening, LogTo, OriginError, Server, TlsError, TlsFiles},
    storage::{
        Access, AuthoritiesError, Bucket, OpenError, Patience, PlaceError, Provider, RangeRead, S3Style,
        Storage, StorageError, StorageLocation,
    },
    titles::{AheadError, AheadSettings, Indexed, IndexedFile, KeepIndexes, TitleError, index_ahead},
};
pub use outside::version::Meta;
pub use path::{ObjectPath, PathError};
