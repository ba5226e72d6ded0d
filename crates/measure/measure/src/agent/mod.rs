//! The far end: one TCP control port, one range of UDP ports, several sessions at once. It serves RTT
//! reflection, flows in both directions, TCP both ways and path MTU, each within its limits, and nothing at all
//! to whoever has not proven the token.

mod ports;
mod serve;
mod threads;

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::ops::RangeInclusive;
use std::sync::Arc;

use weir_control::{Caller, Door, DoorConfig, listen_with_token};
use weir_net::NetError;
use weir_wire::Token;

use crate::rtt::stamp::StampReflector;
use crate::{Limits, MeasureError, NO_MEDIA, Stop};

use ports::PortPool;
use serve::Shared;
use threads::ThreadPool;

/// Handshakes at once.
const MAX_HANDSHAKES: usize = 64;

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

/// A listening agent.
pub struct Agent {
    door: Door,
    reflectors: Vec<StampReflector>,
    shared: Arc<Shared>,
}

impl Agent {
    /// Opens the listening sockets.
    ///
    /// # Errors
    /// When a port is taken or an address is not this host's.
    pub fn bind(config: AgentConfig, stop: Stop) -> Result<Self, MeasureError> {
        let door_config = DoorConfig {
            token: config.token.clone(),
            demand: NO_MEDIA,
            strangers: MAX_HANDSHAKES,
            sessions: config.limits.max_sessions as usize,
            joining: usize::from(config.limits.max_flows),
        };
        let door = Door::new(listen(&config)?, door_config);
        let mut reflectors = Vec::new();
        if let Some(port) = config.stamp_port {
            for address in door.addresses() {
                reflectors.push(StampReflector::bind(
                    SocketAddr::new(address.ip(), port),
                    config.stamp_key.as_deref(),
                )?);
            }
        }
        let ports = PortPool::new(config.udp_ports);
        let shared = Shared {
            limits: config.limits,
            ports,
            threads: ThreadPool::new(config.limits.max_threads),
            stop,
        };
        Ok(Agent {
            door,
            reflectors,
            shared: Arc::new(shared),
        })
    }

    /// Control addresses that it listens on.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.door.addresses()
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
            let shared = self.shared.clone();
            let served = self.door.run(stop, move |caller| {
                // The door has logged those that it refused.
                if let Caller::Admitted(admitted) = caller {
                    serve::serve(*admitted, &shared);
                }
            });
            if let Err(error) = served {
                tracing::error!(%error, "cannot wait for connections");
                stop.set();
            }
        });
    }
}

fn listen(config: &AgentConfig) -> Result<Vec<TcpListener>, MeasureError> {
    listen_with_token(&config.listen, config.port, &config.token, config.open)
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
