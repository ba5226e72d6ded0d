//! Which packet of a stream goes next and on which flow, and when its burst may leave. Pure: no clock, no socket.

use std::ops::Range;

use weir_wire::Spread;

use super::{Block, FlowsPlan, FrameSchedule};
use weir_units::Rate;

const SECOND_NS: u64 = 1_000_000_000;

/// One packet, before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPacket {
    /// Flow that carries it.
    pub flow: u16,
    /// Position in the stream, the plan's first sequence included.
    pub stream_sequence: u64,
    /// Position in its flow, the plan's first sequence included.
    pub flow_sequence: u64,
    /// Frame that it belongs to, from 0.
    pub frame: u64,
    /// Where in the frame its payload starts, bytes (wraps).
    pub frame_offset: u32,
    /// No packet of the frame comes after it.
    pub last_of_frame: bool,
    /// UDP payload bytes.
    pub length: u32,
}

/// Cuts a stream into blocks, and blocks into packets on flows. Another packer of the same stream numbers its packets alike.
#[derive(Clone, Debug)]
pub struct StreamPacker {
    schedule: FrameSchedule,
    spread: Spread,
    /// Flows whose packets it hands over.
    own: Range<u16>,
    length: u32,
    first: u64,
    sequence: u64,
    per_flow: Vec<u64>,
    /// Packets of the block in hand, by flow.
    lanes: Vec<Vec<u32>>,
    first_lane: usize,
}

impl StreamPacker {
    /// The stream of a plan that has been checked; packets of other flows than `own` are only counted.
    pub fn new(plan: &FlowsPlan, own: Range<u16>) -> Self {
        let flows = usize::from(plan.flows);
        StreamPacker {
            schedule: FrameSchedule::new(plan.format, plan.length, plan.burst_packets()),
            spread: Spread::new(plan.spread, plan.flows, plan.seed),
            own,
            length: plan.length,
            first: u64::from(plan.first_sequence),
            sequence: 0,
            per_flow: vec![0; flows],
            lanes: vec![Vec::new(); flows],
            first_lane: 0,
        }
    }

    /// The next block.
    pub fn next_block(&mut self) -> Block {
        self.schedule.next_block()
    }

    /// Hands over the packets of a block in the order in which they leave: flow by flow, so that each flow's are
    /// one train, starting with another flow each time.
    pub fn pack(&mut self, block: &Block, mut push: impl FnMut(StreamPacket)) {
        for offset in 0..block.packets {
            let flow = self.spread.flow(self.first + self.sequence + u64::from(offset)).0;
            if self.own.contains(&flow) {
                self.lanes[usize::from(flow)].push(offset);
            }
        }
        let flows = self.lanes.len();
        for turn in 0..flows {
            let flow = (self.first_lane + turn) % flows;
            for position in 0..self.lanes[flow].len() {
                let offset = self.lanes[flow][position];
                push(self.packet(block, flow, offset));
            }
            self.lanes[flow].clear();
        }
        self.first_lane = (self.first_lane + 1) % flows;
        self.sequence += u64::from(block.packets);
    }

    fn packet(&mut self, block: &Block, flow: usize, offset: u32) -> StreamPacket {
        let index = block.first + offset;
        let flow_sequence = self.first + self.per_flow[flow];
        self.per_flow[flow] += 1;
        StreamPacket {
            flow: flow as u16,
            stream_sequence: self.first + self.sequence + u64::from(offset),
            flow_sequence,
            frame: block.frame,
            frame_offset: index.wrapping_mul(self.length),
            last_of_frame: index + 1 == self.schedule.packets_per_frame(),
            length: self
                .schedule
                .packet_length(index, weir_wire::FLOW_HEADER_LENGTH as u32),
        }
    }

    /// UDP payload bytes of a block, on all flows.
    pub fn block_bytes(&self, block: &Block) -> u64 {
        // Only the last packet of a frame may be shorter than the others.
        let whole = block.packets.saturating_sub(1);
        let shortest = weir_wire::FLOW_HEADER_LENGTH as u32;
        let last = self.schedule.packet_length(block.first + whole, shortest);
        u64::from(whole) * u64::from(self.length) + u64::from(last)
    }

    /// Packets handed over so far, on each flow.
    pub fn per_flow(&self) -> &[u64] {
        &self.per_flow
    }
}

/// When blocks may leave. Times are monotonic nanoseconds.
#[derive(Clone, Debug)]
pub struct Pacing {
    start_ns: u64,
    end_ns: u64,
    frames: u64,
    unpaced: bool,
    length: u32,
    rate: Rate,
    ceiling: Rate,
    earliest_ns: u64,
}

impl Pacing {
    /// The pace of a plan from `start_ns` on; `ceiling` holds a stream that has no rate of its own.
    pub fn new(plan: &FlowsPlan, ceiling: Rate, start_ns: u64) -> Self {
        Pacing {
            start_ns,
            end_ns: start_ns + plan.duration_ns,
            frames: plan.format.frame_rate.frames_in(plan.duration_ns),
            unpaced: plan.unpaced,
            length: plan.length,
            rate: plan.format.rate(),
            ceiling,
            earliest_ns: start_ns,
        }
    }

