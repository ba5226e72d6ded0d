//! How long packets travel without a queue, and how much that varies. It must not know routes.

use weir_units::format_duration;

use crate::measured::Measured;

/// Delay of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Propagation {
    /// Smallest, nanoseconds.
    pub delay_ns: u64,
    /// It varies from that to so much more, nanoseconds; 0 where hosts vary as much.
    pub jitter_ns: u64,
    /// Packets of a flow overtake each other.
    pub reorders: bool,
}

/// Timestamps of kernels vary by so much: less is no jitter of a path.
const LEAST_JITTER_NS: f64 = 30_000.0;
/// Packets that say how a delay varies.
const LEAST_PACKETS: usize = 50;
/// The sum of two equal uniform delays from 0 to 1 has its 10 % quantile at the square root of 0.2, and its 90 % quantile as
/// far below 2; between these lies so much. Its 99 % quantile is as far below 2 as the square root of 0.02.
const BETWEEN_TENTHS: f64 = 1.105_6;
const TO_P99: f64 = 1.858_6;

/// Half of the round trip in each direction: the clocks of two hosts do not tell them apart. What each packet takes on the
/// slowest link forward, of so many bits per second, is not propagation.
pub(super) fn of(
    measured: &Measured,
    slowest: Option<f64>,
    reorders: bool,
    left_out: &mut Vec<String>,
) -> Propagation {
    let Some(test) = &measured.rtt else {
        left_out.push("the round-trip time: it was not measured".to_owned());
        return Propagation::default();
    };
    let serialized_ns = |length: u32| {
        let bits = 8.0 * f64::from(length + measured.header_bytes);
        slowest.map_or(0, |rate| (1e9 * bits / rate) as u64)
    };
    let mut trips: Vec<u64> = test
        .first_packets
        .iter()
        .filter_map(|packet| {
            Some(
                packet
                    .network_rtt_ns?
                    .saturating_sub(serialized_ns(packet.length)),
            )
        })
        .collect();
    trips.sort_unstable();
    let Some(smallest) = trips.first() else {
        let smallest = test.rtt.map_or(0, |rtt| rtt.min.unsigned_abs());
        left_out.push(format!(
            "how much of the round trip of {} hosts took: the kernels gave no timestamps",
            format_duration(smallest)
        ));
        return Propagation {
            delay_ns: smallest / 2,
            ..Propagation::default()
        };
    };
    let quantile = |share: f64| trips[(share * (trips.len() - 1) as f64) as usize] as f64;
    let jitter = if reorders {
        (quantile(0.99) - *smallest as f64) / TO_P99
    } else {
        (quantile(0.9) - quantile(0.1)) / BETWEEN_TENTHS
    };
    let varies = trips.len() >= LEAST_PACKETS && jitter >= LEAST_JITTER_NS;
    Propagation {
        delay_ns: smallest / 2,
        jitter_ns: if varies { jitter as u64 } else { 0 },
        reorders: varies && reorders,
    }
}
