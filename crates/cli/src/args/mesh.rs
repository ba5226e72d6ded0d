//! Arguments of `weir mesh` and its subcommands. Places, hosts and filters are text here; weir-mesh parses them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, value_parser};

use super::RunName;
use super::mesh_machines::{LaunchArgs, MachineArgs, StatusArgs, SweepArgs};
use super::mesh_pairs::{CostArgs, FilterArgs, ShapeArgs};
use crate::units::{ByteCount, Rate, TimeSpan};

/// Subcommands of `weir mesh`.
#[derive(Clone, Debug, Subcommand)]
pub enum MeshCommand {
    /// List the regions of AWS, Google Cloud, Azure and Oracle, with coordinates.
    ///
    /// Coordinates are those of cities, with their source and differing values of other sources. With --near, lists the
    /// nearest regions first, with the minimum RTT that light in fibre allows.
    #[command(after_help = "\
Example:
    $ weir mesh regions --cloud aws,gcp
    $ weir mesh regions --near 52.37,4.90 --json")]
    Regions(RegionsArgs),
    /// Print the tests, duration, traffic and cost of a mesh without running it.
    ///
    /// Chooses pairs of places, least tested first, and prints hosts, tests, rounds, duration, bytes and estimated
    /// cost. Without --hosts, plans one machine, or --machines, in each region of --cloud or --pair.
    #[command(after_help = "\
Example:
    $ weir mesh plan --cloud aws,gcp --max-regions 10
    $ weir mesh plan --preset article
    $ weir mesh plan --hosts hosts.yaml --pair 'aws:us-east-1->gcp:us-central1'
    $ weir mesh plan --pair 'aws:us-east-1a->aws:us-east-1b'
    $ weir mesh plan --hosts inventory.ini --min-distance 1000km --max-usd 5")]
    Plan(Box<MeshPlanArgs>),
    /// Run a mesh of tests between hosts, over SSH.
    ///
    /// Copies this program to the hosts of the file, starts an agent on each with a token generated for this run, tests
    /// the pairs that 'weir mesh plan' prints, at most one test per host at a time, and removes everything. Keys, users
    /// and jump hosts come from your ssh configuration. Ctrl-C completes the running tests and cleans up; a second
    /// Ctrl-C aborts them.
    #[command(after_help = "\
Example:
    $ weir mesh run --hosts hosts.yaml
    $ weir mesh run --hosts inventory.ini --max-gb 20 --max-usd 5
    $ weir mesh run --resume last
    $ weir mesh run --hosts hosts.yaml --max-tests 4 --survey
    $ weir mesh run --hosts hosts.yaml --every 1h --for 3d --max-usd 20
    $ weir mesh run --launch --cloud aws --max-regions 4 --admit 203.0.113.7 --max-usd 5

Exit status: 0 all tests completed; 2 wrong arguments; 3 a host or a test failed, or a limit stopped the run.")]
    Run(Box<MeshRunArgs>),
    /// Launch cloud machines and keep them until Ctrl-C or a deadline.
    ///
    /// Launches one machine, or --machines, in each region that passes the filters, with OpenTofu or Terraform. Writes the
    /// hosts file for 'weir mesh run', and removes everything on Ctrl-C or at the deadline (--delete-after). 'weir mesh run
    /// --launch' does the same for one run. Where the cloud allows it, machines also terminate themselves at the deadline.
    #[command(after_help = "\
Example:
    $ weir mesh launch --cloud aws --max-regions 4 --admit 203.0.113.7 --delete-after 3h
    $ weir mesh launch --pair 'aws:us-east-1->gcp:us-central1' --admit 203.0.113.7 --spot --max-usd 5
    $ weir mesh launch --cloud aws --max-regions 1 --zones --machines 3 --admit 203.0.113.7
    $ weir mesh launch --preset placement --admit 203.0.113.7 --oracle-compartment ocid1.compartment.oc1..example
    $ weir mesh launch --cloud aws --max-regions 3 --peering --addresses both --mtu largest --admit 203.0.113.7
    $ weir mesh launch --cloud gcp --max-regions 3 --machines-by ./my-machines

Exit status: 0 machines were launched and removed; 2 wrong arguments; 3 a cloud refused, or a removal failed.")]
    Launch(Box<LaunchArgs>),
    /// Show launched machines and their cost so far.
    ///
    /// Reads the launch records on this host; with --cloud or --place, also finds tagged resources in the cloud.
    #[command(after_help = "\
Example:
    $ weir mesh status
    $ weir mesh status --place aws:us-east-1 --json")]
    Status(StatusArgs),
    /// Remove leftovers of killed runs and launches.
    ///
    /// Removes the machines of launches whose process is gone, by their records on this host; with --cloud or --place,
    /// also resources tagged by any launch, without a record. With --hosts, stops agents that 'weir mesh run' started
    /// there and removes their folders; such agents also stop on their own some time after the planned end of their
    /// run.
    #[command(after_help = "\
Example:
    $ weir mesh sweep
    $ weir mesh sweep --cloud aws --list
    $ weir mesh sweep --hosts hosts.yaml")]
    Sweep(SweepArgs),
    /// Import results of other tools into the results store.
    ///
    /// Reads results.csv of DoiT's intercloud-throughput, whose rates are not in the unit that the column name gives,
    /// and the output of iperf3 --json. Marks tests with an RTT below that of light in fibre.
    #[command(after_help = "\
Example:
    $ weir mesh import results.csv
    $ weir mesh import results.csv --locations region_data/locations.csv
    $ weir mesh import iperf.json --pair 'aws:us-east-1->gcp:us-central1'")]
    Import(ImportArgs),
    /// Export tests between places as CSV.
    ///
    /// Writes one row per test in the results store, with its places, their distance, and all measured values. Failed
    /// tests are omitted unless --failed is given.
    #[command(after_help = "\
Example:
    $ weir mesh export -o tests.csv
    $ weir mesh export --run last --failed")]
    Export(MeshExportArgs),
    /// Report how RTT and throughput vary with distance, and which place is best.
    ///
    /// Fits RTT and the logarithm of throughput against distance, for all tests and for each pair of clouds, with 95 %
    /// bounds; prints the TCP window implied by throughput and RTT; with --peers, ranks places. With --html, also
    /// writes charts against distance, a matrix of pairs, and a map.
    #[command(after_help = "\
Example:
    $ weir mesh report
    $ weir mesh report --peers aws:us-east-1,gcp:europe-west1 --minimise max-rtt
    $ weir mesh report --run last --json
    $ weir mesh report --html mesh.html")]
    Report(MeshReportArgs),
    /// Calculate the rate that a TCP window allows, or the window that a rate needs.
    ///
    /// A connection carries at most a window per round trip. With --window and --rate, also prints how many connections carry
    /// the rate.
    #[command(after_help = "\
Example:
    $ weir mesh window --rtt 80ms --window 64KiB
    $ weir mesh window --rtt 80ms --rate 1Gbit/s
    $ weir mesh window --rtt 80ms --window 4MiB --rate 1Gbit/s")]
    Window(WindowArgs),
    /// Test the path to one agent, for 'weir mesh run'.
    ///
    /// Measures RTT, TCP with one and with several connections, and UDP at a media rate, and prints one result. Writes
    /// nothing to the results store.
    #[command(
        hide = true,
        after_help = "\
Example:
    $ weir mesh probe far.example.net:4747 --token-file weir.token --json"
    )]
    Probe(ProbeArgs),
}

