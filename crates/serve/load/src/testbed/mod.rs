//! The testbed of an experiment: its storage behind an emulated distance, an origin for each run as a process on its own
//! cores, and the experiment's run in the results store. It must not know how an origin works inside: it starts one and
//! reads its metrics.

mod cores;
mod error;
mod kept;
mod origin;
mod storage;

use std::path::Path;

pub use cores::{Cores, choose};
pub use error::TestbedError;
pub use kept::{KIND, Kept, find};
pub use origin::Origin;
use origin::run_on;
use storage::Storage;

use crate::experiment::{Cell, Experiment, Storage as From};

/// Storage and cores of an experiment.
pub struct Testbed<'a> {
    experiment: &'a Experiment,
    cores: &'a Cores,
    storage: Option<Storage>,
    place: String,
}

impl<'a> Testbed<'a> {
    /// Starts the storage, if the experiment serves it, and moves this thread to the generator's cores. `said` takes what
    /// the storage complains of.
    ///
    /// # Errors
    /// When the storage does not start, or a core is not this host's.
    pub fn set_up(
        experiment: &'a Experiment,
        titles_folder: &Path,
        cores: &'a Cores,
        said: impl Fn(&str) + Send + 'static,
    ) -> Result<Self, TestbedError> {
        let (storage, place) = match &experiment.storage {
            From::Location(place) => (None, place.clone()),
            From::Served { folder, delay, .. } => {
                let folder = folder.as_deref().map_or(titles_folder, Path::new);
                if let Some(cores) = &cores.storage {
                    run_on(cores)?;
                }
                let storage = Storage::start(folder, *delay, said)?;
                let place = storage.place();
                (Some(storage), place)
            }
        };
        run_on(&cores.generator)?;
        Ok(Testbed {
            experiment,
            cores,
            storage,
            place,
        })
    }

    /// Time to first byte of a read from the storage.
    pub fn storage_first_byte_ns(&self) -> Option<u64> {
        self.storage.as_ref()?.first_byte_ns("nothing-of-this-name")
    }

    /// Starts the origin of a run; it ends when it is dropped.
    ///
    /// # Errors
    /// When it does not start.
    pub fn origin(&self, cell: &Cell) -> Result<Origin, TestbedError> {
        let options = self.experiment.origin_options(cell);
        let (own, generator) = (&self.cores.origin, &self.cores.generator);
        Origin::start(&self.place, &options, own, generator)
    }
}
