//! Networks and hosts without faults, of other kinds than those of the first generator. It must not know faults.

use weir_link::{DirectionSpec, Jitter, LinkSpec, Mtu, QueueSpec, RateSpec, RouteSpec, TooBig};
use weir_measure::VideoFormat;
use weir_measure::survey::SurveyPlan;
use weir_units::{FrameRate, Rate};

use super::super::{Fault, Network};
use crate::host::HostModel;
use crate::middlebox::Middlebox;
use crate::random::Random;

const SECOND_NS: u64 = 1_000_000_000;
/// Medians of round trips: a rack, a region, a country, a continent, an ocean, and halfway round the globe.
const ROUND_TRIPS_NS: [f64; 6] = [1.2e5, 6e5, 4e6, 2e7, 8e7, 1.5e8];
/// A longer one exceeds the timeout of the clock watch of a flow test.
const LONGEST_ROUND_TRIP_NS: f64 = 1.8e8;
/// Ethernet's usual rates.
const RATES: [u64; 6] = [
    10_000_000_000,
    25_000_000_000,
    40_000_000_000,
    100_000_000_000,
    200_000_000_000,
    400_000_000_000,
];
/// Media between a compressed contribution and uncompressed HD, bits per second.
const MEDIA: (f64, f64) = (5e7, 2.6e9);
/// Frames per second, as a fraction.
const FRAME_RATES: [(u32, u32); 5] = [(24, 1), (25, 1), (30_000, 1001), (50, 1), (60_000, 1001)];
/// MTU of the hosts' interfaces and of the path: Ethernet, PPPoE, GRE, VXLAN, WireGuard, two clouds, packet over SONET, and
/// jumbo frames with and without a tunnel.
const MTUS: [(u32, u32); 11] = [
    (1500, 1500),
    (1500, 1492),
    (1500, 1476),
    (1500, 1450),
    (1500, 1420),
    (1460, 1460),
    (9000, 8500),
    (4470, 4470),
    (9000, 8950),
    (9000, 9000),
    (9000, 1500),
];

pub(super) fn without_faults(random: &mut Random) -> Network {
    let plan = plan(random);
    let link = link(random);
    let radio = random.chance(0.2).then(|| Middlebox::Radio {
        median_ns: random.log_normal(1.5e5, 0.8).min(1e6),
        sigma: random.between(0.3, 0.8),
    });
    Network {
        fault: Fault::Clean,
        more: Vec::new(),
        before: None,
        link,
        near: host(random),
        far: host(random),
        middlebox: radio,
        may_miss: true,
        plan,
        seed: random.bits(),
    }
}

fn plan(random: &mut Random) -> SurveyPlan {
    let rate = random.log_normal(4e8, 1.1).clamp(MEDIA.0, MEDIA.1);
    let (numerator, denominator) = random.pick(&FRAME_RATES);
    let frame_rate = FrameRate::new(numerator, denominator).unwrap_or(FrameRate::NTSC_60);
    SurveyPlan {
        format: VideoFormat::of_rate(Rate(rate as u64), frame_rate),
        step_ns: random.whole(2, 4) * SECOND_NS,
        max_flows: 16,
        max_bytes: u64::MAX,
    }
}

/// Both directions have routes of their own number and length.
fn link(random: &mut Random) -> LinkSpec {
    let round_trip = random.pick(&ROUND_TRIPS_NS);
    let round_trip = random.log_normal(round_trip, 0.3).min(LONGEST_ROUND_TRIP_NS);
    let forward_share = random.between(0.4, 0.6);
    let (interface_mtu, path_mtu) = random.pick(&MTUS);
    let mtu = Mtu {
        bytes: path_mtu,
        too_big: random.pick(&[TooBig::Drop, TooBig::Icmp]),
    };
    let mut direction = |share: f64| DirectionSpec {
        mtu,
        ..DirectionSpec::over(routes(round_trip * share, random))
    };
    let (forward, reverse) = (direction(forward_share), direction(1.0 - forward_share));
    LinkSpec {
        name: "apart".to_owned(),
        seed: random.bits(),
        interface_mtu,
        forward,
        reverse,
    }
}

/// Routes of equal length, to 400 m of cable, half of the time with unequal weights.
fn routes(one_way_ns: f64, random: &mut Random) -> Vec<RouteSpec> {
    let mut count = 1;
    while count < 16 && random.chance(0.55) {
        count += 1;
    }
    let unequal = random.chance(0.5);
    let rate = random.chance(0.8).then(|| random.pick(&RATES));
    let queue_ns = random.log_between(1e6, 5e7);
    let jitter = random.chance(0.4).then(|| Jitter {
        most_ns: random.log_between(1e3, 2e5) as u64,
        reorder: false,
    });
    let route = |random: &mut Random| RouteSpec {
        weight: if unequal { random.whole(1, 4) as u32 } else { 1 },
        rate: rate.map_or(RateSpec::Unlimited, RateSpec::Fixed),
        overhead: random.pick(&[14, 18, 38]),
        queue: rate.map_or(QueueSpec::Unlimited, |rate| queue_of(rate, queue_ns)),
        delay_ns: one_way_ns as u64 + random.whole(0, 2_000),
        jitter,
        ..RouteSpec::clean()
    };
    (0..count).map(|_| route(random)).collect()
}

/// Bytes of the shortest queue: even small routers hold some 64 full packets.
const SHORTEST_QUEUE: f64 = 64.0 * 1500.0;

/// A queue of so many nanoseconds at a rate.
pub(super) fn queue_of(rate: u64, queue_ns: f64) -> QueueSpec {
    QueueSpec::Bytes((rate as f64 / 8e9 * queue_ns).max(SHORTEST_QUEUE) as u64)
}

/// Stalls with a heavy tail, a card that coalesces interrupts in seven of ten hosts, and buffers from the default of Linux on.
fn host(random: &mut Random) -> HostModel {
    HostModel {
        wake_median_ns: random.log_normal(1.2e4, 0.7),
        wake_sigma: random.between(0.3, 1.0),
        stalls_per_second: random.log_between(0.05, 10.0),
        stall_mean_ns: random.log_between(3e4, 6e5),
        stall_tail: Some(random.between(1.3, 3.0)),
        send_call_ns: random.log_normal(2.5e3, 0.5) as u64,
        packet_ns: random.log_normal(120.0, 0.6) as u64,
        kilobyte_ns: random.log_normal(180.0, 0.5) as u64,
        call_sigma: random.between(0.1, 0.6),
        crowded: random.unit() * random.unit(),
        receive_buffer: random.pick(&[425_984, 1 << 20, 4 << 20, 16 << 20]),
        merge_packets: random.pick(&[1, 16, 44, 64]),
        merge_within_ns: random.pick(&[0, 20_000, 50_000]),
        coalesce_ns: random.pick(&[0, 0, 0, 3_000, 10_000, 20_000, 30_000, 50_000, 64_000, 125_000]),
        timestamp_noise_ns: random.log_normal(800.0, 0.8),
        cold_ns: random.log_normal(5e3, 0.7),
        clock_offset_ns: (random.pick(&[-1.0, 1.0]) * random.log_between(1e3, 5e7)) as i64,
        clock_drift_ppm: random.between(-50.0, 50.0),
        other_load: random.unit(),
        ..HostModel::default()
    }
}
