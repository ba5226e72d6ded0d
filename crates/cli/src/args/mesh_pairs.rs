//! What `weir mesh plan`, `run` and `launch` have alike: pairs, parts of a test, limits. Places are text here; weir-mesh parses
//! them.

use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};
use weir_mesh::regions::MOST_OF_A_REGION;

use crate::units::{ByteCount, Rate, TimeSpan};

/// Presets of plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PresetName {
    /// All regions of AWS and Google Cloud that accounts have without opting in; RTT and one TCP connection, 10 MB each.
    Article,
    /// Two machines side by side in one region of each cloud; 2.5 Gbit/s of UDP for 10 s, and TCP.
    Placement,
    /// Two regions of each cloud; 50 Mbit/s of UDP for a minute, and TCP.
    Media,
}

/// Addresses of tests between hosts of one network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AddressesName {
    /// Private addresses.
    Private,
    /// Public addresses.
    Public,
    /// Each pair over both, one test each.
    Both,
}

/// Pairs to test; a pair must pass all filters.
#[derive(Clone, Debug, Args)]
pub struct FilterArgs {
    /// Plan by name, instead of the options for pairs and parts of a test.
    #[arg(long, value_name = "NAME", help_heading = "Pairs",
          conflicts_with_all = ["pair", "cloud", "cloud_pair", "min_distance", "max_distance", "max_regions", "zones", "all_hosts",
                                "machines", "rtt_for", "tcp_for", "streams", "udp_for", "udp_rate", "max_bytes", "window", "survey"])]
    pub preset: Option<PresetName>,
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
    /// Include regions that an account has only after opting in; without a hosts file.
    #[arg(long, help_heading = "Pairs")]
    pub all_regions: bool,
    /// Test between zones as well, also within a region; without it, one host per region takes part.
    #[arg(long, help_heading = "Pairs")]
    pub zones: bool,
    /// Use all hosts, and test between hosts of one zone as well.
    #[arg(long, conflicts_with = "zones", help_heading = "Pairs")]
    pub all_hosts: bool,
    /// Machines per region without a hosts file: with --zones each in its own zone, with --all-hosts all in one zone
    /// [default: 2 with either option, else 1].
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=i64::from(MOST_OF_A_REGION)), help_heading = "Pairs")]
    pub machines: Option<u16>,
    /// Addresses of tests between hosts of one network; all others are tested over public addresses.
    #[arg(long, value_name = "WHICH", default_value = "private", help_heading = "Pairs")]
    pub addresses: AddressesName,
    /// Join the private networks of each cloud's regions, so that they are one network; without a hosts file.
    #[arg(long, help_heading = "Pairs")]
    pub peering: bool,
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
    /// Window of each TCP connection [default: the kernels choose it].
    #[arg(long, value_name = "BYTES", value_parser = ByteCount::positive, help_heading = "Each test")]
    pub window: Option<ByteCount>,
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
pub(super) fn amount(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if (0.0..1e9).contains(&amount) => Ok(amount),
        _ => Err("write a number of 0 or more, as in 2.50".to_owned()),
    }
}
