//! Errors of titles. They must not know who reads them.

use weir_media::index::IndexError;
use weir_media::package::PackageError;
use weir_media::presentation::PresentationError;
use weir_media::segments::PlanError;

use crate::content::NotEncrypted;
use crate::outside::query::BadQuery;
use crate::path::ObjectPath;
use crate::storage::StorageError;

/// Why a title cannot be offered, or not as it was asked for.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TitleError {
    /// Its files cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// There are no media files.
    #[error("no title at /{path}: its folder has no media files")]
    Nothing {
        /// Where it was looked for.
        path: ObjectPath,
    },
    /// A file is damaged, or of a kind that is not served.
    #[error("cannot serve {path}: {error}")]
    Media {
        /// The file.
        path: ObjectPath,
        /// What is wrong with it.
        error: IndexError,
    },
    /// A manifest that says nothing that can be followed.
    #[error("cannot serve {path}: {why}")]
    Manifest {
        /// The manifest, or the folder that has it.
        path: ObjectPath,
        /// What is wrong with it.
        why: String,
    },
    /// An MP4 that refers to media which cannot be read for it.
    #[error("cannot serve {path}, which references '{url}': {why}")]
    Reference {
        /// The MP4 that refers.
        path: ObjectPath,
        /// Where it says that the media are.
        url: String,
        /// What is wrong with that.
        why: String,
    },
    /// Files that hold nothing that can be played.
    #[error("cannot serve {path}: none of its tracks can be played; {why}")]
    NoTracks {
        /// The title.
        path: ObjectPath,
        /// What is wrong with the tracks there are.
        why: String,
    },
    /// Tracks that cannot be cut into segments.
    #[error("cannot serve {path}: {error}")]
    Plan {
        /// The title.
        path: ObjectPath,
        /// What is wrong.
        error: PlanError,
    },
    /// Tracks that cannot be offered together.
    #[error("cannot serve {path}: {error}")]
    Presentation {
        /// The title.
        path: ObjectPath,
        /// What is wrong.
        error: PresentationError,
    },
    /// A segment that cannot be made.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// A track of a protected title that cannot be encrypted.
    #[error(transparent)]
    Encryption(#[from] NotEncrypted),
    /// A way of encryption that DASH has no name for.
    #[error("this title is encrypted with aes-128, which works with HLS only: its manifest is master.m3u8")]
    NotForDash,
    /// A query that is not understood, or asks for what there is not.
    #[error(transparent)]
    Query(#[from] BadQuery),
    /// An index that was built and could not be kept.
    #[error("cannot store the index of {path}: the folder is not writable, or the file name is too long")]
    NotKept {
        /// The file.
        path: ObjectPath,
    },
    /// An index that was built and could not be written beside its file.
    #[error(
        "cannot write the index of {path} beside it: {error}; use credentials with write permission, or a folder for indexes (-o)"
    )]
    NotWritten {
        /// The file.
        path: ObjectPath,
        /// What the storage said.
        error: StorageError,
    },
    /// A thread of this program ended.
    #[error("the processing of this title stopped unexpectedly; retry, and report it if it happens again")]
    Stopped,
}
