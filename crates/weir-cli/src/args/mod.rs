//! The command line of `weir`: every subcommand, option, default and help text. It reads arguments and nothing
//! else; what they do is not known here.

mod agent;
mod diagnose;
mod flows;
mod lab;
mod lab_pacing;
mod lab_traps;
mod load;
mod load_commands;
mod load_player;
mod mesh;
mod mesh_machines;
mod neighbour;
mod origin;
mod origin_commands;
mod origin_pacing;
mod recv;
mod report;
mod rtt;
mod runs;
mod send;
mod survey;
mod traffic;
mod ui;

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};

use weir_media::raw::PixelFormat;

use crate::fail_if::FailIf;

pub use agent::AgentArgs;
pub use diagnose::{DiagnoseArgs, FailOn};
pub use flows::{FlowsArgs, Spread, Way};
pub use lab::{DEFAULT_LINK, End, LabCommand, LabRunArgs, LinkCommand, LinkOptions, LinkUpArgs};
pub use lab_pacing::LabPacingArgs;
pub use lab_traps::LabTrapsArgs;
pub use load::{HttpMode, LoadArgs, PerSecond, PlayMode, RungMode, TimeRange, Viewers};
pub use load_commands::{ExperimentArgs, FindCapacityArgs, LoadCommand, LoadCommandLine};
pub use load_player::PlayerArgs;
pub use mesh::{
    CostArgs, FilterArgs, ImportArgs, Least, MeshCommand, MeshExportArgs, MeshPlanArgs, MeshReportArgs,
    MeshRunArgs, ProbeArgs, RegionsArgs, ShapeArgs,
};
pub use mesh_machines::{LaunchArgs, MachineArgs, StatusArgs, SweepArgs, TaggedArgs};
pub use neighbour::{CongestionName, NeighbourArgs, NeighbourCommand, NeighbourServeArgs};
pub use origin::OriginArgs;
pub use origin_commands::{BucketStyle, DemoArgs, DrefArgs, IndexArgs, OriginCommand, StorageArgs};
pub use origin_pacing::PacingArgs;
pub use recv::{ConcealBy, JoinBy, RecvArgs, WriteAs};
pub use report::ReportArgs;
pub use rtt::RttArgs;
pub use runs::{ExportForm, ExportRun, ListRuns, RunIn, RunName, RunNameError, RunsCommand};
pub use send::{FecChoice, Numbers, Pace, SendArgs};
pub use survey::SurveyArgs;
pub use traffic::{DEFAULT_FORMAT, FORMAT_NAMES, Traffic};
pub use ui::UiArgs;

/// Most flows in one test.
pub const MOST_FLOWS: u16 = 1024;
/// Environment variable that holds the shared token itself.
pub const TOKEN_VARIABLE: &str = "WEIR_TOKEN";

/// Measure how a network carries media.
///
/// Weir finds out what the path to another host does to packets: how long they take, how many are lost and in
/// which patterns, and how much of a media stream it carries. Start 'weir agent' on the far host, then measure
/// from here. Every measurement is kept in a results store, one SQLite file.
#[derive(Debug, Parser)]
#[command(
    name = "weir",
    version,
    subcommand_required = true,
    arg_required_else_help = true
)]
#[command(after_help = "\
Example, with the far host first:
    $ weir agent --token-file weir.token
    $ weir survey far.example.net --token-file weir.token

