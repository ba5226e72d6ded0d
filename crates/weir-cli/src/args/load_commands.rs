//! Arguments of what `weir load` does besides one run.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What `weir load` does besides one run.
#[derive(Clone, Debug, Subcommand)]
pub enum LoadCommand {
    /// Make a matrix of runs, against origins that it starts and stops itself.
    ///
    /// Reads from a file which configurations, durations of segments, bit rates and numbers of viewers to combine, makes
    /// the titles with ffmpeg where they are not there, and runs each combination in an order by chance, against an origin
    /// of its own on cores of its own. Each is kept as a run; the tables of all and the model of throughput are printed,
    /// and written as a page with -o. It goes on with --resume where it was cut short.
    Experiment(ExperimentArgs),
}

/// Arguments of `weir load experiment`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir load experiment experiments/quick.toml
    $ weir load experiment experiments/vod-object-storage.toml -o docs/results/vod-object-storage.md
    $ weir load experiment experiments/vod-object-storage.toml --resume")]
pub struct ExperimentArgs {
    /// File that describes the experiment (TOML), see docs/experiments.md.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Go on with the newest run of this experiment: what it has finished is not made again.
    #[arg(long)]
    pub resume: bool,
    /// Print which runs it would make, in their order, and how long they take.
    #[arg(long, conflicts_with_all = ["resume", "output"])]
    pub plan: bool,
    /// Write the result as a page (Markdown) into this file.
    #[arg(short, long, value_name = "PAGE")]
    pub output: Option<PathBuf>,
    /// Folder that titles are made in, once for all experiments that play the same.
    #[arg(long, value_name = "DIR", default_value = "weir-titles")]
    pub titles_folder: PathBuf,
    /// What the page calls this machine [default: its cores, processor and kernel].
    #[arg(long, value_name = "TEXT")]
    pub machine: Option<String>,
}
