//! Arguments of `weir lab grid`.

use clap::Args;

use super::HouseholdOptions;

/// Arguments of `weir lab grid`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir lab grid homes --households 50
    $ weir lab grid mine.toml --queues tail-drop:4bdp,fq-codel --congestion cubic --paces none,top:1.5,sammy:3.2,2.8
    $ weir lab grid --resume last")]
pub struct LabGridArgs {
    /// Population of 'weir lab population --list', or your own TOML file.
    #[arg(value_name = "NAME|FILE", required_unless_present = "resume")]
    pub population: Option<String>,
    /// Queues of every line, each with a limit or without one: KIND or KIND:LIMIT. The first is the base.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "tail-drop:2bdp,red,codel,pie,fq-codel,dualpi2"
    )]
    pub queues: Vec<String>,
    /// Congestion controls of all servers.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "reno,cubic,cubic-ecn,bbr,l4s"
    )]
    pub congestion: Vec<String>,
    /// Paces that players ask for, as 'weir load --pace'. The first is the base.
    #[arg(long, value_name = "LIST", default_value = "none,top:1.5,top:2,top:3")]
    pub paces: String,
    /// Maximum number of sessions.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub max_sessions: u64,
    /// Which households are played, and how.
    #[command(flatten)]
    pub options: HouseholdOptions,
}
