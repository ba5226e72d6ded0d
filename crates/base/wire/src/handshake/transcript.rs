//! What both sides know before a handshake, and what they compute from it and from the messages: the proofs, and the keys.
//! It must not know message layouts.
//!
//! [`HandshakeSecrets`] has the schedule. Every message is in the hash under the proofs that follow it, so that a
//! message that was changed, moved from another connection or replayed fits no proof; and every connection has new keys,
//! since both public keys are in the hash.

use weir_protect::{
    EphemeralKey, HandshakeSecrets, KEY_LENGTH, PROOF_LENGTH, Protection, Secret, Transcript,
};

use super::{AgentWelcome, HandshakeError, Message};
use crate::{SessionId, SessionKeys, Token};

/// What both sides share before the handshake.
#[derive(Clone)]
pub(super) struct Known(Vec<u8>);

impl Known {
    /// Opens a session; the empty token in open mode.
    pub(super) fn token(token: &Token) -> Self {
        Self(token.as_bytes().to_vec())
    }

    /// Joins the session with this control key.
    pub(super) fn session(control_key: &[u8; 32]) -> Self {
        // Not the key itself, from which the keys of frames are derived.
        let joining = Secret::new(*control_key).derive("join", &[]);
        Self(joining.as_bytes().to_vec())
    }
}

impl std::fmt::Debug for Known {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Known(secret)")
    }
}

/// A handshake after the exchange of both public keys.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    secrets: HandshakeSecrets,
    /// Hello and challenge, and the proof once there is one.
    messages: Transcript,
    protection: Protection,
}

impl Exchange {
    pub(super) fn new(
        known: &Known,
        own: &EphemeralKey,
        other: [u8; KEY_LENGTH],
        messages: Transcript,
        protection: Protection,
    ) -> Result<Self, HandshakeError> {
        let shared = own.agree(other).map_err(|_| HandshakeError::Field {
            field: "public key",
            value: 1,
        })?;
        Ok(Self {
            secrets: HandshakeSecrets::new(&known.0, &shared),
            messages,
            protection,
        })
    }

    /// The client's proof, over hello and challenge.
    pub(super) fn client_proof(&self) -> [u8; PROOF_LENGTH] {
        self.secrets.client_proof(&self.messages)
    }

    /// Whether this is the client's proof.
    pub(super) fn is_client_proof(&self, mac: &[u8; PROOF_LENGTH]) -> bool {
        self.secrets.is_client_proof(&self.messages, mac)
    }

    /// Adds the message with the client's proof.
    pub(super) fn proven(&mut self, proof: &Message) {
        self.messages.add(proof);
    }

    /// The agent's welcome to this session.
    pub(super) fn welcome(&self, session: SessionId) -> Message {
        let mac = self.secrets.agent_proof(&self.before_welcome(session));
        AgentWelcome::Welcome { session, mac }.encode()
    }

    /// Whether this is the mac of the agent's welcome to this session.
    pub(super) fn is_welcome(&self, session: SessionId, mac: &[u8; PROOF_LENGTH]) -> bool {
        self.secrets.is_agent_proof(&self.before_welcome(session), mac)
    }

    /// All messages until the mac of the welcome.
    fn before_welcome(&self, session: SessionId) -> Transcript {
        let mut messages = self.messages.clone();
        let mac = [0; PROOF_LENGTH];
        messages.add(&AgentWelcome::Welcome { session, mac }.encode());
        messages
    }

    /// Keys of the connection, after its welcome.
    pub(super) fn keys(&self, welcome: &Message) -> SessionKeys {
        let mut messages = self.messages.clone();
        messages.add(welcome);
        SessionKeys::new(&self.secrets.session(&messages), self.protection)
    }
}
