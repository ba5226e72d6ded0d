//! Networks with several faults at once. It must not know what a fault does to a network.

use super::{Kind, Network, add, base};
use crate::random::Random;

/// What faults are about, in the order in which they are added: the later ones keep what the earlier ones set. A network has
/// at most one of each.
const GROUPS: [&[Kind]; 5] = [
    &[Kind::PayloadCliff],
    &[
        Kind::Routes,
        Kind::RouteLoss,
        Kind::Outage,
        Kind::BurstLoss,
        Kind::SharedBursts,
        Kind::Congestion,
        Kind::FiveTupleIgnored,
    ],
    &[Kind::IndependentLoss],
    &[Kind::FlowRateCap, Kind::PacketRateCap],
    &[Kind::ReceiveQueues, Kind::BacklogLoss, Kind::SendLoss],
];
/// Two that are one when they are seen from outside: two loss processes, or two limits of which only the lower one holds.
const ALIKE: [(Kind, Kind); 6] = [
    (Kind::BurstLoss, Kind::IndependentLoss),
    (Kind::SharedBursts, Kind::IndependentLoss),
    (Kind::RouteLoss, Kind::IndependentLoss),
    (Kind::Congestion, Kind::FlowRateCap),
    (Kind::Congestion, Kind::PacketRateCap),
    (Kind::FiveTupleIgnored, Kind::FlowRateCap),
];

/// Draws network `number` with `count` faults, 1 to 4; the same seed gives the same network.
pub fn draw_several(count: usize, seed: u64, number: u64) -> Network {
    let mut random = Random::new(seed ^ (count as u64) << 56 ^ number << 8).fork();
    let kinds = loop {
        let kinds = choose(count, &mut random);
        let both = |(one, other): &(Kind, Kind)| kinds.contains(one) && kinds.contains(other);
        if !ALIKE.iter().any(both) {
            break kinds;
        }
    };
    let mut network = base::clean(&mut random);
    let mut faults = Vec::new();
    for kind in kinds {
        add(&mut network, kind, &mut random);
        faults.push(network.fault.clone());
    }
    network.more = faults.split_off(1);
    network.fault = faults.remove(0);
    network
}

fn choose(count: usize, random: &mut Random) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for (at, group) in GROUPS.iter().enumerate() {
        let (wanted, left) = (count - kinds.len(), GROUPS.len() - at);
        if random.chance(wanted as f64 / left as f64) {
            kinds.push(random.pick(group));
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_faults_as_were_asked_for_and_equal_seeds_draw_the_same() {
        for number in 0..100 {
            for count in 1..=3 {
                let network = draw_several(count, 3, number);
                network.link.check().expect("a link");
                assert_eq!(network.faults().count(), count);
                assert_eq!(network.link, draw_several(count, 3, number).link);
            }
        }
    }
}
