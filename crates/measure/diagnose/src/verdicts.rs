//! The verdict on a run for lists: taken from the results store, or made and stored there. It must not know what a list
//! looks like.

use weir_results::{Outcome, Run, RunFilter, RunId, RunVerdict, Store, StoreError};

use crate::{DiagnoseError, Diagnosis, Options, Severity, diagnose_with, load};

/// Runs within runs that are looked into: a mesh has surveys, which have steps.
const DEEPEST: u32 = 3;

impl Diagnosis {
    /// The diagnosis in short.
    pub fn verdict(&self) -> RunVerdict {
        let count = |severity: Severity| {
            let of = self
                .findings
                .iter()
                .filter(|finding| finding.severity == severity);
            of.count() as u64
        };
        RunVerdict {
            answer: Some(self.answer.verdict.as_str().to_owned()),
            faults: count(Severity::Fault),
            notices: count(Severity::Notice),
            worst: self.answer.worst.as_ref().map(|worst| worst.brief.clone()),
        }
    }
}

/// The verdict on a run: the stored one, or else made, and stored where the database can be written. None for a run that
/// is being recorded, and for one without a diagnosis.
///
/// # Errors
/// When the database cannot be read or has no such run.
pub fn verdict(store: &Store, run: RunId) -> Result<Option<RunVerdict>, StoreError> {
    if let Some(known) = store.verdict(run, env!("CARGO_PKG_VERSION"))? {
        return Ok(known);
    }
    let run = store.run(run)?;
    if run.outcome == Outcome::Running {
        return Ok(None);
    }
    let made = make(store, &run, 0)?;
    // Who may not write makes it again each time.
    let _ = Store::open_existing(store.path()).and_then(|writable| keep(&writable, &run, made.as_ref()));
    Ok(made)
}

/// Makes the verdict on a run that has just ended and stores it; a part of another run gets none of its own.
///
/// # Errors
/// When the database cannot be read or written, or has no such run.
pub fn record_verdict(store: &Store, run: RunId) -> Result<(), StoreError> {
    let run = store.run(run)?;
    if run.parent.is_some() {
        return Ok(());
    }
    keep(store, &run, make(store, &run, 0)?.as_ref())
}

/// Stores the verdict that a diagnosis is.
///
/// # Errors
/// When the database cannot be written or has no such run.
pub fn record_diagnosis(store: &Store, diagnosis: &Diagnosis) -> Result<(), StoreError> {
    keep(
        store,
        &store.run(RunId(diagnosis.run))?,
        Some(&diagnosis.verdict()),
    )
}

fn keep(store: &Store, run: &Run, verdict: Option<&RunVerdict>) -> Result<(), StoreError> {
    store.set_verdict(run.id, run.last_unix_ns, env!("CARGO_PKG_VERSION"), verdict)
}

/// By the run's own diagnosis; without one, the sum over its parts.
fn make(store: &Store, run: &Run, depth: u32) -> Result<Option<RunVerdict>, StoreError> {
    // No list shows the recommendation, which alone needs trials.
    let options = Options::default();
    match load(store, run.id) {
        Ok(measured) => return Ok(Some(diagnose_with(&measured, &options).verdict())),
        // A damaged row is a property of that run, and no reason to stop a list.
        Err(DiagnoseError::Store(error)) if !matches!(error, StoreError::StrangeValue { .. }) => {
            return Err(error);
        }
        Err(_) => {}
    }
    if depth == DEEPEST {
        return Ok(None);
    }
    let parts = store.runs(&RunFilter {
        parent: Some(run.id),
        ..RunFilter::default()
    })?;
    let mut sum: Option<RunVerdict> = None;
    for part in &parts {
        if let Some(found) = make(store, part, depth + 1)? {
            sum = Some(sum.map_or(
                RunVerdict {
                    answer: None,
                    ..found.clone()
                },
                |sum| plus(sum, found),
            ));
        }
    }
    Ok(sum)
}

fn plus(sum: RunVerdict, part: RunVerdict) -> RunVerdict {
    let worse = part.faults > 0 && sum.faults == 0;
    let (first, second) = if worse {
        (part.worst, sum.worst)
    } else {
        (sum.worst, part.worst)
    };
    RunVerdict {
        answer: None,
        faults: sum.faults + part.faults,
        notices: sum.notices + part.notices,
        worst: first.or(second),
    }
}
