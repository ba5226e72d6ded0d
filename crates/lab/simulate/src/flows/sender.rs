//! The sending half of a flow test in virtual time: the real packing and pacing, on a thread that wakes late. It must
//! not know the fate of its packets.

use weir_link::Packet;
use weir_measure::flows::{Block, FlowsPlan, Pacing, SenderReport, StreamPacker, StreamPacket};
use weir_results::{Direction, Record, SenderSecond};
use weir_stats::DurationHistogram;

use crate::datagram::{Datagram, Ports};
use crate::host::{Host, Thread};
use crate::record::Recording;

const SECOND_NS: u64 = 1_000_000_000;
/// Maximum packets and bytes that the kernel segments from one message (UDP_MAX_SEGMENTS and an IP packet's length).
const TRAIN_PACKETS: usize = 64;
const TRAIN_BYTES: u32 = 65_507;

/// A sender at work.
pub(super) struct Sending {
    plan: FlowsPlan,
    direction: Direction,
    ports: Vec<Ports>,
    max_bytes: u64,
    packer: StreamPacker,
    pacing: Pacing,
    thread: Thread,
    block: Block,
    due_ns: u64,
    wake_ns: Option<u64>,
    /// Packets of the block under way that have not left, last first.
    pending: Vec<StreamPacket>,
    sent_unix_ns: u64,
    report: SenderReport,
    errors_second: DurationHistogram,
    errors: DurationHistogram,
    start_ns: u64,
    second_ns: u64,
    before: SenderReport,
    cpu_ns: u64,
    cpu_before_ns: u64,
    last_ns: u64,
    /// Trains dropped on this host.
    pub dropped_trains: u64,
    /// Their packets.
    pub dropped: u64,
}

impl Sending {
    /// A sender that begins at `start_ns`; flow `n` travels between `ports[n]`.
    pub fn new(
        plan: &FlowsPlan,
        direction: Direction,
        ports: Vec<Ports>,
        max_bytes: u64,
        host: &mut Host,
        start_ns: u64,
    ) -> Self {
        let mut packer = StreamPacker::new(plan);
        let block = packer.next_block();
        let pacing = Pacing::new(plan, plan.format.rate(), start_ns);
        let mut thread = host.thread(start_ns);
        let due_ns = pacing.due(&block, 0);
        Sending {
            plan: plan.clone(),
            direction,
            ports,
            max_bytes,
            packer,
            pacing,
            block,
            due_ns,
            wake_ns: Some(thread.woken(due_ns)),
            thread,
            pending: Vec::new(),
            sent_unix_ns: 0,
            report: SenderReport {
                segmented: plan.segment,
                ..SenderReport::default()
            },
            errors_second: DurationHistogram::new(),
            errors: DurationHistogram::new(),
            start_ns,
            second_ns: start_ns,
            before: SenderReport::default(),
            cpu_ns: 0,
            cpu_before_ns: 0,
            last_ns: start_ns,
            dropped_trains: 0,
            dropped: 0,
        }
    }

    /// None once it has sent everything.
    pub fn next_wake(&self) -> Option<u64> {
        self.wake_ns
    }

    /// Starts a block, or sends the train that has been copied into the kernel.
    pub fn wake(&mut self, now: u64, host: &mut Host, out: &mut Vec<Packet<Datagram>>, rows: &mut Recording) {
        self.last_ns = now;
        if self.pending.is_empty() {
            if self.pacing.has_ended(now) {
                self.end(now, host, rows);
                return;
            }
            self.begin_block(now, host);
        } else {
            self.send_train(host, out);
        }
        if self.pending.is_empty() {
            if now.saturating_sub(self.second_ns) >= SECOND_NS {
                self.close_second(now, host, rows);
            }
            self.plan_block(now, host, rows);
            return;
        }
        let cost = self.train_cost(host);
        let cost = self.thread.call(cost);
        self.cpu_ns += cost;
        self.wake_ns = Some(self.thread.running(now + cost));
    }

    fn begin_block(&mut self, now: u64, host: &Host) {
        self.pacing.left(&self.block, now);
        self.errors_second.record(now.saturating_sub(self.due_ns) as i64);
        self.sent_unix_ns = host.clock.unix(now);
        let pending = &mut self.pending;
        self.packer.pack(&self.block, |packet| pending.push(packet));
        self.pending.reverse();
    }

