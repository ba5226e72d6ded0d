//! A key as it is written in a key file, and in the answers of a key server: one form for both. It must not know where
//! it was written.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use weir_media::encryption::{
    Announcement, COMMON_SYSTEM, ContentKey, KeyId, Protection, ProtectionTextError, Pssh, Scheme, hex_16,
};

use crate::path::ObjectPath;

/// Boxes of DRM systems for one title.
const MOST_SYSTEMS: usize = 16;

/// A key, as text. All of it is optional here; what is missing may come from elsewhere.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenKey {
    /// `cenc`, `cbcs` or `aes-128`.
    pub scheme: Option<String>,
    /// 16 bytes in hexadecimal digits.
    pub key_id: Option<String>,
    /// 16 bytes in hexadecimal digits.
    pub key: Option<String>,
    /// 16 bytes in hexadecimal digits.
    pub iv: Option<String>,
    /// Whole boxes in Base64.
    #[serde(default)]
    pub pssh: Vec<String>,
    /// Where players ask for a ClearKey licence.
    pub licence_url: Option<String>,
    /// Where players of HLS get the key itself.
    pub key_url: Option<String>,
}

/// All but the key.
impl fmt::Debug for WrittenKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("WrittenKey")
            .field("scheme", &self.scheme)
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

/// Why a key that is written cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongKey {
    #[error("'{0}' is missing")]
    Missing(&'static str),
    #[error("'{field}': {error}")]
    Text {
        field: &'static str,
        error: ProtectionTextError,
    },
    #[error("'pssh': box {number} is not valid Base64")]
    Base64 { number: usize },
    #[error("'pssh': the maximum is {MOST_SYSTEMS} boxes")]
    TooManySystems,
    #[error("'{field}': a URL must not contain quotes, spaces or control characters")]
    Address { field: &'static str },
    #[error("aes-128 needs 'key_url', from which players load the key (or --serve-keys, for tests)")]
    NoAddress,
}

/// Addresses that are put in where none is written.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// Those of this origin, which serves keys itself.
    pub own: bool,
}

/// The key of one title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TitleKey {
    /// Its encryption, and its signalling in manifests.
    pub protection: Protection,
    /// Differs between keys and between their other settings.
    pub tag: u64,
}

impl WrittenKey {
    /// The key for this title.
    ///
    /// # Errors
    /// When something is missing or cannot be read.
    pub fn for_title(&self, title: &ObjectPath, addresses: Addresses) -> Result<TitleKey, WrongKey> {
        let scheme = needed(self.scheme.as_ref(), "scheme")?;
        let scheme: Scheme = scheme.parse().map_err(|error| WrongKey::Text {
            field: "scheme",
            error,
        })?;
        let key_id = KeyId(bytes(needed(self.key_id.as_ref(), "key_id")?, "key_id")?);
        let key = ContentKey::new(bytes(needed(self.key.as_ref(), "key")?, "key")?);
        let iv = match &self.iv {
            Some(iv) => bytes(iv, "iv")?,
            None => Protection::usual_iv(&key, key_id),
        };
        let own = |name: &str| addresses.own.then(|| format!("/{}/{name}", title.in_address()));
        let announcement = Announcement {
            scheme,
            key_id,
            iv,
            systems: self.systems(scheme, key_id)?,
            licence_url: address(self.licence_url.as_ref(), "licence_url", title, key_id)?
                .or_else(|| own(LICENCE)),
            key_url: address(self.key_url.as_ref(), "key_url", title, key_id)?.or_else(|| own(KEY)),
        };
        if scheme == Scheme::Aes128 && announcement.key_url.is_none() {
            return Err(WrongKey::NoAddress);
        }
        let tag = tag(&announcement, &key);
        Ok(TitleKey {
            protection: Protection {
                announcement: Arc::new(announcement),
                key,
            },
            tag,
        })
    }

    /// The given boxes, with one for ClearKey if it is missing.
    fn systems(&self, scheme: Scheme, key_id: KeyId) -> Result<Vec<Pssh>, WrongKey> {
        if self.pssh.len() > MOST_SYSTEMS {
            return Err(WrongKey::TooManySystems);
        }
        let mut systems = Vec::new();
        for (number, text) in self.pssh.iter().enumerate() {
            let bytes = STANDARD.decode(text);
            let bytes = bytes.map_err(|_| WrongKey::Base64 { number: number + 1 })?;
            let pssh = Pssh::new(bytes).map_err(|error| WrongKey::Text { field: "pssh", error })?;
            systems.push(pssh);
        }
        let has_common = systems.iter().any(|pssh| pssh.system() == KeyId(COMMON_SYSTEM));
        if scheme.is_common() && !has_common {
            systems.insert(0, Pssh::common(key_id));
        }
        Ok(systems)
    }
}

/// Where the origin serves a title's ClearKey licence, below the title.
pub const LICENCE: &str = "clearkey.json";
/// Where it serves the key.
pub const KEY: &str = "content.key";

fn needed<'t>(text: Option<&'t String>, name: &'static str) -> Result<&'t str, WrongKey> {
    text.map(String::as_str).ok_or(WrongKey::Missing(name))
}

fn bytes(text: &str, field: &'static str) -> Result<[u8; 16], WrongKey> {
    hex_16(text).map_err(|error| WrongKey::Text { field, error })
}

/// An address with title and key put in.
fn address(
    written: Option<&String>,
    field: &'static str,
    title: &ObjectPath,
    key_id: KeyId,
) -> Result<Option<String>, WrongKey> {
    let Some(written) = written else {
        return Ok(None);
    };
    let is_wrong = |c: char| c.is_control() || c.is_whitespace() || c == '"';
    if written.is_empty() || written.chars().any(is_wrong) {
        return Err(WrongKey::Address { field });
    }
    Ok(Some(put_in(written, title, Some(key_id))))
}

/// Puts title and key identifier where `{title}` and `{key_id}` stand.
pub fn put_in(address: &str, title: &ObjectPath, key_id: Option<KeyId>) -> String {
    let title = title.in_address().to_string();
    let key_id = key_id.map(|key_id| key_id.hex()).unwrap_or_default();
    address.replace("{title}", &title).replace("{key_id}", &key_id)
}

/// A hash from which nothing of the key can be found.
fn tag(announcement: &Announcement, key: &ContentKey) -> u64 {
    let mut hash = Sha256::new();
    hash.update(format!("{announcement:?}"));
    hash.update(key.bytes());
    let hash: [u8; 32] = hash.finalize().into();
    hash.iter()
        .take(8)
        .fold(0, |tag, byte| tag << 8 | u64::from(*byte))
}
