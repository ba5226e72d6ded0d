//! What a title is protected with, and how manifests and boxes say it: scheme, key identifier, key, data of DRM
//! systems. It must not know where they come from.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

use super::cipher::{Chain, Cipher};
use super::content_key::ContentKey;
use crate::bmff::{BoxWriter, Boxes};

/// Bytes of a `pssh` box, at most.
const LONGEST_PSSH: usize = 64 << 10;

/// The "common" system of the W3C, whose `pssh` box only lists key identifiers; ClearKey in browsers reads it.
pub const COMMON_SYSTEM: [u8; 16] = [
    0x10, 0x77, 0xef, 0xec, 0xc0, 0xb2, 0x4d, 0x02, 0xac, 0xe3, 0x3c, 0x1e, 0x52, 0xe2, 0xfb, 0x4b,
];

/// How segments are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Common encryption in counter mode (ISO/IEC 23001-7, 10.1).
    Cenc,
    /// Common encryption in cipher block chaining with a pattern (10.4): SAMPLE-AES of HLS.
    Cbcs,
    /// AES-128 of HLS: segments as wholes.
    Aes128,
}

impl Scheme {
    /// As key files and errors write it.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Cenc => "cenc",
            Scheme::Cbcs => "cbcs",
            Scheme::Aes128 => "aes-128",
        }
    }

    /// Whether it is common encryption, which players of both DASH and HLS read from the boxes of segments.
    pub fn is_common(self) -> bool {
        self != Scheme::Aes128
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Text that stands for no scheme, key or box.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProtectionTextError {
    /// No scheme.
    #[error("unknown encryption scheme '{}'; use cenc, cbcs or aes-128", .0.escape_debug())]
    Scheme(String),
    /// Not 16 bytes in hexadecimal digits. What was written is not repeated: it may be a key.
    #[error("write 16 bytes as 32 hexadecimal digits, as a UUID or without hyphens")]
    Hexadecimal,
    /// Not one `pssh` box.
    #[error("not exactly one 'pssh' box (ISO/IEC 23001-7, 8.1)")]
    Pssh,
}

impl FromStr for Scheme {
    type Err = ProtectionTextError;

    fn from_str(text: &str) -> Result<Self, ProtectionTextError> {
        [Scheme::Cenc, Scheme::Cbcs, Scheme::Aes128]
            .into_iter()
            .find(|scheme| scheme.name() == text)
            .ok_or_else(|| ProtectionTextError::Scheme(text.chars().take(40).collect()))
    }
}

/// Reads 16 bytes from 32 hexadecimal digits, with the hyphens of a UUID or without.
///
/// # Errors
///
/// Anything else.
pub fn hex_16(text: &str) -> Result<[u8; 16], ProtectionTextError> {
    let plain = match text.len() {
        36 => {
            let is_hyphen = |place: usize| text.as_bytes().get(place) == Some(&b'-');
            if ![8, 13, 18, 23].into_iter().all(is_hyphen) {
                return Err(ProtectionTextError::Hexadecimal);
            }
            text.replace('-', "")
        }
        _ => text.to_owned(),
    };
    let is_hexadecimal = plain.bytes().all(|digit| digit.is_ascii_hexdigit());
    let value = u128::from_str_radix(&plain, 16).ok();
    value
        .filter(|_| is_hexadecimal && plain.len() == 32)
        .map(u128::to_be_bytes)
        .ok_or(ProtectionTextError::Hexadecimal)
}

/// Which key it is, as everybody may know. Displayed as a UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyId(pub [u8; 16]);

impl KeyId {
    /// 32 hexadecimal digits.
    pub fn hex(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = self.hex();
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
        let parts: Vec<&str> = parts.into_iter().filter_map(|part| hex.get(part)).collect();
        out.write_str(&parts.join("-"))
    }
}

/// Data for a DRM system: a whole `pssh` box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pssh {
    system: [u8; 16],
    bytes: Vec<u8>,
}

impl Pssh {
    /// A box as an operator gives it.
    ///
    /// # Errors
    ///
    /// Bytes that are not exactly one such box, and more than 64 KiB.
    pub fn new(bytes: Vec<u8>) -> Result<Self, ProtectionTextError> {
        let system = read_system(&bytes).filter(|_| bytes.len() <= LONGEST_PSSH);
        let system = system.ok_or(ProtectionTextError::Pssh)?;
        Ok(Pssh { system, bytes })
    }

    /// The box of [`COMMON_SYSTEM`] that names this key.
    pub fn common(key_id: KeyId) -> Self {
        let mut writer = BoxWriter::new();
        writer.nest_full(b"pssh", 1, 0, |pssh| {
            pssh.bytes(&COMMON_SYSTEM);
            pssh.u32(1);
            pssh.bytes(&key_id.0);
            pssh.u32(0);
        });
        Pssh {
            system: COMMON_SYSTEM,
            bytes: writer.into_bytes(),
        }
    }

