//! The discrete-event driver: what it delivers and when, that runs repeat, and that they end.

use std::fmt::Write;

use crate::rig::{fixed, jitter, packet};
use weir_link::discrete::{Endpoint, Network, run};
use weir_link::{
    Departure, DirectionSpec, LinkSpec, LossSpec, Nanos, Packet, QueueSpec, RateSpec, RouteSpec,
};

/// Sends packets at an interval; records arrivals.
struct Host {
    interval: u64,
    left: u64,
    sent: u64,
    answers: bool,
    log: String,
}

impl Host {
    fn sender(left: u64, interval: u64) -> Self {
        Self {
            interval,
            left,
            sent: 0,
            answers: false,
            log: String::new(),
        }
    }

    fn echo() -> Self {
        Self {
            answers: true,
            ..Self::sender(0, 0)
        }
    }
}

impl Endpoint<u64> for Host {
    fn next_wake(&self) -> Option<Nanos> {
        (self.left > 0).then_some(Nanos(self.sent * self.interval))
    }

    fn wake(&mut self, _now: Nanos, out: &mut Vec<Packet<u64>>) {
        out.push(packet(1_000, self.sent % 8, self.sent));
        self.sent += 1;
        self.left -= 1;
    }

    fn receive(&mut self, departure: Departure<u64>, out: &mut Vec<Packet<u64>>) {
        let Departure {
            at,
            packet,
            route,
            corrupted,
            duplicate,
        } = departure;
        writeln!(
            self.log,
            "{} {} {route} {corrupted:?} {duplicate}",
            at.0, packet.payload
        )
        .expect("strings take everything");
        if self.answers {
            out.push(packet);
        }
    }
}

fn link(seed: u64, route: RouteSpec) -> LinkSpec {
    let direction = DirectionSpec::over(vec![route.clone(), route]);
    let spec = LinkSpec {
        name: "test".to_owned(),
        seed,
        interface_mtu: 1500,
        forward: direction.clone(),
        reverse: direction,
    };
    spec.check().expect("the test's link is possible");
    spec
}

fn faulty(seed: u64) -> LinkSpec {
    let gilbert = LossSpec::GilbertElliott {
        to_bad: 0.01,
        to_good: 0.3,
        loss_good: 0.0,
        loss_bad: 0.9,
    };
    let route = RouteSpec {
        rate: RateSpec::Fixed(100_000_000),
        delay_ns: 5_000_000,
        jitter: jitter(300_000, true),
        queue: QueueSpec::Packets(20),
        loss: vec![gilbert, LossSpec::Bernoulli(0.01)],
        duplicate: 0.01,
        corrupt: 0.01,
        ..RouteSpec::clean()
    };
    link(seed, route)
}

const FOREVER: Nanos = Nanos(u64::MAX);

#[test]
fn an_echo_takes_the_round_trip_time() {
    let route = RouteSpec {
        delay_ns: 10_000_000,
        ..fixed(8_000_000)
    };
    let (mut near, mut far) = (Host::sender(3, 50_000_000), Host::echo());
    let outcome = run(&link(1, route), &mut near, &mut far, FOREVER);
    // 1 ms of serialization and 10 ms of delay each way.
    let times = |log: &str| -> Vec<u64> {
        log.lines()
            .map(|line| {
                line.split(' ')
                    .next()
                    .and_then(|at| at.parse().ok())
                    .expect("a time")
            })
            .collect()
    };
    assert_eq!(times(&far.log), [11_000_000, 61_000_000, 111_000_000]);
    assert_eq!(times(&near.log), [22_000_000, 72_000_000, 122_000_000]);
    assert_eq!(outcome.ended, Nanos(122_000_000));
    assert_eq!((outcome.forward.delivered, outcome.reverse.delivered), (3, 3));
}

#[test]
fn equal_seeds_give_byte_identical_runs_and_others_differ() {
    let logs = |seed| {
        let (mut near, mut far) = (Host::sender(20_000, 70_000), Host::echo());
        let outcome = run(&faulty(seed), &mut near, &mut far, FOREVER);
        assert!(
            outcome.forward.delivered > 15_000 && outcome.reverse.delivered > 15_000,
            "{outcome:?}"
        );
        (near.log, far.log, format!("{outcome:?}"))
    };
    let first = logs(1);
    assert_eq!(logs(1), first);
    let other = logs(2);
    assert_ne!(other.0, first.0);
    assert_ne!(other.1, first.1);
}

#[test]
fn what_would_happen_at_the_end_does_not() {
    let route = RouteSpec {
        delay_ns: 100,
        ..RouteSpec::clean()
    };
    for (until, sent, received) in [(0, 0, 0), (1, 1, 0), (100, 10, 0), (101, 11, 1), (111, 12, 2)] {
        let (mut near, mut far) = (Host::sender(1_000, 10), Host::sender(0, 0));
        let outcome = run(&link(1, route.clone()), &mut near, &mut far, Nanos(until));
        assert_eq!(
            (outcome.forward.offered, outcome.forward.delivered),
            (sent, received),
            "until {until}"
        );
        assert!(outcome.ended.0 < until || until == 0);
    }
}

#[test]
fn two_echoes_over_no_distance_do_not_stop_time() {
    let spec = link(1, RouteSpec::clean());
    let (mut near, mut far) = (
        Host {
            answers: true,
            ..Host::sender(1, 10)
        },
        Host::echo(),
    );
    let outcome = run(&spec, &mut near, &mut far, Nanos(10_000));
    assert_eq!(outcome.ended, Nanos(9_999));
    // One crossing in each nanosecond after the first.
    assert_eq!(outcome.forward.delivered + outcome.reverse.delivered, 9_999);
}

#[test]
fn an_endpoint_that_always_wants_to_be_woken_does_not_stop_time() {
    struct Restless(u64);
    impl Endpoint<u64> for Restless {
        fn next_wake(&self) -> Option<Nanos> {
            Some(Nanos(0))
        }
        fn wake(&mut self, _now: Nanos, _out: &mut Vec<Packet<u64>>) {
            self.0 += 1;
        }
        fn receive(&mut self, _departure: Departure<u64>, _out: &mut Vec<Packet<u64>>) {}
    }
    let (mut near, mut far) = (Restless(0), Host::echo());
    run(&link(1, RouteSpec::clean()), &mut near, &mut far, Nanos(1_000));
    assert_eq!(near.0, 1_000);
}

#[test]
fn nothing_happens_without_anyone_who_wants_it() {
    let outcome = run(&faulty(1), &mut Host::echo(), &mut Host::echo(), FOREVER);
    assert_eq!(
        (outcome.ended, outcome.forward.offered, outcome.reverse.offered),
        (Nanos(0), 0, 0)
    );
}

#[test]
fn a_network_can_be_watched_step_by_step() {
    let (mut near, mut far) = (Host::sender(5, 0), Host::sender(0, 0));
    let mut network = Network::new(&link(1, fixed(8_000_000)));
    let mut last = None;
    while let Some(now) = network.step(&mut near, &mut far, FOREVER) {
        assert!(last < Some(now));
        last = Some(now);
        let counters = network.forward().counters();
        assert_eq!(
            counters.offered,
            counters.delivered + network.forward().in_flight()
        );
    }
    assert_eq!(network.forward().counters().delivered, 5);
    assert_eq!(network.reverse().counters().offered, 0);
}
