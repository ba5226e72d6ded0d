//! `weir lab neighbour`: traffic that shares a line with a stream.

use crate::args::{GlobalOptions, NeighbourCommand, NeighbourServeArgs};
use serde_json::json;
use weir_measure::Stop;
use weir_neighbour::{Limits, NeighbourError, Server};

use super::{Failure, print};
use crate::commands::signals::stop_on_signals;
use crate::commands::tables;

/// Serves, or measures one kind of neighbour.
pub fn run(command: &NeighbourCommand, global: &GlobalOptions) -> Result<(), Failure> {
    let stop = stop_on_signals()?;
    let (kind, with) = match command.measured() {
        Ok(measured) => measured,
        Err(server) => return serve(server, global, &stop),
    };
    let measured = kind.measure(&with.server, with.duration.0, with.start_at, &stop)?;
    if global.json {
        let text = serde_json::to_string(&measured)
            .map_err(|error| Failure::environment(format!("cannot write the result as JSON: {error}")))?;
        return print(&format!("{text}\n"));
    }
    print(&tables::neighbour(&measured))
}

fn serve(args: &NeighbourServeArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    let limits = Limits {
        max_rate: args.max_rate.0,
        max_duration_ns: args.max_for.0,
        max_sessions: args.max_sessions.into(),
    };
    let server = Server::bind(args.listen, limits)?;
    let address = server.address();
    match (global.json, global.quiet) {
        (true, _) => print(&format!("{}\n", json!({ "address": address })))?,
        (false, false) => print(&format!("serving neighbours on {address}\n"))?,
        (false, true) => {}
    }
    Ok(server.run(stop)?)
}

impl From<NeighbourError> for Failure {
    fn from(error: NeighbourError) -> Self {
        Failure::usage_or_environment(error.is_usage(), &error)
    }
}
