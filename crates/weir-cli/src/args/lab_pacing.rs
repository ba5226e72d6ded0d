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
    /// A scenario of --list, or a TOML file of your own.
    #[arg(value_name = "NAME|FILE", required_unless_present_any = ["list", "show"])]
    pub scenario: Option<String>,
    /// List the scenarios that come with Weir.
    #[arg(long, conflicts_with_all = ["scenario", "show"])]
    pub list: bool,
    /// Print the text of one of them.
    #[arg(long, value_name = "NAME", conflicts_with = "scenario")]
    pub show: Option<String>,
    /// How often each variant is measured [default: as the scenario says].
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=50))]
    pub repeats: Option<u32>,
    /// Congestion controls, each measured apart: reno, cubic, bbr [default: as the scenario says].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub congestion: Vec<String>,
    /// How long is measured each time [default: as the scenario says].
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::positive)]
    pub duration: Option<TimeSpan>,
    /// Only this case of the scenario; may be given more than once.
    #[arg(long, value_name = "CASE")]
    pub case: Vec<String>,
    /// Only this variant beside the first; may be given more than once.
    #[arg(long, value_name = "VARIANT")]
    pub only: Vec<String>,
    /// Most that the 99th percentile of the link's own lateness may be; a trial that exceeds it is made again.
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub max_lateness: TimeSpan,
}
