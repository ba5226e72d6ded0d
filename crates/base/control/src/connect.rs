//! The client's end of a control session: name resolution, the connection, and the proof of the token.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use thiserror::Error;
use weir_net::bounded_file;
use weir_protect::{Demand, secret_of_token};
use weir_wire::handshake::{ClientHandshake, Established, HANDSHAKE_LENGTH, HandshakeError};
use weir_wire::{SessionId, Token};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Payload of a TCP segment that every path with IPv6 carries (RFC 8200, section 5: 1,280 bytes, less 60 of headers). A control
/// session sends nothing longer: where longer packets vanish without a word, it would hang with its first long message.
const CONTROL_SEGMENT: u32 = 1_220;

/// The service at the other end, as error messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its name, such as `agent`.
    pub name: &'static str,
    /// The command that starts it, such as `weir agent`.
    pub command: &'static str,
    /// What to do when it is busy.
    pub when_busy: &'static str,
}

/// Why a session could not be set up.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The name has no address.
    #[error("cannot resolve host '{host}': {reason}; check the name or give an IP address")]
    Resolve {
        /// The user's text.
        host: String,
        /// The resolver's error.
        reason: String,
    },
    /// No answer on the control port.
    #[error("cannot reach {} {} at {address}: {source}; start one there with '{}'", article(service.name), service.name, service.command)]
    Unreachable {
        /// The service.
        service: Service,
        /// Its address.
        address: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The handshake failed.
    #[error("handshake with the {} at {address} failed: {reason}", service.name)]
    Handshake {
        /// The service.
        service: Service,
        /// Its address.
        address: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// The token file cannot be read or is empty.
    #[error("{0}")]
    Token(String),
    /// The system returns no random numbers.
    #[error("cannot read random bytes: {0}")]
    Random(getrandom::Error),
}

/// The article of a service's name.
fn article(name: &str) -> &'static str {
    if name.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    }
}

/// IP version of the address of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// The first address that the resolver returns.
    #[default]
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

/// Resolves `host`, `host:port`, an address, or `[address]:port`.
///
/// # Errors
/// [`ConnectError::Resolve`].
pub fn resolve(host: &str, default_port: u16, family: Family) -> Result<SocketAddr, ConnectError> {
    let fail = |reason: String| ConnectError::Resolve {
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
        .ok_or_else(|| fail("it has no address of the requested IP version".into()))
}

/// A connection after its handshake.
#[derive(Debug)]
pub struct Connected {
    /// The connection.
    pub stream: TcpStream,
    /// Its session and keys.
    pub established: Established,
}

/// Connects to a service and proves the token, and checks the service's own proof. `demand` is how its media are to be
/// protected.
///
/// # Errors
/// Why the session could not be set up, and what to do.
pub fn connect(
    address: SocketAddr,
    token: &Token,
    demand: Demand,
    service: Service,
) -> Result<Connected, ConnectError> {
    let mut stream = open(address, service, Some(CONTROL_SEGMENT))?;
    let (handshake, hello) = ClientHandshake::control(token, demand, nonce()?);
    let established = shake_hands(&mut stream, handshake, &hello, service)
        .map_err(|reason| refused(address, service, reason))?;
    Ok(Connected { stream, established })
}

/// Opens one more connection of a session, which the service knows by `number`.
///
/// # Errors
/// As [`connect`].
pub fn join(
    address: SocketAddr,
    service: Service,
    (session, control_key): (SessionId, &[u8; 32]),
    number: u32,
) -> Result<TcpStream, ConnectError> {
    let mut stream = open(address, service, None)?;
    let (handshake, hello) = ClientHandshake::data(control_key, session, number, nonce()?);
    shake_hands(&mut stream, handshake, &hello, service)
        .map_err(|reason| refused(address, service, reason))?;
    Ok(stream)
}

fn refused(address: SocketAddr, service: Service, reason: String) -> ConnectError {
    ConnectError::Handshake {
        service,
        address: address.to_string(),
        reason,
    }
}

/// The other end learns with the connection that `segment` is the longest payload of a segment, and keeps to it too.
fn open(address: SocketAddr, service: Service, segment: Option<u32>) -> Result<TcpStream, ConnectError> {
    let fail = |source| ConnectError::Unreachable {
        service,
        address: address.to_string(),
        source,
    };
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).map_err(fail)?;
    if let Some(segment) = segment {
        socket.set_tcp_mss(segment).map_err(fail)?;
    }
    socket
        .connect_timeout(&address.into(), CONNECT_LIMIT)
        .map_err(fail)?;
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(CONNECT_LIMIT)).map_err(fail)?;
    stream.set_write_timeout(Some(CONNECT_LIMIT)).map_err(fail)?;
    stream.set_nodelay(true).map_err(fail)?;
    Ok(stream)
}

