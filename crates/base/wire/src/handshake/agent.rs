//! The agent's side of the handshake. It must not know sockets, nor how the agent keeps its sessions.

use weir_protect::{Demand, EphemeralKey, KEY_LENGTH, Protection, Transcript, has_fast_aes};

use super::transcript::{Exchange, Known};
use super::{
    AgentChallenge, AgentWelcome, ChallengeStatus, ClientHello, ClientProof, Established, HANDSHAKE_LENGTH,
    HandshakeError, Purpose, Refusal, Refused,
};
use crate::{SessionId, Token};

/// A handshake in progress, seen by the agent: the challenge was sent, the proof has not arrived.
#[derive(Clone, Debug)]
pub struct AgentHandshake {
    known: Known,
    key: EphemeralKey,
    hello: ClientHello,
    messages: Transcript,
    protection: Protection,
}

impl AgentHandshake {
    /// Takes the client's hello; returns the state and the challenge to send.
    ///
    /// The caller draws `random` anew for every connection: it is the agent's private key. `session_key` is called for
    /// a data connection only: it returns the [control key](crate::SessionKeys::control) of the session, or why the
    /// connection cannot join it.
    pub fn on_hello(
        message: &[u8; HANDSHAKE_LENGTH],
        token: &Token,
        demand: Demand,
        random: [u8; KEY_LENGTH],
        session_key: impl FnOnce(SessionId) -> Result<[u8; 32], Refusal>,
    ) -> Result<(Self, [u8; HANDSHAKE_LENGTH]), Refused> {
        let hello = ClientHello::decode(message).map_err(|error| Refused {
            reply: match error {
                HandshakeError::Version(_) => Some(refusal(ChallengeStatus::VersionUnsupported)),
                _ => None,
            },
            error,
        })?;
        let (known, status, demand) = match hello.purpose {
            Purpose::Control if token.is_open() => (Known::token(token), ChallengeStatus::Open, demand),
            Purpose::Control => (Known::token(token), ChallengeStatus::ProofNeeded, demand),
            Purpose::Data { session, .. } => match session_key(session) {
                // A data connection carries no media.
                Ok(key) => (
                    Known::session(&key),
                    ChallengeStatus::ProofNeeded,
                    Demand::Exactly(Protection::Off),
                ),
                Err(why) => {
                    return Err(Refused {
                        reply: Some(Self::refuse(why)),
                        error: why.into(),
                    });
                }
            },
        };
        let protection = match demand.choose(hello.offer, has_fast_aes()) {
            Ok(protection) => protection,
            // A client with a token refuses open mode, which is the better reason.
            Err(demanded) if status == ChallengeStatus::Open => demanded,
            Err(demanded) => {
                return Err(Refused {
                    reply: Some(refusal(ChallengeStatus::ProtectionRefused(demanded))),
                    error: HandshakeError::ProtectionOffered,
                });
            }
        };
        let key = EphemeralKey::new(random);
        let challenge = AgentChallenge {
            status,
            protection,
            public: key.public(),
        }
        .encode();
        let mut messages = Transcript::new();
        messages.add(message);
        messages.add(&challenge);
        let state = Self {
            known,
            key,
            hello,
            messages,
            protection,
        };
        Ok((state, challenge))
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
        self.hello.purpose
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
        if !self.hello.offer.accepts(self.protection) {
            return Err(refuse(HandshakeError::ProtectionOffered));
        }
        let exchange = Exchange::new(
            &self.known,
            &self.key,
            self.hello.public,
            self.messages,
            self.protection,
        );
        let mut exchange = exchange.map_err(refuse)?;
        if !exchange.is_client_proof(&proof.mac) {
            return Err(refuse(HandshakeError::WrongToken));
        }
        exchange.proven(message);
        let session = match self.hello.purpose {
            Purpose::Control => new_session().map_err(|why| refuse(why.into()))?,
            Purpose::Data { session, .. } => session,
        };
        let welcome = exchange.welcome(session);
        let established = Established {
            session,
            keys: exchange.keys(&welcome),
        };
        Ok((established, welcome))
    }
}

fn refusal(status: ChallengeStatus) -> [u8; HANDSHAKE_LENGTH] {
    // No public key: there is nothing to agree on.
    AgentChallenge {
        status,
        protection: Protection::Off,
        public: [0; KEY_LENGTH],
    }
    .encode()
}
