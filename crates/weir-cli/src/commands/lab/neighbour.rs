//! `weir lab neighbour`: traffic that shares a line with a stream.

use serde_json::json;
use weir_cli::args::{CongestionName, GlobalOptions, NeighbourArgs, NeighbourCommand, NeighbourServeArgs};
use weir_cli::units::TimeSpan;
use weir_measure::Stop;
use weir_neighbour::{
    Asked, BulkRequest, Congestion, HttpRequest, Limits, Measured, NeighbourError, Server, Traffic,
    measure_bulk, measure_datagrams, measure_http,
};

use super::{Failure, print};
use crate::commands::tables;
use crate::stop_on_signals;

/// Longer, and the server would close the connection.
const MOST_PAUSE: TimeSpan = TimeSpan(60_000_000_000);

/// Serves, or measures one kind.
pub fn run(command: &NeighbourCommand, global: &GlobalOptions) -> Result<(), Failure> {
    let stop = stop_on_signals()?;
    if let NeighbourCommand::Serve(args) = command {
        return serve(args, global, &stop);
    }
    let measured = measure(command, &stop)?;
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
        (false, false) => print(&format!("neighbours are served on {address}\n"))?,
        (false, true) => {}
    }
    Ok(server.run(stop)?)
}

fn measure(command: &NeighbourCommand, stop: &Stop) -> Result<Measured, Failure> {
    match command {
        // Not a client: it has been dealt with.
        NeighbourCommand::Serve(_) => Err(Failure::usage("'serve' measures nothing")),
        NeighbourCommand::Voip { common } => datagrams(common, "voip", Traffic::Voice, stop),
        NeighbourCommand::Udp { common, rate, length } => {
            let traffic = Traffic::Even {
                rate: *rate,
                length: *length,
            };
            datagrams(common, "udp", traffic, stop)
        }
        NeighbourCommand::Game {
            common,
            rate,
            frames_per_second,
            length,
        } => {
            let traffic = Traffic::Game {
                rate: *rate,
                frames_per_second: *frames_per_second,
                length: *length,
            };
            datagrams(common, "game", traffic, stop)
        }
        NeighbourCommand::Bulk {
            common,
            congestion,
            streams,
        } => {
            let request = BulkRequest {
                duration_ns: common.duration.0,
                streams: *streams,
                congestion: congestion.map(named),
            };
            Ok(measure_bulk(&common.server, &request, common.start_at, stop)?)
        }
        NeighbourCommand::Http {
            common,
            bytes,
            pause,
            congestion,
        } => {
            if *pause > MOST_PAUSE {
                return Err(Failure::usage(format!(
                    "--pause {pause} is too long; at most {MOST_PAUSE}"
                )));
            }
            let request = HttpRequest {
                duration_ns: common.duration.0,
                length: bytes.0,
                pause_ns: pause.0,
                congestion: congestion.map(named),
            };
            Ok(measure_http(&common.server, &request, common.start_at, stop)?)
        }
    }
}

fn datagrams(
    common: &NeighbourArgs,
    kind: &'static str,
    traffic: Traffic,
    stop: &Stop,
) -> Result<Measured, Failure> {
    if !traffic.is_sound() {
        return Err(Failure::usage(
            "a frame of this game has more than 4096 datagrams; give a lower --rate, more frames or a greater --length",
        ));
    }
    let asked = Asked {
        traffic,
        duration_ns: common.duration.0,
    };
    Ok(measure_datagrams(
        &common.server,
        kind,
        asked,
        common.start_at,
        stop,
    )?)
}

fn named(name: CongestionName) -> Congestion {
    match name {
        CongestionName::Reno => Congestion::Reno,
        CongestionName::Cubic => Congestion::Cubic,
        CongestionName::Bbr => Congestion::Bbr,
    }
}

impl From<NeighbourError> for Failure {
    fn from(error: NeighbourError) -> Self {
        match error.is_usage() {
            true => Failure::usage(error.to_string()),
            false => Failure::environment(error.to_string()),
        }
    }
}