    /// The system, in the form of a UUID.
    pub fn system(&self) -> KeyId {
        KeyId(self.system)
    }

    /// The whole box.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The system that a `pssh` box is for, if the bytes are one and its lengths add up.
fn read_system(bytes: &[u8]) -> Option<[u8; 16]> {
    let found = Boxes::new(bytes, 0).next()?.ok()?;
    if found.kind.0 != *b"pssh" || found.whole.len() != bytes.len() {
        return None;
    }
    let mut fields = found.fields();
    let (version, _) = fields.version_and_flags().ok()?;
    let system = fields.bytes(16).ok()?.try_into().ok()?;
    if version > 0 {
        let count = fields.u32().ok()?;
        fields.table(count, 16).ok()?;
    }
    let length = fields.u32().ok()?;
    (fields.rest().len() == length as usize).then_some(system)
}

/// What everybody may know of a protection, and manifests say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// How segments are encrypted.
    pub scheme: Scheme,
    /// Which key.
    pub key_id: KeyId,
    /// The constant initialization vector of `cbcs`, and the one of AES-128; `cenc` has one for each sample instead.
    pub iv: [u8; 16],
    /// Data of DRM systems. Initialization segments have them in this order.
    pub systems: Vec<Pssh>,
    /// Where players post a request for a ClearKey licence.
    pub licence_url: Option<String>,
    /// Where players of HLS get the key as its 16 bytes.
    pub key_url: Option<String>,
}

/// Announcement and key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protection {
    /// What everybody may know.
    pub announcement: Arc<Announcement>,
    /// What nobody else may know.
    pub key: ContentKey,
}

impl Protection {
    /// The initialization vector that is used where none is given: the key identifier, encrypted by the key. It is the
    /// same each time, another for each key, and nobody can choose it.
    pub fn usual_iv(key: &ContentKey, key_id: KeyId) -> [u8; 16] {
        let mut iv = key_id.0;
        Chain::new([0; 16]).encrypt(&Cipher::new(key), &mut iv);
        iv
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bytes_are_written_as_digits_or_as_a_uuid() {
        let bytes = hex_16("1077efecc0b24d02ace33c1e52e2fb4b");
        assert_eq!(bytes, Ok(COMMON_SYSTEM));
        assert_eq!(hex_16("1077EFEC-C0B2-4D02-ACE3-3C1E52E2FB4B"), bytes);
        assert_eq!(
            KeyId(COMMON_SYSTEM).to_string(),
            "1077efec-c0b2-4d02-ace3-3c1e52e2fb4b"
        );
        for wrong in [
            "",
            "1077efecc0b24d02ace33c1e52e2fb4",
            "1077efecc0b24d02ace33c1e52e2fb4b0",
            "+077efecc0b24d02ace33c1e52e2fb4b",
            "1077efecc0b24d02-ace3-3c1e52e2fb4b--",
            "zz77efecc0b24d02ace33c1e52e2fb4b",
            "1077efecc0b24d02ace33c1e52e2fbä",
        ] {
            assert_eq!(hex_16(wrong), Err(ProtectionTextError::Hexadecimal), "{wrong}");
        }
    }

    #[test]
    fn boxes_of_drm_systems_are_taken_whole_or_not_at_all() {
        // The example of the W3C's "cenc" initialization data format, section 4, cut to one key.
        let example = b"\0\0\0\x34pssh\x01\0\0\0\x10\x77\xef\xec\xc0\xb2\x4d\x02\xac\xe3\x3c\x1e\x52\xe2\xfb\x4b\0\0\0\x010123456789012345\0\0\0\0";
        assert_eq!(Pssh::common(KeyId(*b"0123456789012345")).bytes(), example);
        assert_eq!(
            Pssh::new(example.to_vec()).unwrap().system(),
            KeyId(COMMON_SYSTEM)
        );
        for length in 0..example.len() {
            assert_eq!(
                Pssh::new(example[..length].to_vec()),
                Err(ProtectionTextError::Pssh)
            );
        }
        let mut longer = example.to_vec();
        longer.push(0);
        assert_eq!(Pssh::new(longer), Err(ProtectionTextError::Pssh));
        let mut many = example.to_vec();
        many[28..32].copy_from_slice(&[0xff; 4]);
        assert_eq!(Pssh::new(many), Err(ProtectionTextError::Pssh));
    }

    #[test]
    fn keys_are_not_printed() {
        let protection = Protection {
            announcement: Arc::new(Announcement {
                scheme: Scheme::Cenc,
                key_id: KeyId([1; 16]),
                iv: [2; 16],
                systems: Vec::new(),
                licence_url: None,
                key_url: None,
            }),
            key: ContentKey::new([0xab; 16]),
        };
        let text = format!("{protection:?}");
        assert!(text.contains("ContentKey(..)"), "{text}");
        assert!(!text.contains("171"), "{text}");
    }
}
