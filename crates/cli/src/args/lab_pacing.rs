//! Arguments of `weir lab pacing`.

use clap::{Args, value_parser};

use crate::units::TimeSpan;

/// Arguments of `weir lab pacing`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir lab pacing --list
    $ weir lab pacing keynote-voip
    $ weir lab pacing keynote-voip --repeats 1 --for 10s --congestion cubic
    $ weir lab pacing --show sammy-lab > mine.toml; weir lab pacing mine.toml --only sammy")]
pub struct LabPacingArgs {
    /// Scenario of --list, or your own TOML file.
    #[arg(value_name = "NAME|FILE", required_unless_present_any = ["list", "show"])]
    pub scenario: Option<String>,
    /// List the built-in scenarios.
    #[arg(long, conflicts_with_all = ["scenario", "show"])]
    pub list: bool,
    /// Print the text of this scenario.
    #[arg(long, value_name = "NAME", conflicts_with = "scenario")]
    pub show: Option<String>,
    /// Number of trials of each variant [default: set by the scenario].
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=50))]
    pub repeats: Option<u32>,
    /// Congestion controls to measure, one after the other: reno, cubic, bbr [default: set by the scenario].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub congestion: Vec<String>,
    /// Measured duration of each trial [default: set by the scenario].
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::positive)]
    pub duration: Option<TimeSpan>,
    /// Run only this case of the scenario; may be given more than once.
    #[arg(long, value_name = "CASE")]
    pub case: Vec<String>,
    /// Run only this variant besides the first; may be given more than once.
    #[arg(long, value_name = "VARIANT")]
    pub only: Vec<String>,
    /// Maximum P99 lateness of the link itself; a trial above it is repeated.
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub max_lateness: TimeSpan,
}
