//! Arguments of `weir lab` and its subcommands. Values of a link are text here; weir-link parses them.

use std::ffi::OsString;

use clap::{Args, Subcommand, ValueEnum};

use super::NeighbourCommand;
use super::lab_grid::LabGridArgs;
use super::lab_pacing::LabPacingArgs;
use super::lab_population::LabPopulationArgs;
use super::lab_simulate::LabSimulateArgs;
use super::lab_traps::LabTrapsArgs;
use super::lab_tune::LabTuneArgs;
use crate::units::TimeSpan;

/// Default name of a link.
pub const DEFAULT_LINK: &str = "link";

/// Subcommands of `weir lab`.
#[derive(Clone, Debug, Subcommand)]
pub enum LabCommand {
    /// Run a command across an emulated network.
    ///
    /// Creates two hosts, near and far, with a link between them, runs COMMAND on near, and removes everything when
    /// COMMAND ends, however it ends. Meanwhile a 'weir agent' runs on far and WEIR_TOKEN holds its token, so that
    /// 'weir survey far' works without options. The host names near and far resolve to the addresses in WEIR_LAB_NEAR
    /// and WEIR_LAB_FAR. At the end, link statistics are printed on standard error and stored in the results store.
    ///
    /// Needs no root where users may create user namespaces. The exit status is COMMAND's, or 3 if COMMAND succeeded
    /// but the result is invalid: the link was late, or dropped packets because this host was overloaded.
    Run(Box<LabRunArgs>),
    /// Measure across an emulated network in virtual time.
    ///
    /// Runs a survey, a flow test or an RTT test over the link without sending a packet: no root, no far host, no wait.
    /// Senders, receivers and accounts are those of the real tests; the link and both hosts, each with two idle cores,
    /// are models. The result is stored as runs with the tag 'simulated', which every command reads. The same link,
    /// --seed and --start give the same rows.
    Simulate(Box<LabSimulateArgs>),
    /// Find the rate that this machine can emulate, send and receive.
    ///
    /// Tries 2.5, 1, 0.5, 0.25 and 0.1 Gbit/s across the link, in 5 s at most, and prints the highest at which the
    /// link's P99 of lateness stays below a third of --max-lateness and both hosts keep up, with headroom for a run.
    /// The rate goes to standard output, the reason to standard error.
    Calibrate(Box<LabCalibrateArgs>),
    /// Show what paced streaming does to others on the same line.
    ///
    /// Plays a title over an emulated line, unpaced and paced in turn, beside a call, a download, a web page, another
    /// video or a cloud game, and reports the change for each neighbour, with 95 % intervals. Scenarios are built in,
    /// or read from your own files. Everything is removed when it ends, however it ends.
    Pacing(Box<LabPacingArgs>),
    /// Play many households, paced and unpaced, in virtual time.
    ///
    /// Draws households from distributions: line, queue, congestion control, viewer, neighbours. Plays each with every
    /// variant of pacing and the same random numbers, over TCP in virtual time, and reports throughput, retransmissions,
    /// RTT, quality and what neighbours get, over all households, with 95 % intervals of the changes. Needs no network
    /// and no root. The same file and --seed give the same figures, whatever the number of threads and shards. Ctrl-C
    /// keeps what was played; --resume continues.
    Population(LabPopulationArgs),
    /// Play households with every combination of queue, congestion control and pace, in virtual time.
    ///
    /// Draws households as 'weir lab population' does, and plays each in every cell of the grid with the same random
    /// numbers: {tail drop, RED, CoDel, PIE, FQ-CoDel, DualPI2} x {NewReno, CUBIC, BBR, L4S} x {unpaced, paced at each
    /// multiple}. Reports what neighbours gain from the pace, from the queue, and from both, with 95 % intervals by
    /// household. Prints the number of sessions and an estimate of the time before it begins.
    Grid(LabGridArgs),
    /// Find the pace that helps neighbours and does not harm viewers, in virtual time.
    ///
    /// Plays households as 'weir lab population' does, unpaced and with each candidate: a pace that players ask for, and a
    /// burst of the server. Prints the harm to viewers and the gain of neighbours for each, with 95 % intervals by
    /// household, the front of both, and a recommendation as options of 'weir origin' and 'weir load'. Candidates are
    /// played with the same random numbers; the worse half is dropped each time the number of households doubles.
    Tune(LabTuneArgs),
    /// Show which pace rates harm the viewer that requests them.
    ///
    /// Plays a title in virtual time over a link that changes in steps, with several pacing policies, and reports the
    /// playback of each viewer, the trap, and whether it occurs. Takes milliseconds, needs no network and no root, and
    /// gives the same figures on every machine. Writes nothing to the results store.
    Traps(LabTrapsArgs),
    /// Create, show, use and remove a persistent emulated link.
    ///
    /// The link stays until 'weir lab link down'. Its hosts are named network namespaces, so that 'ip netns exec' and
    /// 'weir lab link shell' run any command on them. Needs root; 'weir lab run' does not.
    #[command(
        subcommand,
        after_help = "\
Example:
    $ weir lab link up --rate 10Mbit/s --rtt 20ms --queue 2bdp --loss 0.1%
    $ weir lab link shell near -- ping far
    $ weir lab link down"
    )]
    Link(LinkCommand),
    /// Generate and measure traffic that shares a line with a stream.
    ///
    /// Kinds of traffic: a call, evenly spaced datagrams, a cloud game, a bulk TCP download, repeated HTTP downloads.
    /// One process serves all kinds; one client per kind measures delay, loss and rate. One-way delays compare the
    /// clocks of both hosts, which are the same clock in a lab.
    #[command(
        subcommand,
        after_help = "\
Example:
    $ weir lab neighbour serve --listen 198.18.0.2:7000
    $ weir lab neighbour voip far:7000 --for 20s"
    )]
    Neighbour(NeighbourCommand),
    /// List the built-in link profiles.
    ///
    /// Each profile models a real network and names the published figures that it uses. Save one with --show, edit it,
    /// and pass the file to 'weir lab run'.
    #[command(after_help = "\
