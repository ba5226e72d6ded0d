//! The client's side of the handshake. It must not know sockets or where random bytes come from.

use weir_protect::{Demand, EphemeralKey, KEY_LENGTH, Protection, Transcript, has_fast_aes};

use super::transcript::{Exchange, Known};
use super::{
    AgentChallenge, AgentWelcome, ChallengeStatus, ClientHello, ClientProof, Established, HANDSHAKE_LENGTH,
    HandshakeError, Purpose,
};
use crate::{SessionId, Token};

/// A handshake in progress, seen by the client. Close the connection after an error.
#[derive(Clone, Debug)]
pub struct ClientHandshake {
    known: Known,
    /// Whether the secret is the empty token.
    open: bool,
    hello: ClientHello,
    key: EphemeralKey,
    /// After the challenge.
    challenged: Option<Exchange>,
}

impl ClientHandshake {
    /// Opens a session: the state, and the hello to send. The caller draws `random` anew for every connection: it is the
    /// client's private key.
    #[must_use]
    pub fn control(
        token: &Token,
        demand: Demand,
        random: [u8; KEY_LENGTH],
    ) -> (Self, [u8; HANDSHAKE_LENGTH]) {
        Self::start(
            Known::token(token),
            token.is_open(),
            Purpose::Control,
            demand,
            random,
        )
    }

    /// Joins a session with a data connection: the state, and the hello to send. `control_key` is
    /// [`SessionKeys::control`](crate::SessionKeys::control) of the session.
    #[must_use]
    pub fn data(
        control_key: &[u8; 32],
        session: SessionId,
        stream: u32,
        random: [u8; KEY_LENGTH],
    ) -> (Self, [u8; HANDSHAKE_LENGTH]) {
        let purpose = Purpose::Data { session, stream };
        let demand = Demand::Exactly(Protection::Off);
        Self::start(Known::session(control_key), false, purpose, demand, random)
    }

    fn start(
        known: Known,
        open: bool,
        purpose: Purpose,
        demand: Demand,
        random: [u8; KEY_LENGTH],
    ) -> (Self, [u8; HANDSHAKE_LENGTH]) {
        let key = EphemeralKey::new(random);
        let hello = ClientHello {
            purpose,
            offer: demand.offer(has_fast_aes()),
            public: key.public(),
        };
        let state = Self {
            known,
            open,
            hello,
            key,
            challenged: None,
        };
        (state, hello.encode())
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
            // The status is not authenticated yet. A client that followed it to the empty token would agree on keys with
            // anybody on the path.
            (ChallengeStatus::Open, false) => return Err(HandshakeError::AgentIsOpen),
            (ChallengeStatus::Busy, _) => return Err(HandshakeError::Busy),
            (ChallengeStatus::UnknownSession, _) => return Err(HandshakeError::UnknownSession),
            // A client without a token accepts no protection, and only an agent with one demands any.
            (ChallengeStatus::ProtectionRefused(_), true) => return Err(HandshakeError::TokenNeeded),
            (ChallengeStatus::ProtectionRefused(demanded), false) => {
                return Err(HandshakeError::ProtectionDemanded(demanded));
            }
            // An agent of this version does not refuse this version.
            (ChallengeStatus::VersionUnsupported, _) => {
                return Err(HandshakeError::Field {
                    field: "status",
                    value: 3,
                });
            }
        }
        if !self.hello.offer.accepts(challenge.protection) {
            return Err(HandshakeError::ProtectionDemanded(challenge.protection));
        }
        let mut messages = Transcript::new();
        messages.add(&self.hello.encode());
        messages.add(message);
        let public = challenge.public;
        let mut exchange = Exchange::new(&self.known, &self.key, public, messages, challenge.protection)?;
        let proof = ClientProof {
            mac: exchange.client_proof(),
        }
        .encode();
        exchange.proven(&proof);
        self.challenged = Some(exchange);
        Ok(proof)
    }

    /// Takes the agent's welcome; returns the session and its keys once the agent has proven the secret, too.
    pub fn on_welcome(&mut self, message: &[u8; HANDSHAKE_LENGTH]) -> Result<Established, HandshakeError> {
        let exchange = self.challenged.as_ref().ok_or(HandshakeError::OutOfOrder)?;
        let (session, mac) = match AgentWelcome::decode(message)? {
            AgentWelcome::Welcome { session, mac } => (session, mac),
            AgentWelcome::Refused(error) => return Err(error),
        };
        if !exchange.is_welcome(session, &mac) {
            return Err(HandshakeError::AgentNotProven);
        }
        if let Purpose::Data { session: joined, .. } = self.hello.purpose
            && session != joined
        {
            return Err(HandshakeError::UnknownSession);
        }
        Ok(Established {
            session,
            keys: exchange.keys(message),
        })
    }
}
