//! What a query asks of a title: some of its tracks (`filter`), a span of its time (`start`, `end`, in seconds). It
//! must not know what is made of the rest.

use percent_encoding::percent_decode_str;
use weir_media::presentation::{Filter, Presentation};

/// The longest time that can be asked for, in seconds: what a double counts to the microsecond.
const LATEST: f64 = 1e9;
/// Bytes of a query.
const LONGEST: usize = 2048;

/// A query that is not understood, or asks for what there is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct BadQuery {
    /// What is wrong with it.
    pub why: String,
}

/// The part of a presentation that a query asks for. Names that are not known stand for others than the origin: tokens
/// of CDNs, sessions of players.
pub fn narrowed(presentation: &Presentation, query: &str) -> Result<Presentation, BadQuery> {
    let wrong = |why: String| BadQuery { why };
    if query.len() > LONGEST {
        return Err(wrong(format!("a query must have at most {LONGEST} bytes")));
    }
    let (mut filter, mut start, mut end) = (None, None, None);
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match name {
            "filter" => filter = Some(text(value)?),
            "start" => start = Some(nanoseconds(name, value)?),
            "end" => end = Some(nanoseconds(name, value)?),
            _ => {}
        }
    }
    let mut narrowed = presentation.clone();
    if let Some(filter) = filter {
        let filter = Filter::parse(&filter).map_err(|error| wrong(error.to_string()))?;
        narrowed = narrowed
            .filter(&filter)
            .map_err(|error| wrong(error.to_string()))?;
    }
    if start.is_some() || end.is_some() {
        let span = (start.unwrap_or(0), end.unwrap_or(u64::MAX));
        narrowed = narrowed
            .clip(span.0, span.1)
            .map_err(|error| wrong(error.to_string()))?;
    }
    Ok(narrowed.with_query(query))
}

fn text(value: &str) -> Result<String, BadQuery> {
    let decoded = percent_decode_str(value).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|_| BadQuery {
        why: "the query is not percent-encoded UTF-8".to_owned(),
    })
}

fn nanoseconds(name: &str, value: &str) -> Result<u64, BadQuery> {
    let plain = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds = value
        .parse::<f64>()
        .ok()
        .filter(|seconds| plain && (0.0..=LATEST).contains(seconds));
    seconds
        .map(|seconds| (seconds * 1e9).round() as u64)
        .ok_or_else(|| BadQuery {
            why: format!("'{name}' must be a time in seconds from 0 to {LATEST}, as in {name}=90.5"),
        })
}
