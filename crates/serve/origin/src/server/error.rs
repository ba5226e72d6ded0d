//! Why the origin cannot serve at all, in words for the person who started it. It must not know how it serves.

use std::net::SocketAddr;

use super::tls::TlsError;
use crate::cache::CacheError;
use crate::keys::KeysError;
use crate::storage::OpenError;

/// Why the server does not start, or ends.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OriginError {
    /// Media cannot be read from where it is said to be.
    #[error(transparent)]
    Storage(#[from] OpenError),
    /// The folder of the cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// What is said of keys cannot be used.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The certificate or its key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The access log cannot be written.
    #[error(
        "cannot write the access log {path}: {source}; name a writable file with --access-log, or - for standard output"
    )]
    Log {
        /// As it was named.
        path: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The port is taken, or the address is not this host's.
    #[error(
        "cannot listen on {address}: {source}; name another address and port with --listen, such as 127.0.0.1:0 for a free port"
    )]
    Bind {
        /// What was asked for.
        address: SocketAddr,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The kernel holds no connection to a rate.
    #[error("cannot pace responses on this host: {0} (SO_MAX_PACING_RATE); serve without --pace")]
    Pacing(#[source] std::io::Error),
    /// The operating system gave no thread or no descriptor.
    #[error("cannot serve: {0}; reduce the load on this host, or raise its limits")]
    System(#[from] std::io::Error),
}
