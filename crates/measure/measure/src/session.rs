//! The client's end of a control session: connect, prove the token, ask for tests, take answers.

use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use weir_control::{Control, Family, SILENCE_LIMIT, Service, resolve};
use weir_net::host::HostFacts;
use weir_net::{UdpOptions, UdpSocket};
use weir_wire::frame::Role;
use weir_wire::{SessionId, SessionKeys, Token, UdpKey};

use crate::control::{FromAgent, ToAgent};
use crate::{DEFAULT_CONTROL_PORT, Limits, MeasureError, NO_MEDIA};

/// What listens at the other end.
const AGENT: Service = Service {
    name: "agent",
    command: "weir agent",
    when_busy: "try again later, or start it with a higher --max-sessions",
};

/// Where an agent is, and how to prove the right to use it.
#[derive(Clone, Debug)]
pub struct AgentAddress {
    /// Host name or address as the user gave it, with or without a port.
    pub host: String,
    /// IP version wanted.
    pub family: Family,
    /// Shared secret; empty for an agent that is open.
    pub token: Token,
}

impl AgentAddress {
    /// Resolves the name.
    ///
    /// # Errors
    /// When it has no address of the wanted kind.
    pub fn resolve(&self) -> Result<SocketAddr, MeasureError> {
        Ok(resolve(&self.host, DEFAULT_CONTROL_PORT, self.family)?)
    }
}

/// An authenticated session with an agent. Dropping it ends the session at both ends.
pub struct Session {
    address: SocketAddr,
    control: Control<FromAgent>,
    session: SessionId,
    keys: SessionKeys,
    /// What the agent allows.
    pub limits: Limits,
    /// The agent's host.
    pub remote_host: HostFacts,
    /// The agent's version, for messages about answers that make no sense.
    version: String,
    local: SocketAddr,
    next_data_stream: u32,
}

impl Session {
    /// Connects and proves the token, and checks the agent's own proof.
    ///
    /// # Errors
    /// Whatever keeps a session from being set up, with what to do about it.
    pub fn connect(agent: &AgentAddress) -> Result<Self, MeasureError> {
        let address = agent.resolve()?;
        let connected = weir_control::connect(address, &agent.token, NO_MEDIA, AGENT)?;
        let refuse = |error: std::io::Error| MeasureError::AgentLost {
            address: address.to_string(),
            reason: error.to_string(),
        };
        let (session, keys) = (connected.established.session, connected.established.keys);
        let local = connected.stream.local_addr().map_err(refuse)?;
        let control =
            Control::start(connected.stream, &keys.control, Role::Client, ToAgent::Beat).map_err(refuse)?;
        let mut made = Session {
            address,
            control,
            session,
            keys,
            limits: Limits::default(),
            remote_host: HostFacts::default(),
            version: String::new(),
            local,
            next_data_stream: 0,
        };
        match made.receive(SILENCE_LIMIT)? {
            FromAgent::Welcome {
                version,
                limits,
                host,
            } => {
                (made.version, made.limits, made.remote_host) = (version, limits, *host);
                Ok(made)
            }
            other => Err(made.unexpected("a welcome", &other)),
        }
    }

    /// The agent's control address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn id(&self) -> SessionId {
        self.session
    }

    pub(crate) fn key(&self) -> UdpKey {
        self.keys.udp
    }

    pub(crate) fn send(&self, message: &ToAgent) -> Result<(), MeasureError> {
        self.control
            .writer
            .send(message)
            .map_err(|error| self.lost(error.to_string()))
    }

    /// The next message but beats; a refusal or a failure there is an error.
    pub(crate) fn receive(&self, limit: Duration) -> Result<FromAgent, MeasureError> {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.control.incoming.recv_timeout(left) {
                Ok(Ok(FromAgent::Beat)) => {}
                Ok(Ok(message)) => return accepted(message),
                Ok(Err(error)) => return Err(self.lost(error.to_string())),
                Err(RecvTimeoutError::Disconnected) => return Err(self.lost("the connection ended".into())),
                Err(RecvTimeoutError::Timeout) => return Err(self.lost("no answer to a request".into())),
            }
        }
    }

    /// As [`Session::receive`], but none when nothing comes within `limit`.
    pub(crate) fn receive_within(&self, limit: Duration) -> Result<Option<FromAgent>, MeasureError> {
        match self.control.incoming.recv_timeout(limit) {
            Ok(Ok(FromAgent::Beat)) | Err(RecvTimeoutError::Timeout) => Ok(None),
            Ok(Ok(message)) => accepted(message).map(Some),
            Ok(Err(error)) => Err(self.lost(error.to_string())),
            Err(RecvTimeoutError::Disconnected) => Err(self.lost("the connection ended".into())),
        }
    }

    pub(crate) fn lost(&self, reason: String) -> MeasureError {
        MeasureError::AgentLost {
            address: self.address.to_string(),
            reason,
        }
    }

    pub(crate) fn unexpected(&self, wanted: &str, got: &FromAgent) -> MeasureError {
        let got = format!("{got:?}");
        let name = got
            .split(['(', '{', ' '])
            .next()
            .unwrap_or("something else")
            .to_owned();
        self.lost(format!(
            "it answered {name} instead of {wanted}; it runs Weir {}, this is {}",
            self.version,
            env!("CARGO_PKG_VERSION")
        ))
    }

    /// A UDP socket on the address that reaches the agent.
    pub(crate) fn udp_socket(&self, options: &UdpOptions) -> Result<UdpSocket, MeasureError> {
        Ok(UdpSocket::bind(SocketAddr::new(self.local.ip(), 0), options)?)
    }

    /// The agent's address with another port.
    pub(crate) fn agent_port(&self, port: u16) -> SocketAddr {
        let mut address = self.address;
        address.set_port(port);
        address
    }

    /// Opens a TCP data connection of this session; its number tells the agent's test which it is.
    pub(crate) fn data_connection(&mut self) -> Result<(u32, TcpStream), MeasureError> {
        let stream_number = self.next_data_stream;
        self.next_data_stream += 1;
        let session = (self.session, &self.keys.control);
        let stream = weir_control::join(self.address, AGENT, session, stream_number)?;
        Ok((stream_number, stream))
    }
}

/// A message, unless it says that the agent will not or cannot go on.
fn accepted(message: FromAgent) -> Result<FromAgent, MeasureError> {
    match message {
        FromAgent::Refused { reason } => Err(MeasureError::Refused(reason)),
        FromAgent::Failed { reason } => Err(MeasureError::FarEnd(reason)),
        message => Ok(message),
    }
}
