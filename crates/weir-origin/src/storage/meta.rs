//! What is known of an object besides its bytes, and what storage says of it in headers. It must not know how it is asked.

use std::ops::Range;
use std::time::SystemTime;

use http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, LAST_MODIFIED};
use http::{HeaderMap, StatusCode};

use super::fault::Fault;

/// One version of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Bytes.
    pub length: u64,
    /// What the storage calls this version, with its quotes.
    pub etag: Option<String>,
    /// When it was last written, to the second where the storage speaks HTTP.
    pub modified: Option<SystemTime>,
}

impl Meta {
    /// Whether both are the same version: by ETag where both have one, else by time and length.
    pub fn is_same_version(&self, other: &Meta) -> bool {
        let same_name = match (&self.etag, &other.etag) {
            (Some(own), Some(others)) => own == others,
            (None, None) => self.modified == other.modified,
            _ => false,
        };
        same_name && self.length == other.length
    }

    /// Whether a second read can be told from one of another version.
    pub fn is_versioned(&self) -> bool {
        self.etag.is_some() || self.modified.is_some()
    }

    /// The ETag for `If-Match`, which takes strong ones only (RFC 9110, 13.1.1).
    pub fn strong_etag(&self) -> Option<&str> {
        self.etag.as_deref().filter(|etag| !etag.starts_with("W/"))
    }

    /// A text that differs between versions, for keys of caches.
    pub fn version(&self) -> String {
        match (&self.etag, self.modified) {
            (Some(etag), _) => format!("{etag}/{}", self.length),
            (None, Some(modified)) => {
                let since = modified
                    .duration_since(SystemTime::UNIX_EPOCH)
                    .unwrap_or_default();
                format!("{}/{}", since.as_nanos(), self.length)
            }
            (None, None) => self.length.to_string(),
        }
    }

    /// From the headers of an answer that has the whole object, or would have it.
    pub(super) fn of_whole(headers: &HeaderMap) -> Result<Meta, Fault> {
        let length = text(headers, &CONTENT_LENGTH)
            .and_then(|length| length.parse().ok())
            .ok_or_else(|| Fault::Wrong("it does not say how long the object is".to_owned()))?;
        Ok(Meta::with_length(headers, length))
    }

    /// From the status and headers of an answer to `asked`, which may end before it only where the object does.
    pub(super) fn of_range(
        status: StatusCode,
        headers: &HeaderMap,
        asked: &Range<u64>,
    ) -> Result<(Meta, Range<u64>), Fault> {
        if status == StatusCode::OK {
            return Err(Fault::Wrong(format!(
                "bytes {}-{} were asked for, and it gives the whole object; it has to know range requests",
                asked.start,
                asked.end - 1
            )));
        }
        let said = text(headers, &CONTENT_RANGE).unwrap_or_default();
        let (given, length) =
            content_range(said).ok_or_else(|| Fault::Wrong(format!("its Content-Range is '{said}'")))?;
        if given.start != asked.start || given.end != asked.end.min(length) {
            return Err(Fault::Wrong(format!(
                "bytes {}-{} were asked for, and it gives {said}",
                asked.start,
                asked.end - 1
            )));
        }
        Ok((Meta::with_length(headers, length), given))
    }

    fn with_length(headers: &HeaderMap, length: u64) -> Meta {
        Meta {
            length,
            etag: text(headers, &ETAG).map(str::to_owned),
            modified: text(headers, &LAST_MODIFIED).and_then(|date| httpdate::parse_http_date(date).ok()),
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &http::HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// `bytes FIRST-LAST/LENGTH` (RFC 9110, 14.4).
fn content_range(said: &str) -> Option<(Range<u64>, u64)> {
    let (range, length) = said.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last, length): (u64, u64, u64) =
        (first.parse().ok()?, last.parse().ok()?, length.parse().ok()?);
    (first <= last && last < length).then(|| (first..last + 1, length))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn answer(headers: &[(&str, &str)]) -> HeaderMap {
        headers
            .iter()
            .map(|(name, value)| {
                let name: http::HeaderName = name.parse().expect("a name");
                (name, value.parse().expect("a value"))
            })
            .collect()
    }

    #[test]
    fn only_the_range_that_was_asked_for_is_taken() {
        let given = |range: &str, asked: Range<u64>| {
            let headers = answer(&[("content-range", range), ("etag", "\"a\"")]);
            Meta::of_range(StatusCode::PARTIAL_CONTENT, &headers, &asked)
        };
        let (meta, range) = given("bytes 10-19/100", 10..20).expect("the range");
        assert_eq!((meta.length, range), (100, 10..20));
        let (_, range) = given("bytes 90-99/100", 90..200).expect("up to the end");
        assert_eq!(range, 90..100);
        for (wrong, asked) in [
            ("bytes 11-19/100", 10..20),
            ("bytes 10-18/100", 10..20),
            ("bytes 10-20/100", 10..20),
            ("bytes 0-99/100", 10..20),
            ("bytes 10-19/*", 10..20),
            ("bytes 19-10/100", 10..20),
            ("bytes 10-19/15", 10..20),
            ("bytes 10-18446744073709551615/18446744073709551615", 10..20),
            ("", 10..20),
        ] {
            assert!(matches!(given(wrong, asked), Err(Fault::Wrong(_))), "{wrong}");
        }
        let whole = Meta::of_range(StatusCode::OK, &answer(&[("content-length", "100")]), &(0..10));
        assert!(matches!(whole, Err(Fault::Wrong(why)) if why.contains("range requests")));
    }

    #[test]
    fn versions_are_told_apart() {
        let meta = |length, etag: Option<&str>, seconds: Option<u64>| Meta {
            length,
            etag: etag.map(str::to_owned),
            modified: seconds.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)),
        };
        let one = meta(5, Some("\"a\""), Some(1));
        assert!(one.is_same_version(&meta(5, Some("\"a\""), Some(2))));
        for other in [
            meta(5, Some("\"b\""), Some(1)),
            meta(6, Some("\"a\""), Some(1)),
            meta(5, None, Some(1)),
        ] {
            assert!(!one.is_same_version(&other), "{other:?}");
            assert_ne!(one.version(), other.version());
        }
        let dated = meta(5, None, Some(1));
        assert!(dated.is_same_version(&dated) && !dated.is_same_version(&meta(5, None, Some(2))));
        assert!(dated.is_versioned() && !meta(5, None, None).is_versioned());
        assert_eq!(one.strong_etag(), Some("\"a\""));
        assert_eq!(meta(5, Some("W/\"a\""), None).strong_etag(), None);
    }
}
