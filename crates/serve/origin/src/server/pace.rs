//! The pace of an answer: read from its request, told in its headers and in the log. It must not know how a rate is kept.

use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode};
use weir_pacing::{Pace, PaceRequest};

use super::access_log::LoggedPace;
use super::answer::Answer;
use super::app::App;
use super::pacer::Pacer;
use crate::metrics::Kind;

/// The rate of the body, bits each second, and why: an item of structured fields (RFC 9651).
const WEIR_PACE: HeaderName = HeaderName::from_static("weir-pace");
/// Common Media Server Data (CTA-5006), of this hop.
const CMSD_DYNAMIC: HeaderName = HeaderName::from_static("cmsd-dynamic");

/// The pace of an answer with media; none where answers are not paced.
pub fn of<B>(app: &App, request: &Request<B>, answer: &Answer) -> Option<Pace> {
    let pacing = app.pacing.as_ref()?;
    let is_media = matches!(
        answer.kind,
        Kind::Init | Kind::Media | Kind::Subtitles | Kind::File
    );
    let is_sent = matches!(answer.status, StatusCode::OK | StatusCode::PARTIAL_CONTENT);
    if !is_media || !is_sent {
        return None;
    }
    let fields = request.headers().iter();
    let fields = fields.map(|(name, value)| (name.as_str(), value.as_bytes()));
    let asked = PaceRequest::read(fields, request.uri().query().unwrap_or_default());
    if let Err(error) = &asked {
        tracing::debug!(%error, "an answer is not paced");
    }
    // That of the body, which an answer to HEAD does not have.
    let length = answer.headers.get(CONTENT_LENGTH);
    let bytes = length.and_then(|length| length.to_str().ok()?.parse().ok());
    Some(pacing.bounds.decide(&asked, bytes.unwrap_or(0)))
}

/// Tells the client who asked for a pace what it got.
pub fn tell(pace: Pace, headers: &mut HeaderMap) {
    let reason = pace.reason.name();
    let mut insert = |name: HeaderName, value: String| {
        // Digits and words of our own: always a value.
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    };
    match pace.rate {
        Some(rate) => {
            insert(WEIR_PACE, format!("{};reason={reason}", rate.0));
            insert(CMSD_DYNAMIC, format!("\"weir\";mb={}", rate.0 / 1_000));
        }
        None if pace.is_asked() => insert(WEIR_PACE, format!("unpaced;reason={reason}")),
        None => {}
    }
}

/// The same for the log.
pub fn logged(pace: Pace, pacer: &Pacer) -> LoggedPace {
    let wire_rate = pace.rate.and_then(|rate| pacer.wire_rate(rate));
    LoggedPace {
        rate: pace.rate.map(|rate| rate.0),
        wire_rate: wire_rate.map(|rate| rate.0),
        reason: pace.reason.name(),
    }
}
