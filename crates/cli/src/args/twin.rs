//! Arguments of `weir twin`.

use std::path::PathBuf;

use clap::Args;

use super::RunName;

/// Arguments of `weir twin`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir twin last -o path.toml
    $ weir twin last --check
    $ weir lab run path.toml -- weir survey far

Exit status: 0 done; 2 wrong arguments, or the file exists; 3 cannot read the run or write the file.")]
pub struct TwinArgs {
    /// Number of the run, or 'last'; a survey includes all its steps.
    #[arg(value_name = "RUN")]
    pub run: RunName,
    /// File to write the link to [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(short, long, requires = "output")]
    pub force: bool,
    /// Make every test of the run over the twin in virtual time, and print both side by side in place of the link.
    #[arg(long)]
    pub check: bool,
}
