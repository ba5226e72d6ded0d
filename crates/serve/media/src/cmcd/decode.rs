//! Keys of CMCD from header fields or the argument of a query. What is sent may be anything: it is bounded before it is
//! read, and refused as a whole where a key has a value that it cannot have. Keys that are not known do not count.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::dictionary::{Bare, Item, Member, members};
use super::{
    Cmcd, CmcdError, HEADERS, MAX_BYTES, MAX_KBITS, MAX_MILLISECONDS, ObjectType, QUERY_ARGUMENT, StreamType,
    StreamingFormat, Version,
};

impl Cmcd {
    /// From the header fields of a request, by name and value; those of other names do not count. Nothing where there is
    /// none of CMCD. A key counts wherever it stands: players differ in where they put some.
    ///
    /// # Errors
    ///
    /// Where the fields are longer than [`MAX_BYTES`] together, are no dictionaries of structured fields, or give a key a
    /// value that it cannot have.
    pub fn from_headers<'a>(
        fields: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Option<Cmcd>, CmcdError> {
        let is_ours = |name: &str| HEADERS.iter().any(|header| header.eq_ignore_ascii_case(name));
        let mut text = Vec::new();
        for (_, value) in fields.into_iter().filter(|(name, _)| is_ours(name)) {
            let length = text.len() + value.len();
            if length > MAX_BYTES {
                return Err(CmcdError::TooLong(length));
            }
            // Fields of one name are joined by commas (RFC 9110, 5.3); no key is in two of the four.
            if !text.is_empty() && !value.is_empty() {
                text.push(b',');
            }
            text.extend_from_slice(value);
        }
        if text.is_empty() {
            Ok(None)
        } else {
            read(&text).map(Some)
        }
    }

    /// From a query as it stands in a URI, without its question mark: from its argument [`QUERY_ARGUMENT`]. Nothing where
    /// there is none.
    ///
    /// # Errors
    ///
    /// As of [`Cmcd::from_headers`]. A broken escape stands for itself, and so breaks the field.
    pub fn from_query(query: &str) -> Result<Option<Cmcd>, CmcdError> {
        let value = query.split('&').find_map(|argument| {
            let (name, value) = argument.split_once('=')?;
            (name == QUERY_ARGUMENT).then_some(value)
        });
        match value {
            None => Ok(None),
            // Each byte takes three at most.
            Some(value) if value.len() > 3 * MAX_BYTES => Err(CmcdError::TooLong(value.len())),
            Some(value) => read(&Cow::from(percent_decode_str(value))).map(Some),
        }
    }
}

fn read(text: &[u8]) -> Result<Cmcd, CmcdError> {
    let members = members(text)?;
    let member = |key: &str| {
        members
            .iter()
            .rev()
            .find(|(name, _)| *name == key)
            .map(|(_, member)| member)
    };
    let version = match integer("v", member("v"), 1, i64::MAX)? {
        None | Some(1) => Version::V1,
        Some(2) => Version::V2,
        Some(other) => return Err(CmcdError::Version(other)),
    };
    let mut keys = Cmcd::new(version);
    keys.object = token("ot", member("ot"))?.map(ObjectType::from_token);
    let of_object = |key: &'static str, most: u64| value_of_object(key, member(key), keys.object, most);
    let (bitrate, top_bitrate) = (of_object("br", MAX_KBITS)?, of_object("tb", MAX_KBITS)?);
    let (buffer_ms, throughput) = (of_object("bl", MAX_MILLISECONDS)?, of_object("mtp", MAX_KBITS)?);
    (keys.bitrate, keys.top_bitrate, keys.buffer_ms, keys.throughput) =
        (bitrate, top_bitrate, buffer_ms, throughput);
    keys.deadline_ms = integer("dl", member("dl"), 0, MAX_MILLISECONDS as i64)?;
    keys.duration_ms = integer("d", member("d"), 0, MAX_MILLISECONDS as i64)?;
    // None is a rate at which anything arrives.
    keys.requested_throughput = integer("rtp", member("rtp"), 1, MAX_KBITS as i64)?;
    keys.starved = boolean("bs", member("bs"))?;
    keys.startup = boolean("su", member("su"))?;
    keys.format = token("sf", member("sf"))?.map(StreamingFormat::from_token);
    keys.stream = token("st", member("st"))?.and_then(StreamType::from_token);
    keys.session_id = id("sid", member("sid"))?;
    keys.content_id = id("cid", member("cid"))?;
    Ok(keys)
}

