//! Accepts connections on all listeners of a service: a limited number at once, each on a thread of its own. The others
//! get a reply with the reason, and refusals are logged. It must not know what connections say.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use weir_net::wait::Waiter;

use crate::Stop;
use crate::refusals::RefusalLog;

/// Interval at which the stop flag is checked, and pause after an error of this host.
const NAP: Duration = Duration::from_millis(50);
/// Connections accepted on one listener before the next has its turn.
const AT_ONCE: usize = 64;

/// How many connections an [`Entrance`] lets in, and what it sends to the others.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    /// What is refused, as the log names it, such as `connection`.
    pub what: &'static str,
    /// Maximum number of connections at once.
    pub limit: usize,
    /// Bytes sent to a connection above the limit.
    pub reply: &'static [u8],
    /// The reason, as the log gives it.
    pub reason: &'static str,
}

/// A connection's place among those that are let in, free again when this is dropped.
#[derive(Debug)]
pub struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(taken: &Arc<AtomicUsize>, limit: usize) -> Option<Self> {
        let more = |count| (count < limit).then_some(count + 1);
        let took = taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        took.is_ok().then(|| Place(taken.clone()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The listeners of a service.
#[derive(Debug)]
pub struct Entrance {
    listeners: Vec<TcpListener>,
    admission: Admission,
    taken: Arc<AtomicUsize>,
    log: Arc<RefusalLog>,
}

impl Entrance {
    /// An entrance over listeners of [`listen`](crate::listen), which do not block.
    pub fn new(listeners: Vec<TcpListener>, admission: Admission) -> Self {
        Entrance {
            listeners,
            taken: Arc::default(),
            log: Arc::new(RefusalLog::new(admission.what)),
            admission,
        }
    }

    /// Addresses that it listens on.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners
            .iter()
            .filter_map(|listener| listener.local_addr().ok())
            .collect()
    }

    pub(crate) fn log(&self) -> Arc<RefusalLog> {
        self.log.clone()
    }

    /// Accepts connections until `stop` is set. `serve` runs on a thread of its own for each connection that is let in,
    /// `refused` on this thread for each other one.
    ///
    /// # Errors
    /// When it cannot wait for connections.
    pub fn run(
        &self,
        stop: &Stop,
        serve: impl Fn(TcpStream, SocketAddr, Place) + Send + Sync + 'static,
        mut refused: impl FnMut(SocketAddr, &str),
    ) -> io::Result<()> {
        let serve = Arc::new(serve);
        let mut waiter = Waiter::new()?;
        for (index, listener) in self.listeners.iter().enumerate() {
            waiter.add(listener.as_raw_fd(), index)?;
        }
        while !stop.is_set() {
            waiter.wait(NAP.as_millis() as u32)?;
            self.log.poll();
            for index in waiter.ready() {
                self.accept(&self.listeners[index], stop, &serve, &mut refused);
            }
        }
        self.log.finish();
        Ok(())
    }

    fn accept<F>(
        &self,
        listener: &TcpListener,
        stop: &Stop,
        serve: &Arc<F>,
        refused: &mut impl FnMut(SocketAddr, &str),
    ) where
        F: Fn(TcpStream, SocketAddr, Place) + Send + Sync + 'static,
    {
        for _ in 0..AT_ONCE {
            if stop.is_set() {
                return;
            }
            let (stream, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    // The connection stays in the queue where descriptors are short: without a pause this would spin.
                    self.log.failed(&error, "accept a connection");
                    std::thread::sleep(NAP);
                    return;
                }
            };
            match Place::take(&self.taken, self.admission.limit) {
                Some(place) => self.start(stream, peer, place, serve.clone()),
                None => {
                    turn_away(stream, self.admission.reply);
                    self.log.refused(peer, self.admission.reason);
                    refused(peer, self.admission.reason);
                }
            }
        }
    }

    fn start<F>(&self, stream: TcpStream, peer: SocketAddr, place: Place, serve: Arc<F>)
    where
        F: Fn(TcpStream, SocketAddr, Place) + Send + Sync + 'static,
    {
        let started = std::thread::Builder::new()
            .name("connection".into())
            .spawn(move || serve(stream, peer, place));
        if let Err(error) = started {
            self.log.failed(&error, "start a thread for a connection");
        }
    }
}

/// Sends the reason of a refusal, without waiting for anything.
fn turn_away(mut stream: TcpStream, reply: &[u8]) {
    if stream.set_nonblocking(true).is_err() {
        return;
    }
    // Bytes that are not read when a connection is closed make the kernel reset it, and the peer may lose the reply.
    let mut unread = [0; 4096];
    let _ = stream.read(&mut unread);
    // A peer that has left does not need to know why; the others have room for a few bytes.
    let _ = stream.write_all(reply);
    let _ = stream.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};
    use std::sync::mpsc::channel;

    use super::*;
    use crate::listen;

    /// A test that takes longer hangs.
    const HANGS: Duration = Duration::from_secs(180);

    const ADMISSION: Admission = Admission {
        what: "connection",
        limit: 2,
        reply: b"full",
        reason: "limit reached",
    };

    #[test]
    fn a_limited_number_is_served_on_all_listeners_and_the_others_are_told() {
        let loopback = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        // A host without IPv6 has one listener.
        let listeners = loopback
            .iter()
            .filter_map(|address| listen(SocketAddr::new(*address, 0)).ok());
        let entrance = Entrance::new(listeners.collect(), ADMISSION);
        let addresses = entrance.addresses();
        let (stop, (sender, served), (refuse, refused)) = (Stop::default(), channel(), channel());
        std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                let serve = move |stream, peer, place| sender.send((stream, peer, place)).expect("the test");
                entrance.run(&stop, serve, |peer, _| refuse.send(peer).expect("the test"))
            });
            let connect = |index: usize| {
                let stream = TcpStream::connect(addresses[index % addresses.len()]).expect("a connection");
                stream.set_read_timeout(Some(HANGS)).expect("a limit");
                stream
            };
            let _inside = [connect(0), connect(1)];
            let first = served.recv_timeout(HANGS).expect("a connection");
            let _second = served.recv_timeout(HANGS).expect("a connection");
            for index in 0..4 {
                let mut outside = connect(index);
                let mut said = Vec::new();
                outside.read_to_end(&mut said).expect("the reason");
                assert_eq!(said, b"full");
                let peer = refused.recv_timeout(HANGS).expect("a refusal");
                assert_eq!(peer, outside.local_addr().expect("an address"));
            }
            drop(first);
            let _third = connect(0);
            let _place = served.recv_timeout(HANGS).expect("a connection");
            stop.set();
            running.join().expect("no panic").expect("it ends");
        });
    }
}