Exit status: 0 done; 1 a --fail-if limit was crossed; 2 wrong arguments; 3 the far end or the environment failed.")]
pub struct Cli {
    /// Options of every subcommand.
    #[command(flatten)]
    pub global: GlobalOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options that every subcommand takes, before or after its name.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct GlobalOptions {
    /// Results store to write and read.
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        default_value = "weir.db",
        env = "WEIR_DB",
        hide_env_values = true
    )]
    pub db: PathBuf,
    /// Print results as JSON, one object a line.
    #[arg(long, global = true)]
    pub json: bool,
    /// Print no progress and no hints, only results and errors.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more about what is done; twice for every step.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answer measurements from other hosts.
    ///
    /// The agent reflects, receives and sends test packets for clients that prove they know its token, within the
    /// limits given here. Without a token it listens on this host's own addresses only, unless --open lets anyone use
    /// it. It runs until it is interrupted.
    Agent(AgentArgs),
    /// Measure round-trip times, in windows of packets.
    ///
    /// Sends a window of packets back to back, waits for the replies, and repeats. How the time grows with the size of
    /// the window and the length of the packets tells about the buffers and rates on the way. Times are from
    /// application to application; where the kernel gives timestamps, the part spent on the network is shown apart.
    Rtt(RttArgs),
    /// Send a stream over several flows and account for every packet.
    ///
    /// Sends at the pace of uncompressed video, split over flows that differ in their UDP destination port, as a flowlet
    /// transport does. The receiver counts loss, bursts of loss, reversals, duplicates and late packets, for the stream
    /// behind a reordering buffer and for each flow, every second. The rates are high: where transfer costs money, mind
    /// --for.
    Flows(FlowsArgs),
    /// Measure a path from end to end and say what it can carry.
    ///
    /// Measures round-trip times, the path MTU, the stream over more and more flows, and TCP throughput, one after the
    /// other, then says in words how many flows and which payload length to use, with the numbers behind it. It shows
    /// how much data it will send before it starts, and never asks anything.
    Survey(SurveyArgs),
    /// Send raw video over several flows to one receiver.
    ///
    /// Reads raw frames or Y4M from a file, a FIFO or standard input, waits for 'weir recv' on another host, and sends
    /// every frame at its time, split over flows that differ in their UDP destination port. What the network loses is
    /// sent again, or given back by repair packets (--fec), within the receiver's latency budget. A path that loses too
    /// much for seconds stops the stream.
    Send(SendArgs),
    /// Receive raw video from one or more senders.
    ///
    /// Connects to 'weir send' on other hosts and writes the frames, each exactly once and in order, as they were sent.
    /// What is still missing when the latency budget is spent is concealed and counted. Two senders of the same stream
    /// make up for each other's losses.
    Recv(RecvArgs),
    /// Say in words what a stored run tells about the path.
    ///
    /// Names routes, outages, kinds of loss, limits, faults of hosts and changes of the RTT, each with the numbers
    /// behind it, how sure it is and by which test, and what to do; then recommends flows, payload and recovery. With
    /// -v it shows the SQL that yields the numbers.
    Diagnose(DiagnoseArgs),
    /// Write runs as one HTML file that opens anywhere.
    ///
    /// The file holds the charts, the verdict and the data behind them; it opens offline in any browser and asks no
    /// other host for anything. Several runs are shown side by side.
    Report(ReportArgs),
    /// Show all runs on a page in the browser, live while one is going.
    ///
    /// Serves a page from this host to its own users: it lists runs, draws them, follows one that is being recorded, and
    /// takes notes and tags. It asks no other host for anything, and runs until it is interrupted.
    Ui(UiArgs),
    /// Serve media from a folder or from object storage over HTTP.
    ///
    /// Reads titles from where they lie, packages them when they are asked for, and keeps what is worth keeping. It runs
    /// until it is interrupted, and lets answers finish that are on their way.
    Origin(Box<OriginArgs>),
    /// Find out how many viewers an origin holds.
    ///
    /// Emulates viewers of DASH or HLS against any origin: each reads the manifest and fetches what a player would, on a
    /// connection of its own. Every request is accounted for, by kind and by cause of failure, with full distributions of
    /// times. It says so when this host, and not the origin, was the limit.
    Load(Box<LoadCommandLine>),
    /// Make networks on this host: emulated links with chosen faults.
    ///
    /// Two hosts that are network namespaces, and between them a link whose rate, delay, queue, loss and routes are
    /// what you say, or those of a known network. Whatever runs across it sees a real network.
    #[command(
        subcommand,
        after_help = "\
Example:
    $ weir lab run oracle -- weir survey far
    $ weir lab profiles"
    )]
    Lab(LabCommand),
    /// Measure between many places: regions of clouds, or hosts of your own.
    ///
    /// Plans pairs of places, runs the tests between them over SSH with at most one test on a host at a time, takes in
    /// results of other tools, and shows throughput and RTT against distance.
    #[command(
        subcommand,
        after_help = "\
Example:
    $ weir mesh plan --hosts hosts.yaml
    $ weir mesh run --hosts hosts.yaml --max-gb 20
    $ weir mesh report"
    )]
    Mesh(MeshCommand),
    /// List, show, note, export and delete stored runs.
    ///
    /// Every measurement is a run in the results store, known by its number; the name 'last' stands for the newest
    /// that is no step of another.
    /// A run that was interrupted is kept up to its last second. The store is one SQLite file, which any SQLite
    /// client can query too.
    #[command(
        subcommand,
        after_help = "\
Example:
    $ weir runs list
    $ weir runs show last"
    )]
    Runs(RunsCommand),
    /// Print a shell completion script.
    ///
    /// The script goes to standard output. Save it where the shell looks for completions, and start a new shell.
    #[command(after_help = "\
