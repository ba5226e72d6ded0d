//! The agent's side of the handshake. It must not know sockets, nor how the agent keeps its sessions: it
//! asks.

use hmac::Mac;

use super::transcript::Transcript;
use super::{
    AgentChallenge, AgentWelcome, ChallengeStatus, ClientHello, ClientProof, Established, HANDSHAKE_LENGTH,
    HandshakeError, NONCE_LENGTH, Purpose, Refusal, Refused,
};
use crate::key::keyed;
use crate::{SessionId, Token};

/// A handshake in progress, seen by the agent: its challenge is sent, the proof has not come.
#[derive(Clone, Debug)]
pub struct AgentHandshake {
    transcript: Transcript,
}

impl AgentHandshake {
    /// Takes the client's hello; gives the state and the challenge to send.
    ///
    /// `nonce` is drawn at random by the caller, new for every connection. `session_key` is asked for a data
    /// connection only: it gives the [control key](crate::SessionKeys::control) of the session, or why the
    /// connection cannot join it.
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

    /// The challenge that turns a client away without a look at its hello: an agent that has too many
    /// connections in handshake sends [`Refusal::Busy`].
    #[must_use]
    pub fn refuse(why: Refusal) -> [u8; HANDSHAKE_LENGTH] {
        refusal(match why {
            Refusal::Busy => ChallengeStatus::Busy,
            Refusal::UnknownSession => ChallengeStatus::UnknownSession,
        })
    }

    /// What the client asked for. Not proven until [`on_proof`](Self::on_proof) is.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        self.transcript.purpose
    }

    /// Takes the client's proof; gives the session, its keys and the welcome to send.
    ///
    /// `new_session` is asked for a control connection only, and only after the proof was right, so a stranger
    /// costs the agent no session. It gives an identifier that is random, not 0 and not in use.
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
        // Compared in constant time by the library.
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
    // No nonce: there is nothing to be proven.
    AgentChallenge {
        status,
        nonce: [0; NONCE_LENGTH],
    }
    .encode()
}
