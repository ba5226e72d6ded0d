//! Connections that are carried between a port and a server elsewhere: one that runs already, outside of the testbed, or a task on
//! another host. It must not know what is said on a connection.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use weir_local::Secret;
use weir_net::namespace::NetworkNamespace;
use weir_net::wait::Waiter;

/// Interval at which an end is looked for.
const TICK_MS: u32 = 100;
/// Maximum time for a connection to say which one it is.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum number of connections that have not said it.
const MOST_WAITING: usize = 256;
/// Digits of the number of a connection of the workflow.
const DIGITS: usize = 3;

/// Carries connections until it is dropped; those that are open end with their clients.
pub(crate) struct Relay {
    ending: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

/// The addresses of `HOST:PORT`.
pub(crate) fn resolve(text: &str) -> io::Result<Vec<SocketAddr>> {
    Ok(text.to_socket_addrs()?.collect())
}

/// A port of all addresses in a namespace.
pub(crate) fn listen_in(namespace: &NetworkNamespace, port: u16) -> io::Result<TcpListener> {
    namespace.run(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))?
}

impl Relay {
    /// Carries the connections of a port to the servers that `reach` gives for them.
    pub(crate) fn start(
        listener: TcpListener,
        reach: impl Fn(&mut TcpStream) -> io::Result<TcpStream> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let mut waiter = Waiter::new()?;
        waiter.add(listener.as_raw_fd(), 0)?;
        let ending = Arc::new(AtomicBool::new(false));
        let end = ending.clone();
        let reach = Arc::new(reach);
        let acceptor = thread::Builder::new()
            .name("weir-relay".to_owned())
            .spawn(move || {
                while !end.load(Ordering::Acquire) && waiter.wait(TICK_MS).is_ok() {
                    while let Ok((client, _)) = listener.accept() {
                        let reach = reach.clone();
                        thread::spawn(move || carry(client, &*reach));
                    }
                }
            })?;
        Ok(Relay {
            ending,
            acceptor: Some(acceptor),
        })
    }

    /// Carries the connections of a port to the tasks in `servers`, by the number of a connection of the workflow, for those who
    /// know the secret.
    pub(crate) fn enter(port: u16, secret: &str, servers: BTreeMap<usize, Inside>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
            // A host without IPv6.
            .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))?;
        let (secret, length) = (Secret::new(secret.as_bytes()), secret.len());
        let waiting = AtomicUsize::new(0);
        Relay::start(listener, move |client| {
            let is_few = waiting.fetch_add(1, Ordering::AcqRel) < MOST_WAITING;
            let number = is_few.then(|| number_of(client, &secret, length));
            waiting.fetch_sub(1, Ordering::AcqRel);
            let server = number.flatten().and_then(|number| servers.get(&number));
            server.ok_or(io::ErrorKind::PermissionDenied)?.connect()
        })
    }

    /// Carries the connections of a port to the task that another host has at a connection of the workflow.
    pub(crate) fn leave(
        listener: TcpListener,
        host: (String, u16),
        secret: &str,
        number: usize,
    ) -> io::Result<Self> {
        let pass = format!("{secret}{number:0DIGITS$}");
        Relay::start(listener, move |_| {
            let mut server = TcpStream::connect((host.0.as_str(), host.1))?;
            server.write_all(pass.as_bytes())?;
            Ok(server)
        })
    }
}

/// The number of the connection of the workflow that a client names; none without the secret.
fn number_of(client: &mut TcpStream, secret: &Secret, length: usize) -> Option<usize> {
    let mut pass = vec![0; length + DIGITS];
    client.set_read_timeout(Some(PATIENCE)).ok()?;
    client.read_exact(&mut pass).ok()?;
    client.set_read_timeout(None).ok()?;
    let (given, number) = pass.split_at(length);
    let number = std::str::from_utf8(number).ok()?.parse().ok()?;
    secret.is(given).then_some(number)
}

/// A task's port, seen from the far end of one of its connections.
pub(crate) struct Inside {
    namespace: NetworkNamespace,
    server: SocketAddr,
}

impl Inside {
    /// The port of the task that serves a connection, from the namespace at its far end.
    pub(crate) fn new(namespace: NetworkNamespace, server: SocketAddr) -> Self {
        Inside { namespace, server }
    }

    fn connect(&self) -> io::Result<TcpStream> {
        self.namespace.run(|| TcpStream::connect(self.server))?
    }
}

/// Carries a connection, which is closed if the server cannot be reached or either end closes it.
fn carry(mut client: TcpStream, reach: &dyn Fn(&mut TcpStream) -> io::Result<TcpStream>) {
    let both = reach(&mut client).and_then(|server| {
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        Ok([(client.try_clone()?, server.try_clone()?), (server, client)])
    });
    let Ok([towards, back]) = both else { return };
    let other = thread::spawn(move || copy(towards));
    copy(back);
    // Both have ended by now, or end with their sockets.
    let _ = other.join();
}

fn copy((mut from, mut to): (TcpStream, TcpStream)) {
    // A connection that breaks is one that has ended.
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Release);
        if let Some(acceptor) = self.acceptor.take() {
            // A thread that panicked has printed its message.
            let _ = acceptor.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_knows_the_secret_is_let_in_to_the_connection_that_it_names() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let named = |pass: &str| {
            let mut client = TcpStream::connect(address).expect("a connection");
            client.write_all(pass.as_bytes()).expect("a pass");
            client.shutdown(Shutdown::Write).expect("an end");
            let (mut server, _) = listener.accept().expect("a client");
            number_of(&mut server, &Secret::new(b"sesame"), "sesame".len())
        };
        assert_eq!(named("sesame127GET /"), Some(127));
        for wrong in ["sesama127", "sesame12", "sesame1x7", "", "GET / HTTP/1.1\r\n"] {
            assert_eq!(named(wrong), None, "{wrong}");
        }
    }
}