    /// When a block is due after `sent_bytes` have been sent.
    pub fn due(&self, block: &Block, sent_bytes: u64) -> u64 {
        if !self.unpaced {
            return self.start_ns + block.due_ns;
        }
        let bits_by_second = u128::from(sent_bytes) * 8 * u128::from(SECOND_NS);
        let ns = bits_by_second / u128::from(self.ceiling.0.max(1));
        self.start_ns
            .saturating_add(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// The stream ends before a block that is due then.
    pub fn is_over(&self, block: &Block, due_ns: u64) -> bool {
        due_ns >= self.end_ns || (!self.unpaced && block.frame >= self.frames)
    }

    /// The stream's time is over.
    pub fn has_ended(&self, now_ns: u64) -> bool {
        now_ns >= self.end_ns
    }

    /// When a block that is due then may leave: a sender that was held up catches up at no more than twice the
    /// rate.
    pub fn may_leave(&self, due_ns: u64) -> u64 {
        due_ns.max(self.earliest_ns)
    }

    /// A block leaves.
    pub fn left(&mut self, block: &Block, now_ns: u64) {
        self.earliest_ns = now_ns + self.block_time(block) / 2;
    }

    /// Time that a block's packets take at the format's rate; 0 when unpaced.
    fn block_time(&self, block: &Block) -> u64 {
        if self.unpaced {
            return 0;
        }
        let bits = u64::from(block.packets) * u64::from(self.length) * 8;
        u64::try_from(u128::from(bits) * u128::from(SECOND_NS) / u128::from(self.rate.0.max(1))).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VideoFormat;

    fn plan() -> FlowsPlan {
        FlowsPlan {
            format: VideoFormat::named("1080p59.94-422-10").expect("a known format"),
            length: 8100,
            flows: 8,
            first_sequence: 1_000,
            ..FlowsPlan::default()
        }
    }

    #[test]
    fn a_block_is_one_train_a_flow_and_nothing_is_left_out() {
        let mut packer = StreamPacker::new(&plan(), 0..8);
        let mut sequences = Vec::new();
        for turn in 0..3 {
            let block = packer.next_block();
            let mut flows = Vec::new();
            packer.pack(&block, |packet| {
                flows.push(packet.flow);
                sequences.push(packet.stream_sequence);
            });
            flows.dedup();
            let expected: Vec<u16> = (0..8).map(|flow| (flow + turn) % 8).collect();
            assert_eq!(flows, expected);
        }
        sequences.sort_unstable();
        assert!(sequences.iter().copied().eq(1_000..1_096));
        assert_eq!(packer.per_flow(), [12; 8]);
    }

    #[test]
    fn a_block_has_the_bytes_of_its_packets_the_shorter_last_one_of_a_frame_too() {
        let mut plan = plan();
        plan.length = 1400;
        let mut packer = StreamPacker::new(&plan, 0..8);
        let (mut whole, mut shorter) = (0, 0);
        while whole < 2 * u64::from(plan.format.bytes_per_frame) {
            let (block, mut bytes) = (packer.next_block(), 0);
            packer.pack(&block, |packet| {
                bytes += u64::from(packet.length);
                shorter += u32::from(packet.length < plan.length);
            });
            assert_eq!(packer.block_bytes(&block), bytes);
            whole += bytes;
        }
        assert_eq!((whole, shorter), (2 * u64::from(plan.format.bytes_per_frame), 2));
    }

    #[test]
    fn a_sender_held_up_catches_up_at_twice_the_rate() {
        let mut packer = StreamPacker::new(&plan(), 0..8);
        let mut pacing = Pacing::new(&plan(), Rate(0), 5_000);
        let block = packer.next_block();
        assert_eq!(pacing.due(&block, 0), 5_000);
        pacing.left(&block, 2_000_000);
        // 32 packets of 8100 bytes at 2.4858 Gbit/s take 834.2 us, half of that is 417.1 us.
        let next = packer.next_block();
        let due = pacing.due(&next, 0);
        assert_eq!(due, 5_000 + 834_166);
        assert_eq!((pacing.may_leave(due) - 2_000_000) / 100, 4_170);
        assert_eq!(pacing.may_leave(9_000_000), 9_000_000);
    }

    #[test]
    fn the_ceiling_holds_after_any_number_of_bytes() {
        let unpaced = FlowsPlan {
            unpaced: true,
            ..plan()
        };
        let pacing = Pacing::new(&unpaced, Rate(10_000_000_000), 0);
        let block = StreamPacker::new(&unpaced, 0..8).next_block();
        // 10 Gbit/s are 1.25 bytes a nanosecond; eight times 2.4e12 bytes in nanobits do not fit 64 bits.
        for bytes in [0, 1_250, 1_250_000_000, 2_400_000_000_000, 250_000_000_000_000] {
            assert_eq!(pacing.due(&block, bytes), bytes / 10 * 8);
        }
        assert_eq!(pacing.due(&block, u64::MAX), u64::MAX / 10 * 8 + 4);
    }

    #[test]
    fn a_paced_stream_is_whole_frames() {
        let mut packer = StreamPacker::new(&plan(), 0..8);
        let short = FlowsPlan {
            duration_ns: 30_000_000,
            ..plan()
        };
        let pacing = Pacing::new(&short, Rate(0), 0);
        let mut packets = 0;
        loop {
            let block = packer.next_block();
            if pacing.is_over(&block, pacing.due(&block, 0)) {
                break;
            }
            packets += block.packets;
        }
        // Two frames of 640 packets begin within 30 ms; the second ends after it and is cut there.
        assert!((640..1_280).contains(&packets), "{packets}");
    }
}
