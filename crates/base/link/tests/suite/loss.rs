//! Loss processes against their theory, and that none of them changes another.

use crate::rig::{chi_squared, chi_squared_limit, drain, flow, jitter, link_of, link_over, offer, packet};
use weir_link::{DarkSpan, DirectionSpec, DropCause, LongPacketLoss, LossSpec, RouteSpec};

/// Which of `packets` packets, one every microsecond, a route loses.
fn losses_of(route: RouteSpec, seed: u64, packets: usize) -> Vec<bool> {
    losses_in(DirectionSpec::over(vec![route]), seed, packets)
}

fn losses_in(spec: DirectionSpec, seed: u64, packets: usize) -> Vec<bool> {
    let mut link = link_of(spec, seed);
    (0..packets as u64)
        .map(|number| {
            let dropped = offer(&mut link, number * 1_000, packet(1_000, 0, ()));
            assert!(
                dropped.is_none_or(|cause| cause == DropCause::Loss),
                "{dropped:?}"
            );
            while link.poll(weir_link::Nanos(number * 1_000)).is_some() {}
            dropped.is_some()
        })
        .collect()
}

fn with_loss(loss: Vec<LossSpec>) -> RouteSpec {
    RouteSpec {
        loss,
        ..RouteSpec::clean()
    }
}

fn share(lost: &[bool]) -> f64 {
    lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
}

/// Lengths of runs of lost packets.
fn bursts(lost: &[bool]) -> Vec<usize> {
    lost.split(|&lost| !lost)
        .map(<[bool]>::len)
        .filter(|&length| length > 0)
        .collect()
}

#[test]
fn bernoulli_loss_has_its_rate() {
    for (loss, packets) in [
        (0.0001, 4_000_000),
        (0.01, 500_000),
        (0.3, 200_000),
        (0.999, 200_000),
    ] {
        let lost = share(&losses_of(with_loss(vec![LossSpec::Bernoulli(loss)]), 3, packets));
        let deviation = (loss * (1.0 - loss) / packets as f64).sqrt();
        assert!((lost - loss).abs() < 4.0 * deviation, "{lost} for {loss}");
    }
}

#[test]
fn bernoulli_losses_are_independent() {
    let loss = 0.2;
    let lost = losses_of(with_loss(vec![LossSpec::Bernoulli(loss)]), 4, 400_000);
    for lag in 1..=5 {
        let mut cells = [0_u64; 4];
        for pair in 0..lost.len() - lag {
            cells[usize::from(lost[pair]) * 2 + usize::from(lost[pair + lag])] += 1;
        }
        let pairs = (lost.len() - lag) as f64;
        let share = |a: bool, b: bool| {
            let one = |lost: bool| if lost { loss } else { 1.0 - loss };
            pairs * one(a) * one(b)
        };
        let expected = [
            share(false, false),
            share(false, true),
            share(true, false),
            share(true, true),
        ];
        // The pairs overlap, which makes the statistic of independent losses no larger than of 3 degrees.
        let statistic = chi_squared(&cells, &expected);
        assert!(
            statistic < chi_squared_limit(3),
            "lag {lag}: {cells:?}, {statistic}"
        );
    }
}

#[test]
fn certain_and_impossible_loss() {
    assert!(
        losses_of(with_loss(vec![LossSpec::Bernoulli(1.0)]), 1, 10_000)
            .iter()
            .all(|&lost| lost)
    );
    assert!(
        !losses_of(with_loss(vec![LossSpec::Bernoulli(0.0)]), 1, 10_000)
            .iter()
            .any(|&lost| lost)
    );
}

