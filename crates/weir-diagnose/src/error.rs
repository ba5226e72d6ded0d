//! Why a run cannot be diagnosed, in words for the person who asked. It must not know how a diagnosis is made.

use weir_results::{RunId, StoreError};

/// Why there is no diagnosis.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiagnoseError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What the run says of itself is not what this Weir writes.
    #[error(
        "cannot read the {what} of run {run}: {source}; it was recorded by Weir {weir_version}: diagnose it with that \
         version, or measure again"
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
}
