//! `weir lab neighbour`: traffic that shares a line with a stream.

use crate::args::{GlobalOptions, NeighbourArgs, NeighbourCommand, NeighbourServeArgs};
use crate::units::TimeSpan;
use serde_json::json;
use weir_measure::Stop;
use weir_neighbour::{
    Asked, BulkRequest, HttpRequest, Limits, Measured, NeighbourError, Server, Traffic, measure_bulk,
    measure_datagrams, measure_http,
};

use super::{Failure, print};
use crate::commands::tables;
use crate::dispatch::stop_on_signals;

/// Maximum pause; the server closes a connection that is idle for longer.
const MOST_PAUSE: TimeSpan = TimeSpan(60_000_000_000);

/// Serves, or measures one kind of neighbour.
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
        (false, false) => print(&format!("serving neighbours on {address}\n"))?,
        (false, true) => {}
    }
    Ok(server.run(stop)?)
}

fn measure(command: &NeighbourCommand, stop: &Stop) -> Result<Measured, Failure> {
    match command {
        // Handled above; it is no client.
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
                congestion: *congestion,
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
                    "--pause {pause} is too long; the maximum is {MOST_PAUSE}"
                )));
            }
            let request = HttpRequest {
                duration_ns: common.duration.0,
                length: bytes.0,
                pause_ns: pause.0,
                congestion: *congestion,
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
            "a frame of this game exceeds 4096 datagrams; use a lower --rate, more --frames-per-second or a larger --length",
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

impl From<NeighbourError> for Failure {
    fn from(error: NeighbourError) -> Self {
        match error.is_usage() {
            true => Failure::usage(error.to_string()),
            false => Failure::environment(error.to_string()),
        }
    }
}
