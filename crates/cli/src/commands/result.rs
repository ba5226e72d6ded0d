//! The result of a stored run: one JSON object for machines, or a table for people with notes and the run below it.

use serde::Serialize;
use serde_json::{Value, json};
use weir_results::{Outcome, RunId};

use super::Failure;
use super::output::print;
use super::run_store::RunStore;

/// A run whose result is printed.
pub struct StoredResult<'a> {
    store: &'a RunStore,
    run: RunId,
    kind: &'static str,
    outcome: Outcome,
    notes: &'a [String],
}

impl<'a> StoredResult<'a> {
    /// Of this run.
    pub fn new(
        store: &'a RunStore,
        run: RunId,
        kind: &'static str,
        outcome: Outcome,
        notes: &'a [String],
    ) -> Self {
        StoredResult {
            store,
            run,
            kind,
            outcome,
            notes,
        }
    }

    /// Prints it, as JSON or as a table.
    pub fn print(
        &self,
        as_json: bool,
        summary: &impl Serialize,
        table: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if as_json {
            print(&format!("{}\n", self.json(summary)))
        } else {
            print(&self.text(&table()))
        }
    }

    /// `run` identifies the stored run, the rest is the summary.
    fn json(&self, summary: &impl Serialize) -> Value {
        let mut object = json!({
            "run": {
                "id": self.run,
                "kind": self.kind,
                "outcome": self.outcome.as_str(),
                "database": self.store.path().display().to_string(),
            },
            "notes": self.notes,
        });
        if let (Some(object), Value::Object(fields)) =
            (object.as_object_mut(), super::run_store::json(summary))
        {
            object.extend(fields);
        }
        object
    }

    /// The table, and the lines below it: notes and the stored run.
    pub fn text(&self, table: &str) -> String {
        let mut text = table.to_owned();
        for note in self.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        let ended = match self.outcome {
            Outcome::Finished => String::new(),
            outcome => format!(" ({outcome})"),
        };
        let (run, path) = (self.run, self.store.path().display());
        text.push_str(&format!("run {run}{ended} kept in {path}\n"));
        text
    }
}