/// Arguments of `weir mesh regions`.
#[derive(Clone, Debug, Args)]
pub struct RegionsArgs {
    /// List only these clouds: aws, gcp, azure, oracle.
    #[arg(long, value_name = "CLOUD", value_delimiter = ',')]
    pub cloud: Vec<String>,
    /// Sort by distance from this point, in degrees north and east.
    #[arg(long, value_name = "LAT,LON", allow_hyphen_values = true)]
    pub near: Option<String>,
}

/// Arguments of `weir mesh plan`.
#[derive(Clone, Debug, Args)]
pub struct MeshPlanArgs {
    /// Hosts file: Weir's own YAML, or an Ansible inventory (INI or YAML).
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,
    /// Use only the hosts of this inventory group.
    #[arg(long, value_name = "GROUP", requires = "hosts")]
    pub group: Option<String>,
    /// Pairs.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Parts of a test.
    #[command(flatten)]
    pub shape: ShapeArgs,
    /// Limits.
    #[command(flatten)]
    pub cost: CostArgs,
}

/// Arguments of `weir mesh run`.
#[derive(Clone, Debug, Args)]
pub struct MeshRunArgs {
    /// Plan of the run.
    #[command(flatten)]
    pub plan: MeshPlanArgs,
    /// Resume a run that was killed or interrupted, with its hosts and its remaining tests.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["hosts", "group", "pair", "cloud"], required_unless_present_any = ["hosts", "launch"])]
    pub resume: Option<RunName>,
    /// Launch the hosts in clouds, one or --machines in each region that passes the filters, and remove them at the
    /// end.
    #[arg(long, conflicts_with_all = ["hosts", "group", "resume"])]
    pub launch: bool,
    /// Hosts to launch.
    #[command(flatten)]
    pub machines: MachineArgs,
    /// Repeat the run at each full interval of Unix time, until --for is over, a limit is reached or Ctrl-C is pressed. Limits
    /// apply to all runs together.
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::positive, conflicts_with = "resume")]
    pub every: Option<TimeSpan>,
    /// Time during which runs begin, counted from now [default: no end].
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::positive, requires = "every")]
    pub duration: Option<TimeSpan>,
    /// Leave out hosts that are, as their cloud's metadata says, in another place or of another type than the hosts file says;
    /// without it, their tests are marked.
    #[arg(long)]
    pub strict_placement: bool,
    /// Maximum number of concurrent tests.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = value_parser!(u32).range(1..=1000))]
    pub parallel: u32,
    /// Copies of this program.
    #[command(flatten)]
    pub copies: CopyArgs,
}

