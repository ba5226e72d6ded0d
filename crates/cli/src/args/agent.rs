//! Arguments of `weir agent`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, value_parser};
use weir_measure::MAX_THREADS;

use super::MOST_FLOWS;
use crate::units::{PortRange, Rate, TimeSpan, parse_length};

/// Arguments of `weir agent`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir agent --token-file weir.token --max-rate 3Gbit/s

A client takes the same token: weir rtt HOST --token-file weir.token")]
pub struct AgentArgs {
    /// Address to listen on; may be given more than once [default: all addresses with a token or --open, else
    /// loopback].
    #[arg(long, value_name = "ADDR")]
    pub listen: Vec<IpAddr>,
    /// TCP port for control sessions; 0 selects a free port and prints it.
    #[arg(long, value_name = "PORT", default_value_t = 4747)]
    pub port: u16,
    /// UDP ports for test packets.
    #[arg(long, value_name = "A..B", default_value = "4750..4849")]
    pub udp_ports: PortRange,
    /// File with the token shared with clients.
    ///
    /// Without this option, the token is the value of the environment variable WEIR_TOKEN.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Accept clients without a token, from anywhere that reaches this host.
    #[arg(long, conflicts_with = "token_file")]
    pub open: bool,
    /// Maximum rate of one test, per direction.
    #[arg(
        long,
        value_name = "RATE",
        default_value = "10Gbit/s",
        help_heading = "Limits"
    )]
    pub max_rate: Rate,
    /// Maximum duration of one test.
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = TimeSpan::positive, help_heading = "Limits")]
    pub max_duration: TimeSpan,
    /// Maximum UDP payload, in bytes.
    #[arg(long, value_name = "N", default_value = "65507", value_parser = parse_length, help_heading = "Limits")]
    pub max_length: u32,
    /// Maximum number of concurrent sessions.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = value_parser!(u32).range(1..), help_heading = "Limits")]
    pub max_sessions: u32,
    /// Maximum number of flows in one test, up to 1024.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = value_parser!(u16).range(1..=i64::from(MOST_FLOWS)), help_heading = "Limits")]
    pub max_flows: u16,
    /// Maximum number of packet threads of one test, per direction, at most 16 [default: the number of cores].
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=i64::from(MAX_THREADS)), help_heading = "Limits")]
    pub max_threads: Option<u16>,
    /// UDP port on which to reflect STAMP packets (RFC 8762) as well.
    #[arg(long, value_name = "PORT", value_parser = value_parser!(u16).range(1..), help_heading = "STAMP")]
    pub stamp_port: Option<u16>,
    /// File with the STAMP key; only authenticated packets are reflected.
    #[arg(long, value_name = "FILE", requires = "stamp_port", help_heading = "STAMP")]
    pub stamp_key_file: Option<PathBuf>,
}
