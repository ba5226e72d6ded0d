//! The client's side of the handshake. It must not know sockets or where nonces come from.

use hmac::Mac;

use super::transcript::Transcript;
use super::{
    AgentChallenge, AgentWelcome, ChallengeStatus, ClientHello, ClientProof, Established, HANDSHAKE_LENGTH,
    HandshakeError, NONCE_LENGTH, Purpose,
};
use crate::key::{HmacSha256, keyed};
use crate::{SessionId, Token};

/// A handshake in progress, seen by the client. Close the connection after an error.
#[derive(Clone, Debug)]
pub struct ClientHandshake {
    /// Keyed with the token or the session's control key.
    keyed: HmacSha256,
    /// Whether the secret is the empty token.
    open: bool,
    purpose: Purpose,
    nonce: [u8; NONCE_LENGTH],
    /// Both nonces, once the challenge has arrived.
    challenged: Option<Transcript>,
}

impl ClientHandshake {
    /// Opens a session: the state, and the hello to send. The caller draws `nonce` at random, a new one for every
    /// connection.
    #[must_use]
    pub fn control(token: &Token, nonce: [u8; NONCE_LENGTH]) -> (Self, [u8; HANDSHAKE_LENGTH]) {
        Self::start(token.keyed(), token.is_open(), Purpose::Control, nonce)
    }

    /// Joins a session with a data connection: the state, and the hello to send. `control_key` is
    /// [`SessionKeys::control`](crate::SessionKeys::control) of the session.
    #[must_use]
    pub fn data(
        control_key: &[u8; 32],
        session: SessionId,
        stream: u32,
        nonce: [u8; NONCE_LENGTH],
    ) -> (Self, [u8; HANDSHAKE_LENGTH]) {
        Self::start(
            keyed(control_key),
            false,
            Purpose::Data { session, stream },
            nonce,
        )
    }

    fn start(
        keyed: HmacSha256,
        open: bool,
        purpose: Purpose,
        nonce: [u8; NONCE_LENGTH],
    ) -> (Self, [u8; HANDSHAKE_LENGTH]) {
        let hello = ClientHello { purpose, nonce }.encode();
        (
            Self {
                keyed,
                open,
                purpose,
                nonce,
                challenged: None,
            },
            hello,
        )
    }

    /// Takes the agent's challenge; returns the proof to send.
    pub fn on_challenge(
        &mut self,
        message: &[u8; HANDSHAKE_LENGTH],
    ) -> Result<[u8; HANDSHAKE_LENGTH], HandshakeError> {
        if self.challenged.is_some() {
            return Err(HandshakeError::OutOfOrder);
        }
        let challenge = AgentChallenge::decode(message)?;
        match (challenge.status, self.open) {
            (ChallengeStatus::ProofNeeded, false) | (ChallengeStatus::Open, true) => {}
            (ChallengeStatus::ProofNeeded, true) => return Err(HandshakeError::TokenNeeded),
            // The status is not authenticated. A client that followed it to the empty token would derive keys that
            // anybody on the path can compute.
            (ChallengeStatus::Open, false) => return Err(HandshakeError::AgentIsOpen),
            (ChallengeStatus::Busy, _) => return Err(HandshakeError::Busy),
            (ChallengeStatus::UnknownSession, _) => return Err(HandshakeError::UnknownSession),
            // An agent of this version does not refuse this version.
            (ChallengeStatus::VersionUnsupported, _) => {
                return Err(HandshakeError::Field {
                    field: "status",
                    value: 3,
                });
            }
        }
        let transcript = Transcript {
            keyed: self.keyed.clone(),
            purpose: self.purpose,
            client_nonce: self.nonce,
            agent_nonce: challenge.nonce,
        };
        let mac = transcript.client_proof().finalize().into_bytes().into();
        self.challenged = Some(transcript);
        Ok(ClientProof { mac }.encode())
    }

    /// Takes the agent's welcome; returns the session and its keys once the agent has proven the secret, too.
    pub fn on_welcome(&mut self, message: &[u8; HANDSHAKE_LENGTH]) -> Result<Established, HandshakeError> {
        let transcript = self.challenged.as_ref().ok_or(HandshakeError::OutOfOrder)?;
        let (session, mac) = match AgentWelcome::decode(message)? {
            AgentWelcome::Welcome { session, mac } => (session, mac),
            AgentWelcome::Refused(error) => return Err(error),
        };
        transcript
            .agent_proof(session)
            .verify_slice(&mac)
            .map_err(|_| HandshakeError::AgentNotProven)?;
        if let Purpose::Data { session: joined, .. } = self.purpose
            && session != joined
        {
            return Err(HandshakeError::UnknownSession);
        }
        Ok(Established {
            session,
            keys: transcript.keys(session),
        })
    }
}
