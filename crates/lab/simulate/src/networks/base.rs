//! Networks without faults, in the variety from which a fault must be distinguished. It must not know faults.

use weir_link::{DirectionSpec, Jitter, LinkSpec, Mtu, QueueSpec, RateSpec, RouteSpec, TooBig};
use weir_measure::VideoFormat;
use weir_measure::survey::SurveyPlan;
use weir_units::{FrameRate, Rate};

use super::{Fault, Network};
use crate::host::HostModel;
use crate::random::Random;

const STEP_NS: u64 = 3_000_000_000;

/// A network without faults, between hosts without faults.
pub(super) fn clean(random: &mut Random) -> Network {
    let link = link(random);
    let (near, far) = hosts(random);
    Network {
        fault: Fault::Clean,
        more: Vec::new(),
        before: None,
        link,
        middlebox: None,
        may_miss: false,
        near,
        far,
        plan: plan(random),
        seed: random.bits(),
    }
}

/// Half of the surveys plan for the default format, the others for a lower rate.
fn plan(random: &mut Random) -> SurveyPlan {
    let format = if random.chance(0.5) {
        VideoFormat {
            bytes_per_frame: 5_184_000,
            frame_rate: FrameRate::NTSC_60,
        }
    } else {
        let rate = random.log_between(2e8, 2e9) as u64;
        VideoFormat::of_rate(Rate(rate), FrameRate::NTSC_60)
    };
    SurveyPlan {
        format,
        step_ns: STEP_NS,
        max_flows: 16,
        max_bytes: u64::MAX,
    }
}

/// One route in a third of the networks, else 2 to 8 that are equal to within a microsecond.
fn link(random: &mut Random) -> LinkSpec {
    let one_way = one_way_ns(random);
    let count = if random.chance(1.0 / 3.0) {
        1
    } else {
        random.whole(2, 8)
    };
    let rate = rate(random);
    let jitter = jitter(random, one_way);
    let routes: Vec<RouteSpec> = (0..count)
        .map(|_| RouteSpec {
            rate: rate.clone(),
            queue: QueueSpec::Bytes(random.log_between(2e6, 3.2e7) as u64),
            delay_ns: one_way + random.whole(0, 1_000),
            jitter,
            ..RouteSpec::clean()
        })
        .collect();
    let (interface_mtu, path_mtu) = random.pick(&[
        (9001, 9001),
        (9000, 9000),
        (8900, 8896),
        (9000, 4036),
        (1500, 1500),
        (1500, 1480),
    ]);
    let direction = DirectionSpec {
        mtu: Mtu {
            bytes: path_mtu,
            too_big: random.pick(&[TooBig::Drop, TooBig::Icmp]),
        },
        ..DirectionSpec::over(routes)
    };
    LinkSpec {
        name: "random".to_owned(),
        seed: random.bits(),
        interface_mtu,
        forward: direction.clone(),
        reverse: direction,
    }
}

/// Half of a round trip of 0.1 to 1 ms within a region in seven of ten networks, else of 5 to 100 ms.
fn one_way_ns(random: &mut Random) -> u64 {
    let round_trip = if random.chance(0.7) {
        random.log_between(1e5, 1e6)
    } else {
        random.log_between(5e6, 1e8)
    };
    (round_trip / 2.0) as u64
}

/// A transmitter fast enough for any test, or an unlimited one.
pub(super) fn rate(random: &mut Random) -> RateSpec {
    if random.chance(0.3) {
        RateSpec::Unlimited
    } else {
        RateSpec::Fixed(random.log_between(1e10, 1e11) as u64)
    }
}

/// None in half of the networks, else up to 2 to 50 us, and up to 1 % of a long delay.
fn jitter(random: &mut Random, one_way_ns: u64) -> Option<Jitter> {
    let most = random
        .log_between(2e3, 5e4)
        .max(one_way_ns as f64 / 100.0 * random.unit());
    random.chance(0.5).then_some(Jitter {
        most_ns: most as u64,
        reorder: false,
    })
}

/// Hosts between idle and moderately busy. In half of the networks both have one clock, as on one machine.
fn hosts(random: &mut Random) -> (HostModel, HostModel) {
    let near = host(random);
    let mut far = host(random);
    if random.chance(0.5) {
        let sign = random.pick(&[-1.0, 1.0]);
        far.clock_offset_ns = (sign * random.log_between(1e4, 5e6)) as i64;
        far.clock_drift_ppm = random.between(-20.0, 20.0);
    }
    (near, far)
}

fn host(random: &mut Random) -> HostModel {
    let merges = random.chance(0.5);
    HostModel {
        wake_median_ns: random.log_between(5e3, 4e4),
        wake_sigma: random.between(0.4, 0.8),
        stalls_per_second: random.log_between(0.2, 5.0),
        stall_mean_ns: random.log_between(2e5, 2e6),
        send_call_ns: random.log_between(1.5e3, 5e3) as u64,
        packet_ns: random.log_between(50.0, 300.0) as u64,
        kilobyte_ns: random.log_between(80.0, 500.0) as u64,
        call_sigma: random.between(0.1, 0.4),
        crowded: random.pick(&[0.0, 0.1, 0.9]),
        merge_packets: if merges { 64 } else { 1 },
        timestamp_noise_ns: random.log_between(300.0, 4e3),
        cold_ns: random.log_between(2e3, 1.5e4),
        other_load: random.between(0.0, 1.0),
        ..HostModel::default()
    }
}
