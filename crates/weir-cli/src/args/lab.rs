//! Arguments of `weir lab` and its subcommands. What a link's values mean is read where links are; here they are text.

use std::ffi::OsString;

use clap::{Args, Subcommand, ValueEnum};

use super::NeighbourCommand;
use super::lab_pacing::LabPacingArgs;
use super::lab_traps::LabTrapsArgs;
use crate::units::TimeSpan;

/// Name of a link when none is given.
pub const DEFAULT_LINK: &str = "link";

/// Subcommands of `weir lab`.
#[derive(Clone, Debug, Subcommand)]
pub enum LabCommand {
    /// Run a command across an emulated network.
    ///
    /// Makes two hosts, near and far, with the link between them, runs COMMAND on the near one, and removes all of it
    /// when COMMAND has ended, however it ends. A 'weir agent' runs on the far host meanwhile, and COMMAND finds its
    /// token in WEIR_TOKEN, so that 'weir survey far' works as it is. The addresses are in WEIR_LAB_NEAR and
    /// WEIR_LAB_FAR, and the names near and far lead to them. At the end the link gives its own account on standard
    /// error, and keeps it in the results store.
    ///
    /// No root is needed where users may make user namespaces. The exit status is that of COMMAND; it is 3 if COMMAND
    /// did well but the link could not keep its times or lost packets by its own fault, so that the run cannot be
    /// believed.
    Run(Box<LabRunArgs>),
    /// Show what paced streaming does to others on the same line.
    ///
    /// Plays a title over an emulated line as fast as it comes and paced, in turn, beside a call, a download, a web page,
    /// another video or a cloud game, and tells what changes for each of them, with 95 % intervals. Scenarios come with
    /// Weir; files of your own can be given, too. Nothing is left when it ends, however it ends.
    Pacing(Box<LabPacingArgs>),
    /// Show which pace rates harm the viewer who asks for them.
    ///
    /// Plays a title in virtual time over a link that changes in steps, in several ways of pacing, and tells what each viewer
    /// got, what the trap is, and whether it shows. Takes milliseconds, no network and no root, and gives the same figures
    /// everywhere; nothing is kept in the results store.
    Traps(LabTrapsArgs),
    /// Keep an emulated link up, show it, attach to it, take it down.
    ///
    /// Such a link stays until it is taken down. Its hosts are network namespaces with names, so that 'ip netns exec'
    /// and 'weir lab link shell' run any command on them. Needs root; 'weir lab run' does not.
    #[command(
        subcommand,
        after_help = "\
Example:
    $ weir lab link up --rate 10Mbit/s --rtt 20ms --queue 2bdp --loss 0.1%
    $ weir lab link shell near -- ping far
    $ weir lab link down"
    )]
    Link(LinkCommand),
    /// Traffic that shares a line with a stream, and what becomes of it.
    ///
    /// A call, evenly spaced datagrams, a cloud game, a download as fast as TCP goes, repeated downloads over HTTP: one
    /// process serves all kinds, and a client for each measures what it gets. One-way delays are from the clock of the
    /// server's host to that of the client's, which are the same clock in a lab.
    #[command(
        subcommand,
        after_help = "\
Example:
    $ weir lab neighbour serve --listen 198.18.0.2:7000
    $ weir lab neighbour voip far:7000 --for 20s"
    )]
    Neighbour(NeighbourCommand),
    /// List the links that come with Weir.
    ///
    /// Each is modelled on a real network, and its text says on which figures. Save one with --show, change it, and
    /// give the file to 'weir lab run'.
    #[command(after_help = "\
Example:
    $ weir lab profiles
    $ weir lab profiles --show oracle > mine.toml")]
    Profiles {
        /// Print the text of one.
        #[arg(long, value_name = "NAME")]
        show: Option<String>,
    },
    /// Remove what crashed links have left.
    ///
    /// Removes the names and files of links whose process is gone. Those that are up stay, unless --all takes them
    /// down too.
    #[command(after_help = "\
Example:
    $ weir lab clean")]
    Clean {
        /// Also take down the links that are up.
        #[arg(long)]
        all: bool,
    },
}

