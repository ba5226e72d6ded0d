//! Queues under sources that react: the delays, rates and probabilities that the documents of the disciplines publish.

use crate::rig::aimd::{Control, Segment, Sink, Sources};
use weir_link::discrete::Network;
use weir_link::{
    CodelSpec, Counters, DirectionSpec, DisciplineSpec, DualPi2Spec, Ecn, FqCodelSpec, LinkSpec,
    ManagedQueue, Nanos, PieSpec, QueueLimit, QueueSpec, RateSpec, RedSpec, RouteSpec,
};

const SECOND: u64 = 1_000_000_000;
const SETTLED: u64 = 20 * SECOND;
const END: u64 = 60 * SECOND;
const RENO: Control = Control::Reno(Ecn::NotEct);

/// What happened after the queue had settled.
struct Outcome {
    /// Mean waiting time, ms.
    delay_ms: f64,
    /// Share of the rate that was used.
    utilisation: f64,
    counters: Counters,
    /// Of each source: packets, marked ones, and the longest one-way delay in ns.
    received: Vec<(u64, u64, u64)>,
    p99_sojourn_ns: i64,
}

/// Runs sources over a link of `rate` with this round trip for 60 s.
fn run(discipline: DisciplineSpec, rate: u64, rtt_ns: u64, controls: &[Control]) -> Outcome {
    let delayed = RouteSpec {
        delay_ns: rtt_ns / 2,
        ..RouteSpec::clean()
    };
    let forward = RouteSpec {
        rate: RateSpec::Fixed(rate),
        queue: QueueSpec::Managed(ManagedQueue {
            // 250 ms of the rate.
            limit: QueueLimit::Bytes(rate / 32),
            discipline,
        }),
        ..delayed.clone()
    };
    let spec = LinkSpec {
        name: "test".to_owned(),
        seed: 1,
        interface_mtu: 1_500,
        forward: DirectionSpec::over(vec![forward]),
        reverse: DirectionSpec::over(vec![delayed]),
    };
    spec.check().expect("the test's link is possible");
    let mut network: Network<Segment> = Network::new(&spec);
    let mut sources = Sources::new(controls);
    let mut sink = Sink {
        from: SETTLED,
        received: vec![(0, 0, 0); controls.len()],
    };
    while network.step(&mut sources, &mut sink, Nanos(SETTLED)).is_some() {}
    let before = network.forward().counters();
    while network.step(&mut sources, &mut sink, Nanos(END)).is_some() {}
    let after = network.forward().counters();
    let time = (END - SETTLED) as f64;
    let mean_bytes = (after.queued_byte_ns - before.queued_byte_ns) as f64 / time;
    let sent_bytes = (after.delivered_bytes - before.delivered_bytes) as f64;
    Outcome {
        delay_ms: mean_bytes * 8e3 / rate as f64,
        utilisation: sent_bytes * 8e9 / time / rate as f64,
        counters: Counters {
            offered: after.offered - before.offered,
            marked: after.marked - before.marked,
            dropped_early: after.dropped_early - before.dropped_early,
            ..after
        },
        received: sink.received,
        p99_sojourn_ns: network.forward().sojourns().quantile(0.99).unwrap_or(0),
    }
}

/// RFC 8033, section 4.2, and Pan et al., HPSR 2013, figures 5 to 8: the delay stays near the target of 15 ms, with few
/// flows and with many.
#[test]
fn pie_holds_its_target_with_10_and_with_100_flows() {
    let pie = DisciplineSpec::Pie(PieSpec::default());
    for flows in [10, 100] {
        let outcome = run(pie, 50_000_000, 100_000_000, &vec![RENO; flows]);
        println!(
            "{flows} flows: mean delay {:.1} ms, utilisation {:.3}, early drops {} of {}",
            outcome.delay_ms, outcome.utilisation, outcome.counters.dropped_early, outcome.counters.offered
        );
        assert!((10.0..20.0).contains(&outcome.delay_ms), "{flows} flows");
        assert!(outcome.utilisation > 0.9, "{flows} flows");
    }
    let full = run(DisciplineSpec::TailDrop, 50_000_000, 100_000_000, &[RENO; 100]);
    println!("tail drop: mean delay {:.1} ms", full.delay_ms);
    assert!(full.delay_ms > 100.0);
}

