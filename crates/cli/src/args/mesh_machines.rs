//! Arguments of `weir mesh` for launched machines. Clouds, places and addresses are text here; weir-mesh parses them.

use std::path::PathBuf;

use clap::{Args, value_parser};

use super::mesh_pairs::{CostArgs, FilterArgs, ShapeArgs};
use crate::units::TimeSpan;

/// Machines to launch.
#[derive(Clone, Debug, Args)]
pub struct MachineArgs {
    /// Public address or range that may reach the machines by SSH, normally yours; may be given more than once.
    #[arg(long, value_name = "ADDRESS[/N]", help_heading = "Machines")]
    pub admit: Vec<String>,
    /// Deadline, counted from now, after which machines terminate themselves; everything is removed before it.
    #[arg(long, value_name = "TIME", default_value = "2h", value_parser = TimeSpan::positive, help_heading = "Machines")]
    pub delete_after: TimeSpan,
    /// Machine type in a cloud, as in aws=c7i.large [default: its smallest that is not burstable]; may be given more than once.
    #[arg(long, value_name = "CLOUD=TYPE", help_heading = "Machines")]
    pub machine_type: Vec<String>,
    /// System of the machines in a cloud, as in aws=amazon-linux, azure=debian, oracle=oracle-linux [default: ubuntu]; may be given
    /// more than once.
    #[arg(long, value_name = "CLOUD=SYSTEM", help_heading = "Machines")]
    pub image: Vec<String>,
    /// Launch 64-bit ARM machines; 'weir mesh run' copies weir-aarch64-unknown-linux-musl to them (--binaries).
    #[arg(long, help_heading = "Machines")]
    pub arm: bool,
    /// Launch spot machines: cheaper, but the cloud may reclaim them.
    #[arg(long, help_heading = "Machines")]
    pub spot: bool,
    /// MTU of the machines' interface in bytes, or largest: what each cloud's networks carry [default: the cloud's own].
    #[arg(long, value_name = "BYTES", help_heading = "Machines")]
    pub mtu: Option<String>,
    /// Place the machines of a region close to each other, with types that allow it; test between them with
    /// --all-hosts.
    #[arg(long, help_heading = "Machines")]
    pub placement_group: bool,
    /// Place the machines of a region in different fault domains.
    #[arg(long, conflicts_with = "placement_group", help_heading = "Machines")]
    pub fault_domains: bool,
    /// OCID of the compartment in Oracle Cloud.
    #[arg(long, value_name = "OCID", help_heading = "Machines")]
    pub oracle_compartment: Option<String>,
    /// Program of yours that provides the machines instead of a cloud.
    #[arg(long, value_name = "PROGRAM", help_heading = "Machines")]
    pub machines_by: Option<PathBuf>,
    /// OpenTofu or Terraform program [default: the one in PATH].
    #[arg(long, value_name = "PROGRAM", help_heading = "Machines")]
    pub engine: Option<PathBuf>,
    /// Number of places that the engine works on concurrently; each needs about 700 MB of memory for the provider.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = value_parser!(u16).range(1..=64), help_heading = "Machines")]
    pub at_once: u16,
    /// Folder of the launch records [default: weir/mesh in $XDG_STATE_HOME or ~/.local/state].
    #[arg(long, value_name = "FOLDER", help_heading = "Machines")]
    pub state: Option<PathBuf>,
}

/// Arguments of `weir mesh launch`.
#[derive(Clone, Debug, Args)]
pub struct LaunchArgs {
    /// Machines.
    #[command(flatten)]
    pub machines: MachineArgs,
    /// File to write the hosts file to as well.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Pairs to test; each of their regions, or zones, gets a machine.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Parts of a test, for the estimate.
    #[command(flatten)]
    pub shape: ShapeArgs,
    /// Limits.
    #[command(flatten)]
    pub cost: CostArgs,
    /// SSH client program.
    #[arg(long, value_name = "FILE", default_value = "ssh")]
    pub ssh: String,
}

/// Where to look for resources tagged by launches.
#[derive(Clone, Debug, Args)]
pub struct TaggedArgs {
    /// Look in all regions of this cloud that are enabled for the account; aws only.
    #[arg(long, value_name = "CLOUD", value_delimiter = ',')]
    pub cloud: Vec<String>,
    /// Look in this region; may be given more than once.
    #[arg(long, value_name = "PLACE", value_delimiter = ',')]
    pub place: Vec<String>,
    /// Ask this program of yours that provides machines.
    #[arg(long, value_name = "PROGRAM")]
    pub machines_by: Option<PathBuf>,
    /// Folder of the launch records [default: weir/mesh in $XDG_STATE_HOME or ~/.local/state].
    #[arg(long, value_name = "FOLDER")]
    pub state: Option<PathBuf>,
}

/// Arguments of `weir mesh status`.
#[derive(Clone, Debug, Args)]
pub struct StatusArgs {
    /// Where to look for tags.
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
    /// Of tagged resources, remove only those of this launch, even before its deadline.
    #[arg(long, value_name = "LAUNCH")]
    pub launch: Option<String>,
    /// Remove tagged resources even before their deadline; launches from other hosts may still use them.
    #[arg(long, conflicts_with = "launch")]
    pub all: bool,
    /// Only print what would be removed.
    #[arg(long)]
    pub list: bool,
    /// SSH client program.
    #[arg(long, value_name = "FILE", default_value = "ssh")]
    pub ssh: String,
}
