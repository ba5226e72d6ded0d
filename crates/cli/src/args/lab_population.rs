//! Arguments of `weir lab population`.

use clap::Args;
use weir_population::Shard;

use super::{MeasuredOptions, RunName};

/// Arguments of `weir lab population`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir lab population homes --households 200
    $ weir lab population --show homes > mine.toml; weir lab population mine.toml
    $ weir lab population homes --traces monday.csv,tuesday.csv --sizes film.json
    $ weir lab population mine.toml --shard 2/8
    $ weir lab population --resume last")]
pub struct LabPopulationArgs {
    /// Population of --list, or your own TOML file.
    #[arg(
        value_name = "NAME|FILE",
        required_unless_present_any = ["list", "show", "resume"]
    )]
    pub population: Option<String>,
    /// List the built-in populations.
    #[arg(long, conflicts_with_all = ["population", "show", "resume"])]
    pub list: bool,
    /// Print the text of this population.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["population", "resume"])]
    pub show: Option<String>,
    /// Which households are played, and how.
    #[command(flatten)]
    pub options: HouseholdOptions,
}

/// Which households are played, and how.
#[derive(Clone, Debug, Args)]
pub struct HouseholdOptions {
    /// Number of households [default: that of the file].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=weir_population::MOST_HOUSEHOLDS))]
    pub households: Option<u64>,
    /// Random seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Play one part of several: every Nth household, from the Kth on; 'weir runs merge' adds up the parts.
    #[arg(long, value_name = "K/N", default_value = "1/1")]
    pub shard: Shard,
    /// Number of threads [default: number of cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Continue an interrupted run.
    #[arg(
        long,
        value_name = "RUN",
        conflicts_with_all = ["population", "households", "seed", "shard"]
    )]
    pub resume: Option<RunName>,
    /// What was measured.
    #[command(flatten)]
    pub measured: MeasuredOptions,
}

impl HouseholdOptions {
    /// Number of threads.
    pub fn threads(&self) -> usize {
        threads(self.threads)
    }
}

/// Number of threads that an option asks for.
pub fn threads(asked: Option<u16>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.map_or_else(cores, usize::from)
}
