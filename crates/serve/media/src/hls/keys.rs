//! How playlists say that segments are encrypted: `EXT-X-KEY` and `EXT-X-SESSION-KEY` (draft-pantos-hls-rfc8216bis, 4.4.4.4
//! and 4.4.5.5). Each tag is one way to come by the same key; a player takes the one that it knows.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::encryption::{Announcement, COMMON_SYSTEM, KeyId, Scheme};
use crate::manifest_text::{push, quoted};

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
        push!(text, "{tag}:METHOD={method},URI={}", quoted(address));
        if announcement.scheme == Scheme::Aes128 {
            // Initialization segments have no sequence number to take it from (4.4.4.5).
            push!(text, ",IV=0x{:032x}", u128::from_be_bytes(announcement.iv));
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
        push!(
            text,
            "{tag}:METHOD={method},URI={},KEYID=0x{key_id},KEYFORMAT=\"{CLEAR_KEY}\",KEYFORMATVERSIONS=\"1\"\n",
            quoted(address)
        );
    }
    let systems = announcement.systems.iter();
    for pssh in systems.filter(|pssh| pssh.system() != KeyId(COMMON_SYSTEM)) {
        push!(
            text,
            "{tag}:METHOD={method},URI=\"data:text/plain;base64,{}\",KEYID=0x{key_id},\
                 KEYFORMAT=\"urn:uuid:{}\",KEYFORMATVERSIONS=\"1\"\n",
            STANDARD.encode(pssh.bytes()),
            pssh.system()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encryption::Pssh;

    fn announcement(scheme: Scheme) -> Announcement {
        let key_id = KeyId(*b"0123456789012345");
        // Widevine's identifier, and no data.
        let pssh =
            b"\0\0\0\x20pssh\0\0\0\0\xed\xef\x8b\xa9\x79\xd6\x4a\xce\xa3\xc8\x27\xdc\xd5\x1d\x21\xed\0\0\0\0";
        Announcement {
            scheme,
            key_id,
            iv: [0x0a; 16],
            systems: vec![Pssh::common(key_id), Pssh::new(pssh.to_vec()).unwrap()],
            licence_url: Some("https://licence/\"a\"".to_owned()),
            key_url: Some("/key".to_owned()),
        }
    }

    #[test]
    fn each_way_to_the_key_has_its_tag() {
        let mut text = String::new();
        write_keys(&mut text, KEY, &announcement(Scheme::Cbcs));
        let key_id = "0x30313233343536373839303132333435";
        let expected = [
            "METHOD=SAMPLE-AES,URI=\"/key\",KEYFORMAT=\"identity\",KEYFORMATVERSIONS=\"1\"".to_owned(),
            format!(
                "METHOD=SAMPLE-AES,URI=\"https://licence/'a'\",KEYID={key_id},KEYFORMAT=\"org.w3.clearkey\",KEYFORMATVERSIONS=\"1\""
            ),
            format!(
                "METHOD=SAMPLE-AES,URI=\"data:text/plain;base64,AAAAIHBzc2gAAAAA7e+LqXnWSs6jyCfc1R0h7QAAAAA=\",KEYID={key_id},\
                 KEYFORMAT=\"urn:uuid:edef8ba9-79d6-4ace-a3c8-27dcd51d21ed\",KEYFORMATVERSIONS=\"1\""
            ),
        ];
        let expected: String = expected
            .iter()
            .map(|attributes| format!("#EXT-X-KEY:{attributes}\n"))
            .collect();
        assert_eq!(text, expected);
    }

    #[test]
    fn whole_segments_have_one_way_and_their_vector() {
        let mut text = String::new();
        write_keys(&mut text, SESSION_KEY, &announcement(Scheme::Aes128));
        assert_eq!(
            text,
            "#EXT-X-SESSION-KEY:METHOD=AES-128,URI=\"/key\",IV=0x0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a\n"
        );
    }
}