/// RFC 8289, section 3.2: the standing queue is kept near the target of 5 ms, and the link stays busy.
#[test]
fn codel_keeps_the_standing_queue_near_its_target() {
    let codel = DisciplineSpec::Codel(CodelSpec::default());
    let outcome = run(codel, 50_000_000, 50_000_000, &[RENO; 10]);
    println!(
        "mean delay {:.1} ms, utilisation {:.3}, P99 sojourn {} ms",
        outcome.delay_ms,
        outcome.utilisation,
        outcome.p99_sojourn_ns / 1_000_000
    );
    assert!((2.0..12.0).contains(&outcome.delay_ms));
    assert!(outcome.utilisation > 0.9);
}

/// Floyd and Jacobson, section 5: the average queue stays between the thresholds.
#[test]
fn red_keeps_the_average_queue_between_its_thresholds() {
    let red = DisciplineSpec::Red(RedSpec {
        minimum: 50.0,
        maximum: 150.0,
        packet_time_ns: 240_000,
        ..RedSpec::default()
    });
    let outcome = run(red, 50_000_000, 50_000_000, &[RENO; 60]);
    let packets = outcome.delay_ms * 50e6 / 8e3 / 1_500.0;
    println!(
        "mean queue {packets:.0} packets, utilisation {:.3}",
        outcome.utilisation
    );
    assert!((50.0..150.0).contains(&packets));
}

/// RFC 8290, section 6.2: a flow that sends less than its share waits for no queue of another.
#[test]
fn fq_codel_lets_a_sparse_flow_pass() {
    let controls = [RENO, RENO, RENO, RENO, Control::Sparse];
    let longest = |discipline| run(discipline, 10_000_000, 40_000_000, &controls).received[4].2;
    let queue = |delay: u64| (delay - 20_000_000) as f64 / 1e6;
    let fq_codel = queue(longest(DisciplineSpec::FqCodel(FqCodelSpec::default())));
    let codel = queue(longest(DisciplineSpec::Codel(CodelSpec::default())));
    println!("longest wait of the sparse flow: FQ-CoDel {fq_codel:.2} ms, CoDel {codel:.2} ms");
    // A packet of 1,500 bytes takes 1.2 ms; the four other queues may each have begun a turn.
    assert!(fq_codel < 5.0 * 1.2 + 0.1);
    assert!(codel > 2.0 * fq_codel);
}

/// RFC 9332, sections 2.1 and 2.5: p_C = p'^2 and p_L = k p', so that both kinds of flows get equal rates, while those of
/// L4S hardly wait.
#[test]
fn dualpi2_couples_both_queues() {
    for (rate, rtt_ns) in [
        (10_000_000, 40_000_000),
        (40_000_000, 20_000_000),
        (100_000_000, 15_000_000),
    ] {
        let spec = DualPi2Spec {
            threshold_ns: (2 * 1_500 * 8 * SECOND / rate).max(800_000),
            ..DualPi2Spec::default()
        };
        let outcome = run(
            DisciplineSpec::DualPi2(spec),
            rate,
            rtt_ns,
            &[
                Control::Reno(Ecn::Ect0),
                Control::Reno(Ecn::Ect0),
                Control::Dctcp,
                Control::Dctcp,
            ],
        );
        let total = |range: std::ops::Range<usize>| {
            let add = |sum: (u64, u64), one: &(u64, u64, u64)| (sum.0 + one.0, sum.1 + one.1);
            outcome.received[range].iter().fold((0, 0), add)
        };
        let (classic, l4s) = (total(0..2), total(2..4));
        let p = |(packets, marked): (u64, u64)| marked as f64 / packets as f64;
        let rates = l4s.0 as f64 / classic.0 as f64;
        let coupled = p(l4s) / 2.0;
        println!(
            "{} Mbit/s, {} ms: p_C {:.5}, (p_L / 2)^2 {:.5}, rates L4S / classic {rates:.2}, delay {:.1} ms",
            rate / 1_000_000,
            rtt_ns / 1_000_000,
            p(classic),
            coupled * coupled,
            outcome.delay_ms
        );
        assert!((0.5..2.0).contains(&rates));
        assert!((0.6..1.7).contains(&(p(classic) / (coupled * coupled))));
        assert_eq!(outcome.counters.dropped_early, 0);
    }
}
