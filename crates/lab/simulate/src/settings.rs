//! Recommended settings on the network that they were recommended for, beside the cheapest of all that could have been. It
//! must not know how a recommendation is made.

use std::collections::BTreeSet;

use weir_diagnose::{Carried, Options, Recovery, Stream, Transport, Verdict};
use weir_link::LinkSpec;
use weir_measure::VideoFormat;
use weir_stream_proto::PACKET_OVERHEAD;
use weir_units::Rate;

use crate::carried::VirtualTransport;
use crate::diagnosed::diagnose_by_trial;
use crate::observed::Observed;

/// Target residual loss of the settings that are tried, 0 to 1: one that a trial can show.
pub const SETTINGS_TARGET: f64 = 1e-4;
/// Packets of a trial of the recommendation, and of each of the others.
const PACKETS: u64 = 200_000;
const OTHER_PACKETS: u64 = 60_000;
/// Shortest trial of the recommendation, and of the cheapest of the others, seconds: for less a path may carry more than it does.
const LEAST_S: f64 = 2.0;
/// Packets of a first trial of each, and how many of them may be missing: at the target there is less than one, and strong codes
/// against heavy loss compute for minutes.
const FIRST_PACKETS: u64 = 6_000;
const FIRST_MISSING: u64 = 20;
const SEED: u64 = 0x5eed;
/// Flows of the others, and packets of a flow back to back.
const FLOWS: [u16; 4] = [1, 4, 16, 64];
const BURSTS: [Option<u32>; 2] = [None, Some(1)];
/// Latency that all of them may have, nanoseconds; that of a code beyond four of its spans: what more there is only costs time.
const LATENCY_NS: u64 = 100_000_000;
const BEYOND_SPANS_NS: f64 = 3e7;
/// IP and UDP headers, bytes.
const HEADERS: f64 = 28.0;

/// What came of a recommendation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The settings leave no more than the target; without settings: none of the others does, either.
    pub is_right: bool,
    /// Bytes sent for each byte of media; none without settings.
    pub cost: Option<f64>,
    /// The same of the cheapest settings that meet the target; none where none do.
    pub cheapest: Option<f64>,
}

/// Tries the settings that are recommended for a loss of 0.01 % and 100 ms; where the answer is that the path does not carry
/// the media, all others. None where there is no answer.
pub fn try_settings(observed: &Observed) -> Option<Outcome> {
    let options = Options {
        target_loss: Some(SETTINGS_TARGET),
        ..Options::default()
    };
    if observed.network.middlebox.is_some() {
        // Streams are carried by the link alone.
        return None;
    }
    let measured = &observed.measured;
    let diagnosis = diagnose_by_trial(measured, &options);
    let found = diagnosis.recommendation?;
    let plan = &measured.flow_tests.first()?.plan;
    let stream = Stream {
        format: VideoFormat::of_rate(Rate(measured.media_rate?), plan.format.frame_rate),
        flows: found.flows.min(64),
        payload: found.payload,
        burst: found.burst,
        recovery: found.recovery,
        latency_ns: found.latency_ns,
        dark: None,
        packets: PACKETS,
        seed: SEED,
    };
    let link = &observed.network.link;
    let payloads: BTreeSet<u32> = measured.flow_tests.iter().map(|test| test.payload).collect();
    match diagnosis.answer.verdict {
        Verdict::CannotSay => None,
        Verdict::DoesNotCarry => {
            let cheapest = cheapest(link, &stream, &payloads, f64::INFINITY);
            Some(Outcome {
                is_right: cheapest.is_none(),
                cost: None,
                cheapest,
            })
        }
        Verdict::Carries | Verdict::CarriesWithRepair => {
            let carried = VirtualTransport.carry(link, &lasting(stream.clone()))?;
            let cost = cost(&carried, &stream);
            let is_right = residual(&carried) <= SETTINGS_TARGET;
            let cheaper =
                || cheapest(link, &stream, &payloads, least(&stream)).map_or(cost, |best| best.min(cost));
            Some(Outcome {
                is_right,
                cost: Some(cost),
                cheapest: is_right.then(cheaper),
            })
        }
    }
}