/// The single item that a key has.
fn item<'a, 'b>(
    key: &'static str,
    member: Option<&'b Member<'a>>,
) -> Result<Option<&'b Bare<'a>>, CmcdError> {
    match member {
        None => Ok(None),
        Some(Member::Item(item)) => Ok(Some(&item.bare)),
        Some(Member::List(_)) => Err(CmcdError::Kind { key, is: "a list" }),
    }
}

fn wrong_kind(key: &'static str, bare: &Bare<'_>) -> CmcdError {
    CmcdError::Kind { key, is: bare.what() }
}

fn in_range(key: &'static str, bare: &Bare<'_>, least: i64, most: i64) -> Result<u64, CmcdError> {
    let Bare::Integer(value) = bare else {
        return Err(wrong_kind(key, bare));
    };
    match u64::try_from(*value) {
        Ok(unsigned) if (least..=most).contains(value) => Ok(unsigned),
        _ => Err(CmcdError::Range {
            key,
            value: *value,
            least,
            most,
        }),
    }
}

fn integer(
    key: &'static str,
    member: Option<&Member<'_>>,
    least: i64,
    most: i64,
) -> Result<Option<u64>, CmcdError> {
    item(key, member)?
        .map(|bare| in_range(key, bare, least, most))
        .transpose()
}

fn boolean(key: &'static str, member: Option<&Member<'_>>) -> Result<bool, CmcdError> {
    match item(key, member)? {
        None => Ok(false),
        Some(Bare::Boolean(value)) => Ok(*value),
        Some(other) => Err(wrong_kind(key, other)),
    }
}

fn token<'a>(key: &'static str, member: Option<&Member<'a>>) -> Result<Option<&'a str>, CmcdError> {
    match item(key, member)? {
        None => Ok(None),
        Some(Bare::Token(token)) => Ok(Some(token)),
        Some(other) => Err(wrong_kind(key, other)),
    }
}

fn id(key: &'static str, member: Option<&Member<'_>>) -> Result<Option<String>, CmcdError> {
    match item(key, member)? {
        None => Ok(None),
        Some(Bare::Text(text)) if text.len() > super::MAX_ID_BYTES => Err(CmcdError::LongId {
            key,
            bytes: text.len(),
        }),
        Some(Bare::Text(text)) => Ok(Some(text.as_ref().to_owned())),
        Some(other) => Err(wrong_kind(key, other)),
    }
}

/// The integer of version 1, or of the list of version 2 the one for this type of object: the one that is marked with
/// its token, else the first that is not marked, else the first.
fn value_of_object(
    key: &'static str,
    member: Option<&Member<'_>>,
    object: Option<ObjectType>,
    most: u64,
) -> Result<Option<u64>, CmcdError> {
    let items = match member {
        None => return Ok(None),
        Some(Member::Item(item)) => std::slice::from_ref(item),
        Some(Member::List(items)) => items.as_slice(),
    };
    for item in items {
        in_range(key, &item.bare, 0, most as i64)?;
    }
    let marked = |item: &&Item<'_>| object.is_some_and(|object| item.parameters.contains(&object.token()));
    let chosen = items
        .iter()
        .find(marked)
        .or_else(|| items.iter().find(|item| item.parameters.is_empty()))
        .or_else(|| items.first());
    chosen
        .map(|item| in_range(key, &item.bare, 0, most as i64))
        .transpose()
}
