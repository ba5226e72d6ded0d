//! Arguments of `weir lab traps`.

use clap::Args;

/// Arguments of `weir lab traps`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir lab traps
    $ weir lab traps --list
    $ weir lab traps dashjs-rtp --json
    $ weir lab traps --show current-rung > mine.toml; weir lab traps mine.toml")]
pub struct LabTrapsArgs {
    /// Trap of --list, or your own TOML file [default: all built-in traps].
    #[arg(value_name = "NAME|FILE")]
    pub scenario: Option<String>,
    /// List the built-in traps.
    #[arg(long, conflicts_with_all = ["scenario", "show"])]
    pub list: bool,
    /// Print the text of this trap.
    #[arg(long, value_name = "NAME", conflicts_with = "scenario")]
    pub show: Option<String>,
}
