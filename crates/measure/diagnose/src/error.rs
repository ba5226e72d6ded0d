//! Why a run cannot be diagnosed, in words for the person who asked. It must not know how a diagnosis is made.

use weir_results::{RunId, StoreError};

/// Why there is no diagnosis.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiagnoseError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run's parameters or summary are not what this Weir writes.
    #[error(
        "cannot read the {what} of run {run}: {}; it was recorded by Weir {}: diagnose it with that version, or measure \
         again",
        line(source),
        line(weir_version)
    )]
    Unreadable {
        /// The run.
        run: RunId,
        /// Its `parameters` or its `summary`.
        what: &'static str,
        /// Version of the Weir that recorded it.
        weir_version: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A number that no measurement gives.
    #[error(
        "run {run} has {value} in the column {column} of the table {table}, where a measurement has {expected}: the \
         database was changed or damaged, or an agent made it up; measure again, or delete it with 'weir runs delete {run}'"
    )]
    Implausible {
        /// The run.
        run: RunId,
        /// The table.
        table: &'static str,
        /// The column, with the place in it where it holds more than a number.
        column: String,
        /// What is there.
        value: String,
        /// What may be there.
        expected: String,
    },
    /// The run has no measurement that says anything about a path.
    #[error(
        "run {run} holds no {missing}: there is nothing to diagnose; measure again, and let it run longer"
    )]
    Nothing {
        /// The run.
        run: RunId,
        /// What would have been needed.
        missing: &'static str,
    },
    /// The run carried media and measured nothing besides.
    #[error(
        "run {run} carried media and measured nothing: there is nothing to diagnose; see 'weir runs show {run}' and 'weir \
         report {run}'"
    )]
    Carried {
        /// The run.
        run: RunId,
    },
    /// Packets were sent, and none arrived: neither loss nor routes nor rates are known.
    #[error(
        "no packet was received of {sent} that run {run} sent, so nothing is known of the path; check that the far host is \
         up and that UDP to the agent's ports (--udp-ports there) passes, then measure again"
    )]
    Unheard {
        /// The run.
        run: RunId,
        /// Packets that were sent.
        sent: u64,
    },
    /// The link file of a twin was not what a link file is: a fault of Weir's own.
    #[error(
        "cannot read back the twin of run {run}: {source}; this is a fault of Weir: please report it with the run"
    )]
    Twin {
        /// The run.
        run: RunId,
        /// What is wrong with it.
        source: weir_link::ProfileError,
    },
}

/// What may hold text of the database, as one line that can be read.
fn line(text: &impl std::fmt::Display) -> String {
    const MOST_SHOWN: usize = 200;
    let text = text.to_string();
    let mut short: String = text
        .chars()
        .take(MOST_SHOWN)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    if text.chars().nth(MOST_SHOWN).is_some() {
        short.push_str("...");
    }
    short
}
