//! Why storage cannot be used, and why an object is not read, in words, and as a status for whoever asked the origin. It
//! must not know how it is read.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use super::authorities::AuthoritiesError;
use super::fault::Fault;
use crate::path::ObjectPath;

/// Storages that hold the same, at most.
pub(super) const MOST_PLACES: usize = 64;

/// Why storage cannot be used at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No folder, or none that can be read.
    #[error("cannot read from the folder {folder}: {source}; name an existing folder")]
    Folder {
        /// As it was named.
        folder: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The certificate authorities that it is to be checked by cannot be read.
    #[error(transparent)]
    Authorities(#[from] AuthoritiesError),
    /// None, or more than can be kept in mind.
    #[error("{0} storages are given; name from 1 to {MOST_PLACES}")]
    Places(usize),
    /// The settings of an object store are incomplete or contradict each other.
    #[error("cannot use {place}: {why}; see 'weir origin --help' for its options and variables")]
    Settings {
        /// As it was named.
        place: String,
        /// What is wrong.
        why: String,
    },
}

/// Why an object cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// There is no such object.
    #[error("the storage has no {path}")]
    NotFound {
        /// The object.
        path: ObjectPath,
    },
    /// The storage does not accept the origin's credentials, or these have no right to the object.
    #[error(
        "the storage denies access to {path} (status {status}); check the origin's credentials and their permissions"
    )]
    Forbidden {
        /// The object.
        path: ObjectPath,
        /// 401 or 403.
        status: u16,
    },
    /// The object was replaced: what is there is another version than the one that is being read.
    #[error("{path} was replaced in the storage while it was being read; retry the request")]
    Changed {
        /// The object.
        path: ObjectPath,
    },
    /// No connection: refused, no route, no such name, no TLS.
    #[error("cannot reach the storage {endpoint}: {why}")]
    Unreachable {
        /// Which storage.
        endpoint: Arc<str>,
        /// What the network said.
        why: String,
    },
    /// The connection ended before the answer did.
    #[error("the storage {endpoint} aborted its response: {why}")]
    BrokeOff {
        /// Which storage.
        endpoint: Arc<str>,
        /// What the network said.
        why: String,
    },
    /// The storage took too long.
    #[error("the storage {endpoint} sent no data for {limit:?}")]
    TimedOut {
        /// Which storage.
        endpoint: Arc<str>,
        /// How long it was waited for.
        limit: Duration,
    },
    /// The storage says that it cannot answer now.
    #[error("the storage {endpoint} is unavailable (status {status})")]
    Unavailable {
        /// Which storage.
        endpoint: Arc<str>,
        /// Its status, 408, 429 or 5xx.
        status: u16,
    },
    /// The storage answered something else than what was asked for.
    #[error("the storage {endpoint} sent an invalid response for {path}: {why}")]
    WrongAnswer {
        /// Which storage.
        endpoint: Arc<str>,
        /// The object.
        path: ObjectPath,
        /// What is wrong with it.
        why: String,
    },
    /// The storage cannot say what is in a folder.
    #[error(
        "the storage {endpoint} cannot list the files of {path}; name one of them as the title, as in /{path}/FILE.mp4/manifest.mpd"
    )]
    NoLists {
        /// Which storage.
        endpoint: Arc<str>,
        /// The folder.
        path: ObjectPath,
    },
    /// The storage takes nothing that is written.
    #[error(
        "cannot write {path} to the storage {endpoint}, which is read-only; use -o to write it to a folder"
    )]
    ReadOnly {
        /// Which storage.
        endpoint: Arc<str>,
        /// The object.
        path: ObjectPath,
    },
    /// The file system of this host failed.
    #[error("the file system failed for {path} in {endpoint}: {why}")]
    File {
        /// The folder.
        endpoint: Arc<str>,
        /// The file below it.
        path: ObjectPath,
        /// What the operating system said.
        why: String,
    },
}

impl StorageError {
    pub(super) fn new(fault: Fault, endpoint: &Arc<str>, path: &ObjectPath) -> Self {
        let (endpoint, path) = (endpoint.clone(), path.clone());
        match fault {
            Fault::NotFound => StorageError::NotFound { path },
            Fault::Forbidden(status) => StorageError::Forbidden { path, status },
            Fault::Changed => StorageError::Changed { path },
            Fault::BeyondEnd => StorageError::WrongAnswer {
                endpoint,
                path,
                why: "the object ends before the range".to_owned(),
            },
            Fault::Unreachable(why) => StorageError::Unreachable { endpoint, why },
            Fault::Broken(why) => StorageError::BrokeOff { endpoint, why },
            Fault::TimedOut(limit) => StorageError::TimedOut { endpoint, limit },
            Fault::Unavailable(status) => StorageError::Unavailable { endpoint, status },
            Fault::Wrong(why) => StorageError::WrongAnswer { endpoint, path, why },
            Fault::NoLists => StorageError::NoLists { endpoint, path },
            Fault::ReadOnly => StorageError::ReadOnly { endpoint, path },
            Fault::File(why) => StorageError::File { endpoint, path, why },
        }
    }

    /// The kind in one word, for counts and logs.
    pub fn cause(&self) -> &'static str {
        match self {
            StorageError::NotFound { .. } => "storage_not_found",
            StorageError::Forbidden { .. } => "storage_forbidden",
            StorageError::Changed { .. } => "storage_changed",
            StorageError::Unreachable { .. } => "storage_unreachable",
            StorageError::BrokeOff { .. } => "storage_broke_off",
            StorageError::TimedOut { .. } => "storage_timed_out",
            StorageError::Unavailable { .. } => "storage_unavailable",
            StorageError::WrongAnswer { .. } => "storage_wrong_answer",
            StorageError::NoLists { .. } => "storage_no_lists",
            StorageError::ReadOnly { .. } => "storage_read_only",
            StorageError::File { .. } => "storage_file",
        }
    }

    /// Whether storage may give the object when it is asked later.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            StorageError::Unreachable { .. }
                | StorageError::BrokeOff { .. }
                | StorageError::TimedOut { .. }
                | StorageError::Unavailable { .. }
        )
    }

    /// What whoever asked the origin is answered. A refusal by the storage is no refusal of that client, so it is a bad
    /// gateway too.
    pub fn status(&self) -> StatusCode {
        match self {
            StorageError::NotFound { .. } | StorageError::NoLists { .. } => StatusCode::NOT_FOUND,
            StorageError::Forbidden { .. }
            | StorageError::Unreachable { .. }
            | StorageError::BrokeOff { .. }
            | StorageError::WrongAnswer { .. } => StatusCode::BAD_GATEWAY,
            StorageError::TimedOut { .. } => StatusCode::GATEWAY_TIMEOUT,
            StorageError::Changed { .. } | StorageError::Unavailable { .. } => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            StorageError::ReadOnly { .. } | StorageError::File { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}
