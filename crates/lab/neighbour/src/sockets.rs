//! What both ends need around their sockets: addresses of a name, and a sleep that a packet ends.

use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::AsRawFd;

use weir_net::realtime::{Bell, Sleeper};

use crate::error::NeighbourError;

/// All addresses of `to`, HOST:PORT.
pub(crate) fn resolve(to: &str) -> Result<Vec<SocketAddr>, NeighbourError> {
    let fail = |reason: String| NeighbourError::Resolve {
        to: to.to_owned(),
        reason,
    };
    let addresses: Vec<SocketAddr> = to
        .to_socket_addrs()
        .map_err(|error| fail(error.to_string()))?
        .collect();
    if addresses.is_empty() {
        return Err(fail("the name has no address".to_owned()));
    }
    Ok(addresses)
}

/// A sleep that ends when there is something to read. The bell is never rung; it has to live as long.
pub(crate) fn sleeper(watched: &impl AsRawFd) -> Result<(Sleeper, Bell), NeighbourError> {
    let bell = Bell::new().map_err(|source| NeighbourError::io("wait for", "packets", source))?;
    Ok((Sleeper::new(&bell, &[watched.as_raw_fd()]), bell))
}
