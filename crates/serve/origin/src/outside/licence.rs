//! What a key server answers: the key of a title, or a ClearKey licence (W3C Encrypted Media Extensions, 9.1). It must not
//! know how the server is asked.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use weir_media::encryption::KeyId;

use super::key_error::{KeyError, wrong};
use super::written_key::WrittenKey;
use crate::path::ObjectPath;

/// A request for a licence, and the answer.
#[derive(Debug, Serialize, Deserialize)]
pub struct LicenceRequest {
    /// Identifiers of keys, in Base64 for URLs.
    pub kids: Vec<String>,
    /// `temporary`.
    #[serde(rename = "type", default)]
    pub kind: String,
}

/// A set of keys (RFC 7517).
#[derive(Serialize, Deserialize)]
pub struct Licence {
    pub keys: Vec<LicenceKey>,
    #[serde(rename = "type", default)]
    pub kind: String,
}

/// One of them.
#[derive(Serialize, Deserialize)]
pub struct LicenceKey {
    pub kty: String,
    pub kid: String,
    pub k: String,
}

/// Sixteen bytes as licences write them.
pub fn base64url(bytes: &[u8; 16]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes base64url; padding, which some players add, is accepted.
pub fn from_base64url(text: &str) -> Option<[u8; 16]> {
    let bytes = URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()?;
    bytes.try_into().ok()
}

/// The key in a server's response for a title, completed with the rule of the file.
///
/// # Errors
/// When it is not the JSON of a key.
pub fn key_of_answer(answer: &[u8], known: &WrittenKey, title: &ObjectPath) -> Result<WrittenKey, KeyError> {
    let told = serde_json::from_slice(answer).map_err(|error| {
        let line = error.line();
        wrong(
            title,
            format!("cannot parse the key server's response (line {line})"),
        )
    })?;
    Ok(joined(known, told))
}

/// The key of that identifier in a server's licence.
///
/// # Errors
/// When it is no licence, or one without that key.
pub fn key_of_licence(
    answer: &[u8],
    known: &WrittenKey,
    key_id: KeyId,
    title: &ObjectPath,
) -> Result<WrittenKey, KeyError> {
    let licence: Licence = serde_json::from_slice(answer).map_err(|error| {
        let line = error.line();
        wrong(
            title,
            format!("cannot parse the key server's licence (line {line})"),
        )
    })?;
    let of_this = |key: &&LicenceKey| from_base64url(&key.kid) == Some(key_id.0);
    let key = licence.keys.iter().find(of_this);
    let key = key.and_then(|key| from_base64url(&key.k));
    let key = key.ok_or_else(|| wrong(title, format!("the key server's licence lacks the key {key_id}")))?;
    Ok(WrittenKey {
        key: Some(KeyId(key).hex()),
        ..known.clone()
    })
}

/// What the server says, with what the file says besides.
fn joined(known: &WrittenKey, told: WrittenKey) -> WrittenKey {
    let known = known.clone();
    WrittenKey {
        scheme: told.scheme.or(known.scheme),
        key_id: told.key_id,
        key: told.key,
        iv: told.iv.or(known.iv),
        pssh: if told.pssh.is_empty() {
            known.pssh
        } else {
            told.pssh
        },
        licence_url: known.licence_url.or(told.licence_url),
        key_url: known.key_url.or(told.key_url),
    }
}
