//! Route selection.

use crate::rig::{Minstd, chi_squared, chi_squared_limit, drain, flow, link_of, offer, packet};
use weir_link::{DirectionSpec, FlowKey, Link, LinkSpec, RouteChoice, RouteSpec};

const FLOWS: u64 = 10_000;

fn routes(weights: &[u32]) -> DirectionSpec {
    let route = |&weight| RouteSpec {
        weight,
        ..RouteSpec::clean()
    };
    DirectionSpec::over(weights.iter().map(route).collect())
}

/// Number of flows per route.
fn spread(link: &Link<()>, flows: impl Iterator<Item = FlowKey>, routes: usize) -> Vec<u64> {
    let mut counts = vec![0; routes];
    for flow in flows {
        counts[usize::from(link.route_of(flow).expect("flows have routes"))] += 1;
    }
    counts
}

fn assert_even(counts: &[u64], weights: &[u32], what: &str) {
    let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
    let flows: u64 = counts.iter().sum();
    let (mut observed, mut expected) = (Vec::new(), Vec::new());
    for (&count, &weight) in counts.iter().zip(weights) {
        if weight == 0 {
            assert_eq!(count, 0, "{what}: a route of weight 0 gets nothing");
            continue;
        }
        observed.push(count);
        expected.push(flows as f64 * f64::from(weight) / total);
    }
    if observed.len() == 1 {
        return assert_eq!(observed[0], flows, "{what}");
    }
    let statistic = chi_squared(&observed, &expected);
    assert!(
        statistic < chi_squared_limit(observed.len() - 1),
        "{what}: {counts:?}, {statistic}"
    );
}

/// Numbers as drivers may make them: counted, counted in the high half, ports of a real 5-tuple, hashed.
fn kinds_of_keys() -> Vec<(&'static str, Vec<u64>)> {
    let mut random = Minstd::new(1);
    vec![
        ("counted", (0..FLOWS).collect()),
        ("high", (0..FLOWS).map(|number| number << 48).collect()),
        ("even", (0..FLOWS).map(|number| number * 2).collect()),
        (
            "ports",
            (0..FLOWS)
                .map(|number| 0x0a00_0001_0000_1389 | (40_000 + number) << 16)
                .collect(),
        ),
        ("negative", (0..FLOWS).map(|number| u64::MAX - number).collect()),
        (
            "random",
            (0..FLOWS).map(|_| (random.uniform() * 1.8e19) as u64).collect(),
        ),
    ]
}

#[test]
fn ten_thousand_flows_spread_evenly() {
    for (kind, keys) in kinds_of_keys() {
        for count in [2, 3, 4, 5, 7, 8, 16, 64, 256] {
            for seed in 0..3 {
                let weights = vec![1; count];
                let link = link_of::<()>(routes(&weights), seed);
                let counts = spread(&link, keys.iter().map(|&key| flow(key, 0)), count);
                assert_even(&counts, &weights, &format!("{kind}, {count} routes, seed {seed}"));
            }
        }
    }
}

#[test]
fn flows_spread_by_weight() {
    for weights in [
        vec![1, 2, 5],
        vec![10, 1],
        vec![0, 3, 0, 1],
        vec![u32::MAX, u32::MAX / 3],
        vec![0, 7],
    ] {
        let link = link_of::<()>(routes(&weights), 4);
        let counts = spread(&link, (0..FLOWS).map(|key| flow(key, 0)), weights.len());
        assert_even(&counts, &weights, &format!("{weights:?}"));
    }
}

#[test]
fn every_packet_of_a_flow_takes_the_flows_route() {
    let mut link = link_of::<u64>(routes(&[1, 1, 1, 1]), 8);
    for number in 0..20_000 {
        assert_eq!(
            offer(&mut link, number, packet(100, number % 97, number % 97)),
            None
        );
    }
    let departures = drain(&mut link);
    assert_eq!(departures.len(), 20_000);
    for departure in &departures {
        assert_eq!(link.route_of(departure.packet.flow), Some(departure.route));
    }
    let used: std::collections::BTreeSet<u16> = departures.iter().map(|departure| departure.route).collect();
    assert_eq!(used.len(), 4);
}

