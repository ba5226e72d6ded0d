//! The name of an object in storage, as it may be asked for by strangers: relative, without a way up, each part a plain
//! name. It must not know which storage it is in.

use std::fmt;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, percent_decode_str, utf8_percent_encode};

/// What stays as it is in an address (RFC 3986, 3.3), besides letters and digits.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// Bytes of a whole path.
const LONGEST: usize = 1024;
/// Bytes of one part; what file systems take.
const LONGEST_PART: usize = 255;
/// Folders above each other.
const DEEPEST: usize = 32;

/// A path below the place that is served: parts joined by `/`, at most 1,024 bytes and 32 parts. No part is empty,
/// begins with a dot, or holds a slash, a backslash or a control character.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectPath(Arc<str>);

/// Why a text is no path of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// Nothing, or a part of it is nothing.
    #[error("a part of the path is empty")]
    Empty,
    /// `.`, `..`, or a hidden file.
    #[error("a part of the path begins with a dot")]
    Dot,
    /// A slash or backslash, encoded, or a control character.
    #[error("the path has a slash, a backslash or a control character inside a name")]
    Character,
    /// What percent signs stand for is no UTF-8, or they stand for nothing.
    #[error("the path is not percent-encoded UTF-8")]
    Encoding,
    /// More than the limits.
    #[error(
        "the path is longer than {LONGEST} bytes, has a part longer than {LONGEST_PART}, or more than {DEEPEST} parts"
    )]
    Long,
}

impl ObjectPath {
    /// From plain text, without a leading slash.
    ///
    /// # Errors
    /// When it could lead out of the place that is served, or is longer than the limits.
    pub fn new(plain: &str) -> Result<Self, PathError> {
        if plain.len() > LONGEST || plain.split('/').count() > DEEPEST {
            return Err(PathError::Long);
        }
        for part in plain.split('/') {
            check_part(part)?;
        }
        Ok(ObjectPath(plain.into()))
    }

    /// From the path of a request, with its leading slash; percent signs are decoded once.
    ///
    /// # Errors
    /// As [`ObjectPath::new`], and when the encoding is wrong.
    pub fn from_request(path: &str) -> Result<Self, PathError> {
        let path = path.strip_prefix('/').ok_or(PathError::Empty)?;
        if path.len() > 3 * LONGEST {
            return Err(PathError::Long);
        }
        let mut plain = String::with_capacity(path.len());
        for (index, part) in path.split('/').enumerate() {
            if index > 0 {
                plain.push('/');
            }
            let part = decoded(part)?;
            if part.contains('/') {
                return Err(PathError::Character);
            }
            plain.push_str(&part);
        }
        ObjectPath::new(&plain)
    }

    /// The object of that name in this folder.
    ///
    /// # Errors
    /// As [`ObjectPath::new`].
    pub fn join(&self, name: &str) -> Result<Self, PathError> {
        ObjectPath::new(&format!("{}/{name}", self.0))
    }

    /// Stands for all of a place in messages; it names no object.
    #[cfg(feature = "server")]
    pub(crate) fn whole() -> Self {
        ObjectPath("this place".into())
    }

    /// Plain text, without a leading slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As it stands in an address.
    pub fn in_address(&self) -> PercentEncode<'_> {
        utf8_percent_encode(&self.0, KEPT)
    }

    /// The last part.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// What comes before the last part; nothing for an object that is in no folder.
    pub fn folder(&self) -> Option<ObjectPath> {
        let (folder, _) = self.0.rsplit_once('/')?;
        Some(ObjectPath(folder.into()))
    }
}

fn check_part(part: &str) -> Result<(), PathError> {
    if part.is_empty() {
        return Err(PathError::Empty);
    }
    if part.starts_with('.') {
        return Err(PathError::Dot);
    }
    if part.len() > LONGEST_PART {
        return Err(PathError::Long);
    }
    if part.chars().any(|c| c == '\\' || c.is_control()) {
        return Err(PathError::Character);
    }
    Ok(())
}

