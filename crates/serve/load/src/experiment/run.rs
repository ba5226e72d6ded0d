//! The runs of an experiment, one after the other on a bench. It must not know what a bench does.

use std::collections::BTreeSet;

use super::file::Experiment;
use super::matrix::Cell;
use super::outcome::Done;

/// Makes runs: against origins, or modelled.
pub trait Bench {
    /// Why a run cannot be made.
    type Error;
    /// Makes one; none if it was interrupted.
    ///
    /// # Errors
    /// When no run can be made any more.
    fn measure(&mut self, cell: &Cell) -> Result<Option<Done>, Self::Error>;
}

/// The runs that are left when these are done.
pub fn left(experiment: &Experiment, done: &[Done]) -> Vec<Cell> {
    let keys: BTreeSet<String> = done.iter().map(|done| done.cell.key()).collect();
    let mut cells = experiment.cells();
    cells.retain(|cell| !keys.contains(&cell.key()));
    cells
}

/// Makes the runs that are left until one is interrupted, or `next`, which hears their numbers before each, says no.
///
/// # Errors
/// The bench's; what was measured before is in `done`.
pub fn make<B: Bench>(
    experiment: &Experiment,
    done: &mut Vec<Done>,
    bench: &mut B,
    next: &dyn Fn(usize, &[Cell]) -> bool,
) -> Result<(), B::Error> {
    let left = left(experiment, done);
    for (number, cell) in left.iter().enumerate() {
        if !next(number, &left) {
            break;
        }
        match bench.measure(cell)? {
            Some(one) => done.push(one),
            None => break,
        }
    }
    Ok(())
}
