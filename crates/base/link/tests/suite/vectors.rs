//! The effect of a seed, against a computation in another language (`data/make_vectors.py`). A recorded seed repeats its
//! run with every later version only if this stays as it is.

use crate::rig::{drain, flow, jitter, offer, packet};
use weir_link::{DirectionSpec, Link, LinkSpec, LossSpec, RouteSpec};

fn link(seed: u64, direction: &str, routes: Vec<RouteSpec>) -> Link<u64> {
    let both = DirectionSpec::over(routes);
    let spec = LinkSpec {
        name: "test".to_owned(),
        seed,
        interface_mtu: 1500,
        forward: both.clone(),
        reverse: both,
    };
    match direction {
        "forward" => Link::forward(&spec),
        "reverse" => Link::reverse(&spec),
        _ => panic!("{direction} is no direction"),
    }
}

fn lost(mut link: Link<u64>) -> Vec<u64> {
    (0..500)
        .filter(|&number| offer(&mut link, 0, packet(100, 0, number)).is_some())
        .collect()
}

fn routes(link: Link<u64>) -> Vec<u64> {
    (0..60)
        .map(|five_tuple| {
            link.route_of(flow(five_tuple, 0))
                .map(u64::from)
                .expect("a route")
        })
        .collect()
}

fn delays(mut link: Link<u64>) -> Vec<u64> {
    for number in 0..60 {
        assert_eq!(offer(&mut link, 0, packet(100, 0, number)), None);
    }
    let mut departures = drain(&mut link);
    departures.sort_by_key(|departure| departure.packet.payload);
    departures.iter().map(|departure| departure.at.0).collect()
}

#[test]
fn seeds_mean_what_another_program_says() {
    let clean = RouteSpec::clean;
    let lines = include_str!("../data/vectors.txt").lines();
    assert_eq!(lines.clone().count(), 3 * 2 * 4);
    for line in lines {
        let mut words = line.split(' ');
        let mut word = || words.next().expect("seed, direction and name");
        let (seed, direction, name) = (word().parse().expect("a seed"), word(), word());
        let expected: Vec<u64> = words.map(|word| word.parse().expect("a number")).collect();
        let with_loss = |loss| {
            vec![RouteSpec {
                loss: vec![loss],
                ..clean()
            }]
        };
        let found = match name {
            "bernoulli" => lost(link(seed, direction, with_loss(LossSpec::Bernoulli(0.1)))),
            "gilbert_elliott" => {
                let process = LossSpec::GilbertElliott {
                    to_bad: 0.02,
                    to_good: 0.25,
                    loss_good: 0.01,
                    loss_bad: 0.8,
                };
                lost(link(seed, direction, with_loss(process)))
            }
            "routes" => {
                let weighted = [1, 2, 4].map(|weight| RouteSpec { weight, ..clean() });
                routes(link(seed, direction, weighted.to_vec()))
            }
            "jitter" => {
                let jitter = jitter(1_000_000, true);
                delays(link(seed, direction, vec![RouteSpec { jitter, ..clean() }]))
            }
            _ => panic!("{name} is nothing"),
        };
        assert_eq!(found, expected, "{seed} {direction} {name}");
    }
}
