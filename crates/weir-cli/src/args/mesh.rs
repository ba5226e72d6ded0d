//! Arguments of `weir mesh` and its subcommands. What places, hosts and filters mean is read where they are; here they
//! are text.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, value_parser};

use super::RunName;
use super::mesh_machines::{LaunchArgs, MachineArgs, StatusArgs, SweepArgs};
use crate::units::{ByteCount, Rate, TimeSpan};

/// Subcommands of `weir mesh`.
#[derive(Clone, Debug, Subcommand)]
pub enum MeshCommand {
    /// List the regions of AWS, Google Cloud, Azure and Oracle, and where they are.
    ///
    /// Coordinates are those of cities, with their source and what other sources say. With --near, the nearest come
    /// first, with the least RTT that light in fibre allows.
    #[command(after_help = "\
Example:
    $ weir mesh regions --cloud aws,gcp
    $ weir mesh regions --near 52.37,4.90 --json")]
    Regions(RegionsArgs),
    /// Say what a mesh of tests takes before anything happens.
    ///
    /// Chooses pairs of places, those least tested first, and prints hosts, tests, rounds, time, bytes and an estimate of
    /// the money. Without --hosts it plans for one machine in each region of --cloud or --pair, or for --machines.
    #[command(after_help = "\
Example:
    $ weir mesh plan --cloud aws,gcp --max-regions 10
    $ weir mesh plan --hosts hosts.yaml --pair 'aws:us-east-1->gcp:us-central1'
    $ weir mesh plan --pair 'aws:us-east-1a->aws:us-east-1b'
    $ weir mesh plan --hosts inventory.ini --min-distance 1000km --max-usd 5")]
    Plan(Box<MeshPlanArgs>),
    /// Run a mesh of tests between hosts, over SSH.
    ///
    /// Copies this program to the hosts of the file, starts an agent on each with a token made for this run, tests the
    /// pairs that 'weir mesh plan' shows, at most one test on a host at a time, and removes everything. Keys, users and
    /// jump hosts are those of your ssh configuration. Ctrl-C lets running tests end and cleans up; a second one ends
    /// them at once.
    #[command(after_help = "\
Example:
    $ weir mesh run --hosts hosts.yaml
    $ weir mesh run --hosts inventory.ini --max-gb 20 --max-usd 5
    $ weir mesh run --resume last
    $ weir mesh run --hosts hosts.yaml --max-tests 4 --survey
    $ weir mesh run --launch --cloud aws --max-regions 4 --admit 203.0.113.7 --max-usd 5

Exit status: 0 all tests went through; 2 wrong arguments; 3 a host or a test failed, or a limit stopped the run.")]
    Run(Box<MeshRunArgs>),
    /// Launch machines in clouds, and hold them.
    ///
    /// One machine in each region that the filters leave, or several (--machines), by OpenTofu or Terraform. Writes the hosts file that 'weir mesh
    /// run' reads, and removes everything on Ctrl-C or when their time is over. 'weir mesh run --launch' does it for one
    /// run. The machines also end by themselves at their deadline, as far as their cloud lets them.
    #[command(after_help = "\
Example:
    $ weir mesh launch --cloud aws --max-regions 4 --admit 203.0.113.7 --delete-after 3h
    $ weir mesh launch --pair 'aws:us-east-1->gcp:us-central1' --admit 203.0.113.7 --spot --max-usd 5
    $ weir mesh launch --cloud aws --max-regions 1 --zones --machines 3 --admit 203.0.113.7
    $ weir mesh launch --cloud gcp --max-regions 3 --machines-by ./my-machines

Exit status: 0 machines were held and removed; 2 wrong arguments; 3 a cloud refused, or something could not be removed.")]
    Launch(Box<LaunchArgs>),
    /// Show machines that were launched, and what they have cost so far.
    ///
    /// By what launches have written down on this host; with --cloud or --place, what carries their tags besides.
    #[command(after_help = "\
Example:
    $ weir mesh status
    $ weir mesh status --place aws:us-east-1 --json")]
    Status(StatusArgs),
    /// Remove what killed runs and launches have left.
    ///
    /// Machines of launches whose process is gone are removed by what it has written down; with --cloud or --place, what
    /// carries the tags of any launch besides, with nothing written down. With --hosts, agents that 'weir mesh run' has
    /// started there are ended, and their folders removed; they also end by themselves, some time after their run should
    /// have ended.
    #[command(after_help = "\
Example:
    $ weir mesh sweep
    $ weir mesh sweep --cloud aws --list
    $ weir mesh sweep --hosts hosts.yaml")]
    Sweep(SweepArgs),
    /// Take results of other tools into the results store.
    ///
    /// Takes results.csv of DoiT's intercloud-throughput, whose rates are in a unit other than their column says, and
    /// the output of iperf3 --json. Tests that beat light in fibre are marked.
    #[command(after_help = "\
Example:
    $ weir mesh import results.csv
    $ weir mesh import results.csv --locations region_data/locations.csv
    $ weir mesh import iperf.json --pair 'aws:us-east-1->gcp:us-central1'")]
    Import(ImportArgs),
    /// Write tests between places as CSV.
    ///
    /// A row for each test in the results store, with its places, their distance, and everything that was measured. Tests
    /// that failed are left out unless they are asked for.
    #[command(after_help = "\
Example:
    $ weir mesh export -o tests.csv
    $ weir mesh export --run last --failed")]
    Export(MeshExportArgs),
    /// Say how RTT and throughput go with distance, and which place is best.
    ///
    /// Fits RTT and the logarithm of the throughput over the distance, for all tests and for each two clouds, with 95 %
    /// bounds; gives the TCP window that throughput and RTT imply; with --peers, ranks places. With --html, draws it: charts
    /// over distance, pairs as a matrix, and a map.
    #[command(after_help = "\
Example:
    $ weir mesh report
    $ weir mesh report --peers aws:us-east-1,gcp:europe-west1 --minimise max-rtt
    $ weir mesh report --run last --json
    $ weir mesh report --html mesh.html")]
    Report(MeshReportArgs),
    /// Test the path to one agent, for 'weir mesh run'.
    ///
    /// Measures RTT, TCP with one and with several connections, and UDP at a media rate, and prints one result. It keeps
    /// nothing in the results store.
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
    /// Only these clouds: aws, gcp, azure, oracle.
    #[arg(long, value_name = "CLOUD", value_delimiter = ',')]
    pub cloud: Vec<String>,
    /// Sort by the distance from this point, in degrees north and east.
    #[arg(long, value_name = "LAT,LON", allow_hyphen_values = true)]
    pub near: Option<String>,
}

