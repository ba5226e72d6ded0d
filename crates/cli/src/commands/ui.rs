//! `weir ui`: the local page over all runs.

use std::net::SocketAddr;
use std::path::Path;

use crate::args::{GlobalOptions, TOKEN_VARIABLE, UiArgs};
use serde_json::json;
use weir_measure::Stop;
use weir_net::bounded_file;
use weir_ui::{Config, Limits, Server, UiError};

use super::output::{print, say};
use super::{Failure, browser};

/// Serves until interrupted.
pub fn run(args: &UiArgs, global: &GlobalOptions, stop: Stop) -> Result<(), Failure> {
    let token = token(args.listen, args.token_file.as_deref())?;
    let guarded = token.is_some();
    let server = Server::bind(Config {
        database: global.db.clone(),
        listen: args.listen,
        token,
        limits: Limits::default(),
    })?;
    let address = server.address();
    let url = super::url_on_this_host("http", address);
    announce(&url, address, guarded, global)?;
    if !args.no_open
        && browser::has_desktop()
        && let Err(error) = browser::open(&url)
    {
        say(&format!(
            "weir: cannot open the page with {}: {error}; open {url} yourself",
            browser::OPENER
        ));
    }
    server.run(move || stop.is_set())?;
    Ok(())
}

/// The token that a server asks for, if any. On loopback the variable alone sets none: it is often set for
/// measurements, and only the user of this host connects there.
fn token(listen: SocketAddr, file: Option<&Path>) -> Result<Option<Vec<u8>>, Failure> {
    if let Some(file) = file {
        return read_token(file).map(Some);
    }
    if listen.ip().to_canonical().is_loopback() {
        return Ok(None);
    }
    let token = std::env::var(TOKEN_VARIABLE).unwrap_or_default();
    let token = token.trim().as_bytes().to_vec();
    Ok((!token.is_empty()).then_some(token))
}

/// The file's content without surrounding white space, as for an agent.
pub(super) fn read_token(path: &Path) -> Result<Vec<u8>, Failure> {
    bounded_file::read_secret(path, "token").map_err(Failure::usage)
}

fn announce(url: &str, address: SocketAddr, guarded: bool, global: &GlobalOptions) -> Result<(), Failure> {
    if global.json {
        let database = global.db.display().to_string();
        let line = json!({ "url": url, "address": address, "token": guarded, "database": database });
        return print(&format!("{line}\n"));
    }
    print(&format!("{url}\n"))?;
    if global.quiet {
        return Ok(());
    }
    say(&format!(
        "weir ui: serving runs of {}; Ctrl-C stops it",
        global.db.display()
    ));
    if address.ip().is_unspecified() {
        say("weir ui: other hosts can connect to any address of this host");
    }
    if !address.ip().to_canonical().is_loopback() {
        say(
            "weir ui: connections are not encrypted and reveal the token; on an untrusted network use 'ssh -L'",
        );
    }
    Ok(())
}

impl From<UiError> for Failure {
    fn from(error: UiError) -> Self {
        match error {
            UiError::NoToken { .. } => Failure::usage(error.to_string()),
            other => Failure::environment(other.to_string()),
        }
    }
}
