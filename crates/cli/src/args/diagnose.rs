//! Arguments of `weir diagnose`.

use clap::{Args, ValueEnum};

use super::RunName;
use crate::units::{Share, TimeSpan};

/// Arguments of `weir diagnose`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir diagnose last -v
    $ weir diagnose 12 --target-loss 0.00001% --latency 40ms --json
    $ weir diagnose last --survive flow
    $ weir diagnose last --fail-on fault

Exit status: 0 done; 1 --fail-on matched; 2 wrong arguments; 3 the run or the database cannot be read.")]
pub struct DiagnoseArgs {
    /// Number of the run, or 'last'; a survey includes all its steps.
    #[arg(value_name = "RUN")]
    pub run: RunName,
    /// Target residual loss [default: one packet per hour of the media].
    #[arg(long, value_name = "PERCENT")]
    pub target_loss: Option<Share>,
    /// Time that repairs may take [default: 100 ms, as 'weir recv' waits].
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::positive)]
    pub latency: Option<TimeSpan>,
    /// Recommend settings that lose nothing while a flow, or the busiest route, is dark for a second.
    #[arg(long, value_name = "WHAT")]
    pub survive: Option<Survive>,
    /// Exit with status 1 if there is a finding of at least this severity.
    #[arg(long, value_name = "SEVERITY")]
    pub fail_on: Option<FailOn>,
}

/// What --survive means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Survive {
    /// One flow is dark for a second.
    Flow,
    /// The route with the most flows is dark for a second.
    Route,
}

/// Severities for --fail-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Affects the choice of settings, or worse.
    Notice,
    /// Harms media.
    Fault,
}
