//! Why a file has no index. Each text is one line that says where it went wrong; what the file says in its own words is
//! quoted without control characters.

use thiserror::Error;

use crate::bmff::{BmffError, FourCc};

/// A file that is not indexed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IndexError {
    /// Its boxes do not add up: cut off, or damaged.
    #[error(transparent)]
    Boxes(#[from] BmffError),
    /// It does not begin as such a file does.
    #[error("not an MP4 file: it begins with {found} instead of 'ftyp'")]
    NotMp4 {
        /// What stands in the place of the first box's type.
        found: FourCc,
    },
    /// Nothing in it.
    #[error("the file is empty")]
    Empty,
    /// A box that has to be there.
    #[error("missing {kind} box in {place}")]
    Missing {
        /// The type of the box.
        kind: FourCc,
        /// What it should be in.
        place: String,
    },
    /// What it says contradicts itself or the format.
    #[error("{place}: {what}")]
    Broken {
        /// Track or box.
        place: String,
        /// What is wrong.
        what: String,
    },
    /// Allowed by the format, and not handled here.
    #[error("{place}: {what}; this is not supported")]
    Unsupported {
        /// Track or box.
        place: String,
        /// What is asked for.
        what: String,
    },
    /// More than is taken, so that a hostile file cannot fill the memory.
    #[error("{what}: {value}; the maximum is {limit}")]
    TooLarge {
        /// What there is too much of.
        what: String,
        /// What the file says.
        value: u64,
        /// The limit.
        limit: u64,
    },
    /// No track that can be played.
    #[error("the file has no track that can be served{why}")]
    NoTracks {
        /// Empty, or a colon and what was wrong with those that there are.
        why: String,
    },
    /// The index has been given out already.
    #[error("the index of this file was already taken")]
    Finished,
}

impl IndexError {
    pub(super) fn missing(kind: &[u8; 4], place: impl Into<String>) -> Self {
        IndexError::Missing {
            kind: FourCc(*kind),
            place: place.into(),
        }
    }

    pub(super) fn broken(place: impl Into<String>, what: impl Into<String>) -> Self {
        IndexError::Broken {
            place: place.into(),
            what: what.into(),
        }
    }

    pub(super) fn unsupported(place: impl Into<String>, what: impl Into<String>) -> Self {
        IndexError::Unsupported {
            place: place.into(),
            what: what.into(),
        }
    }
}
