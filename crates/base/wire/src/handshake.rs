//! TCP handshake: four messages of 56 bytes that prove to each side that the other holds the secret, agree on how media
//! are protected, and derive fresh session keys, which nobody learns from the secret later. Pure state machines: bytes and
//! random bytes in, bytes and keys out. It must not know sockets, random number generators, or which sessions an agent has.
//!
//! All of this is read before the peer is authenticated, so messages have a fixed length and fields at fixed offsets.
//!
//! ```text
//! client                                            agent
//! ClientHello (purpose, offer, public key)      ->
//!                                               <-  AgentChallenge (status, protection, public key)
//! ClientProof (mac of all before it)            ->
//!                                               <-  AgentWelcome (status, session, mac of all before it)
//! ```

mod agent;
mod client;
mod transcript;

use weir_protect::{KEY_LENGTH, Offer, PROOF_LENGTH, Protection};

use crate::big_endian::{bytes_at, put, put_u32, put_u64, u32_at, u64_at};
use crate::{SessionId, SessionKeys, VERSION};

pub use agent::AgentHandshake;
pub use client::ClientHandshake;

/// Length of every message of the handshake, in bytes: no answer is larger than its request.
pub const HANDSHAKE_LENGTH: usize = 56;

/// First four bytes of a hello and of a challenge.
pub const MAGIC: [u8; 4] = *b"WEIR";

type Message = [u8; HANDSHAKE_LENGTH];

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Opens a session; proven with the token.
    Control,
    /// Joins a session with one more TCP connection; proven with the session's control key.
    Data {
        /// The session to join.
        session: SessionId,
        /// Number of the connection, chosen by the client.
        stream: u32,
    },
}

/// Why an agent refuses a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Its limit of sessions or connections is reached.
    Busy,
    /// It has no such session.
    UnknownSession,
}

/// The state of both sides after a successful handshake.
#[derive(Clone, Debug)]
pub struct Established {
    /// The session that was opened or joined.
    pub session: SessionId,
    /// Keys of this connection. A control connection has the session's keys; a data connection has its own, which the
    /// session's UDP packets do not use.
    pub keys: SessionKeys,
}

/// Why a handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// The other side does not speak Weir.
    #[error("the other side does not speak Weir's protocol")]
    Magic,
    /// The other side speaks another version.
    #[error("the other side speaks version {0} of Weir's protocol, this is version {VERSION}")]
    Version(u8),
    /// A field holds a value that this version does not allow.
    #[error("field {field} of the handshake cannot be {value}")]
    Field {
        /// The field's name.
        field: &'static str,
        /// Its value; 1 for fields that must be all zeros.
        value: u64,
    },
    /// The agent requires a token and this side has none.
    #[error("token required")]
    TokenNeeded,
    /// The agent is in open mode and this side has a token. Without this error, anybody on the path could pass for the
    /// agent.
    #[error("it runs in open mode, but a token was given")]
    AgentIsOpen,
    /// The client did not prove that it has the token, or the session's key.
    #[error("wrong token")]
    WrongToken,
    /// The agent did not prove that it has the token, or the session's key.
    #[error("it could not prove that it has the token")]
    AgentNotProven,
    /// The agent insists on this protection, which the client does not accept.
    #[error("it protects the stream with {0}, which this side does not accept")]
    ProtectionDemanded(Protection),
    /// The client accepts no protection that the agent demands.
    #[error("the other side does not accept the protection of this stream")]
    ProtectionOffered,
    /// The agent's limit of sessions or connections is reached.
    #[error("it is busy")]
    Busy,
    /// The agent has no such session.
    #[error("unknown session")]
    UnknownSession,
    /// A message came too early or a second time.
    #[error("handshake message out of order")]
    OutOfOrder,
}

impl From<Refusal> for HandshakeError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Busy => Self::Busy,
            Refusal::UnknownSession => Self::UnknownSession,
        }
    }
}

