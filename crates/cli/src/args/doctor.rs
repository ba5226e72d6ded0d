//! Arguments of `weir doctor`.

use std::path::PathBuf;

use clap::Args;

use crate::units::Rate;

/// Arguments of `weir doctor`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir doctor
    $ weir doctor far.example.net --rate 8Gbit/s --token-file weir.token
    $ sudo weir doctor --fix --yes

Exit status: 0 nothing amiss; 1 warnings; 2 wrong arguments; 3 a fault, or the far end or the environment failed.")]
pub struct DoctorArgs {
    /// Host name or address of the agent, with an optional port [default: check this host only].
    #[arg(value_name = "HOST[:PORT]")]
    pub host: Option<String>,
    /// Rate of the media that the hosts are to carry.
    #[arg(long, value_name = "RATE", default_value = "2.5Gbit/s")]
    pub rate: Rate,
    /// Write the kernel parameters that are amiss on this host to /etc/sysctl.d, and apply them.
    ///
    /// Prints the file and asks before it writes. Commands for the interface, the clock and the CPU are printed only.
    #[arg(long)]
    pub fix: bool,
    /// Write without a question, with --fix.
    #[arg(long, requires = "fix")]
    pub yes: bool,
    /// File with the agent's token.
    ///
    /// Without this option, the token is the value of the environment variable WEIR_TOKEN.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Use IPv4 only.
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use IPv6 only.
    #[arg(short = '6', long)]
    pub ipv6: bool,
}
