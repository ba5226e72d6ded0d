//! Arguments that put what was measured in place of what a population assumes.

use std::path::PathBuf;

use clap::Args;

use super::RunIn;

/// What was measured.
#[derive(Clone, Debug, Args)]
pub struct MeasuredOptions {
    /// Traces of throughput in place of the rates of lines: JSON as Sabre has it, lines as '5s 10Mbit/s', or lines of seconds and
    /// Mbit/s. Each household has one of them, from a random step on.
    #[arg(
        long,
        value_name = "FILE",
        num_args = 1..,
        value_delimiter = ',',
        conflicts_with_all = ["mesh", "resume"]
    )]
    pub traces: Vec<PathBuf>,
    /// Pairs of a mesh in place of rates and RTTs of lines: a run of this results store, or FILE:RUN.
    #[arg(long, value_name = "RUN", conflicts_with = "resume")]
    pub mesh: Option<RunIn>,
    /// Sizes of a film's segments in place of titles: JSON as Sabre has it.
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub sizes: Option<PathBuf>,
}