#[test]
fn links_and_directions_choose_differently() {
    let link_spec = |seed| LinkSpec {
        name: "test".to_owned(),
        seed,
        interface_mtu: 1500,
        forward: routes(&[1, 1]),
        reverse: routes(&[1, 1]),
    };
    let (spec, other) = (link_spec(1), link_spec(2));
    let choices =
        |link: Link<()>| -> Vec<Option<u16>> { (0..FLOWS).map(|key| link.route_of(flow(key, 0))).collect() };
    let forward = choices(Link::forward(&spec));
    assert_eq!(choices(Link::forward(&spec)), forward);
    for choice in [choices(Link::reverse(&spec)), choices(Link::forward(&other))] {
        let same = choice
            .iter()
            .zip(&forward)
            .filter(|(one, other)| one == other)
            .count();
        // Half of them, four standard deviations of 50 either way.
        assert!((4_800..=5_200).contains(&same), "{same}");
    }
}

#[test]
fn a_hidden_5_tuple_puts_all_flows_of_a_host_pair_on_one_route() {
    let mut spec = routes(&[1, 1, 1]);
    spec.hide_five_tuple = true;
    let link = link_of::<()>(spec, 2);
    for pair in 0..50 {
        let routes: std::collections::BTreeSet<_> =
            (0..100).map(|key| link.route_of(flow(key, pair))).collect();
        assert_eq!(routes.len(), 1);
    }
    let counts = spread(&link, (0..FLOWS).map(|pair| flow(1, pair)), 3);
    assert_even(&counts, &[1, 1, 1], "host pairs");
}

#[test]
fn routes_by_source_port_ignore_the_rest_of_the_5_tuple() {
    let mut spec = routes(&[1, 2]);
    spec.choice = RouteChoice::SourcePort;
    let from = |source_port, five_tuple| FlowKey {
        source_port,
        ..flow(five_tuple, 1)
    };
    let link = link_of::<()>(spec.clone(), 2);
    for port in 0..50 {
        let taken: std::collections::BTreeSet<_> =
            (0..100).map(|key| link.route_of(from(port, key))).collect();
        assert_eq!(taken.len(), 1);
    }
    let counts = spread(&link, (0..FLOWS as u16).map(|port| from(port, 1)), 2);
    assert_even(&counts, &[1, 2], "source ports");
    spec.hide_five_tuple = true;
    let hidden = spread(&link_of(spec, 2), (0..100).map(|port| from(port, 1)), 2);
    assert!(hidden.contains(&100), "{hidden:?}");
}

#[test]
fn packets_spread_one_by_one() {
    let mut spec = routes(&[1, 3]);
    spec.choice = RouteChoice::PerPacket;
    let mut link = link_of::<()>(spec, 2);
    assert_eq!(link.route_of(flow(1, 0)), None);
    for at in 0..FLOWS {
        assert_eq!(offer(&mut link, at, packet(100, 1, ())), None);
    }
    let taken: Vec<u16> = drain(&mut link).iter().map(|departure| departure.route).collect();
    let counts = [0, 1].map(|route| taken.iter().filter(|&&taken| taken == route).count() as u64);
    assert_even(&counts, &[1, 3], "packets");
    // Independent of the packet before: as many changes of route as expected at random.
    let changes = taken.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
    let (mean, deviation) = (9_999.0 * 0.375, (9_999.0_f64 * 0.375 * 0.625).sqrt());
    assert!((changes - mean).abs() < 5.0 * deviation, "{changes}");
}

#[test]
fn departures_of_several_routes_come_in_order_of_time_then_of_acceptance() {
    let mut spec = routes(&[1, 1, 1]);
    for (delay_ns, route) in [500, 0, 250].into_iter().zip(&mut spec.routes) {
        route.delay_ns = delay_ns;
    }
    let mut link = link_of::<u64>(spec, 3);
    for number in 0..3_000 {
        offer(&mut link, number / 4, packet(100, number * 7 % 31, number));
    }
    let departures = drain(&mut link);
    assert!(departures.is_sorted_by_key(|departure| (departure.at, departure.packet.payload)));
    assert!(!departures.is_sorted_by_key(|departure| departure.packet.payload));
}
