//! How playlists say that segments are encrypted: `EXT-X-KEY` and `EXT-X-SESSION-KEY` (draft-pantos-hls-rfc8216bis, 4.4.4.4
//! and 4.4.5.5). Each tag is one way to come by the same key; a player takes the one that it knows.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{push, quoted};
use crate::encryption::{Announcement, COMMON_SYSTEM, KeyId, Scheme};

/// In front of the segments of a media playlist.
pub(super) const KEY: &str = "#EXT-X-KEY";
/// The same in the multivariant playlist, so that players get keys before they open a media playlist.
pub(super) const SESSION_KEY: &str = "#EXT-X-SESSION-KEY";

/// The key format of ClearKey in browsers.
const CLEAR_KEY: &str = "org.w3.clearkey";

fn method(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Aes128 => "AES-128",
        Scheme::Cbcs => "SAMPLE-AES",
        Scheme::Cenc => "SAMPLE-AES-CTR",
    }
}

/// Writes a tag for each way to the key.
pub(super) fn write_keys(text: &mut String, tag: &str, announcement: &Announcement) {
    let method = method(announcement.scheme);
    if let Some(address) = &announcement.key_url {
        push(
            text,
            format_args!("{tag}:METHOD={method},URI={}", quoted(address)),
        );
        if announcement.scheme == Scheme::Aes128 {
            // Initialization segments have no sequence number to take it from (4.4.4.5).
            push(
                text,
                format_args!(",IV=0x{:032x}", u128::from_be_bytes(announcement.iv)),
            );
        } else {
            text.push_str(",KEYFORMAT=\"identity\",KEYFORMATVERSIONS=\"1\"");
        }
        text.push('\n');
    }
    if !announcement.scheme.is_common() {
        return;
    }
    let key_id = announcement.key_id.hex();
    if let Some(address) = &announcement.licence_url {
        push(
            text,
            format_args!(
                "{tag}:METHOD={method},URI={},KEYID=0x{key_id},KEYFORMAT=\"{CLEAR_KEY}\",KEYFORMATVERSIONS=\"1\"\n",
                quoted(address)
            ),
        );
    }
    let systems = announcement.systems.iter();
    for pssh in systems.filter(|pssh| pssh.system() != KeyId(COMMON_SYSTEM)) {
        push(
            text,
            format_args!(
                "{tag}:METHOD={method},URI=\"data:text/plain;base64,{}\",KEYID=0x{key_id},\
                 KEYFORMAT=\"urn:uuid:{}\",KEYFORMATVERSIONS=\"1\"\n",
                STANDARD.encode(pssh.bytes()),
                pssh.system()
            ),
        );
    }
}
