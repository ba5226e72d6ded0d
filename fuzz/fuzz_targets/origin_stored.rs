//! What the origin reads that it or an operator wrote: indexes beside their files, entries of the disk cache, key files, and the
//! answers of key servers. No bytes may panic the readers; what is taken is whole and of the version or key that was asked
//! for, and what is refused is refused in one short line.
//!
//! Input: a byte that chooses the form, then the data.

use crate::checks::in_a_line;
use weir_media::encryption::{KeyId, hex_16};
use weir_media::index::{FileIndex, INDEX_VERSION};
use weir_origin::outside::{
    Addresses, Rule, Rules, WrittenKey, index_from_bytes, index_to_bytes, kept_body, kept_head,
    key_of_answer, key_of_licence,
};
use weir_origin::{Meta, ObjectPath};
use xxhash_rust::xxh3::xxh3_64;

const ADDRESSES: Addresses = Addresses { own: true };
/// Bytes of a refusal.
const LONGEST: usize = 2000;
const KEY_ID: &str = "10000000-2000-3000-4000-500000000000";

/// Unchanged, and with a right checksum in front.
fn index_beside(stored: &[u8]) {
    let mut index = b"weirindx".to_vec();
    index.extend(INDEX_VERSION.to_le_bytes());
    index.extend(xxh3_64(stored).to_le_bytes());
    index.extend(stored);
    let version = Meta {
        length: FileIndex::from_bytes(&index).map_or(0, |index| index.file_length),
        etag: Some("\"a\"".to_owned()),
        modified: None,
    };
    let mut mended = b"weirside".to_vec();
    mended.extend((version.version().len() as u32).to_le_bytes());
    mended.extend(version.version().as_bytes());
    mended.extend(index);
    for bytes in [stored, &mended] {
        match index_from_bytes(bytes, &version) {
            Ok(index) => {
                assert_eq!(index.file_length, version.length);
                assert_eq!(
                    index_from_bytes(&index_to_bytes(&index, &version), &version),
                    Ok(index)
                );
            }
            Err(line) => in_a_line(line, LONGEST),
        }
    }
}

fn kept(stored: &[u8]) {
    for key in ["", "index\na.mp4\n\"a\""] {
        if let Some(body) = kept_body(stored.to_vec(), key) {
            assert_eq!([kept_head(key, &body).as_slice(), &body].concat(), stored);
        }
        let whole = [kept_head(key, stored).as_slice(), stored].concat();
        assert!(kept_body(whole.clone(), "another").is_none());
        assert_eq!(kept_body(whole, key).as_deref(), Some(stored));
    }
}

fn key_file(text: &str, is_json: bool, has_server: bool) {
    let rules = match Rules::parse(text, is_json, has_server, ADDRESSES) {
        Ok(rules) => rules,
        Err(line) => return in_a_line(line, LONGEST),
    };
    for path in ["a", "films/sita", "films/sita/1080p.mp4", "x/a-p/c"] {
        let path = ObjectPath::new(path).expect("a path");
        match rules.of(&path) {
            Rule::Clear => {}
            // A key of the file was tried when it was read.
            Rule::Key(number) => {
                let key = rules.written(number).for_title(&path, ADDRESSES).expect("a key");
                assert!(!format!("{key:?}").contains(&KeyId(*key.protection.key.bytes()).hex()));
            }
            Rule::Server(number) => {
                assert!(has_server && number.is_none_or(|number| rules.written(number).key.is_none()))
            }
        }
    }
}

fn answer(bytes: &[u8]) {
    let title = ObjectPath::new("films/sita").expect("a path");
    let known = WrittenKey {
        scheme: Some("cbcs".to_owned()),
        ..WrittenKey::default()
    };
    match key_of_answer(bytes, &known, &title) {
        Ok(told) => match told.for_title(&title, ADDRESSES) {
            Ok(key) => {
                let announcement = &key.protection.announcement;
                assert!(announcement.systems.len() <= 17);
                let addresses = announcement.licence_url.iter().chain(&announcement.key_url);
                for address in addresses {
                    assert!(
                        !address.contains(|c: char| c.is_control() || c == '"'),
                        "{address}"
                    );
                }
                let key_id = told.key_id.as_deref().map(hex_16);
                assert_eq!(key_id, Some(Ok(announcement.key_id.0)));
            }
            Err(error) => in_a_line(error, LONGEST),
        },
        Err(error) => in_a_line(error, LONGEST),
    }
    let key_id = KeyId(hex_16(KEY_ID).expect("a key identifier"));
    let known = WrittenKey {
        key_id: Some(KEY_ID.to_owned()),
        ..known
    };
    match key_of_licence(bytes, &known, key_id, &title) {
        Ok(told) => {
            let key = told.for_title(&title, ADDRESSES).expect("a whole key");
            assert_eq!(key.protection.announcement.key_id, key_id);
        }
        Err(error) => in_a_line(error, LONGEST),
    }
}

pub fn run(input: &[u8]) {
    let Some((form, bytes)) = input.split_first() else {
        return;
    };
    match form % 7 {
        0 => index_beside(bytes),
        1 => kept(bytes),
        2 => answer(bytes),
        form => {
            let text = String::from_utf8_lossy(bytes);
            key_file(&text, form % 2 == 0, form > 4);
        }
    }
}
