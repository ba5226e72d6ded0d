//! The key schedule of TLS 1.3 with a pre-shared key and (EC)DHE (RFC 8446 section 7.1), with labels of its own: from the
//! token, the shared secret of both ephemeral keys, and a hash of all messages to the proofs of both sides and the secrets
//! of a session. It must not know the messages.
//!
//! ```text
//! 0 -> Extract(token) = early
//!      Expand(early, "derived") -> Extract(shared secret) = handshake
//!          Expand(handshake, "client finished" | "agent finished", hash of the messages so far) = keys of the proofs
//!          Expand(handshake, "derived") -> Extract(0) = session
//!              Expand(session, "control" | "udp" | "client media" | "agent media", hash of all messages)
//! ```
//!
//! Who knows the token later still lacks the shared secret, so no recording opens; who replaces the public keys on the path
//! lacks the token, so no proof is right.

use ring::{digest, hkdf, hmac};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::SharedSecret;

/// Length of a proof, bytes: that of SHA-256.
pub const PROOF_LENGTH: usize = 32;

/// Before each label, as "tls13 " in RFC 8446: keys of another protocol from the same secrets are other keys.
const PREFIX: &[u8] = b"weir2 ";

/// 256 secret bits from which keys are derived. Overwritten in memory when it is dropped.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Secret([u8; 32]);

impl Secret {
    /// A secret of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// HKDF-Expand-Label of RFC 8446 section 7.1: `N` bytes, at most 255, for this label and context, at most 249 and 255
    /// bytes.
    #[must_use]
    pub fn expand<const N: usize>(&self, label: &str, context: &[u8]) -> [u8; N] {
        const { assert!(N <= 255) };
        let prk = hkdf::Prk::new_less_safe(hkdf::HKDF_SHA256, &self.0);
        expand_label(&prk, label, context)
    }

    /// Another secret from this one, for this label and context.
    #[must_use]
    pub fn derive(&self, label: &str, context: &[u8]) -> Self {
        Self(self.expand(label, context))
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Secret(secret)")
    }
}

struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn expand_label<const N: usize>(prk: &hkdf::Prk, label: &str, context: &[u8]) -> [u8; N] {
    expand_with_prefix(prk, PREFIX, label, context)
}

fn expand_with_prefix<const N: usize>(
    prk: &hkdf::Prk,
    prefix: &[u8],
    label: &str,
    context: &[u8],
) -> [u8; N] {
    debug_assert!(prefix.len() + label.len() <= 255 && context.len() <= 255);
    let length = (N as u16).to_be_bytes();
    let label_length = [(prefix.len() + label.len()) as u8];
    let context_length = [context.len() as u8];
    let info = [
        &length[..],
        &label_length,
        prefix,
        label.as_bytes(),
        &context_length,
        context,
    ];
    let mut out = [0; N];
    // Fails for more than 255 blocks of 32 bytes only; N is at most 255.
    let filled = prk.expand(&info, Length(N)).and_then(|okm| okm.fill(&mut out));
    assert!(filled.is_ok(), "an output of HKDF is at most 8160 bytes");
    out
}

/// Hash of the messages of a handshake so far: SHA-256 of all their bytes, in order.
#[derive(Clone)]
pub struct Transcript(digest::Context);

impl Transcript {
    /// No messages yet.
    #[must_use]
    pub fn new() -> Self {
        Self(digest::Context::new(&digest::SHA256))
    }

    /// Adds a message.
    pub fn add(&mut self, message: &[u8]) {
        self.0.update(message);
    }

    /// The hash so far.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        let mut hash = [0; 32];
        hash.copy_from_slice(self.0.clone().finish().as_ref());
        hash
    }
}

impl Default for Transcript {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Transcript {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Transcript")
    }
}

/// The secret of a handshake: both what was shared before (a token, or a session's key) and what was agreed now.
#[derive(Clone)]
pub struct HandshakeSecrets(hkdf::Prk);

