//! Whether an answer is wanted at all, given what the client already has (RFC 9110, 13). It must not know what the answer
//! is.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{
    HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE,
};

/// What there is now.
#[derive(Clone, Copy, Debug)]
pub struct Current<'a> {
    /// With its quotes.
    pub etag: Option<&'a str>,
    /// When it was written.
    pub modified: Option<SystemTime>,
}

/// What the conditions of a request come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Answer it.
    Answer,
    /// 304.
    NotModified,
    /// 412.
    Failed,
}

/// Judges `If-Match`, `If-Unmodified-Since`, `If-None-Match` and `If-Modified-Since`, in that order.
pub fn judge(headers: &HeaderMap, current: Current<'_>) -> Verdict {
    if let Some(names) = list(headers, &IF_MATCH) {
        if !names.matches(current.etag, true) {
            return Verdict::Failed;
        }
    } else if let Some(date) = date(headers, &IF_UNMODIFIED_SINCE)
        && current
            .modified
            .is_some_and(|modified| seconds(modified) > seconds(date))
    {
        return Verdict::Failed;
    }
    if let Some(names) = list(headers, &IF_NONE_MATCH) {
        if names.matches(current.etag, false) {
            return Verdict::NotModified;
        }
    } else if let Some(date) = date(headers, &IF_MODIFIED_SINCE)
        && current
            .modified
            .is_some_and(|modified| seconds(modified) <= seconds(date))
    {
        return Verdict::NotModified;
    }
    Verdict::Answer
}

/// The `Range` header, unless `If-Range` says that it is meant for another version.
pub fn range<'a>(headers: &'a HeaderMap, current: Current<'_>) -> Option<&'a str> {
    let range = text(headers, &RANGE)?;
    let Some(condition) = text(headers, &IF_RANGE) else {
        return Some(range);
    };
    let same = if condition.ends_with('"') {
        // A weak name is not enough to join bytes.
        !condition.starts_with("W/") && current.etag == Some(condition)
    } else {
        let date = httpdate::parse_http_date(condition).ok();
        date.is_some() && date.map(seconds) == current.modified.map(seconds)
    };
    same.then_some(range)
}

struct Names<'a>(&'a str);

impl Names<'_> {
    /// Whether one of the names is the one there is; `strong` counts weak names as different.
    fn matches(&self, etag: Option<&str>, strong: bool) -> bool {
        if self.0.trim() == "*" {
            return true;
        }
        let Some(etag) = etag else { return false };
        if strong && etag.starts_with("W/") {
            return false;
        }
        let bare = etag.trim_start_matches("W/");
        // A comma inside a name splits it into two that match nothing, which costs an answer and is never wrong.
        self.0
            .split(',')
            .map(str::trim)
            .any(|name| match name.strip_prefix("W/") {
                Some(weak) => !strong && weak == bare,
                None => name == bare,
            })
    }
}

fn list<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Names<'a>> {
    text(headers, name).map(Names)
}

fn date(headers: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(text(headers, name)?).ok()
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Dates in headers are whole seconds.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";

    fn headers(given: &[(HeaderName, &str)]) -> HeaderMap {
        given
            .iter()
            .map(|(name, value)| (name.clone(), value.parse().expect("a value")))
            .collect()
    }

    fn current(etag: &str) -> Current<'_> {
        let modified = httpdate::parse_http_date(DATE).expect("a date") + Duration::from_millis(500);
        Current {
            etag: Some(etag),
            modified: Some(modified),
        }
    }

    #[test]
    fn conditions_are_judged_in_their_order() {
        for (given, verdict) in [
            (vec![], Verdict::Answer),
            (vec![(IF_NONE_MATCH, "\"a\"")], Verdict::NotModified),
            (vec![(IF_NONE_MATCH, "\"b\", W/\"a\"")], Verdict::NotModified),
            (vec![(IF_NONE_MATCH, "*")], Verdict::NotModified),
            (vec![(IF_NONE_MATCH, "\"b\"")], Verdict::Answer),
            (
                vec![(IF_NONE_MATCH, "\"b\""), (IF_MODIFIED_SINCE, DATE)],
                Verdict::Answer,
            ),
            (vec![(IF_MODIFIED_SINCE, DATE)], Verdict::NotModified),
            (vec![(IF_MODIFIED_SINCE, BEFORE)], Verdict::Answer),
            (vec![(IF_MODIFIED_SINCE, "yesterday")], Verdict::Answer),
            (vec![(IF_MATCH, "\"a\"")], Verdict::Answer),
            (vec![(IF_MATCH, "*")], Verdict::Answer),
            (vec![(IF_MATCH, "W/\"a\"")], Verdict::Failed),
            (vec![(IF_MATCH, "\"b\"")], Verdict::Failed),
            (
                vec![(IF_MATCH, "\"a\""), (IF_NONE_MATCH, "\"a\"")],
                Verdict::NotModified,
            ),
            (vec![(IF_UNMODIFIED_SINCE, DATE)], Verdict::Answer),
            (vec![(IF_UNMODIFIED_SINCE, BEFORE)], Verdict::Failed),
        ] {
            assert_eq!(judge(&headers(&given), current("\"a\"")), verdict, "{given:?}");
        }
    }

    #[test]
    fn a_range_of_another_version_is_not_taken() {
        let ranged = |condition: &str, etag: &str| {
            let headers = headers(&[(RANGE, "bytes=0-1"), (IF_RANGE, condition)]);
            range(&headers, current(etag)).is_some()
        };
        assert!(ranged("\"a\"", "\"a\"") && ranged(DATE, "\"a\""));
        assert!(!ranged("\"b\"", "\"a\"") && !ranged("W/\"a\"", "W/\"a\"") && !ranged(BEFORE, "\"a\""));
        assert!(!ranged("nonsense", "\"a\""));
        assert!(range(&headers(&[(RANGE, "bytes=0-1")]), current("\"a\"")).is_some());
    }
}
