//! Where a service listens for control connections.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

/// Listens on all addresses at one port; 0 lets the kernel choose it. With `any_family`, IPv6 addresses are left out
/// where the host has none.
///
/// # Errors
/// When a port is taken or an address is not this host's; tells which.
pub fn listen_on_all(
    addresses: &[IpAddr],
    mut port: u16,
    any_family: bool,
) -> Result<Vec<TcpListener>, (SocketAddr, io::Error)> {
    let mut listeners = Vec::new();
    for &address in addresses {
        match listen(SocketAddr::new(address, port)) {
            Ok(listener) => {
                port = listener.local_addr().map_or(port, |bound| bound.port());
                listeners.push(listener);
            }
            Err(error) if any_family && address.is_ipv6() && is_without_family(&error) => {}
            Err(error) => return Err((SocketAddr::new(address, port), error)),
        }
    }
    Ok(listeners)
}

/// The host knows no such addresses, or has none. A port that is taken is something else.
fn is_without_family(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    code == Some(weir_net::EAFNOSUPPORT) || code == Some(weir_net::EADDRNOTAVAIL)
}

/// Listens on one address, without waiting in [`TcpListener::accept`].
///
/// # Errors
/// When the port is taken or the address is not this host's.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(128)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}
