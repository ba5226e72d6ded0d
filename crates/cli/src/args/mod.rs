//! The command line of `weir`: every subcommand, option, default and help text. It reads arguments and nothing
//! else; it must not know what commands do with them.

mod agent;
mod diagnose;
mod doctor;
mod events;
mod evidence;
mod flows;
mod lab;
mod lab_grid;
mod lab_pacing;
mod lab_population;
mod lab_simulate;
mod lab_traps;
mod lab_tune;
mod load;
mod load_commands;
mod load_player;
mod measured;
mod mesh;
mod mesh_machines;
mod mesh_pairs;
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
mod tcp;
mod testbed;
mod traffic;
mod twin;
mod ui;
mod watch;

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};

use weir_video::PixelFormat;

use crate::fail_if::FailIf;

pub use agent::AgentArgs;
pub use diagnose::{DiagnoseArgs, FailOn, Survive};
pub use doctor::DoctorArgs;
pub use evidence::EvidenceArgs;
pub use flows::{FlowsArgs, Spread, Way};
pub use lab::{
    DEFAULT_LINK, End, LabCalibrateArgs, LabCommand, LabRunArgs, LinkCommand, LinkOptions, LinkUpArgs,
};
pub use lab_grid::LabGridArgs;
pub use lab_pacing::LabPacingArgs;
pub use lab_population::{HouseholdOptions, LabPopulationArgs};
pub use lab_simulate::{LabSimulateArgs, Measurement};
pub use lab_traps::LabTrapsArgs;
pub use lab_tune::LabTuneArgs;
pub use load::{HttpMode, LoadArgs, PerSecond, PlayMode, RungMode, TimeRange, Viewers};
pub use load_commands::{FindCapacityArgs, LoadCommand, LoadCommandLine};
pub use load_player::PlayerArgs;
pub use measured::MeasuredOptions;
pub use mesh::{
    CopyArgs, ImportArgs, Least, MeshCommand, MeshExportArgs, MeshPlanArgs, MeshReportArgs, MeshRunArgs,
    ProbeArgs, RegionsArgs, WindowArgs,
};
pub use mesh_machines::{LaunchArgs, MachineArgs, StatusArgs, SweepArgs, TaggedArgs};
pub use mesh_pairs::{AddressesName, CostArgs, FilterArgs, PresetName, ShapeArgs};
pub use neighbour::{NeighbourArgs, NeighbourCommand, NeighbourServeArgs};
pub use origin::OriginArgs;
pub use origin_commands::{BucketStyle, DemoArgs, DrefArgs, IndexArgs, OriginCommand, StorageArgs};
pub use origin_pacing::PacingArgs;
pub use recv::{ConcealBy, JoinBy, RecvArgs, WriteAs};
pub use report::ReportArgs;
pub use rtt::RttArgs;
pub use runs::{ExportForm, ExportRun, ListRuns, RunIn, RunName, RunNameError, RunsCommand};
pub use send::{FecChoice, Numbers, Pace, SendArgs};
pub use survey::SurveyArgs;
pub use tcp::TcpArgs;
pub use testbed::{
    AudienceArgs, ExportArgs, FunctionFiles, TestbedCommand, TestbedLaunchArgs, TestbedRunArgs,
    TestbedServeArgs,
};
pub use traffic::{CloudOption, DEFAULT_FORMAT, Traffic};
pub use twin::TwinArgs;
pub use ui::UiArgs;
pub use watch::{WatchArgs, WatchCommand, WatchCommandLine, WatchHistoryArgs};

/// Maximum number of flows in one test.
pub const MOST_FLOWS: u16 = 1024;
/// What `weir --version` prints: version, commit, target and build profile.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("WEIR_COMMIT"),
    ", ",
    env!("WEIR_TARGET"),
    ", ",
    env!("WEIR_PROFILE"),
    ")"
);
/// Environment variable with the shared token.
pub const TOKEN_VARIABLE: &str = "WEIR_TOKEN";

/// Measure how a network carries media.
///
/// Weir measures delay, loss and loss patterns on the path to another host, and how much of a media stream the path
/// carries. Start 'weir agent' on the far host, then measure from here. Every measurement is stored as a run in the
/// results store, one SQLite file.
#[derive(Debug, Parser)]
#[command(
    name = "weir",
    version,
    long_version = LONG_VERSION,
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
    /// Subcommand to run.
    #[command(subcommand)]
    pub command: Command,
}

