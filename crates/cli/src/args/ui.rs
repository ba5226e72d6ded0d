//! Arguments of `weir ui`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// Arguments of `weir ui`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir ui
    $ weir ui --db lab.db --listen 127.0.0.1:0 --no-open

From another host, through SSH: ssh -L 4780:127.0.0.1:4780 HOST weir ui --no-open")]
pub struct UiArgs {
    /// Address and port to serve the page on; port 0 selects a free port and prints it.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:4780")]
    pub listen: SocketAddr,
    /// Do not open the browser.
    #[arg(long)]
    pub no_open: bool,
    /// File with a token that the page then asks for.
    ///
    /// White space around the token is ignored. A token is required on addresses that other hosts can reach; without
    /// this option, it is the value of the environment variable WEIR_TOKEN.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}
