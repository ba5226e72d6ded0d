//! A second generator of random networks, written apart from the inference: from what networks and hosts are known to do, with
//! other distributions and wider ranges than those that the inference was developed with, and with causes of loss that it has
//! no name for (`docs/diagnosis.md` has all of them as a table). Whether a survey meets a fault is left to chance, and for
//! the judge to find out. It must not know how a fault is found, nor what the diagnosis gets right.

mod base;
mod bursts;
mod hosts;
mod limits;
mod outside;
mod routes;

use super::{Fault, Network};
use crate::random::Random;

pub use outside::Outside;

/// Faults that a link and its hosts can have together; a network has at most one of each group.
const GROUPS: [&[Plant]; 5] = [
    &[Plant::Cliff],
    &[
        Plant::Lengths,
        Plant::RouteLoss,
        Plant::Dark,
        Plant::Sprayed,
        Plant::OneTuple,
    ],
    &[Plant::Independent, Plant::Bursts],
    &[Plant::FlowRate, Plant::PacketRate, Plant::Full],
    &[
        Plant::Overtaken,
        Plant::Sockets,
        Plant::Backlog,
        Plant::Trains,
        Plant::Late,
    ],
];

/// Pairs of which no measurement from outside sees two: loss on top of loss, a limit behind a limit, reordering by the network
/// and by the card, a burst as long as an outage, the order of bursts on routes that are taken by turns; and faults that
/// set the same part of a link, its routes.
const ALIKE: [(Plant, Plant); 13] = [
    (Plant::RouteLoss, Plant::Independent),
    (Plant::RouteLoss, Plant::Bursts),
    (Plant::OneTuple, Plant::Independent),
    (Plant::OneTuple, Plant::Bursts),
    (Plant::OneTuple, Plant::FlowRate),
    (Plant::OneTuple, Plant::Full),
    (Plant::Dark, Plant::Bursts),
    (Plant::Sprayed, Plant::Bursts),
    (Plant::Sprayed, Plant::Overtaken),
    (Plant::Lengths, Plant::Full),
    (Plant::RouteLoss, Plant::Full),
    (Plant::Dark, Plant::Full),
    (Plant::Sprayed, Plant::Full),
];

/// What is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plant {
    Cliff,
    Lengths,
    RouteLoss,
    Dark,
    Sprayed,
    OneTuple,
    Independent,
    Bursts,
    FlowRate,
    PacketRate,
    Full,
    Overtaken,
    Sockets,
    Backlog,
    Trains,
    Late,
}

impl Plant {
    fn add(self, network: &mut Network, random: &mut Random) -> Fault {
        match self {
            Plant::Cliff => limits::cliff(network, random),
            Plant::Lengths => routes::lengths(network, random),
            Plant::RouteLoss => routes::lossy(network, random),
            Plant::Dark => routes::dark(network, random),
            Plant::Sprayed => routes::sprayed(network, random),
            Plant::OneTuple => routes::one_tuple(network, random),
            Plant::Independent => routes::independent(network, random),
            Plant::Bursts => bursts::heavy_tailed(network, random),
            Plant::FlowRate => limits::flow_rate(network, random),
            Plant::PacketRate => limits::packet_rate(network, random),
            Plant::Full => limits::full(network, random),
            Plant::Overtaken => hosts::overtaken(network, random),
            Plant::Sockets => hosts::sockets(network, random),
            Plant::Backlog => hosts::backlog(network, random),
            Plant::Trains => hosts::trains(network, random),
            Plant::Late => hosts::late(network, random),
        }
    }
}

/// Draws network `number` with `count` faults, 0 to 5; the same seed gives the same network.
pub fn draw_apart(count: usize, seed: u64, number: u64) -> Network {
    let mut random = Random::new(seed ^ 0xa9 << 56 ^ (count as u64) << 48 ^ number << 8).fork();
    let plants = choose(count, &mut random);
    let mut network = base::without_faults(&mut random);
    let mut faults = Vec::new();
    for plant in plants {
        let fault = plant.add(&mut network, &mut random);
        faults.push(fault);
    }
    let mut faults = faults.into_iter();
    network.fault = faults.next().unwrap_or(Fault::Clean);
    network.more = faults.collect();
    network
}

/// Draws network `number` with one cause of loss outside the diagnosis's model; the same seed gives the same network.
pub fn draw_outside(seed: u64, number: u64) -> Network {
    let mut random = Random::new(seed ^ 0xa9 << 56 ^ 0xff << 48 ^ number << 8).fork();
    let mut network = base::without_faults(&mut random);
    network.fault = Fault::Outside(outside::add(&mut network, &mut random));
    network
}

/// As many faults as asked for, each group as likely as any other, no two of them alike.
fn choose(count: usize, random: &mut Random) -> Vec<Plant> {
    loop {
        let mut plants = Vec::new();
        for (at, group) in GROUPS.iter().enumerate() {
            let (wanted, left) = (count - plants.len(), GROUPS.len() - at);
            if random.chance(wanted as f64 / left as f64) {
                plants.push(random.pick(group));
            }
        }
        let both = |(one, other): &(Plant, Plant)| plants.contains(one) && plants.contains(other);
        if !ALIKE.iter().any(both) {
            return plants;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_network_is_one_and_equal_seeds_draw_the_same() {
        for number in 0..100 {
            for count in 0..=3 {
                let network = draw_apart(count, 3, number);
                network.link.check().expect("a link");
                assert_eq!(
                    network.faults().filter(|fault| **fault != Fault::Clean).count(),
                    count
                );
                assert_eq!(network, draw_apart(count, 3, number));
            }
            let network = draw_outside(3, number);
            network.link.check().expect("a link");
            assert_eq!(network, draw_outside(3, number));
        }
    }

    #[test]
    fn every_fault_occurs() {
        let name = |fault: &Fault| {
            let text = format!("{fault:?}");
            text.split([' ', '{']).next().unwrap_or_default().to_owned()
        };
        let mut seen = BTreeSet::new();
        for number in 0..300 {
            for count in 1..=3 {
                seen.extend(draw_apart(count, 3, number).faults().map(name));
            }
            seen.extend(draw_outside(3, number).faults().map(name));
        }
        let expected = [
            "BacklogLoss",
            "BurstLoss",
            "Congestion",
            "FiveTupleIgnored",
            "FlowRateCap",
            "IndependentLoss",
            "LateSender",
            "Outage",
            "Outside(Content)",
            "Outside(Periodic)",
            "Outside(ReplayWindow)",
            "Outside(SlowPath)",
            "Outside(TwoBuckets",
            "Outside(VaryingRate",
            "PacketRateCap",
            "PayloadCliff",
            "PerPacketRoutes",
            "ReceiveQueues",
            "RouteLoss",
            "Routes",
            "SendLoss",
            "SocketLoss",
        ];
        assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    }
}
