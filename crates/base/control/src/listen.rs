//! Listening sockets for control connections.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};
use weir_wire::Token;

/// Listens at one port; 0 lets the kernel choose it. Without addresses in `listen` these are all of the host's; without a
/// token they are those of loopback, unless `open` is set.
///
/// # Errors
/// When a port is taken or an address is not this host's; the error says which.
pub fn listen_with_token(
    listen: &[IpAddr],
    port: u16,
    token: &Token,
    open: bool,
) -> Result<Vec<TcpListener>, (SocketAddr, io::Error)> {
    // A host without IPv6 still serves IPv4 when neither was asked for by name.
    let any_family = listen.is_empty();
    let default: [IpAddr; 2] = if token.is_open() && !open {
        [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
    } else {
        [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()]
    };
    listen_on_all(if any_family { &default } else { listen }, port, any_family)
}

/// Listens on all addresses at one port. With `any_family`, hosts without IPv6 addresses listen on IPv4 alone.
fn listen_on_all(
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

/// The host does not support this address family, or has no address of it. A port in use is another error.
fn is_without_family(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    code == Some(weir_net::EAFNOSUPPORT) || code == Some(weir_net::EADDRNOTAVAIL)
}

/// Listens on one address, with a non-blocking [`TcpListener::accept`].
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