Example:
    $ weir lab profiles
    $ weir lab profiles --show oracle > mine.toml")]
    Profiles {
        /// Print the text of this profile.
        #[arg(long, value_name = "NAME")]
        show: Option<String>,
    },
    /// Remove leftovers of crashed links.
    ///
    /// Removes the namespaces and files of links whose process is gone. Links that are up stay, unless --all is given.
    #[command(after_help = "\
Example:
    $ weir lab clean")]
    Clean {
        /// Remove links that are up as well.
        #[arg(long)]
        all: bool,
    },
}

/// Subcommands of `weir lab link`.
#[derive(Clone, Debug, Subcommand)]
pub enum LinkCommand {
    /// Create two hosts and the link between them.
    ///
    /// The link runs in the background until 'weir lab link down'.
    Up(Box<LinkUpArgs>),
    /// Remove a link.
    ///
    /// Stops its process and removes the names of its hosts. Commands still running on them continue without a link.
    #[command(after_help = "\
Example:
    $ weir lab link down")]
    Down {
        /// Name of the link [default: the only one that is up].
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Show the settings, statistics and namespaces of a link.
    ///
    /// Statistics are those up to the last full second and include the lateness of the link itself.
    #[command(after_help = "\
Example:
    $ weir lab link show")]
    Show {
        /// Name of the link [default: the only one that is up].
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Run a shell or a command on one of the hosts of a link.
    ///
    /// Exits with the status of the command.
    #[command(after_help = "\
Example:
    $ weir lab link shell far -- iperf3 -s")]
    Shell {
        /// Host to run on.
        #[arg(value_name = "near|far")]
        host: End,
        /// Name of the link [default: the only one that is up].
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// Command to run [default: your shell].
        #[arg(value_name = "COMMAND", last = true)]
        command: Vec<OsString>,
    },
    /// Run the process of a link, in the background of 'up'.
    ///
    /// Reads the link as JSON from standard input, prints 'ready' or an error, and runs until it receives a signal.
    #[command(
        hide = true,
        after_help = "\
Example:
    $ weir lab link carry link"
    )]
    Carry {
        /// Name of the link.
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
    /// Name of the link.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_LINK)]
    pub name: String,
}

/// Hosts of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum End {
    /// The host on which commands run.
    Near,
    /// The other host.
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
    /// Shell command to run on the far host until COMMAND ends.
    #[arg(long, value_name = "COMMAND")]
    pub far: Option<String>,
    /// Run no agent on the far host.
    #[arg(long)]
    pub no_agent: bool,
    /// Maximum P99 of the link's own lateness for the result to be valid.
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub max_lateness: TimeSpan,
    /// Warn if the link was late, and exit with the status of COMMAND.
    #[arg(long)]
    pub allow_late: bool,
    /// What to run on the near host, with its arguments.
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub command: Vec<OsString>,
}

