//! The agent's side of the handshake. It must not know sockets, nor how the agent keeps its sessions.

use hmac::Mac;

use super::transcript::Transcript;
use super::{
    AgentChallenge, AgentWelcome, ChallengeStatus, ClientHello, ClientProof, Established, HANDSHAKE_LENGTH,
    HandshakeError, NONCE_LENGTH, Purpose, Refusal, Refused,
};
use crate::key::keyed;
use crate::{SessionId, Token};

/// A handshake in progress, seen by the agent: the challenge was sent, the proof has not arrived.
#[derive(Clone, Debug)]
pub struct AgentHandshake {
    transcript: Transcript,
}

impl AgentHandshake {
    /// Takes the client's hello; returns the state and the challenge to send.
    ///
    /// The caller draws `nonce` at random, a new one for every connection. `session_key` is called for a data connection
    /// only: it returns the [control key](crate::SessionKeys::control) of the session, or why the connection cannot join
    /// it.
    pub fn on_hello(
        message: &[u8; HANDSHAKE_LENGTH],
        token: &Token,
        nonce: [u8; NONCE_LENGTH],
        session_key: impl FnOnce(SessionId) -> Result<[u8; 32], Refusal>,
    ) -> Result<(Self, [u8; HANDSHAKE_LENGTH]), Refused> {
        let hello = ClientHello::decode(message).map_err(|error| Refused {
            reply: match error {
                HandshakeError::Version(_) => Some(refusal(ChallengeStatus::VersionUnsupported)),
                _ => None,
            },
            error,
        })?;
        let (keyed, status) = match hello.purpose {
            Purpose::Control if token.is_open() => (token.keyed(), ChallengeStatus::Open),
            Purpose::Control => (token.keyed(), ChallengeStatus::ProofNeeded),
            Purpose::Data { session, .. } => match session_key(session) {
                Ok(key) => (keyed(&key), ChallengeStatus::ProofNeeded),
                Err(why) => {
                    return Err(Refused {
                        reply: Some(Self::refuse(why)),
                        error: why.into(),
                    });
                }
            },
        };
        let transcript = Transcript {
            keyed,
            purpose: hello.purpose,
            client_nonce: hello.nonce,
            agent_nonce: nonce,
        };
        Ok((Self { transcript }, AgentChallenge { status, nonce }.encode()))
    }

    /// The challenge that refuses a client without reading its hello: an agent with too many connections in handshake
    /// sends [`Refusal::Busy`].
    #[must_use]
    pub fn refuse(why: Refusal) -> [u8; HANDSHAKE_LENGTH] {
        refusal(match why {
            Refusal::Busy => ChallengeStatus::Busy,
            Refusal::UnknownSession => ChallengeStatus::UnknownSession,
        })
    }

    /// The purpose that the client claims. Not authenticated before [`on_proof`](Self::on_proof).
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        self.transcript.purpose
    }

    /// Takes the client's proof; returns the session, its keys and the welcome to send.
    ///
    /// `new_session` is called for a control connection only, and only after the proof was right, so that an
    /// unauthenticated client costs the agent no session. It returns an identifier that is random, not 0 and not in use.
    pub fn on_proof(
        self,
        message: &[u8; HANDSHAKE_LENGTH],
        new_session: impl FnOnce() -> Result<SessionId, Refusal>,
    ) -> Result<(Established, [u8; HANDSHAKE_LENGTH]), Refused> {
        let refuse = |error| Refused {
            reply: Some(AgentWelcome::Refused(error).encode()),
            error,
        };
        let proof = ClientProof::decode(message).map_err(refuse)?;
        // The library compares in constant time.
        self.transcript
            .client_proof()
            .verify_slice(&proof.mac)
            .map_err(|_| refuse(HandshakeError::WrongToken))?;
        let session = match self.transcript.purpose {
            Purpose::Control => new_session().map_err(|why| refuse(why.into()))?,
            Purpose::Data { session, .. } => session,
        };
        let mac = self
            .transcript
            .agent_proof(session)
            .finalize()
            .into_bytes()
            .into();
        let established = Established {
            session,
            keys: self.transcript.keys(session),
        };
        Ok((established, AgentWelcome::Welcome { session, mac }.encode()))
    }
}

fn refusal(status: ChallengeStatus) -> [u8; HANDSHAKE_LENGTH] {
    // No nonce: there is nothing to prove.
    AgentChallenge {
        status,
        nonce: [0; NONCE_LENGTH],
    }
    .encode()
}
