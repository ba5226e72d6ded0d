//! Queue disciplines against a computation in another language (`data/make_disciplines.py`), packet by packet, and the
//! figures that their documents publish.

use crate::rig::{flow, link_of};
use weir_link::{
    CodelSpec, DirectionSpec, DisciplineSpec, DualPi2Spec, Ecn, FqCodelSpec, Link, ManagedQueue, Nanos,
    Packet, PieSpec, QueueLimit, QueueSpec, RateSpec, RedSpec, RouteSpec, Verdict,
};

const MS: u64 = 1_000_000;

/// A server of 8 Mbit/s: a byte takes 1,000 ns.
pub fn direction(limit: QueueLimit, discipline: DisciplineSpec) -> DirectionSpec {
    DirectionSpec::over(vec![RouteSpec {
        rate: RateSpec::Fixed(8_000_000),
        queue: QueueSpec::Managed(ManagedQueue { limit, discipline }),
        ..RouteSpec::clean()
    }])
}

/// The arrivals of the other program.
fn arrivals(ecn_of: fn(u64) -> Ecn) -> Vec<(u64, Packet<usize>)> {
    let mut state = 20_240_229_u64;
    let mut draw = move || {
        state = state * 16_807 % 2_147_483_647;
        state
    };
    let mut time = 0;
    let one = |number: usize| {
        let load = if number % 1000 < 800 { 850 } else { 1600 };
        time += (draw() % 1000) * 2 * load;
        if number % 1000 == 999 {
            time += 400 * MS;
        }
        let length = [1500, 1500, 1000, 64][(draw() % 4) as usize];
        let drawn = draw();
        let five_tuple = if drawn % 3 == 0 { 0 } else { drawn % 7 };
        let packet = Packet {
            length,
            flow: flow(five_tuple, 0),
            ecn: ecn_of(five_tuple),
            payload: number,
        };
        (time, packet)
    };
    (0..3000).map(one).collect()
}

/// The fate of each packet, and the checksum over the transmissions.
fn serve(link: &mut Link<usize>, arrivals: &[(u64, Packet<usize>)]) -> (String, u64) {
    let mut fates = vec!['d'; arrivals.len()];
    let mut checksum = 0_u128;
    let mut poll = |link: &mut Link<usize>, until| {
        while let Some(departure) = link.poll(Nanos(until)) {
            let number = departure.packet.payload;
            let marked = departure.packet.ecn != arrivals[number].1.ecn;
            assert!(!marked || departure.packet.ecn == Ecn::Ce);
            fates[number] = if marked { 'm' } else { '.' };
            let next = checksum * 1_000_003 + number as u128 * 31 + u128::from(departure.at.0);
            checksum = next % ((1 << 61) - 1);
        }
    };
    for (at, packet) in arrivals {
        poll(link, *at);
        let _: Verdict<usize> = link.enqueue(Nanos(*at), packet.clone());
    }
    poll(link, u64::MAX / 2);
    assert_eq!(link.in_flight(), 0);
    (fates.into_iter().collect(), checksum as u64)
}

type EcnOf = fn(u64) -> Ecn;

fn no_ecn(_flow: u64) -> Ecn {
    Ecn::NotEct
}

fn half(flow: u64) -> Ecn {
    if flow % 2 == 1 { Ecn::Ect0 } else { Ecn::NotEct }
}

fn other_half(flow: u64) -> Ecn {
    half(flow + 1)
}

/// Half of the flows are of L4S, the others of every other kind.
fn mixed(flow: u64) -> Ecn {
    match flow % 4 {
        0 => Ecn::NotEct,
        2 => Ecn::Ect0,
        _ => Ecn::Ect1,
    }
}

/// All flows but one are of L4S.
fn capable(flow: u64) -> Ecn {
    if flow == 0 { Ecn::Ect0 } else { Ecn::Ect1 }
}

