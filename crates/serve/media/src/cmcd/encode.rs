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

impl Cmcd {
    /// The header fields of these keys: name and value, without those that are empty.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        let keys = self.keys();
        let of = |field: Field| join(keys.iter().filter(|(own, _)| *own == field));
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
    fn keys(&self) -> Vec<(Field, String)> {
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
        let id = |name: &str, id: &Option<String>| id.as_ref().map(|id| format!("{name}={}", quoted(id)));
        let asked = self.requested_throughput.map(|kbits| hundreds(kbits).max(100));
        let keys = [
            (Field::Request, self.buffer_ms.map(|ms| list("bl", hundreds(ms)))),
            (Field::Object, self.bitrate.map(|kbits| list("br", kbits))),
            (Field::Status, self.starved.then(|| "bs".to_owned())),
            (Field::Session, id("cid", &self.content_id)),
            (Field::Object, self.duration_ms.map(|ms| format!("d={ms}"))),
            (
                Field::Request,
                self.deadline_ms.map(|ms| format!("dl={}", hundreds(ms))),
            ),
            (
                Field::Request,
                self.throughput.map(|kbits| list("mtp", hundreds(kbits))),
            ),
            (
                Field::Object,
                self.object.map(|object| format!("ot={}", object.token())),
            ),
            (Field::Status, asked.map(|kbits| format!("rtp={kbits}"))),
            (
                Field::Session,
                self.format.map(|format| format!("sf={}", format.token())),
            ),
            (Field::Session, id("sid", &self.session_id)),
            (
                Field::Session,
                self.stream.map(|stream| format!("st={}", stream.token())),
            ),
            (Field::Request, self.startup.then(|| "su".to_owned())),
            (Field::Object, self.top_bitrate.map(|kbits| list("tb", kbits))),
            (
                Field::Session,
                (self.version == Version::V2).then(|| "v=2".to_owned()),
            ),
        ];
        let there = keys.into_iter().filter_map(|(field, text)| Some((field, text?)));
        there.collect()
    }
}

fn join<'a>(keys: impl Iterator<Item = &'a (Field, String)>) -> String {
    keys.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(",")
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
