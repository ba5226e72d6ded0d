//! Arguments of `weir lab tune`.

use clap::Args;
use weir_units::TimeSpan;

use super::lab_population::threads;
use super::{MeasuredOptions, RunName};

/// Arguments of `weir lab tune`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir lab tune homes --households 400
    $ weir lab tune mine.toml --paces top:1.5,top:2,top:3,sammy:3.2,2.8 --bursts auto,4 --harm-weight 20
    $ weir lab tune homes --traces monday.csv,tuesday.csv
    $ weir lab tune homes --mesh last --sizes film.json
    $ weir lab tune --check last
    $ weir lab tune --resume last")]
pub struct LabTuneArgs {
    /// Population of 'weir lab population --list', or your own TOML file.
    #[arg(value_name = "NAME|FILE", required_unless_present_any = ["resume", "check"])]
    pub population: Option<String>,
    /// Paces that players ask for, as 'weir load --pace'.
    #[arg(
        long,
        value_name = "LIST",
        default_value = "top:1,top:1.1,top:1.25,top:1.5,top:1.75,top:2,top:2.5,top:3,top:4,sammy:2,1.25,sammy:2,1.5,sammy:2,2,\
            sammy:3.2,1.25,sammy:3.2,1.5,sammy:3.2,2,sammy:3.2,2.8,sammy:5,1.25,sammy:5,1.5,sammy:5,2,sammy:5,2.8"
    )]
    pub paces: String,
    /// Bursts of the server, as 'weir origin --pace-burst'.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "auto,1")]
    pub bursts: Vec<String>,
    /// How many percent of gain one percent of harm outweighs.
    #[arg(long, value_name = "N", default_value_t = 10.0)]
    pub harm_weight: f64,
    /// Play every candidate with all households.
    #[arg(long)]
    pub exhaustive: bool,
    /// Maximum number of sessions.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub max_sessions: u64,
    /// Number of households that the last candidates are played with [default: that of the file].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=weir_population::MOST_HOUSEHOLDS))]
    pub households: Option<u64>,
    /// Random seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Number of threads [default: number of cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Continue an interrupted run.
    #[arg(
        long,
        value_name = "RUN",
        conflicts_with_all = ["population", "paces", "bursts", "harm_weight", "exhaustive", "households", "seed"]
    )]
    pub resume: Option<RunName>,
    /// Measure what a finished search recommends over an emulated link in real time, as 'weir lab pacing' does, beside what the
    /// model says.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["population", "resume"])]
    pub check: Option<RunName>,
    /// Repeats of --check.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub repeats: u32,
    /// With --check: repeat a trial whose packets left the link later than this (P99).
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub max_lateness: TimeSpan,
    /// What was measured.
    #[command(flatten)]
    pub measured: MeasuredOptions,
}

impl LabTuneArgs {
    /// Number of threads.
    pub fn threads(&self) -> usize {
        threads(self.threads)
    }
}
