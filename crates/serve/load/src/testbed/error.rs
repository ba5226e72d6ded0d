//! Why an experiment cannot go on.

use thiserror::Error;
use weir_results::StoreError;

use crate::engine::LoadError;

/// Why an experiment cannot go on.
#[derive(Debug, Error)]
pub enum TestbedError {
    /// The user has to ask for something else.
    #[error("{0}")]
    Asked(String),
    /// A process, a port or a core.
    #[error("{0}")]
    Failed(String),
    /// The generator.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The results store.
    #[error(transparent)]
    Store(#[from] StoreError),
}
