//! Header compression (RFC 7541) as far as a client needs it: fields of a request are written literally, and of a
//! response those are read that matter. There is no dynamic table, neither here nor, by the setting that is sent, at
//! the other end: nothing of a connection has to be remembered, and fields that do not matter are passed over without
//! decoding them.
//!
//! loona-hpack is not used: it builds its table of the Huffman code anew for every string.

use thiserror::Error;

use super::huffman;

/// An invalid header block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the header block of the response is invalid")]
pub struct HpackError;

/// What a block of fields says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// Status code; none in trailers.
    pub status: Option<u16>,
    /// Bytes of the body, where said.
    pub length: Option<u64>,
    /// Where a redirect points.
    pub location: Option<String>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Over TLS.
    pub tls: bool,
    /// Host, and port where it is not the usual one.
    pub authority: &'a str,
    /// Path and query.
    pub target: &'a str,
    /// First and last byte that are wanted; all if none.
    pub range: Option<(u64, u64)>,
}

// Places in the static table (RFC 7541, Appendix A).
const AUTHORITY: u8 = 1;
const METHOD_GET: u8 = 2;
const PATH: u8 = 4;
const SCHEME_HTTP: u8 = 6;
const SCHEME_HTTPS: u8 = 7;
const STATUS_FIRST: usize = 8;
const ACCEPT: u8 = 19;
const CONTENT_LENGTH: usize = 28;
const LOCATION: usize = 46;
const RANGE: u8 = 50;
const USER_AGENT: u8 = 58;
const STATIC_ENTRIES: usize = 61;
/// Statuses that the static table has in full.
const STATUSES: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
/// Most bytes of an integer; none of the sizes that occur needs more.
const MOST_INTEGER_BYTES: u32 = 5;

/// Writes the fields of a GET.
pub fn encode(asked: &Asked<'_>, block: &mut Vec<u8>) {
    let scheme = if asked.tls { SCHEME_HTTPS } else { SCHEME_HTTP };
    block.extend([0x80 | METHOD_GET, 0x80 | scheme]);
    literal(AUTHORITY, asked.authority, block);
    literal(PATH, asked.target, block);
    literal(USER_AGENT, concat!("weir/", env!("CARGO_PKG_VERSION")), block);
    literal(ACCEPT, "*/*", block);
    if let Some((first, last)) = asked.range {
        literal(RANGE, &format!("bytes={first}-{last}"), block);
    }
}

/// A field whose name is in the static table, without indexing (RFC 7541, 6.2.2), its value as it is.
fn literal(name: u8, value: &str, block: &mut Vec<u8>) {
    integer(usize::from(name), 4, block);
    integer(value.len(), 7, block);
    block.extend_from_slice(value.as_bytes());
}

/// RFC 7541, 5.1, with zeros before the prefix.
fn integer(value: usize, prefix: u32, block: &mut Vec<u8>) {
    let most = (1_usize << prefix) - 1;
    if value < most {
        block.push(value as u8);
        return;
    }
    block.push(most as u8);
    let mut left = value - most;
    while left >= 128 {
        block.push(left as u8 | 0x80);
        left >>= 7;
    }
    block.push(left as u8);
}

/// Reads a whole block of fields.
///
/// # Errors
/// When it is none, refers to the dynamic table, or names a field twice that may be there once.
pub fn decode(block: &[u8]) -> Result<Fields, HpackError> {
    let mut left = Cursor(block);
    let mut fields = Fields::default();
    while let Some(first) = left.0.first().copied() {
        match first {
            0x80.. => fields.indexed(left.integer(7)?)?,
            0x20..0x40 => {
                if left.integer(5)? != 0 {
                    return Err(HpackError);
                }
            }
            _ => {
                let prefix = if first >= 0x40 { 6 } else { 4 };
                let name = match left.integer(prefix)? {
                    0 => Name::of(&left.string()?.decoded()?),
                    place => Name::at(place)?,
                };
                let value = left.string()?;
                fields.take(name, &value)?;
            }
        }
    }
    Ok(fields)
}

#[derive(Clone, Copy, PartialEq)]
enum Name {
    Status,
    Length,
    Location,
    Other,
}

impl Name {
    fn at(place: usize) -> Result<Name, HpackError> {
        match place {
            0 => Err(HpackError),
            CONTENT_LENGTH => Ok(Name::Length),
            LOCATION => Ok(Name::Location),
            place if (STATUS_FIRST..STATUS_FIRST + STATUSES.len()).contains(&place) => Ok(Name::Status),
            place if place <= STATIC_ENTRIES => Ok(Name::Other),
            _ => Err(HpackError),
        }
    }

    fn of(name: &[u8]) -> Name {
        match name {
            b":status" => Name::Status,
            b"content-length" => Name::Length,
            b"location" => Name::Location,
            _ => Name::Other,
        }
    }
}

impl Fields {
    fn indexed(&mut self, place: usize) -> Result<(), HpackError> {
        match (Name::at(place)?, place.checked_sub(STATUS_FIRST)) {
            (Name::Status, Some(number)) => self.set_status(STATUSES[number]),
            // The others have no value in the static table that would say anything.
            _ => Ok(()),
        }
    }

    fn set_status(&mut self, status: u16) -> Result<(), HpackError> {
        match self.status.replace(status) {
            None => Ok(()),
            Some(_) => Err(HpackError),
        }
    }

