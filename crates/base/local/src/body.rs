//! The body of a request, read within bounds. It must not know what it says.

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use http_body_util::LengthLimitError;
use tokio::time::timeout;

use crate::connections::Bounds;
use crate::guard::Refusal;

/// The whole body of a request.
///
/// # Errors
/// When it is too long, takes too long, or ends early.
pub async fn read_body(body: Body, bounds: Bounds) -> Result<Bytes, Refusal> {
    let refuse = |status, message: &str| Refusal {
        status,
        message: message.to_owned(),
    };
    let too_long = || {
        refuse(
            StatusCode::PAYLOAD_TOO_LARGE,
            &format!("the body of a request may have {} bytes at most", bounds.body),
        )
    };
    // Who says beforehand that it is too much need not send it.
    let claimed = http_body::Body::size_hint(&body).lower();
    if claimed > bounds.body as u64 {
        return Err(too_long());
    }
    match timeout(bounds.request, axum::body::to_bytes(body, bounds.body)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if error_is_length(&error) => Err(too_long()),
        Ok(Err(_)) => Err(refuse(
            StatusCode::BAD_REQUEST,
            "the body of the request ended early",
        )),
        Err(_) => Err(refuse(
            StatusCode::REQUEST_TIMEOUT,
            "the body of the request took too long",
        )),
    }
}

fn error_is_length(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<LengthLimitError>())
}
