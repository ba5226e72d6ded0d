//! The MACs of a handshake and the keys derived from it: everything computed over both nonces. It must not know message
//! layouts.
//!
//! Each is HMAC-SHA-256(secret, label, version u8, client nonce, agent nonce [, session u64 [, stream u32]]).
//! The secret is the token for a control connection, and the session's control key for a data connection.
//! Labels end with a NUL, so none is a prefix of another; each direction and purpose has its own, so no message can be
//! reflected to its sender or replayed on another kind of connection.

use hmac::Mac;

use super::{Nonce, Purpose};
use crate::key::{HmacSha256, mac_of};
use crate::{SessionId, SessionKeys, UdpKey, VERSION};

/// A handshake after the exchange of both nonces.
#[derive(Clone, Debug)]
pub(super) struct Transcript {
    /// Keyed with the secret.
    pub(super) keyed: HmacSha256,
    pub(super) purpose: Purpose,
    pub(super) client_nonce: Nonce,
    pub(super) agent_nonce: Nonce,
}

impl Transcript {
    /// Mac of the client's proof.
    pub(super) fn client_proof(&self) -> HmacSha256 {
        match self.purpose {
            // The session of a control connection does not exist yet.
            Purpose::Control => self.mac(b"weir client control\0", &[]),
            Purpose::Data { session, .. } => self.mac_with_session(b"weir client data\0", session),
        }
    }

    /// Mac of the agent's welcome.
    pub(super) fn agent_proof(&self, session: SessionId) -> HmacSha256 {
        match self.purpose {
            Purpose::Control => self.mac_with_session(b"weir agent control\0", session),
            Purpose::Data { .. } => self.mac_with_session(b"weir agent data\0", session),
        }
    }

    /// Keys of the connection.
    pub(super) fn keys(&self, session: SessionId) -> SessionKeys {
        let control = self
            .mac_with_session(b"weir control key\0", session)
            .finalize()
            .into_bytes();
        let udp = self
            .mac_with_session(b"weir udp key\0", session)
            .finalize()
            .into_bytes();
        let mut udp_key = [0; 16];
        udp_key.copy_from_slice(&udp[..16]);
        SessionKeys {
            udp: UdpKey::new(udp_key),
            control: control.into(),
        }
    }

    fn mac_with_session(&self, label: &[u8], session: SessionId) -> HmacSha256 {
        let session = session.0.to_be_bytes();
        match self.purpose {
            Purpose::Control => self.mac(label, &[&session]),
            Purpose::Data { stream, .. } => self.mac(label, &[&session, &stream.to_be_bytes()]),
        }
    }

    fn mac(&self, label: &[u8], rest: &[&[u8]]) -> HmacSha256 {
        let mac = mac_of(
            &self.keyed,
            &[label, &[VERSION], &self.client_nonce, &self.agent_nonce],
        );
        mac_of(&mac, rest)
    }
}
