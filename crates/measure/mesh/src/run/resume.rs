//! The order of a run that was interrupted, from what a store has of it.

use std::collections::BTreeMap;

use weir_record::RunId;
use weir_results::{MeshFilter, Store, StoreError};

use super::Order;
use crate::filter::Over;

/// Why a run cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The results store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It is another kind of run.
    #[error("cannot resume run {0}: it is not an interrupted 'weir mesh run'")]
    Unfit(RunId),
    /// It is complete.
    #[error("nothing to resume: all {1} tests of run {0} completed")]
    Complete(RunId, usize),
}

impl Order {
    /// The order of an interrupted run, without the completed tests. Folders keep their names, so that leftovers of the
    /// run on hosts are replaced.
    ///
    /// # Errors
    /// When there is nothing to resume.
    pub fn resume(store: &Store, run: RunId) -> Result<Order, ResumeError> {
        let parameters = store.run(run)?.parameters;
        let order: Order = serde_json::from_value(parameters).map_err(|_| ResumeError::Unfit(run))?;
        if !order.is_sound() {
            return Err(ResumeError::Unfit(run));
        }
        let filter = MeshFilter {
            runs: vec![run],
            failed: false,
        };
        let done: BTreeMap<(String, String, Over), u64> = store
            .mesh_tests(&filter)?
            .into_iter()
            .map(|(_, test)| {
                let over = Over::of(&test.details);
                ((test.from.host, test.to.host, over), test.bytes)
            })
            .collect();
        let mut left = order.without(&done);
        if left.pairs.is_empty() {
            return Err(ResumeError::Complete(run, done.len()));
        }
        left.resumes = Some(run.0);
        Ok(left)
    }
}