/// Which pairs to test; several filters must all hold.
#[derive(Clone, Debug, Args)]
pub struct FilterArgs {
    /// Only this pair, as in 'aws:us-east-1->gcp:us-central1', or of zones, as in 'aws:us-east-1a->aws:us-east-1b'; may be
    /// given more than once.
    #[arg(long, value_name = "FROM->TO", help_heading = "Pairs")]
    pub pair: Vec<String>,
    /// Only pairs with both ends in these clouds.
    #[arg(long, value_name = "CLOUD", value_delimiter = ',', help_heading = "Pairs")]
    pub cloud: Vec<String>,
    /// Only pairs from one cloud to another, as in 'aws->gcp'; may be given more than once.
    #[arg(long, value_name = "FROM->TO", help_heading = "Pairs")]
    pub cloud_pair: Vec<String>,
    /// Only pairs at least this far apart, as in 500km.
    #[arg(long, value_name = "DISTANCE", help_heading = "Pairs")]
    pub min_distance: Option<String>,
    /// Only pairs at most this far apart.
    #[arg(long, value_name = "DISTANCE", help_heading = "Pairs")]
    pub max_distance: Option<String>,
    /// Most regions that take part; clouds in turn.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = "Pairs")]
    pub max_regions: Option<u32>,
    /// Test between zones too, also within a region; else one host of each region takes part.
    #[arg(long, help_heading = "Pairs")]
    pub zones: bool,
    /// Let all hosts take part, and test between those of one zone too.
    #[arg(long, conflicts_with = "zones", help_heading = "Pairs")]
    pub all_hosts: bool,
    /// Machines in each region where no hosts file says which there are: with --zones each in a zone of its own, with
    /// --all-hosts all in one [default: 2 with either of them, else 1].
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=16), help_heading = "Pairs")]
    pub machines: Option<u16>,
    /// Test each pair in one direction only.
    #[arg(long, help_heading = "Pairs")]
    pub one_way: bool,
    /// Test pairs again of which the results store has tests.
    #[arg(long, help_heading = "Pairs")]
    pub again: bool,
    /// Most tests.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = "Pairs")]
    pub max_tests: Option<u32>,
}

/// What one test does.
#[derive(Clone, Debug, Args)]
pub struct ShapeArgs {
    /// How long to measure RTTs.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = TimeSpan::positive, help_heading = "Each test")]
    pub rtt_for: TimeSpan,
    /// How long to send with one TCP connection, and again with several; 0s leaves both out.
    #[arg(long, value_name = "TIME", default_value = "5s", help_heading = "Each test")]
    pub tcp_for: TimeSpan,
    /// TCP connections side by side; 1 leaves the second TCP test out.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = value_parser!(u16).range(1..=64), help_heading = "Each test")]
    pub streams: u16,
    /// How long to send UDP at a media rate; 0s leaves it out.
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
    /// Most bytes that a test sends.
    #[arg(long, value_name = "BYTES", default_value = "500MB", value_parser = ByteCount::positive, help_heading = "Each test")]
    pub max_bytes: ByteCount,
    /// Let the whole survey of each pair follow, at the UDP test's rate; it may send as many bytes again.
    #[arg(long, help_heading = "Each test")]
    pub survey: bool,
}

