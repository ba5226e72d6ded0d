//! Why a title cannot be offered, in words. It must not know who is told.

use weir_media::index::IndexError;
use weir_media::package::PackageError;
use weir_media::presentation::PresentationError;
use weir_media::segments::PlanError;

use crate::content::NotEncrypted;
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
    #[error("there is no title at /{path}: its folder has no media files")]
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
    #[error("cannot serve {path}, which refers to '{url}': {why}")]
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
    #[error("this title is encrypted by aes-128, which is for HLS alone: its manifest is master.m3u8")]
    NotForDash,
    /// A query that is not understood, or asks for what there is not.
    #[error("{why}")]
    Query {
        /// What is wrong with it.
        why: String,
    },
    /// An index that was built and could not be kept.
    #[error("the index of {path} cannot be kept: the folder takes nothing, or the file's name is too long")]
    NotKept {
        /// The file.
        path: ObjectPath,
    },
    /// An index that was built and could not be written beside its file.
    #[error(
        "cannot write the index of {path} beside it: {error}; it takes credentials that may write there, or a folder for indexes (-o)"
    )]
    NotWritten {
        /// The file.
        path: ObjectPath,
        /// What the storage said.
        error: StorageError,
    },
    /// A thread of this program ended.
    #[error("the work on this title stopped early; ask again, and please report this if it stays so")]
    Stopped,
}
