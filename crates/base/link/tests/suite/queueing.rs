//! The queue before a transmitter: capacity to the byte, and waiting times against queueing theory.

use crate::rig::{Minstd, drain, link_over, offer, packet};
use weir_link::{DropCause, Nanos, QueueSpec, RateSpec, RouteSpec};

/// 1,000 bytes take 1 ms.
fn eight_megabits(queue: QueueSpec) -> RouteSpec {
    RouteSpec {
        rate: RateSpec::Fixed(8_000_000),
        queue,
        ..RouteSpec::clean()
    }
}

#[test]
fn a_queue_in_bytes_holds_exactly_so_many() {
    let mut link = link_over(eight_megabits(QueueSpec::Bytes(3_000)));
    let mut offered = Vec::new();
    // The first is in transmission and does not count. 1,000 + 1,500 + 499 fit, 2 more do not, 1 more does.
    for length in [1_000, 1_000, 1_500, 499, 2, 1, 1] {
        offered.push(offer(&mut link, 0, packet(length, 0, ())));
    }
    let full = Some(DropCause::Queue);
    assert_eq!(offered, [None, None, None, None, full, None, full]);
    // A moment before the second begins, and when it does: then 1,000 bytes are free.
    assert_eq!(offer(&mut link, 999_999, packet(1, 0, ())), full);
    assert_eq!(offer(&mut link, 1_000_000, packet(1_001, 0, ())), full);
    assert_eq!(offer(&mut link, 1_000_000, packet(1_000, 0, ())), None);
    let counters = link.counters();
    assert_eq!((counters.dropped.queue, counters.most_queued_bytes), (4, 3_000));
    drain(&mut link);
    assert_eq!(link.counters().delivered, 6);
    assert_eq!(
        link.counters().delivered_bytes,
        1_000 + 1_000 + 1_500 + 499 + 1 + 1_000
    );
}

#[test]
fn what_waits_is_added_up_over_time() {
    let mut link = link_over(eight_megabits(QueueSpec::Unlimited));
    // 1,000 bytes take 1 ms. The second waits 1 ms, the third 2 ms, the fourth, which arrives later, 1.5 ms.
    for _ in 0..3 {
        offer(&mut link, 0, packet(1_000, 0, ()));
    }
    offer(&mut link, 1_500_000, packet(1_000, 0, ()));
    drain(&mut link);
    assert_eq!(link.counters().queued_byte_ns, 1_000 * 4_500_000);
}

#[test]
fn a_queue_in_packets_holds_exactly_so_many() {
    let mut link = link_over(eight_megabits(QueueSpec::Packets(3)));
    let offered: Vec<bool> = (0..6)
        .map(|_| offer(&mut link, 0, packet(1_000, 0, ())).is_none())
        .collect();
    assert_eq!(offered, [true, true, true, true, false, false]);
    // Two have gone by then although nobody polled.
    let offered: Vec<bool> = (0..3)
        .map(|_| offer(&mut link, 2_000_000, packet(1_000, 0, ())).is_none())
        .collect();
    assert_eq!(offered, [true, true, false]);
    assert_eq!(drain(&mut link).len(), 6);
}

#[test]
fn without_a_queue_a_packet_passes_only_an_idle_transmitter() {
    for queue in [QueueSpec::Bytes(0), QueueSpec::Packets(0)] {
        let mut link = link_over(eight_megabits(queue));
        let full = Some(DropCause::Queue);
        assert_eq!(offer(&mut link, 0, packet(1_000, 0, ())), None);
        assert_eq!(offer(&mut link, 999_999, packet(1_000, 0, ())), full);
        assert_eq!(offer(&mut link, 1_000_000, packet(1_000, 0, ())), None);
        assert_eq!(link.counters().most_queued_bytes, 0);
    }
}

#[test]
fn overhead_takes_time_on_the_wire_but_no_room_in_the_queue() {
    let mut link = link_over(RouteSpec {
        overhead: 1_000,
        ..eight_megabits(QueueSpec::Bytes(2_000))
    });
    let offered: Vec<bool> = (0..4)
        .map(|_| offer(&mut link, 0, packet(1_000, 0, ())).is_none())
        .collect();
    assert_eq!(offered, [true, true, true, false]);
    let times: Vec<u64> = drain(&mut link).iter().map(|departure| departure.at.0).collect();
    assert_eq!(times, [2_000_000, 4_000_000, 6_000_000]);
}

#[test]
fn an_unlimited_queue_drops_nothing_and_waits_for_all() {
    let mut link = link_over(eight_megabits(QueueSpec::Unlimited));
    for _ in 0..100_000 {
        assert_eq!(offer(&mut link, 0, packet(1_000, 0, ())), None);
    }
    let departures = drain(&mut link);
    assert_eq!(
        departures.last().map(|departure| departure.at),
        Some(Nanos(100_000_000_000))
    );
    assert_eq!(link.counters().most_queued_bytes, 99_999_000);
}

#[test]
fn a_queue_in_bandwidth_delay_products() {
    // 10 Mbit/s for 20 ms: 25,000 bytes.
    assert_eq!(
        QueueSpec::bdp(10_000_000, 20_000_000, 2.0),
        QueueSpec::Bytes(50_000)
    );
    assert_eq!(
        QueueSpec::bdp(40_000_000, 40_000_000, 0.5),
        QueueSpec::Bytes(100_000)
    );
}

/// Poisson arrivals, constant service, one server: Pollaczek (1930) and Khinchine (1932) give the mean wait as
/// rho / (2 mu (1 - rho)).
#[test]
fn mean_wait_is_that_of_m_d_1() {
    const SERVICE_NS: f64 = 1_000_000.0;
    for (rho, packets, tolerance) in [
        (0.2, 400_000_u64, 0.01),
        (0.5, 400_000, 0.01),
        (0.7, 800_000, 0.02),
        (0.9, 3_000_000, 0.03),
    ] {
        let mut link = link_over(eight_megabits(QueueSpec::Unlimited));
        let mut random = Minstd::new(20_240_229);
        let mut at = 0.0;
        let mut waits = 0.0;
        for _ in 0..packets {
            at += random.exponential() * SERVICE_NS / rho;
            let arrival = at as u64;
            while let Some(departure) = link.poll(Nanos(arrival)) {
                waits += (departure.at.0 - departure.packet.payload) as f64 - SERVICE_NS;
            }
            assert_eq!(offer(&mut link, arrival, packet(1_000, 0, arrival)), None);
        }
        for departure in drain(&mut link) {
            waits += (departure.at.0 - departure.packet.payload) as f64 - SERVICE_NS;
        }
        let wait = waits / packets as f64;
        let theory = rho / (2.0 * (1.0 / SERVICE_NS) * (1.0 - rho));
        println!(
            "rho {rho}: mean wait {wait:.0} ns, theory {theory:.0} ns, ratio {:.4}",
            wait / theory
        );
        assert!(
            (wait / theory - 1.0).abs() < tolerance,
            "rho {rho}: {wait} ns against {theory} ns"
        );
    }
}