/// For long enough.
fn lasting(stream: Stream) -> Stream {
    let packets = LEAST_S * stream.format.rate().0 as f64 / 8.0 / f64::from(stream.payload);
    Stream {
        packets: stream.packets.max(packets as u64),
        ..stream
    }
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

/// The least that these settings can cost.
fn least(stream: &Stream) -> f64 {
    let repairs = match stream.recovery {
        Recovery::Fec { overhead, .. } => overhead,
        _ => 0.0,
    };
    (1.0 + repairs) * (f64::from(stream.payload) + HEADERS) / f64::from(stream.payload)
}

/// The cost of the cheapest settings that meet the target, of all flows, payloads and repairs that can cost less than `most`;
/// none where none do.
fn cheapest(link: &LinkSpec, stream: &Stream, payloads: &BTreeSet<u32>, most: f64) -> Option<f64> {
    let mut all = Vec::new();
    for payload in payloads {
        for (flows, burst) in FLOWS
            .into_iter()
            .flat_map(|flows| BURSTS.map(|burst| (flows, burst)))
        {
            for recovery in repairs() {
                all.push(Stream {
                    flows,
                    payload: *payload,
                    burst,
                    recovery,
                    latency_ns: latency_ns(&recovery, stream.format.rate(), *payload),
                    packets: FIRST_PACKETS,
                    ..stream.clone()
                });
            }
        }
    }
    all.retain(|other| least(other) < most);
    all.sort_by(|a, b| least(a).total_cmp(&least(b)));
    let mut overloading: Vec<(u32, Recovery)> = Vec::new();
    let mut unrepaired: Vec<(Stream, f64)> = Vec::new();
    all.into_iter().find_map(|first| {
        if overloading.contains(&(first.payload, first.recovery)) {
            return None;
        }
        let plain = Stream {
            recovery: Recovery::None,
            latency_ns: LATENCY_NS,
            ..first.clone()
        };
        // No code repairs more than it has repairs.
        let lost = unrepaired.iter().find(|(stream, _)| *stream == plain);
        if lost.is_some_and(|(_, lost)| *lost > strength(&first.recovery)) {
            return None;
        }
        let carried = VirtualTransport.carry(link, &first)?;
        if first == plain {
            unrepaired.push((plain, residual(&carried)));
        }
        let is_promising = carried.unrepaired <= FIRST_MISSING;
        let longer = Stream {
            packets: OTHER_PACKETS,
            ..first
        };
        let meets = |stream: &Stream| {
            let carried = VirtualTransport.carry(link, stream)?;
            (residual(&carried) <= SETTINGS_TARGET).then_some(carried)
        };
        let carried = is_promising.then(|| meets(&longer))??;
        let longest = lasting(longer.clone());
        if longest == longer {
            return Some(cost(&carried, &longest));
        }
        // What passes for a while alone is too much, over however many flows.
        let carried = meets(&longest);
        if carried.is_none() {
            overloading.push((longest.payload, longest.recovery));
        }
        Some(cost(&carried?, &longest))
    })
}

fn latency_ns(recovery: &Recovery, rate: Rate, payload: u32) -> u64 {
    let Recovery::Fec { span_packets, .. } = recovery else {
        return LATENCY_NS;
    };
    let span_s = f64::from(*span_packets) * f64::from(payload) * 8.0 / rate.0 as f64;
    LATENCY_NS.min((4e9 * span_s + BEYOND_SPANS_NS) as u64)
}

/// Share of all packets that a code can repair; all for a retransmission.
fn strength(recovery: &Recovery) -> f64 {
    match recovery {
        Recovery::Fec { overhead, .. } => overhead / (1.0 + overhead),
        _ => 1.0,
    }
}

fn repairs() -> Vec<Recovery> {
    let mut all = vec![
        Recovery::None,
        Recovery::Arq {
            latency_ns: Some(LATENCY_NS),
            rounds: 1,
        },
    ];
    let span_packets = 160;
    for repair_packets in [8, 16, 32, 80] {
        all.push(Recovery::Fec {
            overhead: f64::from(repair_packets) / f64::from(span_packets),
            repair_packets,
            span_packets,
            latency_ns: LATENCY_NS,
        });
    }
    all
}
