//! Arguments of `weir report`.

use std::path::PathBuf;

use clap::Args;

use super::RunName;

/// Arguments of `weir report`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir report last
    $ weir report 12 15 -o both-clouds.html --open

Exit status: 0 done; 2 wrong arguments, or the file exists; 3 cannot read the runs or write the file.")]
pub struct ReportArgs {
    /// Numbers of the runs, or 'last'; a survey includes all its steps.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<RunName>,
    /// File to write [default: weir-run-N.html in the working directory].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(short, long)]
    pub force: bool,
    /// Open the report in the browser.
    #[arg(long)]
    pub open: bool,
}
