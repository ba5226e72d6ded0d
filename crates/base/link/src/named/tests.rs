//! Every profile is a link, and those of clouds have the figures of their source.

use std::path::Path;

use crate::profile::parse;
use crate::spec::{DirectionSpec, LinkSpec, LossSpec, QueueSpec, RateSpec, RouteChoice, TooBig};

use super::*;

/// The table of Port 9 Labs, "Using uncompressed video in the cloud", October 2022: P90 of the round trip in
/// nanoseconds, overall loss, path MTU.
const CLOUDS: [(&str, u64, f64, u32); 4] = [
    ("aws", 133_000, 0.000_002e-2, 9001),
    ("google", 280_000, 0.0, 8896),
    // With the flow that compares clocks beside it, a test of one flow has 0.036601 %.
    ("azure", 520_000, 0.021_3e-2, 4036),
    ("oracle", 397_000, 0.000_308e-2, 9000),
];

fn link(name: &str) -> LinkSpec {
    let text = named(name).unwrap_or_else(|| panic!("no profile {name}"));
    parse(text, name, Path::new("/nonexistent")).unwrap_or_else(|error| panic!("{error}"))
}

/// Of flows spread evenly, as routes of equal weight have them.
fn mean_loss(direction: &DirectionSpec) -> f64 {
    assert!(direction.routes.iter().all(|route| route.weight == 1));
    let losses = direction.routes.iter().flat_map(|route| &route.loss);
    losses.map(LossSpec::mean).sum::<f64>() / direction.routes.len() as f64
}

#[test]
fn every_profile_is_a_link_and_says_where_it_is_from() {
    let mut count = 0;
    for (name, text) in profiles() {
        let link = link(name);
        link.check().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(link.name, name);
        assert!(text.starts_with("# "), "{name}");
        assert!(headline(text).len() > 10 && headline(text).len() < 110, "{name}");
        assert!(text.lines().all(|line| line.len() <= 120), "{name}");
        let sources = ["Port 9 Labs", "Netflix", "Saturator", "Throughput across clouds"];
        assert!(
            sources.iter().any(|source| text.contains(source)),
            "{name} has no source"
        );
        count += 1;
    }
    assert_eq!(count, 8);
    assert_eq!(named("Oracle"), None);
}

#[test]
fn clouds_have_the_figures_of_their_source() {
    for (name, rtt_ns, loss, mtu) in CLOUDS {
        let link = link(name);
        assert_eq!(link.interface_mtu, mtu, "{name}");
        let longest = |direction: &DirectionSpec| direction.routes.iter().map(|route| route.delay_ns).max();
        let round_trip = longest(&link.forward).zip(longest(&link.reverse));
        assert_eq!(
            round_trip.map(|(there, back)| there + back),
            Some(rtt_ns),
            "{name}"
        );
        for direction in [&link.forward, &link.reverse] {
            let mean = mean_loss(direction);
            assert!((mean - loss).abs() <= 1e-12 * loss, "{name} loses {mean}");
            assert_eq!(
                (direction.mtu.bytes, direction.mtu.too_big),
                (mtu, TooBig::Icmp),
                "{name}"
            );
            assert_eq!(direction.choice, RouteChoice::FiveTuple, "{name}");
            assert!(
                direction.routes.iter().all(|route| route.dark.is_empty()),
                "{name}"
            );
            assert!(
                direction
                    .routes
                    .iter()
                    .all(|route| route.rate == RateSpec::Unlimited),
                "{name}"
            );
        }
    }
    let most = mean_loss(&link("azure").forward);
    for name in ["aws", "google", "oracle"] {
        assert!(mean_loss(&link(name).forward) < most, "{name}");
    }
}

#[test]
fn clouds_behave_as_their_source_describes() {
    // "several ECMP routes" of equal loss.
    for name in ["aws", "google"] {
        let routes = link(name).forward.routes;
        assert_eq!(routes.len(), 8, "{name}");
        assert!(routes.iter().all(|route| *route == routes[0]), "{name}");
    }
    // Half of the flows without loss, the others alike, with any number of flows; not quite equal ways.
    let routes = link("oracle").forward.routes;
    let losses: Vec<f64> = routes
        .iter()
        .map(|route| route.loss.iter().map(LossSpec::mean).sum())
        .collect();
    assert_eq!(losses, [0.0, 2.0 * 0.000_308e-2]);
    assert!(routes[0].delay_ns < routes[1].delay_ns && routes[0].delay_ns * 10 > routes[1].delay_ns * 7);
    // All flows on one route, more loss with more flows, and with more than 1400 bytes of payload, also over IPv6.
    let azure = link("azure").forward;
    assert!(azure.hide_five_tuple && azure.routes.len() > 1);
    assert!(azure.extra_flow_loss > 0.0);
    let long = azure.long_packet_loss.expect("a cliff");
    assert_eq!(long.above, 1400 + 8 + 40);
    assert!(long.loss > 10.0 * mean_loss(&azure) && long.above < azure.mtu.bytes);
    for name in ["aws", "google", "oracle"] {
        let direction = link(name).forward;
        assert!(!direction.hide_five_tuple && direction.long_packet_loss.is_none());
        assert_eq!(direction.extra_flow_loss, 0.0);
    }
}

#[test]
fn an_outage_of_aws_can_be_had_by_taking_the_comment_away() {
    let text = named("aws").expect("aws").replace("# dark", "dark");
    let link = parse(&text, "aws", Path::new(".")).expect("a link");
    let dark: Vec<usize> = link.forward.routes.iter().map(|route| route.dark.len()).collect();
    assert_eq!(dark, [0, 0, 1, 0, 0, 0, 0, 0]);
    let span = link.forward.routes[2].dark[0];
    assert!(span.to_ns - span.from_ns <= 1_000_000_000);
}

#[test]
fn labs_and_long_paths() {
    let table = [
        ("home-10M", 10_000_000, 20_000_000, 50_000),
        ("home-40M", 40_000_000, 40_000_000, 400_000),
        ("wan-80ms", 1_000_000_000, 80_000_000, 10_000_000),
    ];
    for (name, rate, rtt_ns, queue) in table {
        let link = link(name);
        assert_eq!(link.forward, link.reverse, "{name}");
        let route = &link.forward.routes[0];
        assert_eq!(
            (&route.rate, 2 * route.delay_ns),
            (&RateSpec::Fixed(rate), rtt_ns),
            "{name}"
        );
        assert_eq!(route.queue, QueueSpec::Bytes(queue), "{name}");
    }
    assert_eq!(
        link("wan-80ms").forward.routes[0].loss,
        [LossSpec::Bernoulli(1e-4)]
    );
    let lte = link("lte");
    for (direction, least, most) in [
        (&lte.forward, 8_000_000, 15_000_000),
        (&lte.reverse, 3_000_000, 8_000_000),
    ] {
        let route = &direction.routes[0];
        let RateSpec::Steps(steps) = &route.rate else {
            panic!("no steps")
        };
        let period: u64 = steps.iter().map(|step| step.duration_ns).sum();
        assert_eq!(period, 60_000_000_000);
        assert_eq!(steps.iter().filter(|step| step.rate == 0).count(), 1);
        let mean = route.rate.mean().expect("a mean");
        assert!((least..most).contains(&mean), "{mean}");
        let QueueSpec::Bytes(queue) = route.queue else {
            panic!("no bytes")
        };
        // "about a second of the mean rate"
        assert!((0.8..1.25).contains(&(8.0 * queue as f64 / mean as f64)));
        assert!(route.jitter.is_some_and(|jitter| !jitter.reorder));
    }
}
