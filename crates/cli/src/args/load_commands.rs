//! The command line of `weir load`: one run, or a subcommand.

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
    /// Subcommand, instead of one run.
    #[command(subcommand)]
    pub command: Option<LoadCommand>,
    /// One run.
    #[command(flatten)]
    pub load: LoadArgs,
}

/// Subcommands of `weir load`.
#[derive(Clone, Debug, Subcommand)]
pub enum LoadCommand {
    /// Find the maximum number of viewers that an origin can serve.
    ///
    /// Doubles the number of viewers until a condition of --hold fails, then bisects between the largest number that
    /// passed and the smallest that failed, with repeated trials of each number, up to --precision. Reports the number
    /// with its interval, and whether this host, and not the origin, was the limit. Each trial is stored as a run.
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
}

/// Arguments of `weir load find-capacity`.
#[derive(Clone, Debug, Args)]
pub struct FindCapacityArgs {
    /// Behaviour of viewers.
    #[command(flatten)]
    pub load: LoadArgs,
    /// Condition that must hold, as in 'p99 < 500ms'; may be given more than once. The metrics are those of --fail-if.
    #[arg(long, value_name = "EXPR", required = true, help_heading = "Searching")]
    pub hold: Vec<FailIf>,
    /// Number of viewers to start with.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=1_000_000), help_heading = "Searching")]
    pub from: u32,
    /// Maximum number of viewers to try.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = value_parser!(u32).range(1..=1_000_000), help_heading = "Searching")]
    pub most: u32,
    /// Measured duration of each trial.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = TimeSpan::positive, help_heading = "Searching")]
    pub step: TimeSpan,
    /// Warm-up before each trial, during which viewers arrive; not measured.
    #[arg(long, value_name = "TIME", default_value = "3s", help_heading = "Searching")]
    pub settle: TimeSpan,
    /// Number of trials per decisive number of viewers; the majority decides.
    #[arg(long, value_name = "N", default_value = "3", value_parser = ["1", "3", "5", "7", "9"], help_heading = "Searching")]
    pub repeats: String,
    /// Precision of the result, as a share of the number of viewers.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = precision, help_heading = "Searching")]
    pub precision: f64,
}

/// Parses a share such as 5%.
fn precision(text: &str) -> Result<f64, String> {
    let wrong = || format!("'{text}' is not a share from 0% to 100%; write it like 5%");
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
