//! A recovery tried out on the emulated link in virtual time: packets are sent through one link for each part of the
//! stream, with the fitted loss process on it, and what the recovery does not bring back is counted.

use weir_link::{DirectionSpec, FlowKey, Link, LossSpec, Nanos, Packet, RouteSpec, Verdict};
use weir_stats::{Gilbert, loss_interval};

use crate::analysis::process::Share;
use crate::finding::Recovery;

const SEED: u64 = 0x7e57;
/// From one packet to the next; any will do, since nothing here depends on rates.
const GAP_NS: u64 = 1_000;

/// Loss that the recovery leaves of `packets`, with its 95 % bounds.
pub(super) fn residual(parts: &[Share], recovery: &Recovery, distance: u64, packets: u64) -> (f64, f64, f64) {
    let mut wire = Wire::new(parts);
    match *recovery {
        Recovery::None => bounds(wire.lose(packets), 1.0, packets),
        Recovery::Fec {
            repair_packets,
            span_packets,
            ..
        } => blocks(&mut wire, span_packets, repair_packets, packets),
        Recovery::Arq { rounds, .. } => retransmit(&mut wire, rounds, distance, packets),
    }
}

/// `failures` that cost `each` packets on average, among as many packets: bounds by Clopper and Pearson of the
/// failures.
fn bounds(failures: u64, each: f64, packets: u64) -> (f64, f64, f64) {
    let chances = (packets as f64 / each) as u64;
    let (low, high) = loss_interval(failures, chances.max(1));
    (failures as f64 * each / packets.max(1) as f64, low, high)
}

fn blocks(wire: &mut Wire, span: u32, repairs: u32, packets: u64) -> (f64, f64, f64) {
    let size = u64::from(span + repairs);
    let blocks = (packets / size).max(1);
    let (mut failed, mut lost) = (0_u64, 0_u64);
    for _ in 0..blocks {
        let missing = wire.lose(size);
        if missing > u64::from(repairs) {
            failed += 1;
            lost += missing;
        }
    }
    let (low, high) = loss_interval(failed, blocks);
    // A failed block loses this share of its packets; where none failed, more than the repairs.
    let share = if failed > 0 {
        lost as f64 / (failed * size) as f64
    } else {
        (f64::from(repairs) + 1.0) / size as f64
    };
    (lost as f64 / (blocks * size) as f64, low * share, high * share)
}

/// A packet that is sent again meets what the packet of the stream meets that is sent at that time: it fails if that is
/// lost each time.
fn retransmit(wire: &mut Wire, rounds: u32, distance: u64, packets: u64) -> (f64, f64, f64) {
    let all = packets + distance * u64::from(rounds);
    let lost: Vec<bool> = (0..all).map(|_| wire.lose(1) == 1).collect();
    let fails = |first: &usize| {
        let mut again = (0..=rounds as usize).map(|round| first + round * distance as usize);
        again.all(|place| lost[place])
    };
    let failures: Vec<usize> = (0..packets as usize).filter(fails).collect();
    // Packets of one burst are lost together and fail together: there are only as many chances as bursts tell apart.
    let places: Vec<usize> = (0..lost.len()).filter(|place| lost[*place]).collect();
    let runs = |places: &[usize]| places.chunk_by(|a, b| b - a <= distance as usize).count() as u64;
    let per_run = |places: &[usize]| places.len() as f64 / runs(places).max(1) as f64;
    let each = per_run(&failures).max(per_run(&places)).max(1.0);
    let share = failures.len() as f64 / packets.max(1) as f64;
    // So many independent failures are these worth: at least one if there is any.
    let worth = (failures.len() as f64 / each).ceil() as u64;
    let (_, low, high) = bounds(worth, each, packets);
    (share, low.min(share), high.max(share))
}

/// The links, and which gets the next packet.
struct Wire {
    links: Vec<Link<()>>,
    shares: Vec<f64>,
    owed: Vec<f64>,
    now: u64,
}

impl Wire {
    fn new(parts: &[Share]) -> Self {
        let link = |part: &Share| {
            let route = RouteSpec {
                loss: vec![loss_of(&part.process)],
                ..RouteSpec::clean()
            };
            DirectionSpec::over(vec![route])
        };
        Wire {
            links: (SEED..)
                .zip(parts)
                .map(|(seed, part)| Link::new(&link(part), seed))
                .collect(),
            shares: parts.iter().map(|part| part.share).collect(),
            owed: vec![0.0; parts.len()],
            now: 0,
        }
    }

    /// Sends `packets` packets and counts the lost ones.
    fn lose(&mut self, packets: u64) -> u64 {
        (0..packets).map(|_| u64::from(!self.passes())).sum()
    }

    /// The link that is furthest behind its share gets the packet.
    fn passes(&mut self) -> bool {
        self.owed
            .iter_mut()
            .zip(&self.shares)
            .for_each(|(owed, share)| *owed += share);
        let next = (0..self.owed.len())
            .max_by(|a, b| self.owed[*a].total_cmp(&self.owed[*b]))
            .unwrap_or(0);
        let (Some(owed), Some(link)) = (self.owed.get_mut(next), self.links.get_mut(next)) else {
            return true;
        };
        *owed -= 1.0;
        self.now += GAP_NS;
        let packet = Packet {
            length: 1_000,
            flow: FlowKey {
                five_tuple: 0,
                host_pair: 0,
            },
            payload: (),
        };
        let accepted = link.enqueue(Nanos(self.now), packet) == Verdict::Accepted;
        while link.poll(Nanos(self.now)).is_some() {}
        accepted
    }
}

fn loss_of(process: &Gilbert) -> LossSpec {
    if process.loss_good == process.loss_bad {
        return LossSpec::Bernoulli(process.loss_good);
    }
    LossSpec::GilbertElliott {
        to_bad: process.to_bad,
        to_good: process.to_good,
        loss_good: process.loss_good,
        loss_bad: process.loss_bad,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recommend::arq;

    #[test]
    fn what_stays_lost_lies_within_its_bounds_and_so_does_the_forecast() {
        let (mut within, mut all) = (0, 0);
        for burst in [1.0, 3.0, 12.0, 60.0] {
            for distance in [1, 7, 21, 400] {
                for (loss_bad, rounds) in [(1.0, 1), (0.4, 1), (0.9, 2)] {
                    let to_good = 1.0 / burst;
                    let process = Gilbert {
                        to_bad: 0.02 * to_good,
                        to_good,
                        loss_good: 0.001,
                        loss_bad,
                    };
                    let parts = [Share { share: 1.0, process }];
                    let recovery = Recovery::Arq {
                        latency_ns: None,
                        rounds,
                    };
                    let (lost, low, high) = residual(&parts, &recovery, distance, 40_000);
                    assert!(low <= lost && lost <= high, "{low} {lost} {high}");
                    let expected = arq::residual(&parts, rounds, distance);
                    // From the second round on the forecast forgets how long the burst has lasted.
                    if rounds == 1 {
                        within += u32::from((low..=high).contains(&expected));
                        all += 1;
                    }
                }
            }
        }
        assert!(within * 10 >= all * 9, "{within} of {all}");
    }
}