Example:
    $ weir completions bash > ~/.local/share/bash-completion/completions/weir")]
    Completions {
        /// Shell to complete for.
        #[arg(value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Print or write the manual pages.
    ///
    /// Without --out, the page of weir itself goes to standard output; with it, the pages of all subcommands are
    /// written too.
    #[command(
        hide = true,
        after_help = "\
Example:
    $ weir man --out /usr/local/share/man/man1"
    )]
    Man {
        /// Write all pages into this directory.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

/// Options of every command that measures.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Measuring")]
pub struct MeasureOptions {
    /// Exit with status 1 if this holds, as in 'loss > 0.001%'; may be given more than once.
    ///
    /// The form is METRIC OP LIMIT, where OP is one of > >= < <=. If several are given, any of them fails the run.
    /// Metrics: loss and late (a percentage or a ratio); p50, p90, p99, p99.9, min, max, jitter and silence (a time);
    /// rate (a rate); duplicates, bursts and longest-burst (a count).
    #[arg(long, value_name = "EXPR", action = ArgAction::Append)]
    pub fail_if: Vec<FailIf>,
    /// File with the token that the agent asks for.
    ///
    /// Its content, without white space around it, is the token. Without this option, the environment variable WEIR_TOKEN is the token itself;
    /// without both, only an agent started with --open, or one on this host that has no token, will answer.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Use IPv4 only.
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use IPv6 only.
    #[arg(short = '6', long)]
    pub ipv6: bool,
}

/// Reads the name of a packing.
fn packing_names() -> impl TypedValueParser<Value = PixelFormat> {
    let names = PixelFormat::ALL.map(|pixels| PossibleValue::new(pixels.name()));
    // Only names of this list get there, and each has its pixels.
    PossibleValuesParser::new(names).try_map(|name| name.parse::<PixelFormat>())
}

impl Cli {
    /// Reads the arguments of this process; prints help or what is wrong and exits if there is nothing to run.
    pub fn from_command_line() -> Cli {
        let cli = Cli::parse();
        if let Err(error) = cli.check() {
            error.exit();
        }
        cli
    }

    /// Checks what the argument tree cannot express.
    ///
    /// # Errors
    /// An error whose exit status is 2, like those of the tree itself.
    pub fn check(&self) -> Result<(), clap::Error> {
        match &self.command {
            Command::Runs(RunsCommand::Export(export)) => export.check(),
            _ => Ok(()),
        }
        .map_err(|(kind, text)| Cli::command().error(kind, text))
    }
}

#[cfg(test)]
mod tests;
