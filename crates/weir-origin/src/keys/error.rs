//! Why there is no key, in words. It must not know who is told; keys themselves are never in them.

use std::path::PathBuf;

use crate::path::ObjectPath;

/// Why the origin does not start: what it is told about keys makes no sense.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// The file cannot be read.
    #[error("cannot read the keys in {}: {source}; name a file that is there with --keys", path.display())]
    File {
        /// As it was named.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file is not written as it should be.
    #[error("cannot take the keys in {}: {why}", path.display())]
    Written {
        /// As it was named.
        path: PathBuf,
        /// Where, and what is wrong.
        why: String,
    },
    /// No address.
    #[error(
        "'{0}' is no address of a key server; write http:// or https://, a host and a path, as in http://keys.example.net/keys?title={{title}}"
    )]
    Server(String),
}

/// Why a title that is protected is not served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key server gives no answer.
    #[error(
        "/{title} is protected and its key cannot be had now: {why}; nothing of it is served without encryption"
    )]
    Unavailable {
        /// The title.
        title: ObjectPath,
        /// What happened.
        why: String,
    },
    /// The key server's answer has no key for it.
    #[error(
        "/{title} is protected and there is no key for it: {why}; nothing of it is served without encryption"
    )]
    Wrong {
        /// The title.
        title: ObjectPath,
        /// What is wrong.
        why: String,
    },
    /// A key that should come from a key server.
    #[error("/{title} is protected and its key is to come from a key server; name one with --key-server")]
    NoServer {
        /// The title.
        title: ObjectPath,
    },
    /// Media that is protected as part of another title.
    #[error(
        "/{title} is not served, since its file {file} is protected by another rule of the key file; give both one rule"
    )]
    OtherRule {
        /// The title that was asked for.
        title: ObjectPath,
        /// Its file.
        file: ObjectPath,
    },
    /// A stored file that holds protected media.
    #[error("/{file} is protected, and not served as it is stored")]
    StoredFile {
        /// The file.
        file: ObjectPath,
    },
}
