//! Where a packet of a stream stood among those that left back to back with it, from its sequence number alone. Pure.

use std::ops::Range;

use weir_wire::Spread;

use super::{FlowsPlan, FrameSchedule};

/// Places of a plan's packets.
#[derive(Clone, Debug)]
pub struct BurstPlaces {
    spread: Spread,
    first: u64,
    per_frame: u64,
    burst: u64,
}

/// Packets that leave back to back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Their stream sequences.
    pub sequences: Range<u64>,
    first_flow: u64,
    flows: u64,
}

impl Burst {
    /// How many flows send their packets of the burst before this one does.
    #[must_use]
    pub fn turn(&self, flow: u16) -> u64 {
        (u64::from(flow) + self.flows - self.first_flow) % self.flows
    }
}

impl BurstPlaces {
    /// Those of a plan that has been checked.
    pub fn new(plan: &FlowsPlan) -> Self {
        let burst = plan.burst_packets();
        BurstPlaces {
            spread: Spread::new(plan.spread, plan.flows, plan.seed),
            first: u64::from(plan.first_sequence),
            per_frame: u64::from(FrameSchedule::new(plan.format, plan.length, burst).packets_per_frame()),
            burst: u64::from(burst),
        }
    }

    /// The place of the packet with this stream sequence, between 0, the beginning of its burst, and 1. A burst leaves flow by flow
    /// ([`super::StreamPacker::pack`]), each with as many packets as others on average.
    pub fn place(&mut self, stream_sequence: u64) -> f64 {
        self.place_of(stream_sequence).0
    }

    /// The same among the packets of its burst, whatever their flow, in the order of the stream: what a flow sends of a burst leaves in
    /// this order.
    pub fn place_in_flow(&self, stream_sequence: u64) -> f64 {
        let index = stream_sequence.saturating_sub(self.first);
        let in_frame = index % self.per_frame;
        let (block, within) = (in_frame / self.burst, in_frame % self.burst);
        let packets = self.burst.min(self.per_frame - block * self.burst);
        (within as f64 + 0.5) / packets as f64
    }

    /// How many packets left with it from this one on: below 1 for the last of a burst, below 2 for the one before it.
    pub fn until_end(&mut self, stream_sequence: u64) -> f64 {
        let (place, packets) = self.place_of(stream_sequence);
        (1.0 - place) * packets as f64
    }

    /// Share of all packets that are among the last `packets` of their bursts, 0 to 1.
    #[must_use]
    pub fn share_of_last(&self, packets: u64) -> f64 {
        let whole = (self.per_frame / self.burst) * packets.min(self.burst);
        let rest = packets.min(self.per_frame % self.burst);
        (whole + rest) as f64 / self.per_frame as f64
    }

    /// The burst that this packet belongs to.
    pub fn burst_of(&self, stream_sequence: u64) -> Burst {
        let index = stream_sequence.saturating_sub(self.first);
        let (frame, in_frame) = (index / self.per_frame, index % self.per_frame);
        let block = in_frame / self.burst;
        let first = stream_sequence - in_frame % self.burst;
        let packets = self.burst.min(self.per_frame - block * self.burst);
        let flows = u64::from(self.spread.flows());
        let first_flow = frame
            .wrapping_mul(self.per_frame.div_ceil(self.burst))
            .wrapping_add(block)
            % flows;
        Burst {
            sequences: first..first + packets,
            first_flow,
            flows,
        }
    }

    /// The place, and the packets of the burst.
    fn place_of(&mut self, stream_sequence: u64) -> (f64, u64) {
        let burst = self.burst_of(stream_sequence);
        let turn = burst.turn(self.spread.flow(stream_sequence).0);
        let place = (turn as f64 + self.place_in_flow(stream_sequence)) / burst.flows as f64;
        (place, burst.sequences.end - burst.sequences.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::StreamPacker;

    #[test]
    fn places_are_those_in_which_packets_leave() {
        for (flows, burst) in [(1, 32), (8, 32), (7, 100), (4, 12)] {
            let plan = FlowsPlan {
                flows,
                burst: Some(burst),
                first_sequence: 56_000,
                ..FlowsPlan::default()
            };
            let mut packer = StreamPacker::new(&plan, 0..flows);
            let mut places = BurstPlaces::new(&plan);
            for _ in 0..2_000 {
                let block = packer.next_block();
                let mut sequences = Vec::new();
                packer.pack(&block, |packet| sequences.push(packet.stream_sequence));
                let packets = sequences.len() as f64;
                // A frame ends with a part of a round; from then on flows have as many packets as others on average only.
                let is_whole = block.frame == 0 && block.packets.is_multiple_of(u32::from(flows));
                let most_off = if is_whole { 1.0 } else { f64::from(flows) } / packets;
                for (index, sequence) in sequences.into_iter().enumerate() {
                    let place = places.place(sequence);
                    let off = (place - (index as f64 + 0.5) / packets).abs();
                    assert!(off <= most_off, "{flows} flows, {index} of {packets}: {place}");
                }
            }
        }
    }

    #[test]
    fn the_last_packets_of_bursts_are_as_many_as_their_share() {
        let plan = FlowsPlan {
            flows: 1,
            burst: Some(32),
            ..FlowsPlan::default()
        };
        let mut places = BurstPlaces::new(&plan);
        // A whole number of frames.
        let packets = 3 * places.per_frame;
        for last in [1, 8, 40] {
            let are_last = (0..packets).filter(|sequence| places.until_end(*sequence) < last as f64);
            let share = are_last.count() as f64 / packets as f64;
            assert!(
                (share - places.share_of_last(last)).abs() < 1e-12,
                "{last}: {share}"
            );
        }
    }
}
