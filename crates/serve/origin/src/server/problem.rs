//! What an answer says when something is wrong: a status, a cause in one word, and one line. It must not know who asked.

use http::StatusCode;

use crate::keys::KeyError;
use crate::path::PathError;
use crate::storage::StorageError;
use crate::titles::TitleError;

/// Why a request is not answered as it was meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    pub status: StatusCode,
    /// One of the causes that are counted.
    pub cause: &'static str,
    /// For whoever asked.
    pub message: String,
}

impl Problem {
    pub fn new(status: StatusCode, cause: &'static str, message: impl Into<String>) -> Self {
        Problem {
            status,
            cause,
            message: message.into(),
        }
    }

    /// There is nothing at that path.
    pub fn nothing(message: impl Into<String>) -> Self {
        Problem::new(StatusCode::NOT_FOUND, "not_found", message)
    }
}

impl From<StorageError> for Problem {
    fn from(error: StorageError) -> Self {
        Problem::new(error.status(), error.cause(), error.to_string())
    }
}

/// Media that cannot be served come from storage like any other wrong answer.
impl From<TitleError> for Problem {
    fn from(error: TitleError) -> Self {
        let message = error.to_string();
        let (status, cause) = match error {
            TitleError::Storage(error) => return error.into(),
            TitleError::Nothing { .. } | TitleError::NotForDash => (StatusCode::NOT_FOUND, "not_found"),
            TitleError::Encryption(not_encrypted) if not_encrypted.error.is_unsupported() => {
                (StatusCode::NOT_IMPLEMENTED, "not_encrypted")
            }
            TitleError::Query(_) => (StatusCode::BAD_REQUEST, "bad_query"),
            TitleError::Stopped | TitleError::NotKept { .. } | TitleError::NotWritten { .. } => {
                (StatusCode::INTERNAL_SERVER_ERROR, "other")
            }
            TitleError::Media { .. }
            | TitleError::Manifest { .. }
            | TitleError::Reference { .. }
            | TitleError::Encryption(_)
            | TitleError::NoTracks { .. }
            | TitleError::Plan { .. }
            | TitleError::Presentation { .. }
            | TitleError::Package(_) => (StatusCode::BAD_GATEWAY, "bad_media"),
        };
        Problem::new(status, cause, message)
    }
}

impl From<KeyError> for Problem {
    fn from(error: KeyError) -> Self {
        let (status, cause) = match &error {
            KeyError::Unavailable { .. } => (StatusCode::SERVICE_UNAVAILABLE, "key_unavailable"),
            KeyError::Wrong { .. } | KeyError::NoServer { .. } | KeyError::NoSourceKey { .. } => {
                (StatusCode::BAD_GATEWAY, "key_wrong")
            }
            KeyError::OtherRule { .. } | KeyError::StoredFile { .. } | KeyError::NoRule { .. } => {
                (StatusCode::FORBIDDEN, "protected")
            }
        };
        Problem::new(status, cause, error.to_string())
    }
}

impl From<PathError> for Problem {
    fn from(error: PathError) -> Self {
        Problem::new(StatusCode::BAD_REQUEST, "bad_path", error.to_string())
    }
}
