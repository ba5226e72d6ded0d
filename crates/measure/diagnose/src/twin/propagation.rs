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
}

/// Timestamps of kernels vary by so much: less is no jitter of a path.
const LEAST_JITTER_NS: f64 = 30_000.0;
/// Packets that say how a delay varies.
const LEAST_PACKETS: usize = 50;
/// The sum of two equal uniform delays from 0 to 1 has its 10 % quantile at the square root of 0.2, and its 90 % quantile as
/// far below 2; between these lies so much.
const BETWEEN_TENTHS: f64 = 1.105_6;

/// Half of the round trip in each direction: the clocks of two hosts do not tell them apart.
pub(super) fn of(measured: &Measured, left_out: &mut Vec<String>) -> Propagation {
    let Some(test) = &measured.rtt else {
        left_out.push("the round-trip time: it was not measured".to_owned());
        return Propagation::default();
    };
    let mut trips: Vec<u64> = test
        .first_packets
        .iter()
        .filter_map(|packet| packet.network_rtt_ns)
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
            jitter_ns: 0,
        };
    };
    let quantile = |tenths: usize| trips[(trips.len() - 1) * tenths / 10] as f64;
    let jitter = (quantile(9) - quantile(1)) / BETWEEN_TENTHS;
    let varies = trips.len() >= LEAST_PACKETS && jitter >= LEAST_JITTER_NS;
    Propagation {
        delay_ns: smallest / 2,
        jitter_ns: if varies { jitter as u64 } else { 0 },
    }
}
