//! `weir watch history`: what the past of watched paths says.

use weir_net::clock;
use weir_results::Store;
use weir_watch::history::{Asked, read};

use crate::args::{GlobalOptions, WatchHistoryArgs};
use crate::commands::output::print;
use crate::commands::progress::Waiting;
use crate::commands::run_store::json;
use crate::commands::{Failure, tables};

/// Reads the store and prints what it says.
pub fn run(args: &WatchHistoryArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let until_ns = args.until.map_or_else(clock::unix_ns, |until| until.0);
    let since_ns = args
        .since
        .before(until_ns)
        .ok_or_else(|| Failure::usage("--since is not before --until"))?;
    let store = Store::open_read_only(&global.db)?;
    let asked = Asked {
        pair: args.pair.clone(),
        since_ns,
        until_ns,
    };
    let waiting = Waiting::new("reading the history", global.quiet);
    let history = read(&store, &asked)?;
    drop(waiting);
    if history.pairs.is_empty() {
        return Err(Failure::usage(match &args.pair {
            Some((near, far)) => format!("nothing was measured from '{near}' to '{far}' in this span"),
            None => format!(
                "no watcher measured anything in this span in {}",
                global.db.display()
            ),
        }));
    }
    match (global.json, args.rates) {
        (true, false) => print(&format!("{}\n", json(&history))),
        (true, true) => print(&format!("{}\n", json(&history.rates()))),
        (false, false) => print(&tables::watch_history(&history)),
        (false, true) => print(&tables::watch_rates(&history.rates())),
    }
}
