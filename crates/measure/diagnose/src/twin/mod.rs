//! The twin of a path: a link file that does to packets what the path did, as far as a run's tests tell, and how its tests
//! compare with those of the path. It must not know how a link is emulated.

mod comparison;
mod direction;
mod propagation;
mod transmitter;

use std::path::Path;

use weir_link::{LinkSpec, Profile, ProfileError};
use weir_results::Direction;

use crate::DiagnoseError;
use crate::analysis::Steps;
use crate::findings::reversals;
use crate::measured::Measured;

pub use comparison::{ComparedDelay, ComparedTest, Comparison, Interval, compare};

/// MTUs that a link may have (RFC 791's smallest datagram that every host takes, and the longest of IPv4).
const MTUS: std::ops::RangeInclusive<u32> = 576..=65_535;

/// A link that does to packets what a measured path did.
#[derive(Clone, Debug, PartialEq)]
pub struct Twin {
    /// The link file, with bounds in its comments.
    pub toml: String,
    /// The same as a link.
    pub link: LinkSpec,
    /// What happened on the path and is not in the link, or was not measured.
    pub left_out: Vec<String>,
}

/// Builds the twin of the path that a run measured.
///
/// # Errors
/// When the run has no flow test, or, by a fault of Weir's own, the link file cannot be read back.
pub fn twin(measured: &Measured) -> Result<Twin, DiagnoseError> {
    if measured.flow_tests.is_empty() {
        let missing = "flow test, which a twin is made from";
        return Err(DiagnoseError::Nothing {
            run: measured.run,
            missing,
        });
    }
    let mut left_out = Vec::new();
    let both = [Direction::Forward, Direction::Reverse].map(|direction| Steps::new(measured, direction));
    let transmitters = both.each_ref().map(|steps| transmitter::of(measured, steps));
    let slowest = transmitters[0].as_ref().map(|transmitter| transmitter.bits);
    let reorders = both.iter().any(reversals::is_of_network);
    if reorders {
        left_out.push("how packets of a flow overtake each other: jitter stands for it".to_owned());
    }
    let propagation = propagation::of(measured, slowest, reorders, &mut left_out);
    let mut tables = String::new();
    for (steps, transmitter) in both.iter().zip(&transmitters) {
        let transmitter = transmitter.as_ref();
        tables.push_str(&direction::table(
            measured,
            steps,
            propagation,
            transmitter,
            &mut left_out,
        ));
    }
    if !measured.tcp.is_empty() {
        left_out.push("the TCP steps: no key of a link follows from them".to_owned());
    }
    let toml = format!("{}{}{tables}", head(measured, &left_out), interface_mtu(measured));
    let link = read(&toml, measured).map_err(|source| DiagnoseError::Twin {
        run: measured.run,
        source,
    })?;
    Ok(Twin { toml, link, left_out })
}

fn read(toml: &str, measured: &Measured) -> Result<LinkSpec, ProfileError> {
    let name = format!("twin of run {}", measured.run);
    Profile::from_text(toml, &name, Path::new("."))?.spec()
}

fn head(measured: &Measured, left_out: &[String]) -> String {
    let run = measured.run;
    let mut head = format!(
        "# Twin of run {run}: what the path did to packets, as a link\n#\n# Bounds are of 95 %. 'weir twin {run} --check' \
         compares it with the run, test by test.\n"
    );
    if !left_out.is_empty() {
        head.push_str("# Not in it:\n");
    }
    for line in left_out {
        head.push_str(&format!("# - {line}\n"));
    }
    head
}

fn interface_mtu(measured: &Measured) -> String {
    let known = measured.interface_mtu.filter(|mtu| MTUS.contains(mtu));
    known.map_or(String::new(), |mtu| format!("\ninterface-mtu = {mtu}\n"))
}

/// A share as link files have it, with four significant digits and at most as many decimal places as they take.
fn percent(share: f64) -> String {
    let percent = 100.0 * share.clamp(0.0, 1.0);
    let places = (3.0 - percent.max(1e-12).log10().floor()).clamp(0.0, 15.0) as usize;
    let text = format!("{percent:.places$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_four_digits() {
        let shares = [
            (0.0, "0%"),
            (1.0, "100%"),
            (0.123_456, "12.35%"),
            (0.000_002, "0.0002%"),
        ];
        for (share, text) in shares {
            assert_eq!(percent(share), text);
        }
        assert_eq!(percent(1.234_56e-9), "0.0000001235%");
    }
}
