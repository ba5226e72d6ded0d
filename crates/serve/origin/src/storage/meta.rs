//! Metadata of an object, parsed from the headers of storage. It must not know how requests are made.

use std::ops::Range;

use http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, LAST_MODIFIED};
use http::{HeaderMap, StatusCode};

use super::fault::Fault;

pub use crate::outside::version::Meta;

impl Meta {
    /// From the headers of an answer that has the whole object, or would have it.
    pub(super) fn of_whole(headers: &HeaderMap) -> Result<Meta, Fault> {
        let length = text(headers, &CONTENT_LENGTH)
            .and_then(|length| length.parse().ok())
            .ok_or_else(|| Fault::Wrong("the length of the object is missing".to_owned()))?;
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
                "bytes {}-{} were requested, but it sent the whole object; it must support range requests",
                asked.start,
                asked.end - 1
            )));
        }
        let said = text(headers, &CONTENT_RANGE).unwrap_or_default();
        let (given, length) =
            content_range(said).ok_or_else(|| Fault::Wrong(format!("invalid Content-Range '{said}'")))?;
        if given.start != asked.start || given.end != asked.end.min(length) {
            return Err(Fault::Wrong(format!(
                "bytes {}-{} were requested, but it sent {said}",
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
}
