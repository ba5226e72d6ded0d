//! Arguments of `weir runs` and its subcommands, and the names of runs.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::error::ErrorKind;
use clap::{Args, Subcommand, ValueEnum, value_parser};
use thiserror::Error;

/// A reference to a run, as given by the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunName {
    /// Number in the store, at least 1.
    Number(i64),
    /// The newest run that is not part of another.
    Last,
}

/// A text that is neither a number above 0 nor 'last'.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{0}' is not a run; give a number from 'weir runs list', or 'last' for the newest")]
pub struct RunNameError(String);

impl FromStr for RunName {
    type Err = RunNameError;

    fn from_str(text: &str) -> Result<Self, RunNameError> {
        if text == "last" {
            return Ok(RunName::Last);
        }
        let number = text.parse().ok().filter(|number| *number > 0);
        number
            .map(RunName::Number)
            .ok_or_else(|| RunNameError(text.to_owned()))
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunName::Number(number) => number.fmt(f),
            RunName::Last => f.write_str("last"),
        }
    }
}

/// Subcommands of `weir runs`.
#[derive(Clone, Debug, Subcommand)]
pub enum RunsCommand {
    /// List runs, newest first.
    ///
    /// Shows the number, kind, far host, start, duration, outcome and number of findings of each run. The steps of
    /// surveys are left out unless --parts asks for them.
    #[command(after_help = "\
Example:
    $ weir runs list --kind flows --limit 5")]
    List(ListRuns),
    /// Show one run: the answer, its findings, parameters, hosts and results.
    ///
    /// Prints whether the path carries the media, the findings in one line each (with -v, their evidence), when and how
    /// the run ended, how many rows each table has, and its parameters, both hosts and its summary as JSON.
    #[command(after_help = "\
Example:
    $ weir runs show last --json")]
    Show {
        /// Number of the run, or 'last'.
        #[arg(value_name = "RUN")]
        run: RunName,
    },
    /// Export a run for other programs.
    ///
    /// JSON holds the data of a report: the run and its steps with their series, long series summed into bins. CSV
    /// holds every row of one table, with a header; JSONL holds every row of the run, one object per line: first the
    /// run itself, then the rows of its tables.
    #[command(after_help = "\
Example:
    $ weir runs export 12 --as csv --table flow_seconds -o flows.csv
    $ weir runs export last --as json
    $ weir runs export 12 --as jsonl -o run12.jsonl")]
    Export(ExportRun),
    /// Set the note of a run.
    ///
    /// The note replaces the one before; an empty one removes it. It may have several lines, 10,000 characters in all.
    #[command(after_help = "\
Example:
    $ weir runs note 12 'before the move to the other zone'
    $ weir runs note last ''")]
    Note {
        /// Number of the run, or 'last'.
        #[arg(value_name = "RUN")]
        run: RunName,
        /// Text of the note.
        #[arg(value_name = "TEXT", allow_hyphen_values = true)]
        text: String,
    },
    /// Add tags to a run, remove them, or show them.
    ///
    /// A tag is one word of up to 50 characters, and a run has up to 20. Without any to add or to remove, the tags are
    /// shown.
    #[command(after_help = "\
Example:
    $ weir runs tag 12 oracle frankfurt --remove draft
    $ weir runs tag last")]
    Tag {
        /// Number of the run, or 'last'.
        #[arg(value_name = "RUN")]
        run: RunName,
        /// Tags to add.
        #[arg(value_name = "TAG")]
        add: Vec<String>,
        /// A tag to remove; may be given several times.
        #[arg(long, value_name = "TAG")]
        remove: Vec<String>,
    },
    /// Merge load runs of several generators, shards of a population, or the stores of several watchers, exactly.
    ///
    /// Creates a new run of kind load from runs of 'weir load', from this results store or others. Counts are summed,
    /// and the distributions of times are added bucket by bucket, so that quantiles cover all requests together. Of runs
    /// of 'weir lab population --shard', the new run has the households of all. Of runs of 'weir watch', all that their results
    /// stores have of watched paths is added to the store of --db: merge each store once, into a new file.
    #[command(after_help = "\
Example:
    $ weir runs merge 7 8
    $ weir runs merge last generator-b.db:3 generator-c.db:3
    $ weir --db all.db runs merge lon.db:last ams.db:last")]
    Merge {
        /// Numbers of the runs, or 'last'; FILE:RUN for a run in another results store.
        #[arg(value_name = "RUN", required = true, num_args = 2..)]
        runs: Vec<RunIn>,
    },
    /// Delete runs and all their records.
    ///
    /// Deletion cannot be undone. If one of the runs does not exist, none is deleted.
    #[command(after_help = "\
Example:
    $ weir runs delete 3 4 7")]
    Delete {
        /// Numbers of the runs, or 'last'.
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<RunName>,
    },
}

/// A run in this results store or in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunIn {
    /// File of the other results store; none for this one.
    pub database: Option<PathBuf>,
    /// The run.
    pub run: RunName,
}

impl FromStr for RunIn {
    type Err = RunNameError;

    fn from_str(text: &str) -> Result<Self, RunNameError> {
        let (database, name) = match text.rsplit_once(':') {
            Some((file, name)) if !file.is_empty() => (Some(PathBuf::from(file)), name),
            _ => (None, text),
        };
        let run = name.parse().map_err(|_| RunNameError(text.to_owned()))?;
        Ok(RunIn { database, run })
    }
}

/// Arguments of `weir runs list`.
#[derive(Clone, Debug, Args)]
pub struct ListRuns {
    /// Only runs of this kind, such as survey, flows, rtt, mesh, load or lab.
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// List the steps of surveys, too.
    #[arg(long)]
    pub parts: bool,
    /// Maximum number of runs to list.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = value_parser!(u32).range(1..))]
    pub limit: u32,
    /// List all runs.
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
}

impl ListRuns {
    /// Maximum number of runs to list; none for all.
    pub fn limit(&self) -> Option<u32> {
        (!self.all).then_some(self.limit)
    }
}

/// Export formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportForm {
    /// One table, with a header line.
    Csv,
    /// The data of a report, one document.
    Json,
    /// Every row of the run, one object per line.
    Jsonl,
}

/// Arguments of `weir runs export`.
#[derive(Clone, Debug, Args)]
pub struct ExportRun {
    /// Number of the run, or 'last'.
    #[arg(value_name = "RUN")]
    pub run: RunName,
    /// Format to write.
    #[arg(long = "as", value_name = "FORM", default_value = "json")]
    pub form: ExportForm,
    /// Table to write as CSV, such as rtt_packets, stream_seconds or flow_seconds.
    #[arg(long, value_name = "TABLE", required_if_eq("form", "csv"))]
    pub table: Option<String>,
    /// File to write to [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl ExportRun {
    pub(super) fn check(&self) -> Result<(), (ErrorKind, &'static str)> {
        if self.form != ExportForm::Csv && self.table.is_some() {
            let text = "--table needs --as csv; the other forms always write the whole run";
            return Err((ErrorKind::ArgumentConflict, text));
        }
        Ok(())
    }
}
