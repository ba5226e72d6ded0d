//! The far end: one TCP control port, one range of UDP ports, several sessions at once. It serves RTT
//! reflection, flows in both directions, TCP both ways and path MTU, each within its limits, and nothing at all
//! to whoever has not proven the token.

mod admit;
mod ports;
mod serve;

use std::collections::HashMap;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use weir_control::listen_on_all;
use weir_net::NetError;
use weir_wire::handshake::{AgentHandshake, Refusal};
use weir_wire::{SessionId, Token};

use crate::rtt::stamp::StampReflector;
use crate::{Limits, MeasureError, Stop};

use ports::PortPool;

/// Handshakes at once.
const MAX_HANDSHAKES: u32 = 64;
const NAP: Duration = Duration::from_millis(50);

/// How an agent is set up.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// Addresses to listen on; empty: all of them with a token or `open`, else loopback.
    pub listen: Vec<IpAddr>,
    /// TCP control port; 0 lets the kernel choose.
    pub port: u16,
    /// UDP ports for tests.
    pub udp_ports: RangeInclusive<u16>,
    /// Shared secret; empty for none.
    pub token: Token,
    /// Serve everybody on every address although there is no token.
    pub open: bool,
    /// What is allowed.
    pub limits: Limits,
    /// Port of a STAMP Session-Reflector, if one is wanted.
    pub stamp_port: Option<u16>,
    /// Key of its authenticated mode.
    pub stamp_key: Option<Vec<u8>>,
}

struct SessionEntry {
    control_key: [u8; 32],
    /// Data connections that have joined, with their numbers.
    joined: SyncSender<(u32, TcpStream)>,
}

/// What all threads of an agent share.
pub(crate) struct Shared {
    config: AgentConfig,
    sessions: Mutex<HashMap<SessionId, SessionEntry>>,
    ports: PortPool,
    handshakes: AtomicU32,
    stop: Stop,
}

impl Shared {
    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, SessionEntry>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A listening agent.
pub struct Agent {
    listeners: Vec<TcpListener>,
    reflectors: Vec<StampReflector>,
    shared: Arc<Shared>,
}

impl Agent {
    /// Opens the listening sockets.
    ///
    /// # Errors
    /// When a port is taken or an address is not this host's.
    pub fn bind(config: AgentConfig, stop: Stop) -> Result<Self, MeasureError> {
        let listeners = listen(&config)?;
        let bound: Vec<IpAddr> = listeners
            .iter()
            .filter_map(|listener| Some(listener.local_addr().ok()?.ip()))
            .collect();
        let mut reflectors = Vec::new();
        if let Some(port) = config.stamp_port {
            for address in bound {
                reflectors.push(StampReflector::bind(
                    SocketAddr::new(address, port),
                    config.stamp_key.as_deref(),
                )?);
            }
        }
        let ports = PortPool::new(config.udp_ports.clone());
        let shared = Shared {
            config,
            sessions: Mutex::default(),
            ports,
            handshakes: AtomicU32::new(0),
            stop,
        };
        Ok(Agent {
            listeners,
            reflectors,
            shared: Arc::new(shared),
        })
    }

    /// Control addresses that it listens on.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners
            .iter()
            .filter_map(|listener| listener.local_addr().ok())
            .collect()
    }

    /// STAMP addresses that it answers on.
    pub fn stamp_addresses(&self) -> Vec<SocketAddr> {
        self.reflectors.iter().map(StampReflector::local).collect()
    }

    /// Serves until the stop flag given to [`Agent::bind`] is set.
    pub fn run(self) {
        std::thread::scope(|scope| {
            let stop = &self.shared.stop;
            for reflector in &self.reflectors {
                scope.spawn(|| reflector.run(stop));
            }
            for listener in &self.listeners {
                scope.spawn(|| accept(listener, &self.shared));
            }
        });
    }
}

/// Without a token an agent listens on loopback only, unless told to be open.
fn listen_addresses(config: &AgentConfig) -> Vec<IpAddr> {
    if !config.listen.is_empty() {
        return config.listen.clone();
    }
    if config.token.is_open() && !config.open {
        return vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    }
    vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()]
}

fn listen(config: &AgentConfig) -> Result<Vec<TcpListener>, MeasureError> {
    // A host without IPv6 still serves IPv4 when neither was asked for by name.
    let any_family = config.listen.is_empty();
    listen_on_all(&listen_addresses(config), config.port, any_family)
        .map_err(|(address, error)| cannot_listen(address, error))
}

fn cannot_listen(address: SocketAddr, error: std::io::Error) -> MeasureError {
    if error.kind() == std::io::ErrorKind::AddrInUse {
        return MeasureError::Parameters(format!(
            "control port {} on {} is in use; stop the other agent or choose another with --port",
            address.port(),
            address.ip()
        ));
    }
    NetError::io("listen on", address, error).into()
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    while !shared.stop.is_set() {
        let (stream, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                if error.kind() != std::io::ErrorKind::WouldBlock {
                    tracing::warn!(%error, "cannot accept a connection");
                }
                std::thread::sleep(NAP);
                continue;
            }
        };
        if shared.handshakes.fetch_add(1, Ordering::Relaxed) >= MAX_HANDSHAKES {
            shared.handshakes.fetch_sub(1, Ordering::Relaxed);
            tracing::warn!(%peer, "too many handshakes at once; connection closed");
            turn_away(stream);
            continue;
        }
        let serving = shared.clone();
        let spawned = std::thread::Builder::new().name("session".into()).spawn(move || {
            let admitted = admit::admit(stream, &serving);
            serving.handshakes.fetch_sub(1, Ordering::Relaxed);
            match admitted {
                Ok(Some((stream, established, joined))) => {
                    serve::serve(stream, established, joined, &serving)
                }
                Ok(None) => {}
                Err(reason) => tracing::warn!(%peer, reason, "handshake refused"),
            }
        });
        if let Err(error) = spawned {
            shared.handshakes.fetch_sub(1, Ordering::Relaxed);
            tracing::warn!(%error, "cannot start a thread for a connection");
        }
    }
}

/// Says that the agent is busy, without waiting for anything.
fn turn_away(mut stream: TcpStream) {
    if stream.set_nonblocking(true).is_ok() {
        // A stranger who has left does not need to know why; the others have room for a few bytes.
        let _ = stream.write_all(&AgentHandshake::refuse(Refusal::Busy));
    }
}
