//! Arguments of `weir agent`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, value_parser};

use super::MOST_FLOWS;
use crate::units::{PortRange, Rate, TimeSpan, parse_length};

/// Arguments of `weir agent`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir agent --token-file weir.token --max-rate 3Gbit/s

A client takes the same token: weir rtt HOST --token-file weir.token")]
pub struct AgentArgs {
    /// Address to listen on; may be given more than once [default: all with a token or --open, else loopback].
    #[arg(long, value_name = "ADDR")]
    pub listen: Vec<IpAddr>,
    /// TCP port for control sessions; 0 takes any that is free and says which.
    #[arg(long, value_name = "PORT", default_value_t = 4747)]
    pub port: u16,
    /// UDP ports for test packets.
    #[arg(long, value_name = "A..B", default_value = "4750..4849")]
    pub udp_ports: PortRange,
    /// File that holds the token that clients must know.
    ///
    /// Without this option, the environment variable WEIR_TOKEN is the token itself.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Let anyone who can reach this host use the agent, without a token.
    #[arg(long, conflicts_with = "token_file")]
    pub open: bool,
    /// Highest rate of one test, each way.
    #[arg(
        long,
        value_name = "RATE",
        default_value = "10Gbit/s",
        help_heading = "Limits"
    )]
    pub max_rate: Rate,
    /// Longest test.
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = TimeSpan::positive, help_heading = "Limits")]
    pub max_duration: TimeSpan,
    /// Longest UDP payload, in bytes.
    #[arg(long, value_name = "N", default_value = "65507", value_parser = parse_length, help_heading = "Limits")]
    pub max_length: u32,
    /// Sessions at the same time.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = value_parser!(u32).range(1..), help_heading = "Limits")]
    pub max_sessions: u32,
    /// Flows in one test, at most 1024.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = value_parser!(u16).range(1..=i64::from(MOST_FLOWS)), help_heading = "Limits")]
    pub max_flows: u16,
    /// Also reflect STAMP packets (RFC 8762) on this UDP port.
    #[arg(long, value_name = "PORT", value_parser = value_parser!(u16).range(1..), help_heading = "STAMP")]
    pub stamp_port: Option<u16>,
    /// File with the STAMP key: reflect authenticated packets only.
    #[arg(long, value_name = "FILE", requires = "stamp_port", help_heading = "STAMP")]
    pub stamp_key_file: Option<PathBuf>,
}
