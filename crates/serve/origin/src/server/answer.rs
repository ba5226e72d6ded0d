//! From what was found to the answer: conditions, ranges and headers. It must not know what was found, nor where.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{
    self, ACCEPT_RANGES, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL,
    CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, LAST_MODIFIED, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::json;

use super::app::App;
use super::flow::{Flow, remade};
use super::problem::Problem;
use crate::content::{Content, Part, Remake};
use crate::metrics::Kind;
use crate::outside::conditions::{self, Current, Verdict};
use crate::outside::range::{Wanted, wanted};
use crate::path::ObjectPath;

/// How long caches may keep an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Not at all.
    Never,
    /// A number of seconds.
    Seconds(u32),
}

/// Something that can be asked for.
#[derive(Clone, Debug)]
pub struct Found {
    pub kind: Kind,
    pub content_type: &'static str,
    /// With its quotes.
    pub etag: Option<String>,
    pub modified: Option<SystemTime>,
    pub keep: Keep,
    pub content: Content,
    /// What has to be done with all of it before its length is known.
    pub remake: Option<Arc<dyn Remake>>,
    /// What is to be looked at anew if it turns out to have changed.
    pub of: Option<ObjectPath>,
}

/// An answer before it is sent.
pub struct Answer {
    pub kind: Kind,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub bytes: Outgoing,
    /// Of a problem.
    pub cause: Option<&'static str>,
}

/// The body of an answer.
pub enum Outgoing {
    /// At hand, or nothing.
    Bytes(Bytes),
    /// Bytes as they are read, with their number.
    Flow(Box<Flow>, u64),
}

impl Found {
    /// Bytes of the origin's own that nobody keeps.
    pub fn own(content_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        Found {
            kind: Kind::Other,
            content_type,
            etag: None,
            modified: None,
            keep: Keep::Never,
            content: Content::new(vec![Part::Bytes(bytes.into())]),
            remake: None,
            of: None,
        }
    }

    /// The answer to a request with these headers.
    pub async fn answer(
        mut self,
        app: &Arc<App>,
        method: &Method,
        asked: &HeaderMap,
    ) -> Result<Answer, Problem> {
        let current = Current {
            etag: self.etag.as_deref(),
            modified: self.modified,
        };
        match conditions::judge(asked, current) {
            Verdict::Answer => {}
            Verdict::NotModified => return Ok(self.empty(StatusCode::NOT_MODIFIED)),
            Verdict::Failed => return Ok(self.empty(StatusCode::PRECONDITION_FAILED)),
        }
        if let Some(how) = self.remake.take() {
            let made = Box::pin(remade(app, self.kind, self.content, how)).await?;
            self.content = Content::new(vec![Part::Bytes(made)]);
        }
        let length = self.content.length();
        let (status, range) = match wanted(conditions::range(asked, current), length) {
            Wanted::Whole => (StatusCode::OK, 0..length),
            Wanted::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
            Wanted::Nothing => {
                let mut answer = self.empty(StatusCode::RANGE_NOT_SATISFIABLE);
                insert(&mut answer.headers, CONTENT_RANGE, &format!("bytes */{length}"));
                return Ok(answer);
            }
        };
        let mut answer = self.empty(status);
        let headers = &mut answer.headers;
        insert(headers, CONTENT_LENGTH, &(range.end - range.start).to_string());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        if status == StatusCode::PARTIAL_CONTENT {
            let told = format!("bytes {}-{}/{length}", range.start, range.end - 1);
            insert(headers, CONTENT_RANGE, &told);
        }
        if *method != Method::HEAD {
            let content = if status == StatusCode::OK {
                self.content
            } else {
                self.content.slice(&range)
            };
            answer.bytes = begin(app, self.kind, content).await?;
        }
        Ok(answer)
    }

    /// Headers that every status has, and no body.
    fn empty(&self, status: StatusCode) -> Answer {
        let mut headers = common_headers();
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        if let Some(etag) = &self.etag {
            insert(&mut headers, ETAG, etag);
        }
        if let Some(modified) = self.modified {
            insert(&mut headers, LAST_MODIFIED, &httpdate::fmt_http_date(modified));
        }
        let keep = match self.keep {
            Keep::Never => "no-store".to_owned(),
            Keep::Seconds(seconds) => format!("public, max-age={seconds}"),
        };
        insert(&mut headers, CACHE_CONTROL, &keep);
        Answer {
            kind: self.kind,
            ..Answer::own(status, headers, Bytes::new())
        }
    }
}

impl Answer {
    /// One of the origin's own.
    pub fn own(status: StatusCode, headers: HeaderMap, bytes: impl Into<Bytes>) -> Self {
        Answer {
            kind: Kind::Other,
            status,
            headers,
            bytes: Outgoing::Bytes(bytes.into()),
            cause: None,
        }
    }
}

async fn begin(app: &Arc<App>, kind: Kind, content: Content) -> Result<Outgoing, Problem> {
    if let Some(bytes) = content.at_hand() {
        return Ok(Outgoing::Bytes(bytes));
    }
    let length = content.length();
    let flow = Box::pin(Flow::begin(app.clone(), kind, content)).await?;
    Ok(Outgoing::Flow(Box::new(flow), length))
}

/// Headers that pages of others may send: those of ranges and conditions, and those that ask for a pace.
macro_rules! asked {
    () => {
        "Range, If-Match, If-None-Match, If-Modified-Since, If-Range, CMCD-Object, CMCD-Request, CMCD-Session, CMCD-Status, Pacing-Rate-KBps"
    };
}

/// The answer to what is allowed here and from where (CORS, and `Allow`); licences are asked for with `POST`.
pub fn options(with_licences: bool) -> Answer {
    let mut headers = common_headers();
    let (methods, asked) = if with_licences {
        ("GET, HEAD, OPTIONS, POST", concat!("Content-Type, ", asked!()))
    } else {
        (METHODS, asked!())
    };
    headers.insert(header::ALLOW, HeaderValue::from_static(methods));
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static(methods),
    );
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(asked),
    );
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    Answer::own(StatusCode::NO_CONTENT, headers, Bytes::new())
}

/// What can be done here.
pub const METHODS: &str = "GET, HEAD, OPTIONS";

/// The answer when something is wrong: `{"error": "...", "cause": "..."}`.
pub fn problem(problem: &Problem, method: &Method) -> Answer {
    let body = format!(
        "{}\n",
        json!({ "error": problem.message, "cause": problem.cause })
    );
    let mut headers = common_headers();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // A CDN that asks for what is not there does not ask again at once.
    let keep = if problem.status == StatusCode::NOT_FOUND {
        "public, max-age=5"
    } else {
        "no-store"
    };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(keep));
    insert(&mut headers, CONTENT_LENGTH, &body.len().to_string());
    match problem.status {
        StatusCode::METHOD_NOT_ALLOWED => {
            headers.insert(header::ALLOW, HeaderValue::from_static(METHODS));
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
    let bytes = if *method == Method::HEAD {
        Bytes::new()
    } else {
        body.into()
    };
    Answer {
        cause: Some(problem.cause),
        ..Answer::own(problem.status, headers, bytes)
    }
}

/// Players in pages of others may read every answer, and when it came.
pub fn common_headers() -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(12);
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static(
            "Accept-Ranges, CMSD-Dynamic, Content-Length, Content-Range, Date, ETag, Last-Modified, Weir-Pace",
        ),
    );
    headers.insert(
        HeaderName::from_static("timing-allow-origin"),
        HeaderValue::from_static("*"),
    );
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers
}

/// Storage may name its versions as it likes; what no header can hold is left out.
fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