impl HandshakeSecrets {
    /// From what both shared before, which is empty in open mode, and the shared secret of their ephemeral keys.
    #[must_use]
    pub fn new(known: &[u8], shared: &SharedSecret) -> Self {
        let zeros = hkdf::Salt::new(hkdf::HKDF_SHA256, &[0; 32]);
        let early = zeros.extract(known);
        let salt: [u8; 32] = expand_label(&early, "derived", &[]);
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, &salt);
        Self(salt.extract(shared.as_bytes()))
    }

    /// The client's proof over the messages before it.
    #[must_use]
    pub fn client_proof(&self, messages: &Transcript) -> [u8; PROOF_LENGTH] {
        proof(&self.finished("client finished"), messages)
    }

    /// Whether this is the client's proof over the messages before it; takes the same time for any wrong one.
    #[must_use]
    pub fn is_client_proof(&self, messages: &Transcript, sent: &[u8; PROOF_LENGTH]) -> bool {
        hmac::verify(&self.finished("client finished"), &messages.hash(), sent).is_ok()
    }

    /// The agent's proof over the messages before it, and what it says itself.
    #[must_use]
    pub fn agent_proof(&self, messages: &Transcript) -> [u8; PROOF_LENGTH] {
        proof(&self.finished("agent finished"), messages)
    }

    /// Whether this is the agent's proof; takes the same time for any wrong one.
    #[must_use]
    pub fn is_agent_proof(&self, messages: &Transcript, sent: &[u8; PROOF_LENGTH]) -> bool {
        hmac::verify(&self.finished("agent finished"), &messages.hash(), sent).is_ok()
    }

    /// The secrets of the session that this handshake opens, after all its messages.
    #[must_use]
    pub fn session(&self, messages: &Transcript) -> SessionSecrets {
        let salt: [u8; 32] = expand_label(&self.0, "derived", &[]);
        let session = hkdf::Salt::new(hkdf::HKDF_SHA256, &salt).extract(&[0; 32]);
        let hash = messages.hash();
        SessionSecrets {
            control: Secret(expand_label(&session, "control", &hash)),
            udp: expand_label(&session, "udp", &hash),
            client_media: Secret(expand_label(&session, "client media", &hash)),
            agent_media: Secret(expand_label(&session, "agent media", &hash)),
        }
    }

    fn finished(&self, label: &str) -> hmac::Key {
        let key: [u8; 32] = expand_label(&self.0, label, &[]);
        hmac::Key::new(hmac::HMAC_SHA256, &key)
    }
}

impl std::fmt::Debug for HandshakeSecrets {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("HandshakeSecrets(secret)")
    }
}

fn proof(key: &hmac::Key, messages: &Transcript) -> [u8; PROOF_LENGTH] {
    let mut proof = [0; PROOF_LENGTH];
    proof.copy_from_slice(hmac::sign(key, &messages.hash()).as_ref());
    proof
}

/// The secrets of a session.
#[derive(Clone, Debug)]
pub struct SessionSecrets {
    /// Of the control frames, and of the data connections that join the session.
    pub control: Secret,
    /// Of the tags in UDP headers.
    pub udp: [u8; 16],
    /// Of the media that the client sends.
    pub client_media: Secret,
    /// Of the media that the agent sends.
    pub agent_media: Secret,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EphemeralKey;

    fn bytes(text: &str) -> Vec<u8> {
        (0..text.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
            .collect()
    }

    /// RFC 5869 section A.1: the output that is longer than one block, through this crate's [`Length`].
    #[test]
    fn hkdf_of_rfc_5869() {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, &bytes("000102030405060708090a0b0c"));
        let prk = salt.extract(&[0x0b; 22]);
        let mut out = [0; 42];
        let info = [&bytes("f0f1f2f3f4f5f6f7f8f9")[..]];
        prk.expand(&info, Length(42)).unwrap().fill(&mut out).unwrap();
        assert_eq!(
            out[..],
            bytes("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
        );
    }

    /// RFC 8448 section 3, "derive secret for handshake": the same structure, with TLS's prefix.
    #[test]
    fn expand_label_of_rfc_8448() {
        let early = hkdf::Salt::new(hkdf::HKDF_SHA256, &[0; 32]).extract(&[0; 32]);
        let empty = Transcript::new().hash();
        let derived: [u8; 32] = expand_with_prefix(&early, b"tls13 ", "derived", &empty);
        assert_eq!(
            derived[..],
            bytes("6f2615a108c702c5678f54fc9dbab69716c076189c48250cebeac3576c3611ba")
        );
    }

    #[test]
    fn every_secret_depends_on_all_that_went_before() {
        let [here, there] = [3, 4].map(|byte| EphemeralKey::new([byte; 32]));
        let shared = here.agree(there.public()).unwrap();
        let other = here.agree(EphemeralKey::new([5; 32]).public()).unwrap();
        let messages = |text: &[u8]| {
            let mut messages = Transcript::new();
            messages.add(text);
            messages
        };
        let mut seen = std::collections::HashSet::new();
        for (token, shared, text) in [
            (&b"token"[..], &shared, &b"messages"[..]),
            (b"tokem", &shared, b"messages"),
            (b"token", &other, b"messages"),
            (b"token", &shared, b"message"),
        ] {
            let secrets = HandshakeSecrets::new(token, shared);
            let messages = messages(text);
            let session = secrets.session(&messages);
            for bytes in [
                secrets.client_proof(&messages),
                secrets.agent_proof(&messages),
                *session.control.as_bytes(),
                *session.client_media.as_bytes(),
                *session.agent_media.as_bytes(),
            ] {
                assert!(seen.insert(bytes.to_vec()));
            }
            assert!(seen.insert(session.udp.to_vec()));
        }
    }

    #[test]
    fn secrets_are_not_printed() {
        let secret = Secret::new([7; 32]);
        assert_eq!(format!("{secret:?}"), "Secret(secret)");
        assert_eq!(
            format!("{:?}", EphemeralKey::new([7; 32])),
            "EphemeralKey(secret)"
        );
    }
}
