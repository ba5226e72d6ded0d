//! A server that runs already, outside of the testbed: its port in a task's namespace, from which connections are carried to it,
//! so that its traffic is counted there. It must not know what is said on a connection.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use weir_net::namespace::NetworkNamespace;
use weir_net::wait::Waiter;

/// Interval at which an end is looked for.
const TICK_MS: u32 = 100;

/// Carries connections until it is dropped; those that are open end with their clients.
pub(crate) struct Relay {
    ending: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

/// The addresses of `HOST:PORT`.
pub(crate) fn resolve(text: &str) -> io::Result<Vec<SocketAddr>> {
    Ok(text.to_socket_addrs()?.collect())
}

impl Relay {
    /// Listens on a port in the namespace for a server that this process reaches.
    pub(crate) fn start(
        namespace: &NetworkNamespace,
        port: u16,
        server: Vec<SocketAddr>,
    ) -> io::Result<Self> {
        let listener = namespace.run(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))??;
        listener.set_nonblocking(true)?;
        let mut waiter = Waiter::new()?;
        waiter.add(listener.as_raw_fd(), 0)?;
        let ending = Arc::new(AtomicBool::new(false));
        let end = ending.clone();
        let acceptor = thread::Builder::new()
            .name("weir-relay".to_owned())
            .spawn(move || {
                while !end.load(Ordering::Acquire) && waiter.wait(TICK_MS).is_ok() {
                    while let Ok((client, _)) = listener.accept() {
                        let server = server.clone();
                        thread::spawn(move || carry(client, &server));
                    }
                }
            })?;
        Ok(Relay {
            ending,
            acceptor: Some(acceptor),
        })
    }
}

/// Carries a connection, which is closed if the server cannot be reached or either end closes it.
fn carry(client: TcpStream, server: &[SocketAddr]) {
    let both = TcpStream::connect(server).and_then(|server| {
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
