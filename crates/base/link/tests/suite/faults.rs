//! Duplication and corruption.

use crate::rig::{chi_squared, chi_squared_limit, drain, fixed, jitter, link_over, offer, packet};
use weir_link::{Nanos, RouteSpec};

#[test]
fn copies_follow_their_originals_at_the_set_rate() {
    let packets = 100_000_u64;
    let mut link = link_over(RouteSpec {
        duplicate: 0.02,
        ..RouteSpec::clean()
    });
    for number in 0..packets {
        assert_eq!(offer(&mut link, number, packet(100, 0, number)), None);
    }
    let departures = drain(&mut link);
    let copies: Vec<usize> = (0..departures.len())
        .filter(|&place| departures[place].duplicate)
        .collect();
    for &place in &copies {
        let (original, copy) = (&departures[place - 1], &departures[place]);
        assert!(!original.duplicate);
        assert_eq!((original.at, &original.packet), (copy.at, &copy.packet));
    }
    let deviation = (packets as f64 * 0.02 * 0.98).sqrt();
    assert!(
        (copies.len() as f64 - packets as f64 * 0.02).abs() < 4.0 * deviation,
        "{}",
        copies.len()
    );
    let counters = link.counters();
    assert_eq!(counters.duplicated, copies.len() as u64);
    assert_eq!(counters.delivered, packets + counters.duplicated);
    assert_eq!(counters.delivered_bytes, 100 * counters.delivered);
}

#[test]
fn a_copy_waits_until_it_is_polled() {
    let mut link = link_over(RouteSpec {
        duplicate: 1.0,
        delay_ns: 5,
        ..RouteSpec::clean()
    });
    assert_eq!(offer(&mut link, 0, packet(100, 0, ())), None);
    assert_eq!(link.in_flight(), 1);
    assert!(link.poll(Nanos(5)).is_some_and(|departure| !departure.duplicate));
    assert_eq!((link.in_flight(), link.next_departure()), (1, Some(Nanos(5))));
    assert!(link.poll(Nanos(5)).is_some_and(|departure| departure.duplicate));
    assert_eq!((link.in_flight(), link.next_departure()), (0, None));
}

#[test]
fn corruption_has_its_rate_and_reaches_every_bit() {
    let packets = 400_000_u64;
    let mut link = link_over(RouteSpec {
        corrupt: 0.1,
        ..RouteSpec::clean()
    });
    for number in 0..packets {
        assert_eq!(offer(&mut link, number, packet(100, 0, ())), None);
    }
    let numbers: Vec<u64> = drain(&mut link)
        .iter()
        .filter_map(|departure| departure.corrupted)
        .collect();
    assert_eq!(link.counters().corrupted, numbers.len() as u64);
    let deviation = (packets as f64 * 0.1 * 0.9).sqrt();
    assert!(
        (numbers.len() as f64 - packets as f64 * 0.1).abs() < 4.0 * deviation,
        "{}",
        numbers.len()
    );
    // As a driver would choose among the 800 bits.
    let mut bits = [0; 800];
    numbers
        .iter()
        .for_each(|number| bits[(number % 800) as usize] += 1);
    let statistic = chi_squared(&bits, &[numbers.len() as f64 / 800.0; 800]);
    assert!(statistic < chi_squared_limit(799), "{statistic}");
}

#[test]
fn a_copy_is_corrupted_like_its_original() {
    let mut link = link_over(RouteSpec {
        duplicate: 1.0,
        corrupt: 0.5,
        ..RouteSpec::clean()
    });
    for number in 0..1_000 {
        assert_eq!(offer(&mut link, number, packet(100, 0, ())), None);
    }
    let departures = drain(&mut link);
    assert_eq!(departures.len(), 2_000);
    assert!(
        departures
            .chunks(2)
            .all(|pair| pair[0].corrupted == pair[1].corrupted)
    );
    let corrupted = departures
        .iter()
        .filter(|departure| departure.corrupted.is_some())
        .count();
    assert_eq!(link.counters().corrupted, corrupted as u64);
    assert!((800..1_200).contains(&corrupted), "{corrupted}");
}

/// Each fault draws from its own stream: times, copies and corruption of one do not depend on the others.
#[test]
fn faults_do_not_shift_each_other() {
    let base = fixed(1_000_000_000);
    let jitter = jitter(10_000, true);
    let run = |route: RouteSpec| {
        let mut link = link_over(route);
        for number in 0..3_000 {
            assert_eq!(offer(&mut link, 0, packet(100, 0, number)), None);
        }
        let mut departures = drain(&mut link);
        departures.sort_by_key(|departure| (departure.packet.payload, departure.duplicate));
        departures
    };
    let all = run(RouteSpec {
        jitter,
        duplicate: 0.3,
        corrupt: 0.3,
        ..base.clone()
    });
    let originals = || all.iter().filter(|departure| !departure.duplicate);
    let jittered = run(RouteSpec {
        jitter,
        ..base.clone()
    });
    assert!(
        originals()
            .map(|departure| departure.at)
            .eq(jittered.iter().map(|departure| departure.at))
    );
    let corrupted = run(RouteSpec {
        corrupt: 0.3,
        ..base.clone()
    });
    assert!(
        originals()
            .map(|departure| departure.corrupted)
            .eq(corrupted.iter().map(|departure| departure.corrupted))
    );
    let duplicated = run(RouteSpec {
        duplicate: 0.3,
        ..base
    });
    assert!(
        all.iter()
            .map(|departure| departure.duplicate)
            .eq(duplicated.iter().map(|departure| departure.duplicate))
    );
}
