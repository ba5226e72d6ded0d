//! Errors of keys. They must not know who reads them, and never contain keys.

use std::path::PathBuf;

use weir_media::encryption::KeyId;

use crate::path::ObjectPath;

/// Errors in the options or files of keys, which keep the origin from starting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// The file cannot be read.
    #[error("cannot read the keys in {}: {source}; name an existing file with --keys", path.display())]
    File {
        /// As it was named.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file is not written as it should be.
    #[error("invalid keys in {}: {why}", path.display())]
    Written {
        /// As it was named.
        path: PathBuf,
        /// Where, and what is wrong.
        why: String,
    },
    /// No address.
    #[error(
        "'{0}' is not the URL of a key server; write http:// or https://, a host and a path, as in http://keys.example.net/keys?title={{title}}"
    )]
    Server(String),
}

/// Why a title that is protected is not served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key server gives no answer.
    #[error("/{title} is protected and its key is unavailable: {why}; it is not served unencrypted")]
    Unavailable {
        /// The title.
        title: ObjectPath,
        /// What happened.
        why: String,
    },
    /// The key server's answer has no key for it.
    #[error("/{title} is protected and has no key: {why}; it is not served unencrypted")]
    Wrong {
        /// The title.
        title: ObjectPath,
        /// What is wrong.
        why: String,
    },
    /// A key that should come from a key server.
    #[error("/{title} is protected and needs a key server; name one with --key-server")]
    NoServer {
        /// The title.
        title: ObjectPath,
    },
    /// Media that is protected as part of another title.
    #[error(
        "/{title} is not served, because another rule of the key file protects its file {file}; use one rule for both"
    )]
    OtherRule {
        /// The title that was asked for.
        title: ObjectPath,
        /// Its file.
        file: ObjectPath,
    },
    /// Media that come encrypted, and nothing says what is made of them.
    #[error(
        "/{title} has encrypted media and no rule; write one in the key file, with a key or with 'clear = true'"
    )]
    NoRule {
        /// The title.
        title: ObjectPath,
    },
    /// Media that come encrypted by a key that is not known.
    #[error(
        "/{title} has media encrypted with the key {key_id}, which is unknown; add it as [[source]] to the key file, or name a key server with --key-server"
    )]
    NoSourceKey {
        /// The title.
        title: ObjectPath,
        /// Which key.
        key_id: KeyId,
    },
    /// A stored file that holds protected media.
    #[error("/{file} is protected and not served as stored")]
    StoredFile {
        /// The file.
        file: ObjectPath,
    },
}

/// The answer about a title has no usable key.
pub fn wrong(title: &ObjectPath, why: String) -> KeyError {
    KeyError::Wrong {
        title: title.clone(),
        why,
    }
}
