//! Keys and ClearKey licences (W3C Encrypted Media Extensions, 9.1) from the origin itself, for tests and
//! demonstrations: whoever asks gets them. It must not know what is encrypted with them.

use std::sync::Arc;

use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;

use super::answer::{Answer, Found, common_headers};
use super::app::App;
use super::problem::Problem;
use crate::keys::TitleKey;
use crate::outside::licence::{Licence, LicenceKey, LicenceRequest, base64url, from_base64url};
use crate::outside::written_key;
use crate::path::ObjectPath;

/// Bytes of a request for a licence.
const LONGEST_REQUEST: usize = 64 << 10;

/// The title whose licence a path names.
pub fn asked_for(path: &str) -> Option<ObjectPath> {
    title_of(path, written_key::LICENCE)
}

/// The title whose key a path names.
pub fn key_asked_for(path: &str) -> Option<ObjectPath> {
    title_of(path, written_key::KEY)
}

fn title_of(path: &str, name: &str) -> Option<ObjectPath> {
    let title = path.strip_suffix(name)?.strip_suffix('/')?;
    ObjectPath::from_request(title).ok()
}

async fn key_of(app: &App, title: &ObjectPath) -> Result<Arc<TitleKey>, Problem> {
    let key = app.keys.of_title(title, std::iter::empty()).await?;
    key.ok_or_else(|| Problem::nothing(format!("/{title} is not protected")))
}

/// The 16 bytes of a title's key.
pub async fn key(app: &Arc<App>, title: &ObjectPath) -> Result<Found, Problem> {
    let key = key_of(app, title).await?;
    let bytes = key.protection.key.bytes().to_vec();
    Ok(Found::own("application/octet-stream", bytes))
}

/// The licence for a request, which has the key if it is asked for.
pub async fn answer(
    app: &Arc<App>,
    title: &ObjectPath,
    request: &mut Request<Incoming>,
) -> Result<Answer, Problem> {
    let wrong = |why: &str| Problem::new(StatusCode::BAD_REQUEST, "bad_licence_request", why);
    let body = Limited::new(request.body_mut(), LONGEST_REQUEST);
    let read = tokio::time::timeout(app.limits.head_time, body.collect()).await;
    let asked = read.ok().and_then(Result::ok).map(|body| body.to_bytes());
    let asked = asked.ok_or_else(|| wrong("the licence request is too long, too slow or truncated"))?;
    let asked: LicenceRequest = serde_json::from_slice(&asked).map_err(|_| {
        wrong("a ClearKey licence request must be JSON such as {\"kids\":[\"...\"],\"type\":\"temporary\"}")
    })?;
    let key = key_of(app, title).await?;
    let key_id = key.protection.announcement.key_id;
    let is_asked = |kid: &String| from_base64url(kid) == Some(key_id.0);
    let keys = asked.kids.iter().any(is_asked).then(|| LicenceKey {
        kty: "oct".to_owned(),
        kid: base64url(&key_id.0),
        k: base64url(key.protection.key.bytes()),
    });
    let licence = Licence {
        keys: keys.into_iter().collect(),
        kind: "temporary".to_owned(),
    };
    let text = serde_json::to_string(&licence)
        .map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "other", error.to_string()))?;
    let mut headers = common_headers();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_LENGTH, text.len().into());
    Ok(Answer::own(StatusCode::OK, headers, text))
}
