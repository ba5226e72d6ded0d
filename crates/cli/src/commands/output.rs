//! Standard output: one JSON object for machines, or tables for people, and the closing lines of every result.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};
use weir_results::{Outcome, RunId};

use super::Failure;
use super::run_store::{RunStore, Stored};

/// Prints a line on standard error. Ignores a standard error that is closed or full, which must not affect the
/// measurement (`eprintln!` would panic).
pub fn say(line: &str) {
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// Prints `text`; a closed pipe is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::environment(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// A result as one JSON object: `run` identifies the stored run, the rest is the summary.
pub fn print_json(
    store: &RunStore,
    run: RunId,
    kind: &str,
    outcome: Outcome,
    summary: &impl Serialize,
    notes: &[String],
) -> Result<(), Failure> {
    let mut object = json!({
        "run": {
            "id": run,
            "kind": kind,
            "outcome": outcome.as_str(),
            "database": store.path().display().to_string(),
        },
        "notes": notes,
    });
    if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), super::run_store::json(summary)) {
        object.extend(fields);
    }
    print(&format!("{object}\n"))
}

/// Notes about rows that the store merged or dropped.
pub fn storing_notes(stored: &Stored) -> Vec<String> {
    let mut notes = Vec::new();
    if stored.merged > 0 {
        notes.push(format!(
            "the disk was slow: {} rows of seconds were merged",
            stored.merged
        ));
    }
    if stored.lost > 0 {
        notes.push(format!("the disk was slow: {} rows were dropped", stored.lost));
    }
    notes
}

/// The lines below a table: notes and the stored run.
pub fn closing_lines(store: &RunStore, run: RunId, outcome: Outcome, notes: &[String]) -> String {
    let mut text = String::new();
    for note in notes {
        text.push_str(&format!("note: {note}\n"));
    }
    let ended = if outcome == Outcome::Finished {
        String::new()
    } else {
        format!(" ({outcome})")
    };
    text.push_str(&format!("run {run}{ended} kept in {}\n", store.path().display()));
    text
}
