//! `weir origin index`: indexes of titles, built ahead.

use weir_cli::args::{GlobalOptions, IndexArgs};
use weir_measure::Stop;

use super::Failure;

/// Builds indexes until all are there, or it is interrupted.
pub fn run(_args: &IndexArgs, _global: &GlobalOptions, _stop: &Stop) -> Result<(), Failure> {
    Err(Failure::usage("indexes cannot be built ahead yet"))
}
