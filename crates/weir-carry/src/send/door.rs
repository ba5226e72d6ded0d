//! Where receivers come in: listens, leads each through the handshake, and lets one at a time through.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use weir_control::{Stop, Stranger, listen_on_all, nonce};
use weir_net::NetError;
use weir_wire::handshake::{AgentHandshake, Established, Refusal, Refused};
use weir_wire::{SessionId, Token};

use crate::CarryError;

/// Handshakes at once.
const MAX_HANDSHAKES: u32 = 16;
const NAP: Duration = Duration::from_millis(50);
/// Callers that the sender has not looked at yet: while it serves one it looks at none.
const WAITING: usize = 16;

/// A receiver that has proven the token.
pub(super) struct Client {
    pub stream: TcpStream,
    pub established: Established,
    pub peer: SocketAddr,
    /// Given back when the client is served.
    pub place: Place,
}

/// The one place that there is.
pub(super) struct Place(Arc<AtomicBool>);

impl Place {
    fn take(taken: &Arc<AtomicBool>) -> Option<Self> {
        let free = taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire);
        free.is_ok().then(|| Place(taken.clone()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// What came to the door.
pub(super) enum Caller {
    Client(Box<Client>),
    /// Who, and why they were sent away.
    Refused(SocketAddr, String),
}

/// Listens until it is dropped.
pub(super) struct Door {
    callers: Receiver<Caller>,
    addresses: Vec<SocketAddr>,
    stop: Stop,
}

/// Without a token a sender listens on loopback only, unless told to be open.
fn listen_addresses(listen: &[IpAddr], token: &Token, open: bool) -> Vec<IpAddr> {
    if !listen.is_empty() {
        return listen.to_vec();
    }
    if token.is_open() && !open {
        return vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    }
    vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()]
}

impl Door {
    pub(super) fn open(listen: &[IpAddr], port: u16, token: &Token, open: bool) -> Result<Self, CarryError> {
        let addresses = listen_addresses(listen, token, open);
        let listeners = listen_on_all(&addresses, port, listen.is_empty()).map_err(cannot_listen)?;
        let addresses = listeners
            .iter()
            .filter_map(|listener| listener.local_addr().ok())
            .collect();
        let stop = Stop::default();
        let (to_callers, callers) = sync_channel(WAITING);
        let taken = Arc::new(AtomicBool::new(false));
        let handshakes = Arc::new(AtomicU32::new(0));
        for listener in listeners {
            let porter = Porter {
                token: token.clone(),
                taken: taken.clone(),
                handshakes: handshakes.clone(),
                callers: to_callers.clone(),
            };
            let ended = stop.clone();
            std::thread::Builder::new()
                .name("door".into())
                .spawn(move || porter.run(&listener, &ended))
                .map_err(|error| CarryError::thread(&error))?;
        }
        Ok(Door {
            callers,
            addresses,
            stop,
        })
    }

    /// Where it listens.
    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Who came, if somebody did within `limit`.
    pub(super) fn next_within(&self, limit: Duration) -> Result<Option<Caller>, CarryError> {
        match self.callers.recv_timeout(limit) {
            Ok(caller) => Ok(Some(caller)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(CarryError::Internal("the listening threads broke off".into()))
            }
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.stop.set();
    }
}

fn cannot_listen((address, error): (SocketAddr, std::io::Error)) -> CarryError {
    if error.kind() == std::io::ErrorKind::AddrInUse {
        return CarryError::Parameters(format!(
            "TCP port {} on {} is in use; stop the other sender or choose another with --port",
            address.port(),
            address.ip()
        ));
    }
    NetError::io("listen on", address, error).into()
}

/// Leads callers of one listener through the handshake.
#[derive(Clone)]
struct Porter {
    token: Token,
    taken: Arc<AtomicBool>,
    handshakes: Arc<AtomicU32>,
    callers: SyncSender<Caller>,
}

impl Porter {
    fn run(&self, listener: &TcpListener, stop: &Stop) {
        while !stop.is_set() {
            let Ok((stream, peer)) = listener.accept() else {
                std::thread::sleep(NAP);
                continue;
            };
            if self.handshakes.fetch_add(1, Ordering::Relaxed) >= MAX_HANDSHAKES {
                self.handshakes.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let porter = self.clone();
            let spawned = std::thread::Builder::new()
                .name("handshake".into())
                .spawn(move || {
                    let caller = match porter.admit(stream) {
                        Ok((stream, established, place)) => Caller::Client(Box::new(Client {
                            stream,
                            established,
                            peer,
                            place,
                        })),
                        Err(reason) => Caller::Refused(peer, reason),
                    };
                    porter.handshakes.fetch_sub(1, Ordering::Relaxed);
                    // A sender that has ended serves nobody.
                    let _ = porter.callers.send(caller);
                });
            if spawned.is_err() {
                self.handshakes.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    fn admit(&self, stream: TcpStream) -> Result<(TcpStream, Established, Place), String> {
        let mut stranger = Stranger::new(stream)?;
        let message = stranger.read()?;
        let nonce = nonce().map_err(|error| error.to_string())?;
        let hello = AgentHandshake::on_hello(&message, &self.token, nonce, |_| Err(Refusal::UnknownSession));
        let (handshake, challenge) = hello.map_err(|refused| stranger.refuse(refused))?;
        stranger.write(&challenge)?;
        let message = stranger.read()?;
        let proven = handshake.on_proof(&message, || {
            if self.taken.load(Ordering::Acquire) {
                return Err(Refusal::Busy);
            }
            new_session()
        });
        let (established, welcome) = proven.map_err(|refused| stranger.refuse(refused))?;
        let Some(place) = Place::take(&self.taken) else {
            return Err(stranger.refuse(Refused::busy()));
        };
        stranger.write(&welcome)?;
        Ok((stranger.into_stream(), established, place))
    }
}

fn new_session() -> Result<SessionId, Refusal> {
    loop {
        let [a, b, c, d, e, f, g, h, ..] = nonce().map_err(|_| Refusal::Busy)?;
        let session = SessionId(u64::from_be_bytes([a, b, c, d, e, f, g, h]));
        if session.0 != 0 {
            return Ok(session);
        }
    }
}