    /// Packets of one flow that leave together.
    fn train(&self) -> usize {
        let most = if self.plan.segment { TRAIN_PACKETS } else { 1 };
        let first = self.pending.last().map(|packet| packet.flow);
        let mut bytes = 0;
        self.pending
            .iter()
            .rev()
            .take(most)
            .take_while(|packet| {
                bytes += packet.length;
                Some(packet.flow) == first && bytes <= TRAIN_BYTES
            })
            .count()
            .max(1)
    }

    /// Time that copying the next train into the kernel takes.
    fn train_cost(&self, host: &Host) -> u64 {
        let packets = self.pending.iter().rev().take(self.train());
        let cost = packets
            .map(|packet| host.model.packet_cost(packet.length))
            .sum::<u64>();
        host.model.send_call_ns + cost
    }

    fn send_train(&mut self, host: &mut Host, out: &mut Vec<Packet<Datagram>>) {
        let drop = host.model.send_drop;
        let dropped = drop > 0.0 && host.random().chance(drop);
        self.dropped_trains += u64::from(dropped);
        let train = self.train();
        self.dropped += if dropped { train as u64 } else { 0 };
        for packet in self.pending.split_off(self.pending.len() - train).iter().rev() {
            self.report.sent += 1;
            self.report.bytes += u64::from(packet.length);
            if !dropped {
                out.push(self.ports[usize::from(packet.flow)].packet(packet.length, self.datagram(packet)));
            }
        }
        self.report.sends += 1;
    }

    fn datagram(&self, packet: &StreamPacket) -> Datagram {
        Datagram::Flow {
            stream_sequence: packet.stream_sequence as u32,
            flow_sequence: packet.flow_sequence as u32,
            flow: packet.flow,
            last_of_frame: packet.last_of_frame,
            frame: packet.frame as u32,
            sent: self.sent_unix_ns,
        }
    }

    fn plan_block(&mut self, now: u64, host: &Host, rows: &mut Recording) {
        self.block = self.packer.next_block();
        self.due_ns = self.pacing.due(&self.block, self.report.bytes);
        let next = u64::from(self.block.packets) * u64::from(self.plan.length);
        let over_limit = self.report.bytes + next > self.max_bytes;
        self.report.hit_byte_limit |= over_limit;
        if over_limit || self.pacing.is_over(&self.block, self.due_ns) {
            self.end(now, host, rows);
            return;
        }
        let at = self.pacing.may_leave(self.due_ns);
        self.wake_ns = Some(if at > now {
            self.thread.woken(at)
        } else {
            self.thread.running(now)
        });
    }

    fn end(&mut self, now: u64, host: &Host, rows: &mut Recording) {
        self.wake_ns = None;
        self.close_second(now, host, rows);
        self.report.cpu_ns = self.cpu_ns;
        self.report.wall_ns = now - self.start_ns;
        self.report.sent_per_flow = self.packer.per_flow().to_vec();
        self.report.schedule_error = self.errors.quantiles();
    }

    fn close_second(&mut self, now: u64, host: &Host, rows: &mut Recording) {
        let row = SenderSecond {
            unix_ns: host.clock.unix(now),
            duration_ns: now.saturating_sub(self.second_ns),
            sent: self.report.sent - self.before.sent,
            bytes: self.report.bytes - self.before.bytes,
            sends: self.report.sends - self.before.sends,
            refused: self.report.refused - self.before.refused,
            schedule_error: self.errors_second.quantiles(),
            cpu_ns: self.cpu_ns - self.cpu_before_ns,
        };
        self.errors.merge(&self.errors_second);
        self.errors_second.clear();
        (self.before, self.cpu_before_ns, self.second_ns) = (self.report.clone(), self.cpu_ns, now);
        rows.add(now, Record::SenderSecond(self.direction, row));
    }

    /// When the last packet left; only valid once [`Sending::next_wake`] is none.
    pub fn ended_ns(&self) -> u64 {
        self.last_ns
    }

    /// The account of the whole test.
    pub fn report(&self) -> &SenderReport {
        &self.report
    }
}