/// The cases of the other program.
fn case(name: &str) -> (DirectionSpec, EcnOf) {
    let codel = |ecn| {
        let spec = CodelSpec {
            ecn,
            ..CodelSpec::default()
        };
        direction(QueueLimit::Bytes(300_000), DisciplineSpec::Codel(spec))
    };
    match name {
        "codel" => (codel(true), no_ecn),
        "codel-ecn" => (codel(true), half),
        "codel-without-ecn" => (codel(false), half),
        "pie" | "pie-ecn" | "pie-enhanced" => {
            let enhanced = name == "pie-enhanced";
            let spec = PieSpec {
                derandomize: enhanced,
                cap_adjustment: enhanced,
                ..PieSpec::default()
            };
            let ecn_of: EcnOf = if name == "pie" { no_ecn } else { half };
            (
                direction(QueueLimit::Bytes(250_000), DisciplineSpec::Pie(spec)),
                ecn_of,
            )
        }
        "red" | "red-ecn" | "red-abrupt" => {
            let spec = RedSpec {
                packet_time_ns: 1_500_000,
                weight: if name == "red" { 0.002 } else { 0.02 },
                gentle: name != "red-abrupt",
                ..RedSpec::default()
            };
            let ecn_of: EcnOf = if name == "red" { no_ecn } else { half };
            (
                direction(QueueLimit::Bytes(100_000), DisciplineSpec::Red(spec)),
                ecn_of,
            )
        }
        "fq-codel" | "fq-codel-drops" => (
            direction(
                QueueLimit::Packets(10_240),
                DisciplineSpec::FqCodel(FqCodelSpec::default()),
            ),
            if name == "fq-codel" { other_half } else { no_ecn },
        ),
        "fq-codel-full" => {
            let spec = FqCodelSpec {
                flows: 4,
                ..FqCodelSpec::default()
            };
            (
                direction(QueueLimit::Packets(60), DisciplineSpec::FqCodel(spec)),
                half,
            )
        }
        "dualpi2" | "dualpi2-overload" => (
            direction(
                QueueLimit::Bytes(250_000),
                DisciplineSpec::DualPi2(DualPi2Spec::default()),
            ),
            if name == "dualpi2" { mixed } else { capable },
        ),
        _ => panic!("{name} is no case"),
    }
}

#[test]
fn every_packet_fares_as_another_program_says() {
    let lines = include_str!("../data/disciplines.txt").lines();
    for line in lines {
        let [name, fates, checksum] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let (spec, ecn_of) = case(name);
        let mut link = link_of(spec, 7);
        let (found, sum) = serve(&mut link, &arrivals(ecn_of));
        let differs = found.chars().zip(fates.chars()).position(|(a, b)| a != b);
        assert_eq!(differs, None, "{name}: the first packet that differs");
        assert_eq!(sum.to_string(), checksum, "{name}");
        let counters = link.counters();
        let count = |fate| fates.matches(fate).count() as u64;
        assert_eq!(
            (counters.marked, counters.dropped.queue, counters.delivered),
            (count('m'), count('d'), count('m') + count('.')),
            "{name}"
        );
        assert!(counters.dropped_early <= counters.dropped.queue);
        assert_eq!(link.sojourns().count(), counters.delivered, "{name}");
    }
}

/// Offers a packet of 1,000 bytes, 1 ms of the rate, twice per ms; returns the times at which the queue dropped.
fn drop_times(link: &mut Link<u64>, packets: u64) -> Vec<u64> {
    let (mut times, mut before) = (Vec::new(), 0);
    for number in 0..packets {
        let at = number * MS / 2;
        while link.poll(Nanos(at)).is_some() {}
        link.enqueue(Nanos(at), crate::rig::packet(1_000, 0, number));
        let dropped = link.counters().dropped.queue;
        times.extend((before..dropped).map(|_| at));
        before = dropped;
    }
    times
}

#[test]
fn codel_drops_at_the_published_intervals() {
    let spec = DisciplineSpec::Codel(CodelSpec::default());
    let mut link = link_of(direction(QueueLimit::Unlimited, spec), 1);
    let times = drop_times(&mut link, 4_000);
    // The queue is above 5 ms when the sixth packet has waited 5 ms; an interval later the first drop, and then one
    // each 100 ms / sqrt(count) (RFC 8289, section 3.3). The transmitter takes a packet at each whole ms.
    let mut expected = vec![times[0] as f64];
    for count in 1..20_u32 {
        expected.push(expected[count as usize - 1] + 100e6 / f64::from(count).sqrt());
    }
    println!(
        "{:?}",
        times.iter().take(20).map(|time| time / MS).collect::<Vec<_>>()
    );
    assert!((100 * MS..120 * MS).contains(&times[0]));
    for (found, expected) in times.iter().zip(&expected) {
        let late = *found as f64 - expected;
        assert!((-1.0..=1e6).contains(&late), "{found} ns, {expected} ns");
    }
}