/// How this program gets to hosts.
#[derive(Clone, Debug, Args)]
pub struct CopyArgs {
    /// Program to copy to hosts of this architecture, as in aarch64=weir-arm; may be given more than once.
    #[arg(long, value_name = "MACHINE=FILE")]
    pub program: Vec<String>,
    /// Folder with static binaries of a release, such as weir-aarch64-unknown-linux-musl, to copy to hosts by architecture.
    /// The folder of this program is searched, too.
    #[arg(long, value_name = "DIR", env = "WEIR_BINARIES", hide_env_values = true)]
    pub binaries: Option<PathBuf>,
    /// SSH client program.
    #[arg(long, value_name = "FILE", default_value = "ssh")]
    pub ssh: String,
}

/// Arguments of `weir mesh import`.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// File written by intercloud-throughput or iperf3.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Read bitrate_Bps of intercloud-throughput as bits per second, as its charts do.
    #[arg(long)]
    pub as_published: bool,
    /// Read coordinates from locations.csv of intercloud-throughput instead of the built-in table.
    #[arg(long, value_name = "FILE")]
    pub locations: Option<PathBuf>,
    /// Places of an iperf3 test, client first.
    #[arg(long, value_name = "FROM->TO")]
    pub pair: Option<String>,
}

/// Arguments of `weir mesh export`.
#[derive(Clone, Debug, Args)]
pub struct MeshExportArgs {
    /// Use only tests of this run; may be given more than once.
    #[arg(long, value_name = "RUN")]
    pub run: Vec<RunName>,
    /// Include failed tests.
    #[arg(long)]
    pub failed: bool,
    /// File to write to [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Quantities that the best place minimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Least {
    /// The maximum RTT to any peer.
    MaxRtt,
    /// The mean RTT to all peers.
    MeanRtt,
    /// The cost of sending a gigabyte to each peer.
    Egress,
}

/// Arguments of `weir mesh report`.
#[derive(Clone, Debug, Args)]
pub struct MeshReportArgs {
    /// Use only tests of this run; may be given more than once.
    #[arg(long, value_name = "RUN")]
    pub run: Vec<RunName>,
    /// Places that the best place serves, comma separated.
    #[arg(long, value_name = "PLACE", value_delimiter = ',')]
    pub peers: Vec<String>,
    /// Quantity that the best place minimises.
    #[arg(long, value_name = "WHAT", default_value = "max-rtt", requires = "peers")]
    pub minimise: Least,
    /// File with your prices, which override the built-in table.
    #[arg(long, value_name = "FILE", requires = "peers")]
    pub prices: Option<PathBuf>,
    /// Also write charts of the tests to this self-contained HTML file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Replace the HTML file if it exists.
    #[arg(long, requires = "html")]
    pub force: bool,
}

/// Arguments of `weir mesh window`.
#[derive(Clone, Debug, Args)]
pub struct WindowArgs {
    /// Round-trip time.
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::positive)]
    pub rtt: TimeSpan,
    /// Window of a connection.
    #[arg(long, value_name = "BYTES", value_parser = ByteCount::positive, required_unless_present = "rate")]
    pub window: Option<ByteCount>,
    /// Rate to carry.
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,
}

/// Arguments of `weir mesh probe`.
#[derive(Clone, Debug, Args)]
pub struct ProbeArgs {
    /// Host name or address of the agent, with an optional port.
    #[arg(value_name = "HOST[:PORT]")]
    pub host: String,
    /// File with the agent's token.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Parts of the test.
    #[command(flatten)]
    pub shape: ShapeArgs,
}
