//! Encryption of segments: common encryption (ISO/IEC 23001-7) by its schemes `cenc` and `cbcs`, and the AES-128 of HLS (RFC
//! 8216, 4.3.2.4), which encrypts segments as wholes. Bytes come in and go out; it must not know where keys come from, how
//! they are kept, nor who asks.
//!
//! Everything here is a function of key, track and samples: a segment that is asked for twice has the same bytes, so that
//! caches, ranges and entity tags work as they do for clear segments.
//!
//! Of H.264 and H.265 slice data alone is encrypted, of AV1 tile data. Everything in front of it (lengths, headers of units,
//! slices and frames) and all other units stay clear, since a decoder that gets media decrypted in hardware reads those before.
//! One key is used for the whole time of a track; keys that change would come as sample groups (`seig`).

mod av1;
mod bits;
mod boxes;
mod cipher;
mod content_key;
mod decrypt;
mod error;
mod h264;
mod h265;
mod nal;
mod protection;
mod streamed;
mod subsample;
mod track;
mod units;

pub use cipher::encrypt_whole;
pub use content_key::ContentKey;
pub use decrypt::decrypt_samples;
pub use error::{EncryptionError, UnitError};
pub use protection::{
    Announcement, COMMON_SYSTEM, KeyId, Protection, ProtectionTextError, Pssh, Scheme, hex_16,
};
pub use streamed::{PayloadCipher, StreamedSegment};
pub use subsample::Subsample;
pub use track::{TrackEncryptor, TrackNonce};
pub use units::VideoFormat;

pub(crate) use boxes::Auxiliary;
