//! The sending half of a flow test in virtual time: the real core, on a thread that wakes late. It must
//! not know the fate of its packets.

use weir_link::Packet;
use weir_measure::flows::{FlowsPlan, SenderAccount, SenderPart, SenderReport, StreamPacket, StreamSender};
use weir_results::Direction;
use weir_stats::SendCounts;

use crate::datagram::{Datagram, Ports};
use crate::host::{Host, Thread};
use crate::record::Recording;

/// Maximum packets and bytes that the kernel segments from one message (UDP_MAX_SEGMENTS and an IP packet's length).
const TRAIN_PACKETS: usize = 64;
const TRAIN_BYTES: u32 = 65_507;

/// A sender at work.
pub(super) struct Sending {
    core: StreamSender,
    account: SenderAccount,
    segment: bool,
    ports: Vec<Ports>,
    thread: Thread,
    wake_ns: Option<u64>,
    /// Packets of the block under way that have not left, last first.
    pending: Vec<StreamPacket>,
    /// Counts of those that have.
    block: SendCounts,
    sent_unix_ns: u64,
    report: SenderReport,
    cpu_ns: u64,
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
        let core = StreamSender::new(plan, plan.format.rate(), max_bytes, start_ns);
        let mut thread = host.thread(start_ns);
        Sending {
            wake_ns: core.next_wake().map(|at| thread.woken(at)),
            core,
            account: SenderAccount::new(direction, 1),
            segment: plan.segment,
            ports,
            thread,
            pending: Vec::new(),
            block: SendCounts::default(),
            sent_unix_ns: 0,
            report: SenderReport::default(),
            cpu_ns: 0,
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
            self.sent_unix_ns = host.clock.unix(now);
            let pending = &mut self.pending;
            self.core.wake(now, |packet| pending.push(packet));
            self.pending.reverse();
        } else {
            self.send_train(host, out);
        }
        if self.pending.is_empty() {
            self.end_block(now, host, rows);
            return;
        }
        let cost = self.train_cost(host);
        let cost = self.thread.call(cost);
        self.cpu_ns += cost;
        self.wake_ns = Some(self.thread.running(now + cost));
    }

    fn end_block(&mut self, now: u64, host: &Host, rows: &mut Recording) {
        self.core.sent(std::mem::take(&mut self.block));
        let unix = host.clock.unix(now);
        if let Some(part) = self.core.take_second(now, unix, || self.cpu_ns) {
            self.add(now, part, rows);
        }
        self.wake_ns = self.core.next_wake().map(|at| {
            if at > now {
                self.thread.woken(at)
            } else {
                self.thread.running(now)
            }
        });
        if self.wake_ns.is_none() {
            let last = self.core.finish(now, unix, self.cpu_ns);
            self.add(now, last, rows);
            self.report = self.account.report(self.segment);
        }
    }

    fn add(&mut self, now: u64, part: SenderPart, rows: &mut Recording) {
        for row in self.account.add(0, part) {
            rows.add(now, row);
        }
    }

    /// Packets of one flow that leave together.
    fn train(&self) -> usize {
        let most = if self.segment { TRAIN_PACKETS } else { 1 };
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
            self.block.sent += 1;
            self.block.bytes += u64::from(packet.length);
            if !dropped {
                out.push(self.ports[usize::from(packet.flow)].packet(packet.length, self.datagram(packet)));
            }
        }
        self.block.sends += 1;
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

    /// When the last packet left; only valid once [`Sending::next_wake`] is none.
    pub fn ended_ns(&self) -> u64 {
        self.last_ns
    }

    /// The account of the whole test.
    pub fn report(&self) -> &SenderReport {
        &self.report
    }
}