    fn take(&mut self, name: Name, value: &Text<'_>) -> Result<(), HpackError> {
        match name {
            Name::Other => Ok(()),
            Name::Status => {
                let status = value.number()?;
                self.set_status(u16::try_from(status).map_err(|_| HpackError)?)
            }
            Name::Length => {
                let length = value.number()?;
                match self.length.replace(length) {
                    Some(before) if before != length => Err(HpackError),
                    _ => Ok(()),
                }
            }
            Name::Location => {
                self.location = String::from_utf8(value.decoded()?).ok();
                Ok(())
            }
        }
    }
}

/// A string that may be in the Huffman code.
struct Text<'a> {
    huffman: bool,
    bytes: &'a [u8],
}

impl Text<'_> {
    fn decoded(&self) -> Result<Vec<u8>, HpackError> {
        if self.huffman {
            huffman::decode(self.bytes).ok_or(HpackError)
        } else {
            Ok(self.bytes.to_vec())
        }
    }

    fn number(&self) -> Result<u64, HpackError> {
        let digits = self.decoded()?;
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(HpackError);
        }
        let digits = std::str::from_utf8(&digits).map_err(|_| HpackError)?;
        digits.parse().map_err(|_| HpackError)
    }
}

/// What is left of a block.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn byte(&mut self) -> Result<u8, HpackError> {
        let (first, rest) = self.0.split_first().ok_or(HpackError)?;
        self.0 = rest;
        Ok(*first)
    }

    /// RFC 7541, 5.1.
    fn integer(&mut self, prefix: u32) -> Result<usize, HpackError> {
        let most = (1_u8 << prefix).wrapping_sub(1);
        let first = self.byte()? & most;
        if first < most {
            return Ok(usize::from(first));
        }
        let mut value = u64::from(most);
        for step in 0..MOST_INTEGER_BYTES {
            let byte = self.byte()?;
            value += u64::from(byte & 0x7f) << (7 * step);
            if byte < 0x80 {
                return usize::try_from(value).map_err(|_| HpackError);
            }
        }
        Err(HpackError)
    }

    fn string(&mut self) -> Result<Text<'a>, HpackError> {
        let huffman = self.0.first().is_some_and(|first| *first >= 0x80);
        let length = self.integer(7)?;
        if length > self.0.len() {
            return Err(HpackError);
        }
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        Ok(Text { huffman, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_of_the_rfc() {
        // RFC 7541, C.5.1 and C.6.1: 302, cache-control, date and location, without and with the Huffman code.
        let plain = b"\x48\x03302\x58\x07private\x61\x1dMon, 21 Oct 2013 20:13:21 GMT\
            \x6e\x17https://www.example.com";
        let coded = b"\x48\x82\x64\x02\x58\x85\xae\xc3\x77\x1a\x4b\x61\x96\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\
            \x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\x1b\xff\x6e\x91\x9d\x29\xad\x17\x18\x63\xc7\x8f\x0b\x97\xc8\xe9\xae\x82\
            \xae\x43\xd3";
        let expected = Fields {
            status: Some(302),
            length: None,
            location: Some("https://www.example.com".to_owned()),
        };
        assert_eq!(decode(plain), Ok(expected.clone()));
        assert_eq!(decode(coded), Ok(expected));
    }

    #[test]
    fn what_matters_is_read_however_it_is_written() {
        // An update of the table to nothing, a status of the static table, lengths by place and by name.
        let fields = decode(b"\x20\x88\x0f\x0d\x0212\x00\x0econtent-length\x0212").expect("fields");
        assert_eq!((fields.status, fields.length), (Some(200), Some(12)));
        assert_eq!(decode(b""), Ok(Fields::default()));
    }

    #[test]
    fn what_is_no_block_is_refused() {
        let table: [&[u8]; 9] = [
            b"\x80",                         // place 0
            b"\xbe",                         // the dynamic table
            b"\x3f\xe1\x1f",                 // a table of 4096 bytes
            b"\x48\x05302",                  // a string that is cut off
            b"\x88\x88",                     // two statuses
            b"\x48\x03abc",                  // a status that is no number
            b"\x0f\x0d\x011\x0f\x0d\x012",   // two lengths
            b"\xff\xff\xff\xff\xff\xff\xff", // an integer without an end
            b"\x00",                         // a name that is not there
        ];
        for block in table {
            assert_eq!(decode(block), Err(HpackError), "{block:?}");
        }
    }

    #[test]
    fn integers_of_the_rfc() {
        // RFC 7541, C.1.1 to C.1.3.
        for (value, prefix, bytes) in [
            (10, 5, &b"\x0a"[..]),
            (1337, 5, b"\x1f\x9a\x0a"),
            (42, 8, b"\x2a"),
        ] {
            let mut written = Vec::new();
            integer(value, prefix, &mut written);
            assert_eq!(written, bytes);
            if prefix < 8 {
                assert_eq!(Cursor(bytes).integer(prefix), Ok(value));
            }
        }
    }

    #[test]
    fn a_request() {
        let asked = Asked {
            tls: false,
            authority: "www.example.com",
            target: "/",
            range: Some((0, 99)),
        };
        let mut block = Vec::new();
        encode(&asked, &mut block);
        // RFC 7541, 6.2.2, with names of Appendix A.
        let expected = [
            &b"\x82\x86\x01\x0fwww.example.com\x04\x01/\x0f\x2b"[..],
            &[5 + env!("CARGO_PKG_VERSION").len() as u8],
            concat!("weir/", env!("CARGO_PKG_VERSION")).as_bytes(),
            b"\x0f\x04\x03*/*\x0f\x23\x0abytes=0-99",
        ];
        assert_eq!(block, expected.concat());
    }
}
