//! The server: one socket for the datagrams of all clients, one port for their connections, threads around them.

mod connection;
mod readings;
mod sessions;

use std::net::{SocketAddr, TcpListener};

use weir_control::{Admission, Entrance, Stop, listen};
use weir_net::{UdpOptions, UdpSocket, clock};

use crate::error::NeighbourError;
use crate::now::Now;
use crate::sockets::sleeper;
use readings::Readings;

pub use sessions::{Limits, Sessions};

/// The longest sleep, so that a stop is seen.
const NAP_NS: u64 = 50_000_000;
/// Datagrams that are read before what is due is sent.
const MOST_READ: usize = 64;
/// Longer than any packet of a client, which is no packet then.
const BUFFER: usize = 256;
/// Room for the bursts of a game, bytes.
const SEND_BUFFER: usize = 4 << 20;

/// Response to connections above the limit.
const BUSY: &[u8] =
    b"HTTP/1.1 503 Session limit reached (--max-sessions)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    socket: UdpSocket,
    listener: TcpListener,
    key: [u8; 16],
    limits: Limits,
}

impl Server {
    /// Listens on `address` for datagrams and connections; port 0 takes any that is free for both.
    ///
    /// # Errors
    /// When the port is taken or the address is not this host's.
    pub fn bind(address: SocketAddr, limits: Limits) -> Result<Self, NeighbourError> {
        let fail = |source| NeighbourError::io("listen on", address, source);
        let listener = listen(address).map_err(fail)?;
        let bound = listener.local_addr().map_err(fail)?;
        let options = UdpOptions {
            send_buffer: SEND_BUFFER,
            ..UdpOptions::default()
        };
        let socket = UdpSocket::bind(bound, &options)?;
        let mut key = [0; 16];
        getrandom::fill(&mut key).map_err(NeighbourError::Random)?;
        Ok(Server {
            socket,
            listener,
            key,
            limits,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.socket.local()
    }

    /// Serves until it is stopped.
    ///
    /// # Errors
    /// When its socket fails, or there is no thread for connections.
    pub fn run(self, stop: &Stop) -> Result<(), NeighbourError> {
        let Server {
            socket,
            listener,
            key,
            limits,
        } = self;
        let connections = stop.child();
        let accepting = connections.clone();
        let thread = std::thread::Builder::new()
            .name("accept".to_owned())
            .spawn(move || {
                let done = accept(listener, limits, &accepting);
                // One half alone is of no use.
                accepting.set();
                done
            })
            .map_err(|source| NeighbourError::io("start a thread for", socket.local(), source))?;
        let done = serve_datagrams(&socket, Sessions::new(key, limits), &connections);
        connections.set();
        // A thread that broke off has nothing left to do.
        let accepted = thread.join().unwrap_or(Ok(()));
        done.and(accepted)
    }
}

fn serve_datagrams(socket: &UdpSocket, mut sessions: Sessions, stop: &Stop) -> Result<(), NeighbourError> {
    let (mut sleeper, _bell) = sleeper(socket)?;
    let mut buffer = [0; BUFFER];
    let mut answer = Vec::new();
    clock::sharpen_timers();
    while !stop.is_set() {
        for _ in 0..MOST_READ {
            let received = socket
                .receive(&mut buffer)
                .map_err(|source| NeighbourError::io("receive on", socket.local(), source))?;
            let Some((length, from, _)) = received else { break };
            if let Some(packet) = sessions.on_datagram(from, &buffer[..length], Now::read()) {
                packet.encode(&mut answer);
                // An answer that cannot leave is as one that is lost: the client asks again.
                let _ = socket.send_to(&answer, from);
            }
        }
        sessions.wake(Now::read(), &mut |to, packet| socket.send_to(packet, to).is_ok());
        let nap_ns = clock::monotonic_ns() + NAP_NS;
        sleeper
            .until(sessions.next_wake().map_or(nap_ns, |due_ns| due_ns.min(nap_ns)))
            .map_err(|source| NeighbourError::io("wait on", socket.local(), source))?;
    }
    Ok(())
}

/// Serves connections up to the limit; refuses others as busy.
fn accept(listener: TcpListener, limits: Limits, stop: &Stop) -> Result<(), NeighbourError> {
    let admission = Admission {
        what: "connection",
        limit: limits.max_sessions,
        reply: BUSY,
        reason: "session limit reached (--max-sessions)",
    };
    let readings = Readings::new(limits.max_sessions);
    let stopped = stop.clone();
    let serve = move |stream, _, _place| connection::serve(stream, limits, &readings, &stopped);
    Entrance::new(vec![listener], admission)
        .run(stop, serve, |_, _| {})
        .map_err(|source| NeighbourError::io("wait for", "connections", source))
}
