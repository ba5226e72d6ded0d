//! The client's end of a control session: connect, prove the token, ask for tests, take answers.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use weir_net::host::HostFacts;
use weir_net::{UdpOptions, UdpSocket};
use weir_wire::frame::Role;
use weir_wire::handshake::{ClientHandshake, Established, HANDSHAKE_LENGTH, HandshakeError};
use weir_wire::{SessionId, SessionKeys, Token, UdpKey};

use crate::control::{Control, FromAgent, SILENCE_LIMIT, ToAgent};
use crate::{DEFAULT_CONTROL_PORT, Limits, MeasureError};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Which IP version a name is to be resolved to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// Whatever the resolver gives first.
    #[default]
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

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
    /// [`MeasureError::Resolve`].
    pub fn resolve(&self) -> Result<SocketAddr, MeasureError> {
        resolve(&self.host, DEFAULT_CONTROL_PORT, self.family)
    }
}

/// Resolves `host`, `host:port`, an address, or `[address]:port`.
///
/// # Errors
/// [`MeasureError::Resolve`].
pub fn resolve(host: &str, default_port: u16, family: Family) -> Result<SocketAddr, MeasureError> {
    let fail = |reason: String| MeasureError::Resolve {
        host: host.to_owned(),
        reason,
    };
    let fits = |address: &SocketAddr| match family {
        Family::Any => true,
        Family::V4 => address.is_ipv4(),
        Family::V6 => address.is_ipv6(),
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found: Vec<SocketAddr> = if let Ok(address) = bare.parse::<IpAddr>() {
        vec![SocketAddr::new(address, default_port)]
    } else if let Ok(address) = host.parse::<SocketAddr>() {
        vec![address]
    } else if host
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok())
    {
        host.to_socket_addrs()
            .map_err(|error| fail(error.to_string()))?
            .collect()
    } else {
        (host, default_port)
            .to_socket_addrs()
            .map_err(|error| fail(error.to_string()))?
            .collect()
    };
    found
        .into_iter()
        .find(fits)
        .ok_or_else(|| fail("it has no address of the wanted IP version".into()))
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
        let refuse = |reason: String| MeasureError::Handshake {
            address: address.to_string(),
            reason,
        };
        let mut stream = open(address)?;
        let (handshake, hello) = ClientHandshake::control(&agent.token, nonce()?);
        let Established { session, keys } = shake_hands(&mut stream, handshake, &hello).map_err(refuse)?;
        let local = stream.local_addr().map_err(|error| refuse(error.to_string()))?;
        let control = Control::start(stream, &keys.control, Role::Client, ToAgent::Beat)
            .map_err(|error| refuse(error.to_string()))?;
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
        let mut stream = open(self.address)?;
        let (handshake, hello) =
            ClientHandshake::data(&self.keys.control, self.session, stream_number, nonce()?);
        shake_hands(&mut stream, handshake, &hello).map_err(|reason| MeasureError::Handshake {
            address: self.address.to_string(),
            reason,
        })?;
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

fn open(address: SocketAddr) -> Result<TcpStream, MeasureError> {
    let fail = |source| MeasureError::Connect {
        address: address.to_string(),
        source,
    };
    let stream = TcpStream::connect_timeout(&address, CONNECT_LIMIT).map_err(fail)?;
    stream.set_read_timeout(Some(CONNECT_LIMIT)).map_err(fail)?;
    stream.set_write_timeout(Some(CONNECT_LIMIT)).map_err(fail)?;
    stream.set_nodelay(true).map_err(fail)?;
    Ok(stream)
}

fn shake_hands(
    stream: &mut TcpStream,
    mut handshake: ClientHandshake,
    hello: &[u8; HANDSHAKE_LENGTH],
) -> Result<Established, String> {
    let mut answer = [0; HANDSHAKE_LENGTH];
    let io = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset => {
            "it closed the connection; is this the control port of 'weir agent'?".to_owned()
        }
        _ => error.to_string(),
    };
    stream.write_all(hello).map_err(io)?;
    stream.read_exact(&mut answer).map_err(io)?;
    let proof = handshake.on_challenge(&answer).map_err(advise)?;
    stream.write_all(&proof).map_err(io)?;
    stream.read_exact(&mut answer).map_err(io)?;
    handshake.on_welcome(&answer).map_err(advise)
}

/// A handshake's fault with what to do about it.
fn advise(error: HandshakeError) -> String {
    let next = match error {
        HandshakeError::TokenNeeded => "give it with --token-file or WEIR_TOKEN",
        HandshakeError::WrongToken | HandshakeError::AgentNotProven => {
            "--token-file or WEIR_TOKEN has to hold what the agent was started with"
        }
        HandshakeError::AgentIsOpen => "or start the agent with that token",
        HandshakeError::Busy => "try again later, or start it with a higher --max-sessions",
        HandshakeError::Magic => "is this the control port of 'weir agent'?",
        HandshakeError::Version(_) => "install the same version of Weir at both ends",
        HandshakeError::UnknownSession | HandshakeError::Field { .. } | HandshakeError::OutOfOrder => {
            "do both ends run the same version of Weir?"
        }
    };
    format!("{error}; {next}")
}

/// A nonce from the operating system.
pub(crate) fn nonce() -> Result<[u8; 32], MeasureError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| MeasureError::Internal(format!("cannot read random bytes: {error}")))?;
    Ok(bytes)
}

/// Reads a token from a file: its content without surrounding white space.
///
/// # Errors
/// When the file cannot be read or is empty.
pub fn read_token(path: &std::path::Path) -> Result<Token, MeasureError> {
    let text = fs::read(path).map_err(|error| {
        MeasureError::Parameters(format!("cannot read the token file {}: {error}", path.display()))
    })?;
    let token = text.trim_ascii();
    if token.is_empty() {
        return Err(MeasureError::Parameters(format!(
            "the token file {} is empty; put a secret in it, such as the output of 'openssl rand -hex 32'",
            path.display()
        )));
    }
    Ok(Token::new(token.to_vec()))
}
