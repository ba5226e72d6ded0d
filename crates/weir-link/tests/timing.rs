//! When packets leave: serialization, delay and traces, exact to the nanosecond against computations of their own.

mod rig;

use rig::{drain, link_over, offer, packet};
use weir_link::{Nanos, RateSpec, RouteSpec};

fn fixed(rate: u64) -> RouteSpec {
    RouteSpec {
        rate: RateSpec::Fixed(rate),
        ..RouteSpec::clean()
    }
}

#[test]
fn one_packet_takes_its_serialization_and_the_delay() {
    // 1,500 bytes at 10 Mbit/s: 1.2 ms. A delay of 10 ms.
    let mut link = link_over(RouteSpec {
        delay_ns: 10_000_000,
        ..fixed(10_000_000)
    });
    assert_eq!(offer(&mut link, 5_000, packet(1500, 0, ())), None);
    assert_eq!(link.next_departure(), Some(Nanos(5_000 + 1_200_000 + 10_000_000)));
    assert!(link.poll(Nanos(11_204_999)).is_none());
    let departure = link.poll(Nanos(11_205_000)).expect("its time has come");
    assert_eq!(
        (departure.at, departure.route, departure.duplicate),
        (Nanos(11_205_000), 0, false)
    );
    assert_eq!(link.next_departure(), None);
}

#[test]
fn back_to_back_packets_do_not_drift() {
    for (rate, length, overhead) in [
        (7, 100, 0),
        (999_999_937, 1500, 14),
        (3_000_000_000, 77, 38),
        (12_345_678_901, 8948, 14),
    ] {
        let mut link = link_over(RouteSpec {
            overhead,
            delay_ns: 123,
            ..fixed(rate)
        });
        let count: u64 = if rate == 7 { 1_000 } else { 200_000 };
        for number in 0..count {
            assert_eq!(offer(&mut link, 0, packet(length, 0, number)), None);
        }
        for (n, departure) in (1_u128..).zip(drain(&mut link)) {
            let bits_e9 = n * u128::from(length + overhead) * 8_000_000_000;
            let expected = bits_e9.div_ceil(u128::from(rate)) + 123;
            assert_eq!(u128::from(departure.at.0), expected, "{rate} bit/s, packet {n}");
            assert_eq!(departure.packet.payload, n as u64 - 1);
        }
        assert_eq!(link.counters().delivered, count);
    }
}

#[test]
fn an_unlimited_route_only_delays() {
    let mut link = link_over(RouteSpec {
        delay_ns: 7,
        ..RouteSpec::clean()
    });
    for number in 0..10 {
        assert_eq!(offer(&mut link, number / 3, packet(1500, 0, number)), None);
    }
    let departures = drain(&mut link);
    let times: Vec<u64> = departures.iter().map(|departure| departure.at.0).collect();
    assert_eq!(times, [7, 7, 7, 8, 8, 8, 9, 9, 9, 10]);
    assert!(
        departures
            .iter()
            .map(|departure| departure.packet.payload)
            .eq(0..10)
    );
    assert_eq!(link.counters().most_queued_bytes, 0);
}
