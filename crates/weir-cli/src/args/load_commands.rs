//! The command line of `weir load`: a run, or what it does besides one run.

use std::path::PathBuf;

use clap::{Args, Subcommand, value_parser};

use super::load::LoadArgs;
use crate::fail_if::FailIf;
use crate::units::TimeSpan;

/// The command line of `weir load`.
#[derive(Clone, Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    subcommand_help_heading = "Other commands",
    subcommand_value_name = "COMMAND"
)]
pub struct LoadCommandLine {
    /// What to do besides one run.
    #[command(subcommand)]
    pub command: Option<LoadCommand>,
    /// One run.
    #[command(flatten)]
    pub load: LoadArgs,
}

/// What `weir load` does besides one run.
#[derive(Clone, Debug, Subcommand)]
pub enum LoadCommand {
    /// Find the number of viewers that an origin holds.
    ///
    /// Tries numbers of viewers, each for a while: it doubles them until the quality breaks that --hold states, then goes to
    /// the middle between what held and what broke, each number several times, until the two are close. It gives the
    /// number with its interval, and says when this host was the limit and not the origin. Each trial is kept as a
    /// run.
    #[command(
        mut_arg("viewers", |arg| arg.hide(true)),
        mut_arg("over", |arg| arg.hide(true)),
        mut_arg("arrivals", |arg| arg.hide(true)),
        mut_arg("poisson", |arg| arg.hide(true)),
        mut_arg("duration", |arg| arg.hide(true)),
        mut_arg("rate", |arg| arg.hide(true)),
        mut_arg("locust_master", |arg| arg.hide(true)),
        mut_arg("fail_if", |arg| arg.hide(true)),
        mut_arg("stop_if", |arg| arg.hide(true)),
        after_help = "\
Example:
    $ weir load find-capacity http://127.0.0.1:8080/film/manifest.mpd --hold 'p99 < 500ms'
    $ weir load find-capacity http://127.0.0.1:8080/film/master.m3u8 --play real-time --hold 'rebuffer < 1%' --step 60s"
    )]
    FindCapacity(Box<FindCapacityArgs>),
    /// Make a matrix of runs, against origins that it starts and stops itself.
    ///
    /// Reads from a file which configurations, durations of segments, bit rates and numbers of viewers to combine, makes
    /// the titles with ffmpeg where they are not there, and runs each combination in an order by chance, against an origin
    /// of its own on cores of its own. Each is kept as a run; the tables of all and the model of throughput are printed,
    /// and written as a page with -o. It goes on with --resume where it was cut short.
    Experiment(ExperimentArgs),
}

/// Arguments of `weir load find-capacity`.
#[derive(Clone, Debug, Args)]
pub struct FindCapacityArgs {
    /// What viewers do.
    #[command(flatten)]
    pub load: LoadArgs,
    /// What has to hold, as in 'p99 < 500ms'; may be given more than once. The metrics are those of --fail-if.
    #[arg(long, value_name = "EXPR", required = true, help_heading = "Searching")]
    pub hold: Vec<FailIf>,
    /// The number of viewers to begin with.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=1_000_000), help_heading = "Searching")]
    pub from: u32,
    /// The largest number to try.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = value_parser!(u32).range(1..=1_000_000), help_heading = "Searching")]
    pub most: u32,
    /// How long each trial is measured.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = TimeSpan::positive, help_heading = "Searching")]
    pub step: TimeSpan,
    /// How long viewers come before that; it is not measured.
    #[arg(long, value_name = "TIME", default_value = "3s", help_heading = "Searching")]
    pub settle: TimeSpan,
    /// Trials of each number that decides; most of them decide.
    #[arg(long, value_name = "N", default_value = "3", value_parser = ["1", "3", "5", "7", "9"], help_heading = "Searching")]
    pub repeats: String,
    /// How close to come, as a share of the number.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = precision, help_heading = "Searching")]
    pub precision: f64,
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

/// Reads a share such as 5%.
fn precision(text: &str) -> Result<f64, String> {
    let wrong = || format!("'{text}' is no share from 0% to 100%; write it like 5%");
    let number = text.strip_suffix('%').ok_or_else(wrong)?;
    let share: f64 = number.trim().parse().map_err(|_| wrong())?;
    if (0.0..=100.0).contains(&share) {
        Ok(share / 100.0)
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::precision;

    #[test]
    fn shares() {
        assert_eq!(precision("5%"), Ok(0.05));
        for text in ["5", "-1%", "101%", "%", "NaN%"] {
            assert!(precision(text).is_err(), "{text}");
        }
    }
}
