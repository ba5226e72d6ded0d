//! What an answer says when something is wrong: a status and one line, `{"error": "..."}`. It must not know who asked.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::sync::AcquireError;
use tokio::task::JoinError;
use weir_local::Refusal;
use weir_report::ReportError;
use weir_results::StoreError;

/// Why a request is not answered as it was meant.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    message: String,
}

impl Problem {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Problem {
            status,
            message: message.into(),
        }
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Problem::new(StatusCode::BAD_REQUEST, message)
    }
}

/// Something of ours that never ends otherwise has ended.
fn broken(what: &str) -> Problem {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        format!("{what}; ask again, and please report this if it stays so"),
    )
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let status = match &error {
            StoreError::RunNotFound { .. } => StatusCode::NOT_FOUND,
            StoreError::StillRunning { .. } => StatusCode::CONFLICT,
            StoreError::BadNote { .. } => StatusCode::BAD_REQUEST,
            // The database may come back, or be brought back, and the page goes on.
            StoreError::NotFound { .. }
            | StoreError::NotADatabase { .. }
            | StoreError::NotWeir { .. }
            | StoreError::Empty { .. }
            | StoreError::NewerVersion { .. }
            | StoreError::OlderVersion { .. } => StatusCode::SERVICE_UNAVAILABLE,
            error if error.is_busy() => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem::new(status, error.to_string())
    }
}

impl From<ReportError> for Problem {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Store(error) => error.into(),
            other => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, other.to_string()),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Problem::new(refusal.status, refusal.message)
    }
}

impl From<JoinError> for Problem {
    fn from(_: JoinError) -> Self {
        broken("the work on this request stopped early")
    }
}

impl From<AcquireError> for Problem {
    fn from(_: AcquireError) -> Self {
        broken("the server is ending")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = json_response(self.status, &json!({ "error": self.message }));
        let headers = response.headers_mut();
        match self.status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
            }
            _ => {}
        }
        response
    }
}

/// A short answer in JSON.
pub fn json_response(status: StatusCode, value: &impl serde::Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => (status, [(header::CONTENT_TYPE, "application/json")], body).into_response(),
        // Plain data of our own always serialises.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
