//! Recommended settings on the network that they were recommended for, beside the cheapest of all that could have been. It
//! must not know how a recommendation is made.

use std::collections::BTreeSet;

use weir_diagnose::{Carried, Options, Recovery, Stream, Transport};
use weir_link::LinkSpec;
use weir_measure::VideoFormat;
use weir_stream_proto::PACKET_OVERHEAD;
use weir_units::Rate;

use crate::carried::{VirtualTransport, diagnose_by_trial};
use crate::observed::Observed;

/// Target that a trial can show.
const TARGET: f64 = 1e-4;
/// Packets of a trial of the recommendation, and of each of the others.
const PACKETS: u64 = 200_000;
const OTHER_PACKETS: u64 = 60_000;
const SEED: u64 = 0x5eed;
/// Latency that all of them have, nanoseconds.
const LATENCY_NS: u64 = 100_000_000;
/// IP and UDP headers, bytes.
const HEADERS: f64 = 28.0;

/// What came of the recommended settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// They leave no more than the target.
    pub meets_target: bool,
    /// Residual loss, 0 to 1.
    pub residual: f64,
    /// Bytes sent for each byte of media.
    pub cost: f64,
    /// The same of the cheapest settings that meet the target; none where these do not.
    pub cheapest: Option<f64>,
}

/// Tries the settings that are recommended for a loss of 0.01 %; none where no settings are.
pub fn try_settings(observed: &Observed) -> Option<Outcome> {
    let options = Options {
        target_loss: Some(TARGET),
        ..Options::default()
    };
    let measured = &observed.measured;
    let diagnosis = diagnose_by_trial(measured, &options);
    diagnosis.answer.settings.as_ref()?;
    let found = diagnosis.recommendation?;
    let plan = &measured.flow_tests.first()?.plan;
    let stream = Stream {
        format: VideoFormat::of_rate(Rate(measured.media_rate?), plan.format.frame_rate),
        flows: found.flows.min(64),
        payload: found.payload,
        recovery: found.recovery,
        latency_ns: found.latency_ns,
        dark: None,
        packets: PACKETS,
        seed: SEED,
    };
    let link = &observed.network.link;
    let carried = VirtualTransport.carry(link, &stream)?;
    let payloads: BTreeSet<u32> = measured.flow_tests.iter().map(|test| test.payload).collect();
    let meets_target = residual(&carried) <= TARGET;
    let cost = cost(&carried, &stream);
    Some(Outcome {
        meets_target,
        residual: residual(&carried),
        cost,
        cheapest: meets_target.then(|| cheapest(link, &stream, &payloads).map_or(cost, |best| best.min(cost))),
    })
}

fn residual(carried: &Carried) -> f64 {
    carried.unrepaired as f64 / carried.packets.max(1) as f64
}

/// Bytes sent for each byte of media.
fn cost(carried: &Carried, stream: &Stream) -> f64 {
    let each = carried.sent_packets as f64 / carried.packets.max(1) as f64;
    let media = f64::from(stream.payload) - f64::from(PACKET_OVERHEAD);
    each * (f64::from(stream.payload) + HEADERS) / media
}

/// The cost of the cheapest that meets the target, of all flows, payloads and repairs; none where it costs more than
/// `stream` at least.
fn cheapest(link: &LinkSpec, stream: &Stream, payloads: &BTreeSet<u32>) -> Option<f64> {
    let mut all = Vec::new();
    for payload in payloads {
        for flows in [1, 2, 4, 8, 16, 32, 64] {
            for recovery in repairs() {
                all.push(Stream {
                    flows,
                    payload: *payload,
                    recovery,
                    latency_ns: LATENCY_NS,
                    packets: OTHER_PACKETS,
                    ..stream.clone()
                });
            }
        }
    }
    let least = |stream: &Stream| {
        let repairs = match stream.recovery {
            Recovery::Fec { overhead, .. } => overhead,
            _ => 0.0,
        };
        (1.0 + repairs) * (f64::from(stream.payload) + HEADERS) / f64::from(stream.payload)
    };
    let most = least(stream);
    all.retain(|other| least(other) < most);
    all.sort_by(|a, b| least(a).total_cmp(&least(b)));
    all.iter().find_map(|stream| {
        let carried = VirtualTransport.carry(link, stream)?;
        (residual(&carried) <= TARGET).then(|| cost(&carried, stream))
    })
}

fn repairs() -> Vec<Recovery> {
    let mut all = vec![
        Recovery::None,
        Recovery::Arq {
            latency_ns: Some(LATENCY_NS),
            rounds: 1,
        },
    ];
    for span_packets in [40, 160, 640] {
        for share in [0.025, 0.05, 0.1, 0.2, 0.4] {
            let repair_packets = (f64::from(span_packets) * share) as u32;
            all.push(Recovery::Fec {
                overhead: f64::from(repair_packets) / f64::from(span_packets),
                repair_packets,
                span_packets,
                latency_ns: LATENCY_NS,
            });
        }
    }
    all
}
