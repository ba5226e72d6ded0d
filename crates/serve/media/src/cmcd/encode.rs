//! Keys of CMCD as text: the four header fields, or the argument of a query.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Cmcd, HEADERS, MAX_ID_BYTES, ObjectType, Version};

/// Where a key goes when keys are sent as header fields (CTA-5004, 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Object,
    Request,
    Status,
    Session,
}

/// In the order of [`HEADERS`].
const FIELDS: [Field; 4] = [Field::Object, Field::Request, Field::Status, Field::Session];

/// All but the unreserved characters of a URI (RFC 3986, 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// One key with its value as text.
struct Key {
    field: Field,
    text: String,
}

impl Cmcd {
    /// The header fields of these keys: name and value, without those that are empty.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        let keys = self.keys();
        let of = |field: Field| join(keys.iter().filter(|key| key.field == field));
        HEADERS
            .into_iter()
            .zip(FIELDS.map(of))
            .filter(|(_, value)| !value.is_empty())
            .collect()
    }

    /// The value of the query's argument [`super::QUERY_ARGUMENT`], percent-encoded.
    pub fn query(&self) -> String {
        utf8_percent_encode(&join(self.keys().iter()), ESCAPED).to_string()
    }

    /// All keys that have values, by name.
    fn keys(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        let mut key = |field: Field, text: String| keys.push(Key { field, text });
        let of_object = match self.object {
            Some(object @ (ObjectType::Audio | ObjectType::Video | ObjectType::Muxed)) => {
                format!(";{}", object.token())
            }
            _ => String::new(),
        };
        let list = |name: &str, value: u64| match self.version {
            Version::V1 => format!("{name}={value}"),
            Version::V2 => format!("{name}=({value}{of_object})"),
        };
        if let Some(value) = self.buffer_ms {
            key(Field::Request, list("bl", hundreds(value)));
        }
        if let Some(value) = self.bitrate {
            key(Field::Object, list("br", value));
        }
        if self.starved {
            key(Field::Status, "bs".into());
        }
        if let Some(id) = &self.content_id {
            key(Field::Session, format!("cid={}", quoted(id)));
        }
        if let Some(value) = self.duration_ms {
            key(Field::Object, format!("d={value}"));
        }
        if let Some(value) = self.deadline_ms {
            key(Field::Request, format!("dl={}", hundreds(value)));
        }
        if let Some(value) = self.throughput {
            key(Field::Request, list("mtp", hundreds(value)));
        }
        if let Some(object) = self.object {
            key(Field::Object, format!("ot={}", object.token()));
        }
        if let Some(value) = self.requested_throughput {
            key(Field::Status, format!("rtp={}", hundreds(value).max(100)));
        }
        if let Some(format) = self.format {
            key(Field::Session, format!("sf={}", format.token()));
        }
        if let Some(id) = &self.session_id {
            key(Field::Session, format!("sid={}", quoted(id)));
        }
        if let Some(stream) = self.stream {
            key(Field::Session, format!("st={}", stream.token()));
        }
        if self.startup {
            key(Field::Request, "su".into());
        }
        if let Some(value) = self.top_bitrate {
            key(Field::Object, list("tb", value));
        }
        if self.version == Version::V2 {
            key(Field::Session, "v=2".into());
        }
        keys
    }
}

fn join<'a>(keys: impl Iterator<Item = &'a Key>) -> String {
    keys.map(|key| key.text.as_str()).collect::<Vec<_>>().join(",")
}

/// Rounded to the nearest hundred.
fn hundreds(value: u64) -> u64 {
    value.saturating_add(50) / 100 * 100
}

/// A String of a structured field (RFC 9651, 4.1.6). What cannot be in one is left out.
fn quoted(id: &str) -> String {
    let mut text = String::from("\"");
    for character in id
        .chars()
        .filter(|character| matches!(character, ' '..='~'))
        .take(MAX_ID_BYTES)
    {
        if matches!(character, '"' | '\\') {
            text.push('\\');
        }
        text.push(character);
    }
    text.push('"');
    text
}
