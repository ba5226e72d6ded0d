//! Why something cannot be encrypted, in one line.

use std::ops::Range;

use thiserror::Error;

use super::protection::Scheme;
use crate::bmff::BmffError;
use crate::package::PackageError;

/// A sample whose NAL units or OBUs cannot be told into clear and protected bytes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnitError {
    /// A length that goes behind the end of the sample.
    #[error("a unit of {length} bytes has {room} bytes of room")]
    Length {
        /// Bytes that it says it has.
        length: u64,
        /// Bytes that there are.
        room: u64,
    },
    /// Headers that end before they should.
    #[error("a header of the video ends too early")]
    Truncated,
    /// A picture without what its header refers to.
    #[error("a picture refers to a {what} that there is not")]
    Missing {
        /// What is missing.
        what: &'static str,
    },
    /// A value that the specification does not allow.
    #[error("{field} is out of its range")]
    Range {
        /// The field, as the specification calls it.
        field: &'static str,
    },
    /// Allowed, and not handled here.
    #[error("it uses {what}, which this encryption does not handle")]
    Unsupported {
        /// What is used.
        what: &'static str,
    },
    /// More than auxiliary information can say.
    #[error("it has {count} pieces to protect; {most} are the most that can be told of a sample")]
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
    #[error("{codec} cannot be encrypted by scheme {scheme}; aes-128, for HLS alone, encrypts any codec")]
    Codec {
        /// The codec, as RFC 6381 writes it.
        codec: String,
        /// The scheme.
        scheme: Scheme,
    },
    /// A sample entry whose boxes do not add up.
    #[error("the sample entry cannot be read: {0}")]
    Entry(#[from] BmffError),
    /// Parameter sets that cannot be read.
    #[error("the sample entry of {codec} cannot be read: {error}")]
    Parameters {
        /// The codec, as RFC 6381 writes it.
        codec: String,
        /// What is wrong.
        error: UnitError,
    },
    /// A sample that cannot be read.
    #[error("sample {number} cannot be encrypted: {error}")]
    Sample {
        /// Its number in decoding order, from 0.
        number: u32,
        /// What is wrong.
        error: UnitError,
    },
    /// More samples than initialization vectors.
    #[error(
        "sample {number} cannot be encrypted: a track has {} initialization vectors",
        super::track::MOST_SAMPLES
    )]
    TooManySamples {
        /// The number of the sample.
        number: u32,
    },
    /// More slices or tiles than there is room for in a single file, whose layout is made before they are known.
    #[error(
        "pictures of samples {} up to {} are made of more than twelve slices or tiles each, for which single files have no room; \
         play it by manifest.mpd or master.m3u8",
        samples.start,
        samples.end
    )]
    NoRoom {
        /// The samples.
        samples: Range<u32>,
    },
    /// Other bytes than those of the samples.
    #[error("{given} bytes were given as the payload of {wanted}")]
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
