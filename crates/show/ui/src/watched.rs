//! Watched paths in a span. It must not know what is drawn of them.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use weir_report::{WatchedQuery, watched as document};

use crate::app::App;
use crate::problem::Problem;
use crate::runs::packed;

/// What to read: the end of the span, Unix seconds, and its length in seconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    from: Option<String>,
    to: Option<String>,
    host: Option<String>,
    until: Option<u64>,
    over: Option<u64>,
}

/// `GET /api/v1/watch`.
pub async fn watched(
    State(app): State<Arc<App>>,
    filter: Result<Query<Filter>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Query(filter) = filter.map_err(|error| Problem::bad_request(error.body_text()))?;
    let pair = match (filter.from, filter.to) {
        (Some(from), Some(to)) => Some((from, to)),
        (None, None) => None,
        _ => return Err(Problem::bad_request("from and to belong together")),
    };
    let in_ns = |seconds: u64| seconds.saturating_mul(1_000_000_000);
    let query = WatchedQuery {
        pair,
        host: filter.host,
        until_ns: filter.until.map(in_ns),
        over_ns: filter.over.map(in_ns),
    };
    if query.over_ns == Some(0) {
        return Err(Problem::bad_request("over has to be 1 or more"));
    }
    let turn = app.documents.clone().acquire_owned().await?;
    let data = app
        .read(move |store| {
            let _turn = turn;
            document(store, &query)
        })
        .await?;
    Ok(packed(data, &headers))
}