/// Subcommands of `weir lab link`.
#[derive(Clone, Debug, Subcommand)]
pub enum LinkCommand {
    /// Make two hosts and the link between them.
    ///
    /// The link runs in the background until 'weir lab link down'.
    Up(Box<LinkUpArgs>),
    /// Take a link down.
    ///
    /// Ends its process and removes the names of its hosts. Commands that still run on them go on, without a link.
    #[command(after_help = "\
Example:
    $ weir lab link down")]
    Down {
        /// Its name [default: the only one that is up].
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Show what a link is to do, what it has done, and where to attach.
    ///
    /// What it has done is that of the last full second, and includes how late the link itself was.
    #[command(after_help = "\
Example:
    $ weir lab link show")]
    Show {
        /// Its name [default: the only one that is up].
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Run a shell or a command on one of the hosts of a link.
    ///
    /// The exit status is that of the command.
    #[command(after_help = "\
Example:
    $ weir lab link shell far -- iperf3 -s")]
    Shell {
        /// Which host.
        #[arg(value_name = "near|far")]
        host: End,
        /// Name of the link [default: the only one that is up].
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// What to run [default: your shell].
        #[arg(value_name = "COMMAND", last = true)]
        command: Vec<OsString>,
    },
    /// Carry a link, in the background of 'up'.
    ///
    /// Reads the link as JSON from standard input, says 'ready' or what is wrong, and stays until it is told to end.
    #[command(
        hide = true,
        after_help = "\
Example:
    $ weir lab link carry link"
    )]
    Carry {
        /// Its name.
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// Arguments of `weir lab link up`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir lab link up wan-80ms --loss 0.1% --name slow")]
pub struct LinkUpArgs {
    /// The link.
    #[command(flatten)]
    pub link: LinkOptions,
    /// Its name.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_LINK)]
    pub name: String,
}

/// One of the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum End {
    /// The one where commands are given.
    Near,
    /// The other.
    Far,
}

/// Arguments of `weir lab run`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir lab run oracle -- weir survey far
    $ weir lab run --rate 10Mbit/s --rtt 20ms --queue 2bdp --far 'iperf3 -s' -- iperf3 -c far")]
pub struct LabRunArgs {
    /// The link.
    #[command(flatten)]
    pub link: LinkOptions,
    /// Shell command that runs on the far host until COMMAND has ended.
    #[arg(long, value_name = "COMMAND")]
    pub far: Option<String>,
    /// Run no agent on the far host.
    #[arg(long)]
    pub no_agent: bool,
    /// Most that the 99th percentile of the link's own lateness may be for the run to be believed.
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub max_lateness: TimeSpan,
    /// What to run on the near host, with its arguments.
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub command: Vec<OsString>,
}

/// A link as a command line says it: a file or profile, and what is different. docs/link-profiles.md has every key.
#[derive(Clone, Debug, Default, Args)]
pub struct LinkOptions {
    /// TOML file, or profile of 'weir lab profiles' [default: a link that does nothing to packets].
    #[arg(value_name = "FILE|PROFILE")]
    pub base: Option<String>,
    /// Rate of the transmitter before each route, both directions.
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, help_heading = "Link")]
    pub rate: Option<String>,
    /// Round trip by propagation alone, half of it each way.
    #[arg(
        long,
        value_name = "TIME",
        conflicts_with = "delay",
        allow_hyphen_values = true,
        help_heading = "Link"
    )]
    pub rtt: Option<String>,
    /// Propagation delay of each direction.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Link")]
    pub delay: Option<String>,
    /// Random delay on top, evenly from 0 to this.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Link")]
    pub jitter: Option<String>,
    /// Let jitter change the order of packets.
    #[arg(long, help_heading = "Link")]
    pub reorder: bool,
    /// What may wait before the transmitter, as in 100kB, 50packets or 2bdp.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, help_heading = "Link")]
    pub queue: Option<String>,
    /// Share of packets that are lost.
    #[arg(
        long,
        value_name = "PERCENT",
        allow_hyphen_values = true,
        help_heading = "Link"
    )]
    pub loss: Option<String>,
    /// Mean number of packets in a burst of losses.
    #[arg(
        long,
        value_name = "N",
        requires = "loss",
        allow_hyphen_values = true,
        help_heading = "Link"
    )]
    pub burst: Option<String>,
    /// Longest packet, in bytes.
    #[arg(long, value_name = "N", help_heading = "Link")]
    pub mtu: Option<u32>,
    /// So many equal routes, chosen by the 5-tuple of a packet.
    #[arg(long, value_name = "N", help_heading = "Link")]
    pub routes: Option<u32>,
    /// Most that each flow may send; what exceeds it is dropped.
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, help_heading = "Link")]
    pub flow_rate: Option<String>,
    /// Most packets in a second; what exceeds it is dropped.
    #[arg(long, value_name = "N", help_heading = "Link")]
    pub packet_rate: Option<u64>,
    /// All flows look like one.
    #[arg(long, help_heading = "Link")]
    pub hide_five_tuple: bool,
    /// Share of packets that arrive twice.
    #[arg(
        long,
        value_name = "PERCENT",
        allow_hyphen_values = true,
        help_heading = "Link"
    )]
    pub duplicate: Option<String>,
    /// Share of packets in which a bit is flipped.
    #[arg(
        long,
        value_name = "PERCENT",
        allow_hyphen_values = true,
        help_heading = "Link"
    )]
    pub corrupt: Option<String>,
    /// Seed of all that is random.
    #[arg(long, value_name = "N", help_heading = "Link")]
    pub seed: Option<u64>,
    /// Set any key of a link, as in 'route.1.loss=0.05%'; may be given more than once.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Link")]
    pub set: Vec<String>,
}