fn shake_hands(
    stream: &mut TcpStream,
    mut handshake: ClientHandshake,
    hello: &[u8; HANDSHAKE_LENGTH],
    service: Service,
) -> Result<Established, String> {
    let mut answer = [0; HANDSHAKE_LENGTH];
    let io = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset => {
            format!(
                "the other end closed the connection; is this the control port of '{}'?",
                service.command
            )
        }
        _ => error.to_string(),
    };
    stream.write_all(hello).map_err(io)?;
    stream.read_exact(&mut answer).map_err(io)?;
    let proof = handshake
        .on_challenge(&answer)
        .map_err(|error| advise(error, service))?;
    stream.write_all(&proof).map_err(io)?;
    stream.read_exact(&mut answer).map_err(io)?;
    handshake
        .on_welcome(&answer)
        .map_err(|error| advise(error, service))
}

/// The text of a handshake's error, and what to do.
fn advise(error: HandshakeError, service: Service) -> String {
    let Service { name, command, .. } = service;
    let next = match error {
        HandshakeError::TokenNeeded => "give it with --token-file or WEIR_TOKEN".to_owned(),
        HandshakeError::WrongToken | HandshakeError::AgentNotProven => {
            format!("--token-file or WEIR_TOKEN must hold the token that the {name} was started with")
        }
        HandshakeError::AgentIsOpen => format!("connect without it, or start the {name} with it"),
        HandshakeError::Busy => service.when_busy.to_owned(),
        HandshakeError::ProtectionDemanded(_) | HandshakeError::ProtectionOffered => {
            "give the same --protect at both ends".to_owned()
        }
        HandshakeError::Magic => format!("is this the control port of '{command}'?"),
        HandshakeError::Version(_) => "install the same version of Weir at both ends".to_owned(),
        HandshakeError::UnknownSession | HandshakeError::Field { .. } | HandshakeError::OutOfOrder => {
            "do both ends run the same version of Weir?".to_owned()
        }
    };
    format!("{error}; {next}")
}

/// Random bytes from the operating system, for nonces and private keys.
///
/// # Errors
/// When it returns none.
pub fn nonce() -> Result<[u8; 32], ConnectError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(ConnectError::Random)?;
    Ok(bytes)
}

/// Reads a token from a file: its content without surrounding white space.
///
/// # Errors
/// When the file cannot be read or is empty, or the token is too weak.
pub fn read_token(path: &std::path::Path) -> Result<Token, ConnectError> {
    let token = bounded_file::read_secret(path, "token").map_err(ConnectError::Token)?;
    strong(&token, &format!("the token file {}", path.display()))
}

/// The [secret](secret_of_token) of a token from `place`. An empty one is none.
///
/// # Errors
/// When it is too weak.
pub fn strong(token: &[u8], place: &str) -> Result<Token, ConnectError> {
    if token.is_empty() {
        return Ok(Token::new(Vec::new()));
    }
    let secret =
        secret_of_token(token).map_err(|weak| ConnectError::Token(format!("{place} is refused: {weak}")))?;
    Ok(Token::new(secret))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    use socket2::SockRef;

    use super::*;

    #[test]
    fn both_ends_of_a_control_session_keep_to_segments_that_every_path_carries() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("its address");
        let far = thread::spawn(move || {
            let (stream, _) = listener.accept().expect("a connection");
            SockRef::from(&stream).tcp_mss().expect("a number")
        });
        let service = Service {
            name: "agent",
            command: "weir agent",
            when_busy: "wait",
        };
        connect(address, &Token::new(Vec::new()), Demand::Encrypted, service)
            .expect_err("it ends without an answer");
        // What a loopback interface carries is fifty times as long.
        assert!(far.join().expect("the far end") <= CONTROL_SEGMENT);
    }
}
