//! Arguments of `weir mesh` and its subcommands. Places, hosts and filters are text here; weir-mesh parses them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, value_parser};

use super::RunName;
use super::mesh_machines::{LaunchArgs, MachineArgs, StatusArgs, SweepArgs};
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

/// Pairs to test; a pair must pass all filters.
#[derive(Clone, Debug, Args)]
pub struct FilterArgs {
    /// Test only this pair of regions, as in 'aws:us-east-1->gcp:us-central1', or of zones, as in
    /// 'aws:us-east-1a->aws:us-east-1b'; may be given more than once.
    #[arg(long, value_name = "FROM->TO", help_heading = "Pairs")]
    pub pair: Vec<String>,
    /// Test only pairs with both ends in these clouds.
    #[arg(long, value_name = "CLOUD", value_delimiter = ',', help_heading = "Pairs")]
    pub cloud: Vec<String>,
    /// Test only pairs from one cloud to another, as in 'aws->gcp'; may be given more than once.
    #[arg(long, value_name = "FROM->TO", help_heading = "Pairs")]
    pub cloud_pair: Vec<String>,
    /// Minimum distance of a pair, as in 500km.
    #[arg(long, value_name = "DISTANCE", help_heading = "Pairs")]
    pub min_distance: Option<String>,
    /// Maximum distance of a pair.
    #[arg(long, value_name = "DISTANCE", help_heading = "Pairs")]
    pub max_distance: Option<String>,
    /// Maximum number of regions, taken from the clouds in turn.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = "Pairs")]
    pub max_regions: Option<u32>,
    /// Test between zones as well, also within a region; without it, one host per region takes part.
    #[arg(long, help_heading = "Pairs")]
    pub zones: bool,
    /// Use all hosts, and test between hosts of one zone as well.
    #[arg(long, conflicts_with = "zones", help_heading = "Pairs")]
    pub all_hosts: bool,
    /// Machines per region without a hosts file: with --zones each in its own zone, with --all-hosts all in one zone
    /// [default: 2 with either option, else 1].
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=16), help_heading = "Pairs")]
    pub machines: Option<u16>,
    /// Test each pair in one direction only.
    #[arg(long, help_heading = "Pairs")]
    pub one_way: bool,
    /// Repeat pairs that have tests in the results store.
    #[arg(long, help_heading = "Pairs")]
    pub again: bool,
    /// Maximum number of tests.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = "Pairs")]
    pub max_tests: Option<u32>,
}

/// Parts of one test.
#[derive(Clone, Debug, Args)]
pub struct ShapeArgs {
    /// Duration of the RTT measurement.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = TimeSpan::positive, help_heading = "Each test")]
    pub rtt_for: TimeSpan,
    /// Duration of the TCP test with one connection, and again with several; 0s omits both.
    #[arg(long, value_name = "TIME", default_value = "5s", help_heading = "Each test")]
    pub tcp_for: TimeSpan,
    /// Number of parallel TCP connections; 1 omits the second TCP test.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = value_parser!(u16).range(1..=64), help_heading = "Each test")]
    pub streams: u16,
    /// Duration of the UDP test at a media rate; 0s omits it.
    #[arg(long, value_name = "TIME", default_value = "3s", help_heading = "Each test")]
    pub udp_for: TimeSpan,
    /// Rate of the UDP test.
    #[arg(
        long,
        value_name = "RATE",
        default_value = "20Mbit/s",
        help_heading = "Each test"
    )]
    pub udp_rate: Rate,
    /// Maximum volume of one test.
    #[arg(long, value_name = "BYTES", default_value = "500MB", value_parser = ByteCount::positive, help_heading = "Each test")]
    pub max_bytes: ByteCount,
    /// Survey each pair after its test, at --udp-rate; the survey has the same --max-bytes limit again.
    #[arg(long, help_heading = "Each test")]
    pub survey: bool,
}

/// Limits of a plan and of its run.
#[derive(Clone, Debug, Args)]
pub struct CostArgs {
    /// Maximum estimated cost in US dollars, launched machines included.
    #[arg(long, value_name = "USD", value_parser = amount, help_heading = "Limits")]
    pub max_usd: Option<f64>,
    /// Maximum volume to send in total, in gigabytes (10^9 bytes).
    #[arg(long, value_name = "GB", value_parser = amount, help_heading = "Limits")]
    pub max_gb: Option<f64>,
    /// File with your prices, which override the built-in table (CSV: cloud,area,what,usd).
    #[arg(long, value_name = "FILE", help_heading = "Limits")]
    pub prices: Option<PathBuf>,
    /// Expected throughput of paths, for the estimate.
    #[arg(long, value_name = "RATE", default_value = "1Gbit/s", help_heading = "Limits")]
    pub expect_rate: Rate,
}

/// Parses a number of 0 or more.
fn amount(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if (0.0..1e9).contains(&amount) => Ok(amount),
        _ => Err("write a number of 0 or more, as in 2.50".to_owned()),
    }
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
    /// Maximum number of concurrent tests.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = value_parser!(u32).range(1..=1000))]
    pub parallel: u32,
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
