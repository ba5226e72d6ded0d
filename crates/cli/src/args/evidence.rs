//! Arguments of `weir evidence`.

use std::path::PathBuf;

use clap::Args;
use weir_units::{TimeSpan, UtcTime};

/// Arguments of `weir evidence`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir evidence --pair lon..ams --since 7d
    $ weir evidence --pair lon..ams --since 2026-03-01 --until 2026-03-02T06:00:00Z -o case-4711.tar.gz

Exit status: 0 done; 2 wrong arguments, or the file exists; 3 cannot read the store or write the file.")]
pub struct EvidenceArgs {
    /// Path, as names of its near and far host in the watcher's file.
    #[arg(long, value_name = "NEAR..FAR", value_parser = pair)]
    pub pair: (String, String),
    /// Start of the span: a time in UTC, or how long before its end, such as 7d.
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Since,
    /// End of the span, a time in UTC [default: now].
    #[arg(long, value_name = "TIME")]
    pub until: Option<UtcTime>,
    /// File to write [default: evidence-NEAR-FAR.tar.gz in the working directory].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(short, long)]
    pub force: bool,
}

/// Start of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// A moment.
    At(UtcTime),
    /// So long before the end.
    Before(TimeSpan),
}

impl Since {
    /// The start of a span that ends at `until_ns`, both Unix nanoseconds; none if it is not before the end.
    pub fn before(self, until_ns: u64) -> Option<u64> {
        let since_ns = match self {
            Since::At(moment) => moment.0,
            Since::Before(span) => until_ns.saturating_sub(span.0),
        };
        (since_ns < until_ns).then_some(since_ns)
    }
}

pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once("..") {
        Some((near, far)) if !near.is_empty() && !far.is_empty() => Ok((near.to_owned(), far.to_owned())),
        _ => Err("this is no pair; write it like lon..ams".into()),
    }
}

pub(super) fn since(text: &str) -> Result<Since, String> {
    let span = TimeSpan::positive(text).map(Since::Before);
    // Of what is neither, the error about the time shows the right form.
    span.or_else(|_| text.parse().map(Since::At))
        .map_err(|error| format!("{error}, or a duration such as 7d"))
}