#[test]
fn gilbert_bursts_have_geometric_lengths() {
    for (to_bad, to_good) in [(0.01, 0.5), (0.002, 0.1), (0.05, 0.25)] {
        let packets = 2_000_000;
        let gilbert = LossSpec::gilbert(to_bad, to_good);
        let lost = losses_of(with_loss(vec![gilbert]), 5, packets);

        // The states correlate over 1 / (p + r) packets, which widens the bounds of the mean.
        let expected_share = to_bad / (to_bad + to_good);
        let memory: f64 = 1.0 - to_bad - to_good;
        let variance = expected_share * (1.0 - expected_share) * (1.0 + memory) / (1.0 - memory);
        let deviation = (variance / packets as f64).sqrt();
        assert!(
            (share(&lost) - expected_share).abs() < 4.0 * deviation,
            "share {}",
            share(&lost)
        );

        let bursts = bursts(&lost);
        let count = bursts.len() as f64;
        let mean = lost.iter().filter(|&&lost| lost).count() as f64 / count;
        let deviation = (1.0 - to_good).sqrt() / to_good / count.sqrt();
        println!(
            "p {to_bad}, r {to_good}: share {:.5}, mean burst {mean:.3}",
            share(&lost)
        );
        assert!(
            (mean - 1.0 / to_good).abs() < 4.0 * deviation,
            "mean burst {mean}"
        );

        // Lengths 1, 2, ... while at least 20 are expected, and one cell for the longer ones.
        let probability = |length: usize| to_good * (1.0 - to_good).powi(length as i32 - 1);
        let cells = (1..)
            .take_while(|&length| count * probability(length) >= 20.0)
            .count();
        let mut observed = vec![0_u64; cells + 1];
        bursts
            .iter()
            .for_each(|&length| observed[(length - 1).min(cells)] += 1);
        let mut expected: Vec<f64> = (1..=cells).map(|length| count * probability(length)).collect();
        expected.push(count * (1.0 - to_good).powi(cells as i32));
        let statistic = chi_squared(&observed, &expected);
        assert!(
            statistic < chi_squared_limit(cells),
            "{observed:?} for {expected:?}: {statistic}"
        );
    }
}

#[test]
fn gilbert_elliott_loses_in_both_states() {
    let (to_bad, to_good, loss_good, loss_bad) = (0.01, 0.04, 0.001, 0.6);
    let packets = 2_000_000;
    let process = LossSpec::GilbertElliott {
        to_bad,
        to_good,
        loss_good,
        loss_bad,
    };
    let lost = losses_of(with_loss(vec![process]), 6, packets);
    let bad: f64 = to_bad / (to_bad + to_good);
    let expected = bad * loss_bad + (1.0 - bad) * loss_good;
    // Variance of the mean: that of single losses, and twice the covariances, which fade by `memory` each packet.
    let memory = 1.0 - to_bad - to_good;
    let covariance = bad * (1.0 - bad) * (loss_bad - loss_good) * (loss_bad - loss_good);
    let variance = expected * (1.0 - expected) + 2.0 * covariance * memory / (1.0 - memory);
    let deviation = (variance / packets as f64).sqrt();
    assert!(
        (share(&lost) - expected).abs() < 4.0 * deviation,
        "{} for {expected}",
        share(&lost)
    );
    // Two losses in a row: both in the bad state nearly always.
    let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / packets as f64;
    let both_bad = bad * (1.0 - to_good) * loss_bad * loss_bad;
    assert!((pairs / both_bad - 1.0).abs() < 0.05, "{pairs} for {both_bad}");
}

#[test]
fn the_first_packet_meets_the_stationary_state() {
    let gilbert = LossSpec::gilbert(0.1, 0.3);
    let links = 40_000;
    let lost = (0..links)
        .filter(|&seed| losses_of(with_loss(vec![gilbert.clone()]), seed, 1)[0])
        .count();
    let deviation = (0.25_f64 * 0.75 / links as f64).sqrt();
    assert!(
        (lost as f64 / links as f64 - 0.25).abs() < 4.0 * deviation,
        "{lost} of {links}"
    );
}

#[test]
fn exactly_the_listed_packets_are_lost() {
    let listed = vec![0, 3, 4, 5, 99, 1_000, u64::MAX];
    let lost = losses_of(with_loss(vec![LossSpec::Packets(listed.clone())]), 1, 2_000);
    let numbers: Vec<u64> = (0..2_000).filter(|&number| lost[number as usize]).collect();
    assert_eq!(numbers, listed[..6]);
}

#[test]
fn a_packet_is_lost_if_any_process_says_so_and_none_shifts_another() {
    let bernoulli = LossSpec::Bernoulli(0.3);
    let gilbert = LossSpec::gilbert(0.1, 0.3);
    let listed = LossSpec::Packets((0..5_000).step_by(7).collect());
    // The second process draws from the second stream: it has to stand in the second place alone, too.
    let nothing = LossSpec::Bernoulli(0.0);
    let all = losses_of(
        with_loss(vec![bernoulli.clone(), gilbert.clone(), listed.clone()]),
        9,
        5_000,
    );
    let first = losses_of(with_loss(vec![bernoulli]), 9, 5_000);
    let second = losses_of(with_loss(vec![nothing.clone(), gilbert]), 9, 5_000);
    let third = losses_of(with_loss(vec![nothing.clone(), nothing, listed]), 9, 5_000);
    for number in 0..5_000 {
        assert_eq!(
            all[number],
            first[number] || second[number] || third[number],
            "{number}"
        );
    }
}