/// Limits of a plan, which a run holds too.
#[derive(Clone, Debug, Args)]
pub struct CostArgs {
    /// Stop before the estimated cost passes this many US dollars, machines that are launched included.
    #[arg(long, value_name = "USD", value_parser = amount, help_heading = "Limits")]
    pub max_usd: Option<f64>,
    /// Stop before more than this many gigabytes (10^9 bytes) are sent.
    #[arg(long, value_name = "GB", value_parser = amount, help_heading = "Limits")]
    pub max_gb: Option<f64>,
    /// Prices of your own, which override the table that comes with Weir (CSV: cloud,area,what,usd).
    #[arg(long, value_name = "FILE", help_heading = "Limits")]
    pub prices: Option<PathBuf>,
    /// Rate that paths are expected to carry, for the estimate.
    #[arg(long, value_name = "RATE", default_value = "1Gbit/s", help_heading = "Limits")]
    pub expect_rate: Rate,
}

/// Reads a number of 0 or more.
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
    /// Only hosts of this group of the inventory.
    #[arg(long, value_name = "GROUP", requires = "hosts")]
    pub group: Option<String>,
    /// Which pairs.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// What a test does.
    #[command(flatten)]
    pub shape: ShapeArgs,
    /// Limits.
    #[command(flatten)]
    pub cost: CostArgs,
}

/// Arguments of `weir mesh run`.
#[derive(Clone, Debug, Args)]
pub struct MeshRunArgs {
    /// What to run.
    #[command(flatten)]
    pub plan: MeshPlanArgs,
    /// Go on with a run that was killed or interrupted; hosts and tests are those that it has left.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["hosts", "group", "pair", "cloud"], required_unless_present_any = ["hosts", "launch"])]
    pub resume: Option<RunName>,
    /// Launch the hosts in clouds, one in each region that the filters leave, or --machines, and remove them at the end.
    #[arg(long, conflicts_with_all = ["hosts", "group", "resume"])]
    pub launch: bool,
    /// The hosts to launch.
    #[command(flatten)]
    pub machines: MachineArgs,
    /// Most tests at the same time.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = value_parser!(u32).range(1..=1000))]
    pub parallel: u32,
    /// Program to copy to hosts with another processor than this one, as in aarch64=weir-arm; may be given more than once.
    #[arg(long, value_name = "MACHINE=FILE")]
    pub program: Vec<String>,
    /// Program to call for SSH.
    #[arg(long, value_name = "FILE", default_value = "ssh")]
    pub ssh: String,
}

/// Arguments of `weir mesh import`.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// File of intercloud-throughput or iperf3.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Take bitrate_Bps of intercloud-throughput as bits per second, as its charts do.
    #[arg(long)]
    pub as_published: bool,
    /// Take coordinates from locations.csv of intercloud-throughput instead of the table that comes with Weir.
    #[arg(long, value_name = "FILE")]
    pub locations: Option<PathBuf>,
    /// The two places of an iperf3 test, client first.
    #[arg(long, value_name = "FROM->TO")]
    pub pair: Option<String>,
}

/// Arguments of `weir mesh export`.
#[derive(Clone, Debug, Args)]
pub struct MeshExportArgs {
    /// Only tests of this run; may be given more than once.
    #[arg(long, value_name = "RUN")]
    pub run: Vec<RunName>,
    /// Tests that failed too.
    #[arg(long)]
    pub failed: bool,
    /// File to write to [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What the best place has least of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Least {
    /// The longest RTT to any peer.
    MaxRtt,
    /// The mean RTT to all peers.
    MeanRtt,
    /// What it costs to send a gigabyte to each peer.
    Egress,
}

/// Arguments of `weir mesh report`.
#[derive(Clone, Debug, Args)]
pub struct MeshReportArgs {
    /// Only tests of this run; may be given more than once.
    #[arg(long, value_name = "RUN")]
    pub run: Vec<RunName>,
    /// Places that the best place is to serve, comma separated.
    #[arg(long, value_name = "PLACE", value_delimiter = ',')]
    pub peers: Vec<String>,
    /// What the best place is to have least of.
    #[arg(long, value_name = "WHAT", default_value = "max-rtt", requires = "peers")]
    pub minimise: Least,
    /// Prices of your own, which override the table that comes with Weir.
    #[arg(long, value_name = "FILE", requires = "peers")]
    pub prices: Option<PathBuf>,
    /// Write charts of the tests to this HTML file too, which opens anywhere.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Replace the HTML file if there is one.
    #[arg(long, requires = "html")]
    pub force: bool,
}

/// Arguments of `weir mesh probe`.
#[derive(Clone, Debug, Args)]
pub struct ProbeArgs {
    /// The agent's host name or address, with an optional port.
    #[arg(value_name = "HOST[:PORT]")]
    pub host: String,
    /// File with the token that the agent asks for.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// What the test does.
    #[command(flatten)]
    pub shape: ShapeArgs,
}
