//! Arguments of `weir watch`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand};
use weir_alarm::Hook;
use weir_units::UtcTime;

use super::events::command;
use super::evidence::{Since, pair, since};

/// The command line of `weir watch`.
#[derive(Clone, Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    subcommand_help_heading = "Other commands",
    subcommand_value_name = "COMMAND"
)]
pub struct WatchCommandLine {
    /// Subcommand, instead of watching.
    #[command(subcommand)]
    pub command: Option<WatchCommand>,
    /// What is watched.
    #[command(flatten)]
    pub watch: WatchArgs,
}

/// Subcommands of `weir watch`.
#[derive(Clone, Debug, Subcommand)]
pub enum WatchCommand {
    /// Print what the past of watched paths says: trends, patterns by the time of day, rare events, and whose fault.
    ///
    /// Reads the results store, also while a watcher writes it, and a merged one. Trends are slopes of daily P50, P90 and loss
    /// since the last step; the time of day is compared over days; rates of rare events have exact bounds; events of several
    /// paths at the same time are attributed to a pair, a host, a zone or everything.
    History(WatchHistoryArgs),
}

/// Arguments of `weir watch history`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir watch history
    $ weir watch history --pair lon..ams --since 90d
    $ weir watch history --rates --since 2026-03-01 --until 2026-04-01 --json")]
pub struct WatchHistoryArgs {
    /// Only this path, as names of its near and far host in the watcher's file.
    #[arg(long, value_name = "NEAR..FAR", value_parser = pair)]
    pub pair: Option<(String, String)>,
    /// Start of the span: a time in UTC, or how long before its end.
    #[arg(long, value_name = "TIME", value_parser = since, default_value = "30d")]
    pub since: Since,
    /// End of the span, a time in UTC [default: now].
    #[arg(long, value_name = "TIME")]
    pub until: Option<UtcTime>,
    /// Print rates of rare events, and these alone.
    #[arg(long)]
    pub rates: bool,
}

/// Arguments of `weir watch`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir watch watch.toml --plan
    $ weir watch watch.toml --webhook https://alerts.example.net/weir
    $ weir watch mesh.toml --as lon --db /var/lib/weir/watch.db --json")]
pub struct WatchArgs {
    /// File (TOML) with hosts, pairs, kinds of measurements and the budget.
    #[arg(value_name = "FILE", required = true)]
    pub file: Option<PathBuf>,
    /// Print the schedule with its traffic and cost, and exit.
    #[arg(long)]
    pub plan: bool,
    /// Name of this host in the file [default: its 'here'].
    #[arg(long = "as", value_name = "NAME")]
    pub here: Option<String>,
    /// File with the token of agents whose host has no 'token-file'.
    ///
    /// Without this option, the token is the value of the environment variable WEIR_TOKEN.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Run a shell command at each event, with the event as JSON on its standard input; may be given more than once.
    ///
    /// The main fields are in the environment as well: WEIR_EVENT, WEIR_STATE, WEIR_FROM, WEIR_TO, WEIR_SUBJECT and WEIR_DETAIL. A
    /// command is killed after 10 s.
    #[arg(long, value_name = "COMMAND", action = ArgAction::Append, value_parser = command, help_heading = "Events")]
    pub on_event: Vec<Hook>,
    /// POST each event as JSON to a URL; may be given more than once.
    ///
    /// A request that fails is repeated after 1 s and 3 s. Redirects are not followed.
    #[arg(long, value_name = "URL", action = ArgAction::Append, value_parser = Hook::webhook, help_heading = "Events")]
    pub webhook: Vec<Hook>,
    /// Post alarms to the Alertmanager at a URL such as http://alerts:9093; may be given more than once.
    ///
    /// What stands is posted again every minute, and ends by itself five minutes after the last time.
    #[arg(long, value_name = "URL", action = ArgAction::Append, value_parser = Hook::alertmanager, help_heading = "Events")]
    pub alertmanager: Vec<Hook>,
    /// Export metrics as OTLP to a collector at a URL such as http://127.0.0.1:4318, every 15 s; may be given more than once.
    #[arg(long, value_name = "URL", action = ArgAction::Append, value_parser = Hook::otlp, help_heading = "Events")]
    pub otlp: Vec<Hook>,
    /// Show the watched paths on a web page at http://ADDR:PORT, for users of this host; port 0 selects a free port and prints it.
    ///
    /// Only addresses of this host, such as 127.0.0.1:4780: for other hosts, run 'weir ui' with a token beside it.
    #[arg(long, value_name = "ADDR:PORT", help_heading = "Events")]
    pub page: Option<SocketAddr>,
    /// Serve metrics as OpenMetrics at http://ADDR:PORT/metrics; port 0 selects a free port and prints it.
    #[arg(long, value_name = "ADDR:PORT", help_heading = "Events")]
    pub metrics: Option<SocketAddr>,
}
