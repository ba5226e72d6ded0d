//! Arguments of `weir mesh` about machines that are launched. What clouds, places and addresses mean is read where they
//! are; here they are text.

use std::path::PathBuf;

use clap::{Args, value_parser};

use super::mesh::{CostArgs, FilterArgs, ShapeArgs};
use crate::units::TimeSpan;

/// Machines that are launched.
#[derive(Clone, Debug, Args)]
pub struct MachineArgs {
    /// Where you come from, as others see it: an address or a range that may reach the machines by SSH; may be given more
    /// than once.
    #[arg(long, value_name = "ADDRESS[/N]", help_heading = "Machines")]
    pub admit: Vec<String>,
    /// When machines end by themselves, counted from now; all of it is removed before.
    #[arg(long, value_name = "TIME", default_value = "2h", value_parser = TimeSpan::positive, help_heading = "Machines")]
    pub delete_after: TimeSpan,
    /// Type of the machines in a cloud, as in aws=c7i.large, instead of its smallest; may be given more than once.
    #[arg(long, value_name = "CLOUD=TYPE", help_heading = "Machines")]
    pub machine_type: Vec<String>,
    /// Machines with 64-bit ARM processors ('weir mesh run' needs --program aarch64=FILE then).
    #[arg(long, help_heading = "Machines")]
    pub arm: bool,
    /// Spot machines: cheaper, and the cloud may take them back.
    #[arg(long, help_heading = "Machines")]
    pub spot: bool,
    /// MTU of the machines' interface, bytes.
    #[arg(long, value_name = "BYTES", value_parser = value_parser!(u16).range(576..=9216), help_heading = "Machines")]
    pub mtu: Option<u16>,
    /// Put machines of a region close to each other, with types that allow it; --all-hosts tests between them.
    #[arg(long, help_heading = "Machines")]
    pub placement_group: bool,
    /// Compartment on Oracle's cloud, by its OCID.
    #[arg(long, value_name = "OCID", help_heading = "Machines")]
    pub oracle_compartment: Option<String>,
    /// Have this program of yours make the machines instead of clouds.
    #[arg(long, value_name = "PROGRAM", help_heading = "Machines")]
    pub machines_by: Option<PathBuf>,
    /// OpenTofu or Terraform [default: the one that is in PATH].
    #[arg(long, value_name = "PROGRAM", help_heading = "Machines")]
    pub engine: Option<PathBuf>,
    /// Places at which the engine works at the same time; a cloud's provider takes some 700 MB of memory for each.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = value_parser!(u16).range(1..=64), help_heading = "Machines")]
    pub at_once: u16,
    /// Folder in which launches are written down [default: weir/mesh in $XDG_STATE_HOME or ~/.local/state].
    #[arg(long, value_name = "FOLDER", help_heading = "Machines")]
    pub state: Option<PathBuf>,
}

/// Arguments of `weir mesh launch`.
#[derive(Clone, Debug, Args)]
pub struct LaunchArgs {
    /// Which machines.
    #[command(flatten)]
    pub machines: MachineArgs,
    /// Write the hosts file here too.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Which pairs are to be tested; their regions, or zones, get a machine each.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// What a test does, for the estimate.
    #[command(flatten)]
    pub shape: ShapeArgs,
    /// Limits.
    #[command(flatten)]
    pub cost: CostArgs,
    /// Program to call for SSH.
    #[arg(long, value_name = "FILE", default_value = "ssh")]
    pub ssh: String,
}

/// Where to look for what carries the tags of launches.
#[derive(Clone, Debug, Args)]
pub struct TaggedArgs {
    /// Look in all regions of this cloud that the account has; Weir can look in aws.
    #[arg(long, value_name = "CLOUD", value_delimiter = ',')]
    pub cloud: Vec<String>,
    /// Look in this region; may be given more than once.
    #[arg(long, value_name = "PLACE", value_delimiter = ',')]
    pub place: Vec<String>,
    /// Ask this program of yours, which makes machines.
    #[arg(long, value_name = "PROGRAM")]
    pub machines_by: Option<PathBuf>,
    /// Folder in which launches are written down [default: weir/mesh in $XDG_STATE_HOME or ~/.local/state].
    #[arg(long, value_name = "FOLDER")]
    pub state: Option<PathBuf>,
}

/// Arguments of `weir mesh status`.
#[derive(Clone, Debug, Args)]
pub struct StatusArgs {
    /// Where else to look.
    #[command(flatten)]
    pub tagged: TaggedArgs,
}

/// Arguments of `weir mesh sweep`.
#[derive(Clone, Debug, Args)]
pub struct SweepArgs {
    /// Hosts file: Weir's own YAML, or an Ansible inventory (INI or YAML).
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,
    /// Where to look for tags.
    #[command(flatten)]
    pub tagged: TaggedArgs,
    /// Of what carries tags, remove only this launch's, also before its time is over.
    #[arg(long, value_name = "LAUNCH")]
    pub launch: Option<String>,
    /// Remove what carries tags also where its time is not over: launches from other hosts may be using it.
    #[arg(long, conflicts_with = "launch")]
    pub all: bool,
    /// Only say what would be removed.
    #[arg(long)]
    pub list: bool,
    /// Program to call for SSH.
    #[arg(long, value_name = "FILE", default_value = "ssh")]
    pub ssh: String,
}
