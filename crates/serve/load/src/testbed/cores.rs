//! The cores of origin, generator and storage.

use serde::Serialize;
use weir_net::affinity;

use super::error::TestbedError;
use crate::experiment::{Experiment, Storage};

/// Cores, counted from 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cores {
    /// Cores of the origin.
    pub origin: Vec<usize>,
    /// Cores of the generator.
    pub generator: Vec<usize>,
    /// Cores of the storage; none where it is elsewhere.
    pub storage: Option<Vec<usize>>,
    /// Number of cores that this process may use.
    pub available: usize,
}

/// The cores that the file names; by default the first for the origin and the others for the rest.
///
/// # Errors
/// When the file names a core that this process may not use.
pub fn choose(experiment: &Experiment) -> Result<Cores, TestbedError> {
    let available = affinity::cores()
        .map_err(|error| TestbedError::Failed(format!("cannot read the cores of this process: {error}")))?;
    among(experiment, &available)
}

fn among(experiment: &Experiment, available: &[usize]) -> Result<Cores, TestbedError> {
    let origin = named("origin", experiment.origin.cores.as_ref(), available)?;
    let origin = origin.unwrap_or_else(|| available.iter().take(1).copied().collect());
    let others: Vec<usize> = available
        .iter()
        .filter(|core| !origin.contains(core))
        .copied()
        .collect();
    let others = if others.is_empty() {
        available.to_vec()
    } else {
        others
    };
    let generator = named("generator", experiment.generator.cores.as_ref(), available)?;
    let storage = match &experiment.storage {
        Storage::Location(_) => None,
        Storage::Served { cores, .. } => {
            Some(named("storage", cores.as_ref(), available)?.unwrap_or_else(|| others.clone()))
        }
    };
    Ok(Cores {
        origin,
        generator: generator.unwrap_or(others),
        storage,
        available: available.len(),
    })
}

fn named(
    whose: &str,
    cores: Option<&Vec<usize>>,
    available: &[usize],
) -> Result<Option<Vec<usize>>, TestbedError> {
    let Some(cores) = cores else { return Ok(None) };
    let missing = cores.iter().find(|core| !available.contains(core));
    match (missing, cores.is_empty()) {
        (_, true) => Err(TestbedError::Asked(format!(
            "{whose}: cores is empty; remove it, or name cores"
        ))),
        (Some(core), _) => Err(TestbedError::Asked(format!(
            "{whose}: core {core} is not available to this process; available: {available:?}"
        ))),
        (None, false) => Ok(Some(cores.clone())),
    }
}

impl Cores {
    /// Text for the page.
    pub fn words(&self) -> String {
        let list = |cores: &[usize]| cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let mut text = format!(
            "Origin on core {}, generator on core {}",
            list(&self.origin),
            list(&self.generator)
        );
        if let Some(storage) = &self.storage {
            text.push_str(&format!(", storage on core {}", list(storage)));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment(places: &str) -> Experiment {
        let text = format!(
            "name = \"x\"\n{places}\n[titles]\nduration = \"60s\"\naudio = \"132kbit/s\"\n[[part]]\nname = \"p\"\n\
             configurations = [\"A\"]\nsegments = [\"2s\"]\nvideo = [\"1Mbit/s\"]\nviewers = [\"1\"]\nduration = \"2s\"\n"
        );
        crate::experiment::read(&text).expect("an experiment")
    }

    #[test]
    fn the_origin_has_cores_of_its_own_where_there_are_two() {
        let chosen = |places: &str, available: &[usize]| among(&experiment(places), available);
        let one = chosen("", &[3]).expect("cores");
        assert_eq!(
            (one.origin, one.generator, one.storage),
            (vec![3], vec![3], Some(vec![3]))
        );
        let four = chosen("", &[0, 1, 2, 3]).expect("cores");
        assert_eq!((four.origin, four.generator), (vec![0], vec![1, 2, 3]));
        let named = chosen("origin.cores = [2, 3]\nstorage.cores = [0]", &[0, 1, 2, 3]).expect("cores");
        assert_eq!(
            (named.origin, named.generator, named.storage),
            (vec![2, 3], vec![0, 1], Some(vec![0]))
        );
        let missing = chosen("generator.cores = [9]", &[0, 1]).expect_err("no such core");
        assert!(
            missing
                .to_string()
                .contains("generator: core 9 is not available to this process")
        );
        assert!(chosen("origin.cores = []", &[0, 1]).is_err());
    }
}
