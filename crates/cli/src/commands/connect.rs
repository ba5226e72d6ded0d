//! From the arguments that all measuring commands share to a session with an agent.

use std::path::Path;

use crate::args::{MeasureOptions, TOKEN_VARIABLE, Traffic};
use crate::units::RateOrMax;
use weir_control::{ConnectError, Family, read_token, strong};
use weir_measure::{AgentAddress, Session, VideoFormat};
use weir_net::host::HostFacts;
use weir_protect::{Demand, Protection};
use weir_wire::Token;

use super::Failure;

/// The token: from the file, else from the environment, else none.
pub fn token(file: Option<&Path>) -> Result<Token, ConnectError> {
    if let Some(file) = file {
        return read_token(file);
    }
    let value = std::env::var(TOKEN_VARIABLE).unwrap_or_default();
    strong(value.trim().as_bytes(), TOKEN_VARIABLE)
}

/// Protection of a stream: as `--protect` says, else encrypted if there is a token.
pub fn demand(protect: Option<Protection>, token: &Token) -> Result<Demand, Failure> {
    match protect {
        None if token.is_open() => Ok(Demand::Exactly(Protection::Off)),
        None => Ok(Demand::Encrypted),
        Some(protection) if token.is_open() && protection != Protection::Off => Err(Failure::usage(format!(
            "--protect {protection} needs a token; give one with --token-file or {TOKEN_VARIABLE}"
        ))),
        Some(protection) => Ok(Demand::Exactly(protection)),
    }
}

/// Requested IP version.
pub fn family(options: &MeasureOptions) -> Family {
    match (options.ipv4, options.ipv6) {
        (true, _) => Family::V4,
        (_, true) => Family::V6,
        _ => Family::Any,
    }
}

/// A session with the agent at `host`, and the facts of this host.
pub fn connect(host: &str, options: &MeasureOptions) -> Result<(Session, HostFacts), Failure> {
    let token = token(options.token_file.as_deref())?;
    let agent = AgentAddress {
        host: host.to_owned(),
        family: family(options),
        token,
    };
    let session = Session::connect(&agent)?;
    let local = HostFacts::read(Some(session.address().ip()));
    Ok((session, local))
}

/// A session with the same agent over the other IP version: none where its name has no address of that version, or one was
/// asked for; the reason where the agent cannot be reached over it.
pub fn connect_other(
    host: &str,
    options: &MeasureOptions,
    session: &Session,
) -> Option<Result<Session, String>> {
    let (other, name) = match (family(options), session.address()) {
        (Family::Any, address) if address.is_ipv4() => (Family::V6, "IPv6"),
        (Family::Any, _) => (Family::V4, "IPv4"),
        _ => return None,
    };
    let agent = AgentAddress {
        host: host.to_owned(),
        family: other,
        token: token(options.token_file.as_deref()).ok()?,
    };
    let address = agent.resolve().ok()?;
    let connected = Session::connect(&agent);
    Some(connected.map_err(|error| format!("{name} was not compared: {}: {error}", address.ip())))
}

/// The format to be carried, and whether the sender is to go as fast as it can.
pub fn format(traffic: &Traffic) -> (VideoFormat, bool) {
    match *traffic {
        Traffic::Format(name) => (name.into(), false),
        Traffic::Frames(bytes_per_frame, rate) => (
            VideoFormat {
                bytes_per_frame,
                frame_rate: rate,
            },
            false,
        ),
        Traffic::Rate(RateOrMax::Rate(rate), frames) => (VideoFormat::of_rate(rate, frames), false),
        // A flat-out test still sends frames; their size only sets how often a frame number goes up.
        Traffic::Rate(RateOrMax::Max, frames) => (
            VideoFormat {
                bytes_per_frame: 5_184_000,
                frame_rate: frames,
            },
            true,
        ),
    }
}
