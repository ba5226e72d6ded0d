//! Follows a run that is being recorded, as server-sent events. It reads what the run's own process stores; it must not
//! know how that measures.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::sleep;
use weir_local::ended;
use weir_results::{Outcome, Run, RunFilter, RunId, SoFar, Store, StoreError};

use crate::app::App;
use crate::bodies::{Pieces, pieces};
use crate::problem::Problem;
use crate::runs::{RunNumber, unix_ns};

/// Parts of parts of a run that are looked into.
const DEPTH: usize = 4;

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Progress {
    /// Since it began, by this host's clock.
    elapsed_ns: u64,
    /// Until it ends as planned; none where no plan says.
    left_ns: Option<u64>,
    /// Payload of the newest second; none where no rate is measured.
    rate_bits: Option<u64>,
    /// Of all packets so far; none before there are any.
    loss: Option<f64>,
    outcome: Outcome,
}

#[derive(Serialize)]
struct Ended {
    outcome: Outcome,
}

/// What is known of a run that is followed.
#[derive(Default)]
struct Followed {
    measured: Option<RunId>,
    so_far: SoFar,
}

impl Followed {
    /// A look at the run: how far it is, or how it ended.
    fn look(&mut self, store: &Store, run: RunId) -> Result<Result<Progress, Ended>, StoreError> {
        let head = store.run(run)?;
        let outcome = head.outcome;
        if outcome != Outcome::Running {
            return Ok(Err(Ended { outcome }));
        }
        let measured = newest_part(store, run)?;
        if self.measured != Some(measured) {
            *self = Followed {
                measured: Some(measured),
                ..Followed::default()
            };
        }
        store.count_on(measured, &mut self.so_far)?;
        let elapsed_ns = unix_ns().saturating_sub(head.started_unix_ns);
        Ok(Ok(Progress {
            elapsed_ns,
            left_ns: planned_ns(&head).map(|planned| planned.saturating_sub(elapsed_ns)),
            rate_bits: self.so_far.rate,
            loss: self.so_far.loss(),
            outcome,
        }))
    }
}

/// The run itself, or the part of it that began last.
fn newest_part(store: &Store, run: RunId) -> Result<RunId, StoreError> {
    let mut newest = run;
    for _ in 0..DEPTH {
        let filter = RunFilter {
            parent: Some(newest),
            limit: Some(1),
            ..RunFilter::default()
        };
        match store.runs(&filter)?.first() {
            Some(part) => newest = part.id,
            None => break,
        }
    }
    Ok(newest)
}

/// How long a run was meant to take: its parameters say so, those of a step under the name of its kind.
fn planned_ns(run: &Run) -> Option<u64> {
    let duration = |plan: &Value| plan.get("duration_ns")?.as_u64();
    duration(&run.parameters).or_else(|| duration(run.parameters.get(&run.kind)?))
}

/// `GET /api/v1/runs/ID/events`.
pub async fn events(State(app): State<Arc<App>>, RunNumber(run): RunNumber) -> Result<Response, Problem> {
    let place = app.streams.clone().try_acquire_owned().map_err(|_| {
        Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!(
                "{} runs are being followed already; close another page of this server",
                app.limits.streams
            ),
        )
    })?;
    // The first look is part of the answer: a run that does not exist is no stream.
    let mut followed = Followed::default();
    let (followed, first) = app
        .read(move |store| {
            let first = followed.look(store, run)?;
            Ok::<_, StoreError>((followed, first))
        })
        .await?;
    let (pieces, body) = pieces();
    tokio::spawn(follow(app, run, followed, first, pieces, place));
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], body).into_response())
}

/// Sends what is seen until the run has ended, the client has left, the server ends, or the database cannot be read: then
/// the stream ends without `ended`, and whoever asks again gets the reason.
async fn follow(
    app: Arc<App>,
    run: RunId,
    mut followed: Followed,
    first: Result<Progress, Ended>,
    pieces: Pieces,
    _place: OwnedSemaphorePermit,
) {
    let mut seen = first;
    let mut stopping = app.stopping.clone();
    loop {
        let piece = match &seen {
            Ok(progress) => event("progress", progress),
            Err(ended) => event("ended", ended),
        };
        if pieces.send(Ok(piece)).await.is_err() || seen.is_err() {
            return;
        }
        tokio::select! {
            () = sleep(app.limits.refresh) => {}
            () = pieces.closed() => return,
            () = ended(&mut stopping) => return,
        }
        let looked = app
            .read(move |store| {
                let seen = followed.look(store, run)?;
                Ok::<_, StoreError>((followed, seen))
            })
            .await;
        match looked {
            Ok(next) => (followed, seen) = next,
            Err(_) => return,
        }
    }
}

/// JSON has no line breaks, so that one line of data holds it.
fn event(name: &str, data: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
    format!("event: {name}\ndata: {data}\n\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_planned_is_found_where_runs_and_steps_keep_it() {
        let planned = |kind: &str, parameters: &str| {
            let run = format!(
                r#"{{"run_id": 1, "parent_run_id": null, "kind": "{kind}", "target": "", "started_unix_ns": 0,
                    "ended_unix_ns": null, "last_unix_ns": 0, "outcome": "running", "reason": null,
                    "local_host": null, "remote_host": null, "parameters": {parameters}, "summary": null,
                    "weir_version": "", "merged_records": 0, "lost_records": 0}}"#
            );
            planned_ns(&serde_json::from_str(&run).expect("a run"))
        };
        assert_eq!(planned("rtt", r#"{"duration_ns": 7}"#), Some(7));
        assert_eq!(planned("flows", r#"{"flows": {"duration_ns": 8}}"#), Some(8));
        assert_eq!(planned("flows", r#"{"flows": 4, "duration_ns": 9}"#), Some(9));
        assert_eq!(planned("survey", r#"{"step_ns": 7}"#), None);
        assert_eq!(planned("mtu", r#""mtu""#), None);
        assert_eq!(planned("lab", "null"), None);
    }

    #[test]
    fn an_event_is_two_lines_and_a_blank_one() {
        let ended = Ended {
            outcome: Outcome::Failed,
        };
        assert_eq!(
            event("ended", &ended),
            "event: ended\ndata: {\"outcome\":\"failed\"}\n\n"
        );
    }
}
