//! The list of runs, each with its verdict. It must not know how a diagnosis is made.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use weir_results::{Outcome, RunId, RunLine, RunQuery, RunVerdict, Store, StoreError};

use crate::app::App;
use crate::problem::{Problem, json_response};
use crate::verdicts::Asked;

/// Runs in a list when nobody says how many, and most of them.
const USUAL: usize = 100;
const MOST: usize = 500;
/// Kinds of which there are steps only, so that whoever asks for one wants steps.
const STEPS: [&str; 2] = ["mtu", "tcp"];

/// What to list; an empty word asks for nothing in particular.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    search: String,
    #[serde(default)]
    tag: String,
    limit: Option<usize>,
    before: Option<i64>,
}

/// A line of the list.
#[derive(Serialize)]
pub struct Entry {
    #[serde(flatten)]
    line: RunLine,
    verdict: Option<RunVerdict>,
}

#[derive(Serialize)]
struct List {
    runs: Vec<Entry>,
    more: bool,
    /// Kinds of the runs that stand alone, whatever the filter.
    kinds: Vec<String>,
}

/// `GET /api/v1/runs`.
pub async fn list(
    State(app): State<Arc<App>>,
    filter: Result<Query<Filter>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(filter) = filter.map_err(|error| Problem::bad_request(error.body_text()))?;
    let limit = filter.limit.unwrap_or(USUAL);
    if !(1..=MOST).contains(&limit) {
        return Err(Problem::bad_request(format!("limit has to be 1 to {MOST}")));
    }
    let given = |word: String| (!word.is_empty()).then_some(word);
    let query = RunQuery {
        parts: STEPS.contains(&filter.kind.as_str()),
        kind: given(filter.kind),
        search: filter.search,
        tag: given(filter.tag),
        before: filter.before.map(RunId),
        limit,
    };
    let read = move |store: &Store| Ok::<_, StoreError>((store.run_lines(&query)?, store.kinds()?));
    let ((lines, more), kinds) = app.read(read).await?;
    let runs = with_verdicts(&app, lines).await?;
    Ok(json_response(StatusCode::OK, &List { runs, more, kinds }))
}

/// One run as the list has it.
pub async fn entry(app: &Arc<App>, run: RunId) -> Result<Entry, Problem> {
    let line = app.read(move |store| store.run_line(run)).await?;
    let mut entries = with_verdicts(app, vec![line]).await?;
    entries
        .pop()
        .ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, format!("there is no run {run}")))
}

async fn with_verdicts(app: &Arc<App>, lines: Vec<RunLine>) -> Result<Vec<Entry>, Problem> {
    let asked: Vec<Asked> = lines
        .iter()
        .filter(|line| line.outcome != Outcome::Running)
        .map(|line| (line.id, line.last_unix_ns))
        .collect();
    let waits = app.clone();
    let mut known =
        tokio::task::spawn_blocking(move || waits.verdicts.ask(&asked, waits.limits.verdicts)).await?;
    let entry = |line: RunLine| Entry {
        verdict: known.remove(&line.id),
        line,
    };
    Ok(lines.into_iter().map(entry).collect())
}