/// A handshake that the agent refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Refused {
    /// Reply to send before the connection is closed; none to a peer that does not speak Weir's protocol.
    pub reply: Option<[u8; HANDSHAKE_LENGTH]>,
    /// The reason.
    pub error: HandshakeError,
}

impl Refused {
    /// The last free session was taken during the handshake.
    #[must_use]
    pub fn busy() -> Self {
        let error = HandshakeError::from(Refusal::Busy);
        let reply = Some(AgentWelcome::Refused(error).encode());
        Self { reply, error }
    }
}

/// First message, from the client. Offsets: magic 0, version 4, purpose 5, offer 6, reserved 7, session 8, stream 16,
/// reserved 20, public key 24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientHello {
    /// What the connection is for.
    pub purpose: Purpose,
    /// The protections that it accepts; for data connections [`Protection::Off`] alone.
    pub offer: Offer,
    /// The client's public key for this connection.
    pub public: [u8; KEY_LENGTH],
}

impl ClientHello {
    const CONTROL: u8 = 1;
    const DATA: u8 = 2;

    /// Writes the message.
    #[must_use]
    pub fn encode(&self) -> [u8; HANDSHAKE_LENGTH] {
        let mut message = [0; HANDSHAKE_LENGTH];
        put(&mut message, 0, MAGIC);
        message[4] = VERSION;
        message[6] = self.offer.to_byte();
        match self.purpose {
            Purpose::Control => message[5] = Self::CONTROL,
            Purpose::Data { session, stream } => {
                message[5] = Self::DATA;
                put_u64(&mut message, 8, session.0);
                put_u32(&mut message, 16, stream);
            }
        }
        put(&mut message, 24, self.public);
        message
    }

    /// Reads the message. It is not authenticated.
    pub fn decode(message: &[u8; HANDSHAKE_LENGTH]) -> Result<Self, HandshakeError> {
        check_magic(message)?;
        // The version comes first: the meaning of the rest depends on it.
        if message[4] != VERSION {
            return Err(HandshakeError::Version(message[4]));
        }
        let (session, stream) = (u64_at(message, 8), u32_at(message, 16));
        check_zero("reserved", u64::from(message[7]))?;
        check_zero("reserved", u64::from(u32_at(message, 20)))?;
        let purpose = match message[5] {
            Self::CONTROL => {
                check_zero("session", session)?;
                check_zero("stream", u64::from(stream))?;
                Purpose::Control
            }
            Self::DATA => Purpose::Data {
                session: SessionId(session),
                stream,
            },
            other => {
                return Err(HandshakeError::Field {
                    field: "purpose",
                    value: u64::from(other),
                });
            }
        };
        let unknown = HandshakeError::Field {
            field: "offer",
            value: u64::from(message[6]),
        };
        Ok(Self {
            purpose,
            offer: Offer::from_byte(message[6]).ok_or(unknown)?,
            public: bytes_at(message, 24),
        })
    }
}

/// Status of a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChallengeStatus {
    /// 0: the client must prove that it has the token (or, for a data connection, the session's control key).
    ProofNeeded,
    /// 1: open mode: the proof uses the empty token.
    Open,
    /// 2.
    Busy,
    /// 3.
    VersionUnsupported,
    /// 4.
    UnknownSession,
    /// 5: the agent insists on this protection.
    ProtectionRefused(Protection),
}

/// Second message, from the agent. Offsets: magic 0, version 4, status 5, protection 6, reserved 7, public key 24.
#[derive(Clone, Copy, Debug)]
struct AgentChallenge {
    status: ChallengeStatus,
    /// Of the session's media.
    protection: Protection,
    public: [u8; KEY_LENGTH],
}

impl AgentChallenge {
    fn encode(&self) -> Message {
        let (status, protection) = match self.status {
            ChallengeStatus::ProofNeeded => (0, self.protection),
            ChallengeStatus::Open => (1, self.protection),
            ChallengeStatus::Busy => (2, self.protection),
            ChallengeStatus::VersionUnsupported => (3, self.protection),
            ChallengeStatus::UnknownSession => (4, self.protection),
            ChallengeStatus::ProtectionRefused(demanded) => (5, demanded),
        };
        let mut message = [0; HANDSHAKE_LENGTH];
        put(&mut message, 0, MAGIC);
        message[4] = VERSION;
        message[5] = status;
        message[6] = protection.number();
        put(&mut message, 24, self.public);
        message
    }

