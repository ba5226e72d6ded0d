//! What the user changes: notes and tags, and runs that are to go. It must not know what else is in a run.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use weir_local::read_body;

use crate::app::App;
use crate::list::entry;
use crate::problem::{Problem, json_response};
use crate::runs::RunNumber;

/// New note and tags of a run; what is left out stays as it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    note: Option<String>,
    tags: Option<Vec<String>>,
}

/// `PATCH /api/v1/runs/ID`.
pub async fn change(
    State(app): State<Arc<App>>,
    RunNumber(run): RunNumber,
    body: Body,
) -> Result<Response, Problem> {
    let body = read_body(body, app.limits.bounds()).await?;
    let change: Change = serde_json::from_slice(&body).map_err(|error| {
        Problem::bad_request(format!(
            "the body has to be JSON as {{\"note\": \"text\", \"tags\": [\"word\"]}}, either may be left out: {error}"
        ))
    })?;
    app.write(move |store| Ok(store.describe(run, change.note.as_deref(), change.tags.as_deref())?))
        .await?;
    Ok(json_response(StatusCode::OK, &entry(&app, run).await?))
}

/// `DELETE /api/v1/runs/ID`.
pub async fn delete(State(app): State<Arc<App>>, RunNumber(run): RunNumber) -> Result<Response, Problem> {
    app.write(move |store| Ok(store.delete_run_gently(run)?)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
