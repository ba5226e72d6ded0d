//! Why something cannot be encrypted, in one line.

use std::ops::Range;

use thiserror::Error;

use super::protection::{KeyId, Scheme};
use crate::bmff::BmffError;
use crate::package::PackageError;

/// Samples of a track that `cenc` can encrypt: three days at 60 frames a second.
pub(super) const MOST_SAMPLES: u32 = 1 << 24;

/// A sample whose NAL units or OBUs cannot be split into clear and protected bytes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnitError {
    /// A length that goes behind the end of the sample.
    #[error("a unit declares {length} bytes, but only {room} remain")]
    Length {
        /// Bytes that it says it has.
        length: u64,
        /// Bytes that there are.
        room: u64,
    },
    /// Headers that end before they should.
    #[error("a header of the video is truncated")]
    Truncated,
    /// A picture without what its header refers to.
    #[error("a picture references a missing {what}")]
    Missing {
        /// What is missing.
        what: &'static str,
    },
    /// A value that the specification does not allow.
    #[error("{field} is out of range")]
    Range {
        /// The field, as the specification calls it.
        field: &'static str,
    },
    /// Allowed, and not handled here.
    #[error("it uses {what}, which is not supported for encryption")]
    Unsupported {
        /// What is used.
        what: &'static str,
    },
    /// More than auxiliary information can say.
    #[error("it has {count} subsamples; the maximum per sample is {most}")]
    TooManySubsamples {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
}

/// Why a track or one of its segments cannot be encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EncryptionError {
    /// A codec of which it is not known here which bytes have to stay clear.
    #[error("scheme {scheme} does not support {codec}; aes-128, for HLS only, encrypts any codec")]
    Codec {
        /// The codec, as RFC 6381 writes it.
        codec: String,
        /// The scheme.
        scheme: Scheme,
    },
    /// A sample entry whose boxes do not add up.
    #[error("cannot parse the sample entry: {0}")]
    Entry(#[from] BmffError),
    /// Parameter sets that cannot be read.
    #[error("cannot parse the sample entry of {codec}: {error}")]
    Parameters {
        /// The codec, as RFC 6381 writes it.
        codec: String,
        /// What is wrong.
        error: UnitError,
    },
    /// A sample that cannot be read.
    #[error("cannot encrypt sample {number}: {error}")]
    Sample {
        /// Its number in decoding order, from 0.
        number: u32,
        /// What is wrong.
        error: UnitError,
    },
    /// More samples than initialization vectors.
    #[error(
        "cannot encrypt sample {number}: a track has only {} initialization vectors",
        MOST_SAMPLES
    )]
    TooManySamples {
        /// The number of the sample.
        number: u32,
    },
    /// More slices or tiles than there is room for in a single file, whose layout is made before they are known.
    #[error(
        "pictures of samples {} to {} have more than twelve slices or tiles each, the maximum of single files; \
        play the title by manifest.mpd or master.m3u8",
        samples.start,
        samples.end
    )]
    NoRoom {
        /// The samples.
        samples: Range<u32>,
    },
    /// Encryption data that a sample comes with.
    #[error("cannot decrypt sample {number}: its subsamples are not its bytes")]
    Source {
        /// Its number in decoding order, from 0.
        number: u32,
    },
    /// The key of a track that comes encrypted is not known.
    #[error("the key {key_id} of its media is unknown")]
    SourceKey {
        /// Its identifier.
        key_id: KeyId,
    },
    /// Other bytes than those of the samples.
    #[error("the payload has {given} bytes instead of {wanted}")]
    Payload {
        /// Bytes given.
        given: u64,
        /// Bytes of the samples.
        wanted: u64,
    },
    /// Samples of which no segment can be made.
    #[error(transparent)]
    Package(#[from] PackageError),
}

impl EncryptionError {
    /// The media is as it should be, and cannot be encrypted here.
    pub fn is_unsupported(&self) -> bool {
        let error = match self {
            EncryptionError::Codec { .. } | EncryptionError::NoRoom { .. } => return true,
            EncryptionError::Parameters { error, .. } | EncryptionError::Sample { error, .. } => error,
            _ => return false,
        };
        matches!(
            error,
            UnitError::Unsupported { .. } | UnitError::TooManySubsamples { .. }
        )
    }
}