    fn decode(message: &Message) -> Result<Self, HandshakeError> {
        check_magic(message)?;
        if message[4] != VERSION {
            return Err(HandshakeError::Version(message[4]));
        }
        check_zeros("reserved", &message[7..24])?;
        let field = |field, value: u8| HandshakeError::Field {
            field,
            value: u64::from(value),
        };
        let protection = Protection::from_number(message[6]).ok_or(field("protection", message[6]))?;
        let status = match message[5] {
            0 => ChallengeStatus::ProofNeeded,
            1 => ChallengeStatus::Open,
            2 => ChallengeStatus::Busy,
            3 => ChallengeStatus::VersionUnsupported,
            4 => ChallengeStatus::UnknownSession,
            5 => ChallengeStatus::ProtectionRefused(protection),
            other => return Err(field("status", other)),
        };
        Ok(Self {
            status,
            protection,
            public: bytes_at(message, 24),
        })
    }
}

/// Third message, from the client. Offsets: mac 0, zeros 32.
struct ClientProof {
    mac: [u8; PROOF_LENGTH],
}

impl ClientProof {
    fn encode(&self) -> Message {
        let mut message = [0; HANDSHAKE_LENGTH];
        put(&mut message, 0, self.mac);
        message
    }

    fn decode(message: &Message) -> Result<Self, HandshakeError> {
        check_zeros("reserved", &message[32..])?;
        Ok(Self {
            mac: bytes_at(message, 0),
        })
    }
}

/// Fourth message, from the agent. Offsets: status 0, reserved 1, session 8, mac 16, reserved 48.
#[derive(Clone, Copy, Debug)]
enum AgentWelcome {
    /// Status 0.
    Welcome {
        session: SessionId,
        mac: [u8; PROOF_LENGTH],
    },
    /// Status 1, 2 and 3; session and mac are zeros.
    Refused(HandshakeError),
}

impl AgentWelcome {
    fn encode(&self) -> Message {
        let mut message = [0; HANDSHAKE_LENGTH];
        match self {
            Self::Welcome { session, mac } => {
                put_u64(&mut message, 8, session.0);
                put(&mut message, 16, *mac);
            }
            Self::Refused(HandshakeError::Busy) => message[0] = 2,
            Self::Refused(HandshakeError::UnknownSession) => message[0] = 3,
            Self::Refused(_) => message[0] = 1,
        }
        message
    }

    fn decode(message: &Message) -> Result<Self, HandshakeError> {
        check_zeros("reserved", &message[1..8])?;
        check_zeros("reserved", &message[48..])?;
        match message[0] {
            0 => Ok(Self::Welcome {
                session: SessionId(u64_at(message, 8)),
                mac: bytes_at(message, 16),
            }),
            1 => Ok(Self::Refused(HandshakeError::WrongToken)),
            2 => Ok(Self::Refused(HandshakeError::Busy)),
            3 => Ok(Self::Refused(HandshakeError::UnknownSession)),
            other => Err(HandshakeError::Field {
                field: "status",
                value: u64::from(other),
            }),
        }
    }
}

fn check_magic(message: &Message) -> Result<(), HandshakeError> {
    if message.starts_with(&MAGIC) {
        Ok(())
    } else {
        Err(HandshakeError::Magic)
    }
}

fn check_zero(field: &'static str, value: u64) -> Result<(), HandshakeError> {
    if value == 0 {
        Ok(())
    } else {
        Err(HandshakeError::Field { field, value })
    }
}

fn check_zeros(field: &'static str, bytes: &[u8]) -> Result<(), HandshakeError> {
    check_zero(field, u64::from(bytes.iter().any(|&byte| byte != 0)))
}
