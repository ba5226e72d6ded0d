//! From the arguments that all measuring commands share to a session with an agent.

use std::path::Path;

use weir_cli::args::{MeasureOptions, TOKEN_VARIABLE, Traffic};
use weir_cli::units::{FrameRate, RateOrMax};
use weir_control::{ConnectError, Family, read_token};
use weir_measure::{AgentAddress, BitRate, Session, VideoFormat};
use weir_net::host::HostFacts;
use weir_wire::Token;

use super::Failure;

/// The token: from the file, else from the environment, else none.
pub fn token(file: Option<&Path>) -> Result<Token, ConnectError> {
    if let Some(file) = file {
        return read_token(file);
    }
    Ok(Token::new(
        std::env::var(TOKEN_VARIABLE)
            .unwrap_or_default()
            .trim()
            .as_bytes()
            .to_vec(),
    ))
}

/// IP version that was asked for.
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

/// The format to be carried, and whether the sender is to go as fast as it can.
pub fn format(traffic: &Traffic<'_>) -> Result<(VideoFormat, bool), Failure> {
    match *traffic {
        Traffic::Format(name) => VideoFormat::named(name)
            .map(|format| (format, false))
            .ok_or_else(|| Failure::usage(format!("there is no format '{name}'"))),
        Traffic::Frames(bytes_per_frame, rate) => Ok((
            VideoFormat {
                bytes_per_frame,
                frame_rate: frame_rate(rate),
            },
            false,
        )),
        Traffic::Rate(RateOrMax::Rate(rate), frames) => {
            Ok((VideoFormat::of_rate(BitRate(rate.0), frame_rate(frames)), false))
        }
        // A flat-out test still sends frames; their size only sets how often a frame number goes up.
        Traffic::Rate(RateOrMax::Max, frames) => Ok((
            VideoFormat {
                bytes_per_frame: 5_184_000,
                frame_rate: frame_rate(frames),
            },
            true,
        )),
    }
}

fn frame_rate(rate: FrameRate) -> weir_measure::FrameRate {
    weir_measure::FrameRate {
        numerator: rate.numerator,
        denominator: rate.denominator,
    }
}

#[cfg(test)]
mod tests {
    use weir_cli::args::FORMAT_NAMES;
    use weir_cli::units::format_rate;
    use weir_measure::{FORMATS, VideoFormat};

    #[test]
    fn the_formats_in_the_help_are_those_that_exist_with_their_rates() {
        assert_eq!(FORMAT_NAMES.len(), FORMATS.len());
        for (name, rate) in FORMAT_NAMES {
            let format = VideoFormat::named(name).expect("a known format");
            assert_eq!(format_rate(format.rate().0), rate, "{name}");
        }
    }
}
