//! The tests of a run once more over the twin of its path. It must not know how a twin is made, nor what its tests should say.

use std::collections::BTreeSet;

use weir_diagnose::{Measured, Twin, load};
use weir_measure::flows::FlowsPlan;
use weir_results::{RunId, Store};

use crate::host::HostModel;
use crate::observed::ObserveError;
use crate::path::Path;

/// Makes the RTT test and every flow test of a run over its twin between usual hosts, keeps them in a store, and returns
/// each with the run that it repeats.
///
/// # Errors
/// When no packet arrives, a test is beyond the usual limits, or the store fails.
pub fn repeat(
    measured: &Measured,
    twin: &Twin,
    store: &mut Store,
) -> Result<Vec<(RunId, Measured)>, ObserveError> {
    let host = HostModel::default();
    let mut path = Path::new(&twin.link, &host, &host, &measured.target, twin.link.seed)?.marked();
    let mut repeated = Vec::new();
    if let Some(test) = &measured.rtt {
        let made = path.rtt(&test.plan, store)?;
        repeated.push((test.run, load(store, made.run)?));
    }
    let mut seen = BTreeSet::new();
    for test in &measured.flow_tests {
        if !seen.insert(test.run) {
            continue;
        }
        let plan = FlowsPlan {
            length: test.payload,
            ..test.plan.clone()
        };
        let made = path.flows(&plan, store)?;
        repeated.push((test.run, load(store, made.run)?));
    }
    Ok(repeated)
}
