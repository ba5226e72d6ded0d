//! The survey of a pair in `weir mesh run --survey`: runs on the host, is copied here as a database, and is stored as
//! parts of the mesh's run.

use std::path::{Path, PathBuf};

use weir_mesh::run::{Executor, Fault, Order};
use weir_mesh::ssh::SshExecutor;
use weir_results::{MeshTest, RunId};

use super::super::Failure;
use super::super::run_store::RunStore;

/// The result of a test, and the database of the survey after it, if requested.
pub struct Measured {
    /// The test.
    pub test: MeshTest,
    /// Local file of the survey.
    pub survey: Option<Result<PathBuf, Fault>>,
}

/// Runs the survey of a pair, if the order requests it and the run was not stopped.
pub fn make(
    executor: &SshExecutor<'_>,
    order: &Order,
    index: usize,
    stopped: bool,
) -> Option<Result<PathBuf, Fault>> {
    if !order.shape.survey || stopped {
        return None;
    }
    // The order's word is random, and the file must be new: no other user's file is written.
    let file = std::env::temp_dir().join(format!("weir-survey-{}-{index}.db", order.token));
    let made = executor.survey(order.pairs[index], &order.shape, &file);
    if made.is_err() {
        remove(&file);
    }
    Some(made.map(|()| file))
}

/// Stores the runs of a survey as parts of `parent`, and removes the file. Returns the number of the survey's run, and
/// the bytes that it sent, at most `most`.
pub fn keep(
    store: &RunStore,
    parent: RunId,
    file: &Path,
    name: &str,
    most: u64,
) -> Result<(RunId, u64), Failure> {
    let taken = store.store().adopt(file, parent, name);
    remove(file);
    let run = taken?
        .first()
        .copied()
        .ok_or_else(|| Failure::environment("its database has no run"))?;
    let sent = store.store().run(run)?.summary["bytes"].as_u64();
    Ok((run, sent.unwrap_or(most).min(most)))
}

/// Removes a database and its journal files.
fn remove(file: &Path) {
    for end in ["", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(end);
        // Most of them do not exist.
        let _ = std::fs::remove_file(PathBuf::from(name));
    }
}
