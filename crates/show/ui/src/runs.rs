//! What is drawn of one run: its data for the page, and the file of a report. It must not know what is in either.

use std::io::Write;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use weir_report::{PAGE, ReportData, report_data, write_page};
use weir_results::RunId;
use weir_simulate::BY_TRIAL;

use crate::app::App;
use crate::bodies::written;
use crate::problem::Problem;

/// The run that a path names.
pub struct RunNumber(pub RunId);

impl<S: Send + Sync> FromRequestParts<S> for RunNumber {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let unknown = || {
            Problem::new(
                StatusCode::NOT_FOUND,
                "this names no run; runs have numbers from 1 on",
            )
        };
        let number: Result<Path<String>, PathRejection> = Path::from_request_parts(parts, state).await;
        let Path(number) = number.map_err(|_| unknown())?;
        let number = number.parse().ok().filter(|number| *number > 0);
        number.map(|number| RunNumber(RunId(number))).ok_or_else(unknown)
    }
}

/// `GET /api/v1/runs/ID/data`.
pub async fn data(
    State(app): State<Arc<App>>,
    RunNumber(run): RunNumber,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    Ok(packed(document(&app, run).await?, &headers))
}

/// A document as JSON, compressed for clients that take it so.
pub fn packed(data: impl Serialize + Send + 'static, headers: &HeaderMap) -> Response {
    let packed = accepts_gzip(headers);
    let body = written(move |out| {
        if packed {
            // To a client on this host, time matters more than length.
            let mut out = GzEncoder::new(out, Compression::fast());
            serde_json::to_writer(&mut out, &data)?;
            return out.finish().map(drop);
        }
        Ok(serde_json::to_writer(out, &data)?)
    });
    let mut response = answer("application/json", body);
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if packed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// `GET /api/v1/runs/ID/report`.
pub async fn report(State(app): State<Arc<App>>, RunNumber(run): RunNumber) -> Result<Response, Problem> {
    let data = document(&app, run).await?;
    let body = written(move |out: &mut dyn Write| write_page(PAGE, &data, out));
    let mut response = answer("text/html; charset=utf-8", body);
    let name = format!("attachment; filename=\"weir-run-{run}.html\"");
    if let Ok(name) = HeaderValue::try_from(name) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

fn answer(kind: &'static str, body: Body) -> Response {
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

/// The document of a run. The database is let go of before anything is sent, so that no slow client keeps SQLite from
/// tidying up behind a test that writes.
async fn document(app: &Arc<App>, run: RunId) -> Result<ReportData, Problem> {
    let turn = app.documents.clone().acquire_owned().await?;
    app.read(move |store| {
        let _turn = turn;
        report_data(store, &[run], unix_ns(), &BY_TRIAL)
    })
    .await
}

/// This host's clock, Unix nanoseconds.
pub fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Whether a client takes gzip: named, or by a star, with any weight but 0.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let refused = |part: &str| {
        part.trim()
            .strip_prefix("q=")
            .and_then(|weight| weight.trim().parse::<f32>().ok())
            .is_some_and(|weight| weight <= 0.0)
    };
    let taken = |coding: &str| {
        let mut parts = coding.split(';');
        let name = parts.next().unwrap_or_default().trim();
        let parts: Vec<&str> = parts.collect();
        (name.eq_ignore_ascii_case("gzip") || name == "*") && !parts.into_iter().any(refused)
    };
    headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        let accepts = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            accepts_gzip(&headers)
        };
        for value in ["gzip", "gzip, deflate, br", "br;q=1.0, GZIP;q=0.5", "*"] {
            assert!(accepts(value), "{value}");
        }
        for value in ["", "identity", "br", "gzip;q=0", "gzip; q=0.0", "gzipped"] {
            assert!(!accepts(value), "{value}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }
}
