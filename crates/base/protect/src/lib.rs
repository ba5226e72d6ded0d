//! Keys, encryption and authentication of what two Weirs exchange: the protections of a stream, key agreement, the key
//! schedule, sealing and opening in place with key epochs, windows against replays, and the strength of tokens.
//!
//! The primitives are those of `ring` and `x25519-dalek`, the constructions those of TLS 1.3 (RFC 8446), QUIC (RFC 9001)
//! and IPsec (RFC 4303, RFC 6479). This crate must not know packet layouts, sockets, clocks or random number generators:
//! callers pass bytes, numbers and random bytes. Sealing and opening allocate nothing.

mod agreement;
mod cipher;
mod epochs;
mod header_key;
mod opener;
mod protection;
mod replay;
mod schedule;
mod sealer;
mod token_strength;

pub use agreement::{AgreementError, EphemeralKey, KEY_LENGTH, SharedSecret};
pub use cipher::{AeadKey, NONCE_LENGTH, TAG_LENGTH, Unauthentic};
pub use epochs::{Lane, PACKETS_PER_EPOCH, StreamSecrets};
pub use header_key::HeaderKey;
pub use opener::{OpenError, Opener};
pub use protection::{Demand, Offer, Protection, UnknownProtection, has_fast_aes};
pub use replay::{REPLAY_WINDOW, ReplayWindow};
pub use schedule::{HandshakeSecrets, PROOF_LENGTH, Secret, SessionSecrets, Transcript};
pub use sealer::{SealError, Sealed, Sealer};
pub use token_strength::{LEAST_BITS, LEAST_LENGTH, LEAST_PASSPHRASE_BITS, WeakToken, secret_of_token};
