//! Arguments of `weir watch`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgAction, Args};
use weir_alarm::Hook;

use super::events::command;

/// Arguments of `weir watch`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir watch watch.toml --plan
    $ weir watch watch.toml --webhook https://alerts.example.net/weir
    $ weir watch mesh.toml --as lon --db /var/lib/weir/watch.db --json")]
pub struct WatchArgs {
    /// File (TOML) with hosts, pairs, kinds of measurements and the budget.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
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
    /// Serve metrics as OpenMetrics at http://ADDR:PORT/metrics; port 0 selects a free port and prints it.
    #[arg(long, value_name = "ADDR:PORT", help_heading = "Events")]
    pub metrics: Option<SocketAddr>,
}
