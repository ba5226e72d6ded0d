//! Why the page cannot be served, in words for the person who asked for it. It must not know how it is served.

use std::net::SocketAddr;

use weir_results::StoreError;

/// Why the server does not start, or ends.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UiError {
    /// The database cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The port is taken, or the address is not this host's.
    #[error(
        "cannot listen on {address}: {source}; name another address and port with --listen, such as 127.0.0.1:0 for any port that is free"
    )]
    Bind {
        /// What was asked for.
        address: SocketAddr,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Others could reach it, and nothing would keep them out.
    #[error(
        "{address} can be reached from other hosts, and there is no token; give --token-file or WEIR_TOKEN, or listen on 127.0.0.1"
    )]
    NoToken {
        /// What was asked for.
        address: SocketAddr,
    },
    /// The operating system gave no thread or no descriptor.
    #[error("cannot serve: {0}; lower the load of this host, or raise its limits")]
    System(#[from] std::io::Error),
}