/// Arguments of `weir lab calibrate`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir lab run oracle -- weir survey far --rate $(weir lab calibrate oracle)")]
pub struct LabCalibrateArgs {
    /// The link.
    #[command(flatten)]
    pub link: LinkOptions,
    /// Maximum P99 of the link's own lateness in the run that is to follow.
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub max_lateness: TimeSpan,
}

/// A link as a command line says it: a file or profile, and what is different. docs/link-profiles.md has every key.
#[derive(Clone, Debug, Default, Args)]
pub struct LinkOptions {
    /// TOML file, or profile of 'weir lab profiles' [default: a link without delay, loss or rate limit].
    #[arg(value_name = "FILE|PROFILE")]
    pub base: Option<String>,
    /// Rate of the transmitter before each route, in both directions.
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, help_heading = "Link")]
    pub rate: Option<String>,
    /// Round-trip propagation delay, half of it per direction.
    #[arg(
        long,
        value_name = "TIME",
        conflicts_with = "delay",
        allow_hyphen_values = true,
        help_heading = "Link"
    )]
    pub rtt: Option<String>,
    /// Propagation delay per direction.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Link")]
    pub delay: Option<String>,
    /// Maximum of a random additional delay, uniform from 0.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Link")]
    pub jitter: Option<String>,
    /// Let jitter change the order of packets.
    #[arg(long, help_heading = "Link")]
    pub reorder: bool,
    /// Length of the queue before the transmitter, as in 100kB, 50packets or 2bdp.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, help_heading = "Link")]
    pub queue: Option<String>,
    /// Loss rate.
    #[arg(
        long,
        value_name = "PERCENT",
        allow_hyphen_values = true,
        help_heading = "Link"
    )]
    pub loss: Option<String>,
    /// Mean length of loss bursts, in packets.
    #[arg(
        long,
        value_name = "N",
        requires = "loss",
        allow_hyphen_values = true,
        help_heading = "Link"
    )]
    pub burst: Option<String>,
    /// MTU, in bytes.
    #[arg(long, value_name = "N", help_heading = "Link")]
    pub mtu: Option<u32>,
    /// Number of equal routes, chosen by the 5-tuple of a packet.
    #[arg(long, value_name = "N", help_heading = "Link")]
    pub routes: Option<u32>,
    /// Maximum rate of each flow; excess packets are dropped.
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, help_heading = "Link")]
    pub flow_rate: Option<String>,
    /// Maximum number of packets per second; excess packets are dropped.
    #[arg(long, value_name = "N", help_heading = "Link")]
    pub packet_rate: Option<u64>,
    /// Hide the 5-tuple, so that all flows take one route.
    #[arg(long, help_heading = "Link")]
    pub hide_five_tuple: bool,
    /// Share of packets that are duplicated.
    #[arg(
        long,
        value_name = "PERCENT",
        allow_hyphen_values = true,
        help_heading = "Link"
    )]
    pub duplicate: Option<String>,
    /// Share of packets with a flipped bit.
    #[arg(
        long,
        value_name = "PERCENT",
        allow_hyphen_values = true,
        help_heading = "Link"
    )]
    pub corrupt: Option<String>,
    /// Random seed.
    #[arg(long, value_name = "N", help_heading = "Link")]
    pub seed: Option<u64>,
    /// Set any key of a link, as in 'route.1.loss=0.05%'; may be given more than once.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Link")]
    pub set: Vec<String>,
}
