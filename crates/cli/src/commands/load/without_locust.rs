//! In place of the Locust worker, in a build without it. The option stays, so that the refusal names the reason.

use super::super::Failure;
use crate::args::{GlobalOptions, LoadArgs};
use weir_measure::Stop;

/// Refuses: a locustfile without a worker would be of no use.
pub fn print_locustfile() -> Result<(), Failure> {
    Err(missing())
}

/// Refuses.
pub fn run(_: &LoadArgs, _: &str, _: &GlobalOptions, _: &Stop) -> Result<(), Failure> {
    Err(missing())
}

fn missing() -> Failure {
    Failure::usage("this build has no Locust worker; build weir with --features locust")
}
