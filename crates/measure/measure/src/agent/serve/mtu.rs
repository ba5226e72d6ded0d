//! The agent's half of a path MTU search: answers the client's probes, then sends its own.

use std::net::SocketAddr;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use weir_net::{UdpOptions, UdpSocket};
use weir_record::Direction;

use super::{NAP, Outcome, PATIENCE, Served, Serving};
use crate::control::{FromAgent, Ready, ToAgent};
use crate::path_mtu::{LONGEST_NS, MtuReport, Prober, Responder};
use crate::{MeasureError, Stop};

/// How long the client's hello may take once it has begun.
const HELLO_LIMIT: Duration = Duration::from_secs(10);

impl Serving<'_> {
    pub(super) fn serve_mtu(&mut self) -> Served<Outcome> {
        let opened = self.socket(&UdpOptions::default()).and_then(|socket| {
            let port = socket.local().port();
            let keys = &self.established.keys;
            Ok((
                port,
                Responder::start(socket, self.established.session, keys.udp, None)?,
            ))
        });
        let (port, responder) = match opened {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error)),
        };
        self.say(&FromAgent::Ready(Ready {
            ports: vec![port],
            ..Ready::default()
        }))?;
        // The client's own search comes first.
        let limit = Duration::from_nanos(LONGEST_NS) + PATIENCE;
        if let Some(outcome) = self.await_go(limit)? {
            return Ok(outcome);
        }
        let client = self.await_hello(&responder)?;
        drop(responder);
        let report = match client {
            Some(client) => self.search_towards(client, port)?,
            None => Ok(MtuReport::default()),
        };
        match report {
            Ok(report) => Ok(Ok(self.say(&FromAgent::Mtu(report))?)),
            Err(error) => Ok(Err(error)),
        }
    }

    /// The client answers from the address of its hello, which has to be its host's.
    fn await_hello(&self, responder: &Responder) -> Served<Option<SocketAddr>> {
        let deadline = Instant::now() + HELLO_LIMIT;
        loop {
            match responder.peer() {
                Some(peer) if peer.ip() == self.client => return Ok(Some(peer)),
                _ if Instant::now() > deadline => return Ok(None),
                _ => {}
            }
            if matches!(self.next(NAP)?, Some(ToAgent::Stop(_))) {
                return Ok(None);
            }
        }
    }

    /// Searches on a thread of its own, so that what it finds goes to the client at once, and a client that stops
    /// or leaves ends it.
    fn search_towards(&self, client: SocketAddr, port: u16) -> Served<Result<MtuReport, MeasureError>> {
        let address = SocketAddr::new(self.local, port);
        let socket = match UdpSocket::bind(address, &UdpOptions::default()) {
            Ok(socket) => socket,
            Err(error) => return Ok(Err(error.into())),
        };
        let prober = Prober {
            socket: &socket,
            peer: client,
            session: self.established.session,
            key: self.established.keys.udp,
            direction: Direction::Reverse,
        };
        let stop = self.shared.stop.child();
        let (sender, records) = channel();
        std::thread::scope(|scope| {
            let _ends_with_this = StopWhenDropped(&stop);
            // Nobody left to take records means that the session is over.
            let mut record = move |row| drop(sender.send(row));
            let (prober, ended) = (&prober, &stop);
            let search = std::thread::Builder::new()
                .name("mtu-search".into())
                .spawn_scoped(scope, move || prober.search(&mut record, ended));
            let search = match search {
                Ok(search) => search,
                Err(error) => return Ok(Err(MeasureError::thread(&error))),
            };
            while !search.is_finished() {
                if matches!(self.next(NAP)?, Some(ToAgent::Stop(_))) {
                    stop.set();
                }
                self.say_records(records.try_iter().collect())?;
            }
            let found = search
                .join()
                .unwrap_or_else(|_| Err(MeasureError::Internal("the path MTU search broke off".into())));
            self.say_records(records.try_iter().collect())?;
            Ok(found)
        })
    }
}

/// Ends threads with the work that they are part of, however that ends.
struct StopWhenDropped<'a>(&'a Stop);

impl Drop for StopWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}