/// Options that every subcommand takes, before or after its name.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct GlobalOptions {
    /// Results store (SQLite file) to write and read.
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        default_value = "weir.db",
        env = "WEIR_DB",
        hide_env_values = true
    )]
    pub db: PathBuf,
    /// Print results as JSON, one object per line.
    #[arg(long, global = true)]
    pub json: bool,
    /// Print results and errors only, no progress and no hints.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print more detail; -vv prints every step.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the far end of measurements.
    ///
    /// Reflects, receives and sends test packets for clients that authenticate with the shared token, within the limits
    /// below. Without a token, the agent listens on loopback only, unless --open admits clients without one. Runs until
    /// interrupted.
    Agent(AgentArgs),
    /// Check whether this host, and the path to another, are fit for media.
    ///
    /// Checks socket buffers, the interface, its rings, queues and offloads, the CPU and the clock; with HOST also the
    /// agent's host, and whether UDP and packets of the full MTU pass between both. Prints each value, what is wanted, and
    /// what mends it. Stores nothing.
    Doctor(DoctorArgs),
    /// Measure round-trip times, in windows of packets.
    ///
    /// Sends a window of packets back to back, waits for the replies, and repeats. How the RTT grows with window size
    /// and packet length shows the buffers and link rates on the path. Times are measured between applications; where
    /// the kernel provides timestamps, the network's part is reported separately.
    Rtt(RttArgs),
    /// Send a stream over several flows and account for every packet.
    ///
    /// Sends at the rate of uncompressed video, split over flows that differ in their UDP destination port, as a
    /// flowlet transport does. Every second, the receiver counts lost packets, loss bursts, reversals, duplicates and
    /// late packets, per flow and for the stream behind a reorder buffer. Rates are high: where transfer costs money,
    /// limit --for.
    Flows(FlowsArgs),
    /// Measure TCP throughput: with a window, over windows, or over numbers of connections.
    ///
    /// A connection carries at most a window per round trip. Sends as fast as TCP and the agent's --max-rate allow, and reports
    /// the goodput at the receiver beside what the announced window allows. With a range, tests one window after the other; with
    /// --fill, finds the number of connections that fill the path.
    Tcp(TcpArgs),
    /// Measure a path from end to end and report what it can carry.
    ///
    /// Measures RTT, path MTU, the stream over an increasing number of flows, and TCP throughput, one after the other;
    /// then recommends a number of flows and a payload length, with the evidence. Prints the volume of data before it
    /// starts; never prompts.
    Survey(SurveyArgs),
    /// Measure paths for months and report what changes.
    ///
    /// Measures windowed RTT all the time, and low-rate flows and short surveys at intervals, from this host to the agents
    /// and STAMP reflectors of FILE. Keeps distributions of seconds, minutes and hours in the results store, and reports
    /// changes of delay, loss and hops, paths on which nothing is answered, and dark flows. Tests have jittered starts, and
    /// no host is in two surveys at a time. Runs until interrupted; SIGHUP reads FILE again.
    Watch(Box<WatchCommandLine>),
    /// Write what was measured on a watched path as one archive, for the support of a provider.
    ///
    /// The archive has a page that needs no Weir, with the answer first: delay, loss, changes and dark flows with their
    /// 5-tuples, times in UTC with the clock's error, instances and zones. Beside it are plots, the rows as CSV, and the
    /// SHA-256 of each file. The same store and span make the same bytes.
    Evidence(EvidenceArgs),
    /// Send raw video over several flows to one receiver.
    ///
    /// Reads raw frames or Y4M from a file, a FIFO or standard input, waits for 'weir recv' on another host, and sends
    /// every frame on schedule, split over flows that differ in their UDP destination port. Lost packets are
    /// retransmitted (ARQ) or repaired by FEC (--fec), within the receiver's latency budget. The stream stops when the
    /// loss rate stays above --most-loss.
    Send(SendArgs),
    /// Receive raw video from one or more senders.
    ///
    /// Connects to 'weir send' on other hosts and writes the frames as sent, each exactly once and in order. Data still
    /// missing when the latency budget is spent is concealed and counted. Two senders of the same stream repair each
    /// other's losses.
    Recv(RecvArgs),
    /// Diagnose the path from a stored run.
    ///
    /// Reports routes, outages, loss processes, limits, host faults and RTT changes, each with its evidence,
    /// confidence, statistical test and advice; then recommends flows, payload length and recovery. With -v, also
    /// prints the SQL that yields the numbers.
    Diagnose(DiagnoseArgs),
    /// Write the path of a stored run as a link: its twin.
    ///
    /// Infers from all tests of the run which link does to packets what the path did: rate, caps, queue, losses, routes,
    /// delay. The file is one for 'weir lab', with bounds in its comments. With --check, makes every test of the run
    /// over the twin in virtual time, and compares.
    Twin(TwinArgs),
    /// Write runs as one self-contained HTML file.
    ///
    /// The file holds the charts, the verdict and their data. It opens offline in any browser and loads nothing from
    /// other hosts. Several runs are shown side by side.
    Report(ReportArgs),
    /// Show all runs on a web page, live during a measurement.
    ///
    /// Serves a page to users of this host: it lists and draws runs, follows a run that is being recorded, and edits
    /// notes and tags. The page loads nothing from other hosts. Runs until interrupted.
    Ui(UiArgs),
    /// Serve media from a folder or from object storage over HTTP.
    ///
    /// Reads titles from storage, packages them on request, and caches as --configuration says. Runs until interrupted,
    /// then completes the responses in progress (--drain).
    Origin(Box<OriginArgs>),
    /// Measure how many viewers an origin can serve.
    ///
    /// Emulates DASH or HLS viewers against any origin: each reads the manifest and requests what a player would, on
    /// its own connection. Counts every request by kind and by cause of failure, with full distributions of times.
    /// Reports when this host, and not the origin, was the limit.
    Load(Box<LoadCommandLine>),
    /// Emulate networks on this host: links with chosen faults.
    ///
    /// Creates two hosts (network namespaces) and a link between them, whose rate, delay, queue, loss and routes are
    /// set by options or by the profile of a known network. Programs on the hosts see a real network.
    #[command(
        subcommand,
        after_help = "\
Example:
    $ weir lab run oracle -- weir survey far
    $ weir lab profiles"
    )]
    Lab(LabCommand),
    /// Run a workflow of media functions on this host, and measure each from outside.
    ///
    /// A workflow description document (ISO/IEC 23090-8, NBMP) names functions such as storage, cache, origin and viewers,
    /// and connects their ports. Each task runs in its own network namespace; the kernel's counters say what went in and
    /// out of it.
    #[command(
        subcommand,
        after_help = "\
Example:
    $ weir testbed check testbeds/a.toml
    $ weir testbed run testbeds/a.toml"
    )]
    Testbed(TestbedCommand),
    /// Measure between many places: cloud regions, or your own hosts.
    ///
    /// Plans pairs of places, runs the tests between them over SSH, at most one test per host at a time, imports
    /// results of other tools, and reports throughput and RTT against distance.
    #[command(
        subcommand,
        after_help = "\
Example:
    $ weir mesh plan --hosts hosts.yaml
    $ weir mesh run --hosts hosts.yaml --max-gb 20
    $ weir mesh report"
    )]
    Mesh(MeshCommand),
    /// List, show, annotate, export and delete stored runs.
    ///
    /// Every measurement is a run in the results store, identified by its number; 'last' is the newest run that is not
    /// a step of another. An interrupted run is kept up to its last second. The store is one SQLite file, which any
    /// SQLite client can query.
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
    /// Prints the script to standard output. Save it where the shell looks for completions, and start a new shell.
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
    /// Without --out, prints the page of weir to standard output; with --out, writes the pages of weir and of all
    /// subcommands.
    #[command(
        hide = true,
        after_help = "\
Example:
    $ weir man --out /usr/local/share/man/man1"
    )]
    Man {
        /// Directory to write all pages to.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

/// Options of every command that measures.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Measuring")]
pub struct MeasureOptions {
    /// Exit with status 1 if this condition holds, as in 'loss > 0.001%'; may be given more than once.
    ///
    /// The form is METRIC OP LIMIT, where OP is one of > >= < <=. If several are given, any one of them fails the run.
    /// Metrics: loss and late (a percentage or a ratio); p50, p90, p99, p99.9, min, max, jitter and silence (a time);
    /// rate (a rate); duplicates, bursts and longest-burst (a count).
    #[arg(long, value_name = "EXPR", action = ArgAction::Append)]
    pub fail_if: Vec<FailIf>,
    /// File with the agent's token.
    ///
    /// White space around the token is ignored. Without this option, the token is the value of the environment variable
    /// WEIR_TOKEN; without either, only an agent started with --open, or one on loopback without a token, accepts the
    /// session.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Use IPv4 only.
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use IPv6 only.
    #[arg(short = '6', long)]
    pub ipv6: bool,
}

/// Parses the name of a packing.
fn packing_names() -> impl TypedValueParser<Value = PixelFormat> {
    let names = PixelFormat::ALL.map(|pixels| PossibleValue::new(pixels.name()));
    // Only names of this list reach the mapping, and each one parses.
    PossibleValuesParser::new(names).try_map(|name| name.parse::<PixelFormat>())
}

impl Cli {
    /// Parses the arguments of this process; prints help or an error and exits if there is nothing to run.
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
    /// An error with exit status 2, like those of the tree itself.
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