#[test]
fn other_faults_do_not_change_which_packets_are_lost() {
    let lossy = with_loss(vec![LossSpec::Bernoulli(0.3)]);
    let alone = losses_of(lossy.clone(), 9, 5_000);
    let jitter = jitter(1_000, true);
    let faulty = RouteSpec {
        duplicate: 0.5,
        corrupt: 0.5,
        jitter,
        ..lossy
    };
    assert_eq!(losses_of(faulty.clone(), 9, 5_000), alone);
    let mut direction = DirectionSpec::over(vec![faulty]);
    direction.extra_flow_loss = 0.5;
    direction.long_packet_loss = Some(LongPacketLoss {
        above: 1_000,
        loss: 0.5,
    });
    assert_eq!(losses_in(direction, 9, 5_000), alone);
    assert_ne!(
        losses_of(with_loss(vec![LossSpec::Bernoulli(0.3)]), 10, 5_000),
        alone
    );
}

#[test]
fn routes_lose_independently_of_each_other() {
    let mut direction = DirectionSpec::over(vec![with_loss(vec![LossSpec::Bernoulli(0.5)]); 2]);
    direction.mtu.bytes = 9000;
    let mut link = link_of(direction, 1);
    let flow_of = |route: u16, link: &weir_link::Link<()>| {
        (0..100)
            .find(|&number| link.route_of(flow(number, 0)) == Some(route))
            .expect("100 flows use both routes")
    };
    let flows = [flow_of(0, &link), flow_of(1, &link)];
    let same = (0..10_000)
        .filter(|_| {
            let [one, other] = flows.map(|flow| offer(&mut link, 0, packet(100, flow, ())).is_some());
            one == other
        })
        .count();
    assert!((4_800..=5_200).contains(&same), "{same}");
}

#[test]
fn dark_spans_drop_exactly_what_comes_within() {
    let dark = |from_ns, to_ns| DarkSpan { from_ns, to_ns };
    // Out of order, and two that touch.
    let spans = vec![dark(50, 60), dark(10, 20), dark(20, 25), dark(55, 58)];
    let mut link = link_over(RouteSpec {
        dark: spans,
        delay_ns: 1_000,
        ..RouteSpec::clean()
    });
    let passed: Vec<u64> = (0..100)
        .filter(|&at| offer(&mut link, at, packet(1_000, 0, ())).is_none())
        .collect();
    let expected: Vec<u64> = (0..10).chain(25..50).chain(60..100).collect();
    assert_eq!(passed, expected);
    assert_eq!(link.counters().dropped.dark, 25);
    assert_eq!(drain(&mut link).len(), 75);
}

#[test]
fn listed_packets_count_those_that_met_the_dark() {
    let route = RouteSpec {
        dark: vec![DarkSpan { from_ns: 0, to_ns: 2 }],
        ..with_loss(vec![LossSpec::Packets(vec![1, 2])])
    };
    let mut link = link_over(route);
    let dropped: Vec<_> = (0..4)
        .map(|at| offer(&mut link, at, packet(1_000, 0, ())))
        .collect();
    assert_eq!(
        dropped,
        [
            Some(DropCause::Dark),
            Some(DropCause::Dark),
            Some(DropCause::Loss),
            None
        ]
    );
}

#[test]
fn long_packets_are_lost_by_their_length() {
    let mut direction = DirectionSpec::clean();
    direction.mtu.bytes = 9_000;
    direction.long_packet_loss = Some(LongPacketLoss {
        above: 4_000,
        loss: 0.25,
    });
    let mut link = link_of(direction, 1);
    let mut lost = |length| {
        let causes: Vec<_> = (0..40_000)
            .filter_map(|_| offer(&mut link, 0, packet(length, 0, ())))
            .collect();
        assert!(causes.iter().all(|&cause| cause == DropCause::LongPacket));
        causes.len() as f64
    };
    assert_eq!(lost(4_000), 0.0);
    let deviation = (40_000.0_f64 * 0.25 * 0.75).sqrt();
    assert!((lost(4_001) - 10_000.0).abs() < 4.0 * deviation);
    assert!((lost(9_000) - 10_000.0).abs() < 4.0 * deviation);
}

#[test]
fn the_payload_of_a_lost_packet_comes_back() {
    let mut link = link_over(with_loss(vec![LossSpec::Bernoulli(1.0)]));
    let verdict = link.enqueue(weir_link::Nanos(0), packet(100, 0, vec![1, 2]));
    assert_eq!(verdict, weir_link::Verdict::Dropped(DropCause::Loss, vec![1, 2]));
}
