//! A random network, surveyed and diagnosed: the whole chain from packets over the store to findings. It must not know
//! the expected findings.

use thiserror::Error;
use weir_diagnose::{DiagnoseError, Diagnosis, Measured, diagnose, load};
use weir_results::{Store, StoreError};

use crate::networks::{Fault, Network};
use crate::path::{Path, START_UNIX_NS, Surveyed};
use crate::record::SimulationError;

/// Name of the far host in runs.
const TARGET: &str = "192.0.2.2";
/// Time between two surveys of a pair.
const BETWEEN_NS: u64 = 3_600_000_000_000;

/// A network and its diagnosis.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The network.
    pub network: Network,
    /// The survey, with its true values.
    pub survey: Surveyed,
    /// The input of the diagnosis.
    pub measured: Measured,
    /// The diagnosis.
    pub diagnosis: Diagnosis,
}

impl Observed {
    /// The same with each of the network's faults as its first one.
    pub fn by_fault(&self) -> Vec<Observed> {
        let with = |fault: &Fault| {
            let mut first = self.clone();
            first.network.more = self.network.faults().cloned().collect();
            first.network.fault = fault.clone();
            first
        };
        self.network.faults().map(with).collect()
    }
}

/// Why a network could not be observed.
#[derive(Debug, Error)]
pub enum ObserveError {
    /// The measurement.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The results store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The diagnosis.
    #[error(transparent)]
    Diagnosis(#[from] DiagnoseError),
}

/// Surveys a network into a store at `database`, which must be new, and diagnoses the survey.
///
/// # Errors
/// When no packet arrives, or the store fails.
pub fn observe(network: &Network, database: &std::path::Path) -> Result<Observed, ObserveError> {
    let mut store = Store::open(database)?;
    if let Some(before) = &network.before {
        let seed = !network.seed;
        Path::new(before, &network.near, &network.far, TARGET, seed)?.survey(
            &network.plan,
            &mut store,
            &mut |_| {},
        )?;
    }
    let path = Path::new(&network.link, &network.near, &network.far, TARGET, network.seed)?;
    let survey = path
        .starting_at(START_UNIX_NS + BETWEEN_NS)
        .behind(network.middlebox, network.seed)
        .survey(&network.plan, &mut store, &mut |_| {})?;
    let measured = load(&store, survey.run)?;
    Ok(Observed {
        network: network.clone(),
        diagnosis: diagnose(&measured),
        measured,
        survey,
    })
}