/// Decodes percent signs; one that stands before no two hexadecimal digits is an error and not itself.
fn decoded(part: &str) -> Result<std::borrow::Cow<'_, str>, PathError> {
    let bytes = part.as_bytes();
    for at in (0..bytes.len()).filter(|&at| bytes[at] == b'%') {
        let digits = bytes.get(at + 1..at + 3).ok_or(PathError::Encoding)?;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(PathError::Encoding);
        }
    }
    percent_decode_str(part)
        .decode_utf8()
        .map_err(|_| PathError::Encoding)
}

impl fmt::Display for ObjectPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for ObjectPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", &*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_and_encoded_names_are_taken() {
        for (asked, plain) in [
            ("/a.mp4", "a.mp4"),
            ("/films/the%20one/a.mp4", "films/the one/a.mp4"),
            ("/f%C3%BCr/%D0%BC.vtt", "für/м.vtt"),
            ("/100%25.mp4", "100%.mp4"),
            ("/a..b/c...mp4", "a..b/c...mp4"),
            ("/a+b&c=d;e,f.mp4", "a+b&c=d;e,f.mp4"),
        ] {
            let path = ObjectPath::from_request(asked).expect(asked);
            assert_eq!(path.as_str(), plain);
        }
    }

    #[test]
    fn ways_out_of_the_folder_are_refused() {
        for (asked, error) in [
            ("", PathError::Empty),
            ("/", PathError::Empty),
            ("//a", PathError::Empty),
            ("/a/", PathError::Empty),
            ("/a//b", PathError::Empty),
            ("/..", PathError::Dot),
            ("/../etc/passwd", PathError::Dot),
            ("/a/../../b", PathError::Dot),
            ("/%2e%2e/b", PathError::Dot),
            ("/%2E./b", PathError::Dot),
            ("/a/./b", PathError::Dot),
            ("/.git/config", PathError::Dot),
            ("/a%2fb", PathError::Character),
            ("/..%2f..%2fetc%2fpasswd", PathError::Character),
            ("/a%5cb", PathError::Character),
            ("/a\\b", PathError::Character),
            ("/a%00.mp4", PathError::Character),
            ("/a%0d%0ab", PathError::Character),
            ("/a%7f", PathError::Character),
            ("/%ff", PathError::Encoding),
            ("/%c0%ae%c0%ae/b", PathError::Encoding),
            ("/a%", PathError::Encoding),
            ("/a%2", PathError::Encoding),
            ("/a%zz", PathError::Encoding),
        ] {
            assert_eq!(ObjectPath::from_request(asked), Err(error), "{asked}");
        }
        // Decoded once: what is left is a name, and no way up.
        let path = ObjectPath::from_request("/%252e%252e/b").expect("a name with percent signs");
        assert_eq!(path.as_str(), "%2e%2e/b");
    }

    #[test]
    fn lengths_and_depths_are_bounded() {
        let long = format!("/{}", "a".repeat(256));
        assert_eq!(ObjectPath::from_request(&long), Err(PathError::Long));
        assert!(ObjectPath::from_request(&long[..256]).is_ok());
        let deep = "/a".repeat(33);
        assert_eq!(ObjectPath::from_request(&deep), Err(PathError::Long));
        assert!(ObjectPath::from_request(&deep[..64]).is_ok());
        let total = format!("/{}", ["a".repeat(200).as_str(); 6].join("/"));
        assert_eq!(ObjectPath::from_request(&total), Err(PathError::Long));
        assert_eq!(
            ObjectPath::from_request(&format!("/{}", "%41".repeat(5000))),
            Err(PathError::Long)
        );
    }

    #[test]
    fn folders_and_names_come_apart() {
        let path = ObjectPath::new("films/one/a.mp4").expect("a path");
        assert_eq!(path.name(), "a.mp4");
        let folder = path.folder().expect("a folder");
        assert_eq!(folder.as_str(), "films/one");
        assert_eq!(folder.join("b.mp4").expect("a path").as_str(), "films/one/b.mp4");
        assert_eq!(folder.join("../b"), Err(PathError::Dot));
        assert_eq!(ObjectPath::new("a.mp4").expect("a path").folder(), None);
    }
}
