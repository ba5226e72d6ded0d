//! From a measurement in virtual time to runs in a results store, as the commands would have recorded it. It must not
//! know how a measurement is made.

use serde::Serialize;
use serde_json::Value;
use thiserror::Error;
use weir_net::host::HostFacts;
use weir_results::{NewRun, Outcome, Record, RunId, Store, StoreError};

/// Why a measurement could not be simulated.
#[derive(Debug, Error)]
pub enum SimulationError {
    /// The results store.
    #[error("cannot record the simulated run: {0}")]
    Store(#[from] StoreError),
    /// The plan does not pass the checks of the real measurement.
    #[error("cannot simulate the measurement: {0}")]
    Plan(#[from] weir_measure::MeasureError),
    /// The link is not valid.
    #[error("cannot simulate the link: {0}")]
    Link(#[from] weir_link::SpecError),
    /// No packet arrived where the real measurement would have stopped, too.
    #[error("the {step} step cannot continue: {reason}")]
    Blocked {
        /// Kind of the step.
        step: &'static str,
        /// The missing packets.
        reason: &'static str,
    },
}

/// Records and their times, virtual nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    rows: Vec<(u64, Record)>,
}

impl Recording {
    pub fn add(&mut self, now: u64, record: Record) {
        self.rows.push((now, record));
    }

    /// The records of both, sorted by time.
    pub fn merged(self, other: Recording) -> Vec<(u64, Record)> {
        let mut rows = self.rows;
        rows.extend(other.rows);
        rows.sort_by_key(|(now, _)| *now);
        rows
    }
}

/// Both hosts of a measurement, as in runs.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub target: String,
    pub interface_mtu: u32,
    /// The link that runs name, which marks them as simulated.
    pub lab_link: Option<String>,
}

impl Pair {
    /// A run that begins at Unix time `started`.
    pub fn run(
        &self,
        kind: &str,
        parent: Option<RunId>,
        parameters: &impl Serialize,
        started: u64,
    ) -> NewRun {
        NewRun {
            kind: kind.to_owned(),
            target: self.target.clone(),
            parent,
            parameters: json(parameters),
            local_host: json(&self.facts("simulated-near")),
            started_unix_ns: started,
            weir_version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Begins a run, with the facts of the far host.
    pub fn begin(&self, store: &Store, run: &NewRun) -> Result<RunId, StoreError> {
        let id = store.begin_run(run)?;
        store.set_remote_host(id, &json(&self.facts(&self.target)))?;
        if self.lab_link.is_some() {
            store.set_tags(id, &["simulated".to_owned()])?;
        }
        Ok(id)
    }

    fn facts(&self, name: &str) -> HostFacts {
        HostFacts {
            name: name.to_owned(),
            cores: 2,
            interface: Some("sim0".to_owned()),
            mtu: Some(self.interface_mtu),
            lab_link: self.lab_link.clone(),
            ..HostFacts::default()
        }
    }
}

/// Stores one finished run and its records.
pub(crate) fn store_run(
    store: &mut Store,
    pair: &Pair,
    run: &NewRun,
    records: &[Record],
    ended_unix_ns: u64,
    summary: &Value,
) -> Result<RunId, StoreError> {
    let id = pair.begin(store, run)?;
    store.append(id, records)?;
    store.end_run(id, Outcome::Finished, None, ended_unix_ns, summary)?;
    Ok(id)
}

/// A JSON value for the store.
pub(crate) fn json(value: &impl Serialize) -> Value {
    // Our own plain data always serialises; null would only leave the column empty.
    serde_json::to_value(value).unwrap_or(Value::Null)
}
