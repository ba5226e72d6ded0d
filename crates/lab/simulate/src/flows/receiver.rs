//! The receiving half of a flow test in virtual time: sockets with buffers that fill, a thread that wakes late, and
//! the real account. It must not know what was sent.

use std::collections::VecDeque;

use weir_link::Departure;
use weir_measure::flows::{ReadTime, ReceiverReport, SenderReport, StreamAccount, StreamAccountPlan};
use weir_wire::{FlowData, FlowId, Sequence, SessionId, UnixNanos};

use crate::datagram::{Datagram, OVERHEAD};
use crate::host::{Host, Stamp, Thread};
use crate::record::Recording;

/// Buffers taken from a socket by one system call.
const BATCH: usize = 16;
/// Buffer overhead of a packet in the kernel, bytes.
const BUFFER_OVERHEAD: u64 = 512;
/// Maximum length of a merged buffer: an IP packet.
const MERGED_BYTES: u64 = 65_535;

/// A packet in a socket's buffer.
struct Waiting {
    /// Kernel's timestamp, Unix nanoseconds.
    kernel_ns: u64,
    /// Whether it is the first of its buffer.
    heads: bool,
    payload: u32,
    packet: FlowData,
}

#[derive(Default)]
struct Socket {
    waiting: VecDeque<Waiting>,
    bytes: u64,
    drops: u64,
    train: Train,
}

/// The buffer that the next packet of a flow may be merged into.
#[derive(Clone, Copy, Default)]
struct Train {
    began_ns: u64,
    stamp: Stamp,
    packets: u32,
    bytes: u64,
    payload: u32,
    dropped: bool,
}

/// A receiver at work.
pub(super) struct Receiving {
    account: StreamAccount,
    sockets: Vec<Socket>,
    ready: VecDeque<usize>,
    thread: Thread,
    app_ns: Option<u64>,
    free_ns: u64,
    read: ReadTime,
    start_ns: u64,
    /// Packets overtaken in the card's queues, with their arrival times.
    overtaken: VecDeque<(u64, Departure<Datagram>)>,
    buffers: u64,
    packets: u64,
    cpu_ns: u64,
    /// Packets dropped on this host before a socket.
    pub backlog_drops: u64,
    /// Packets dropped because their socket's buffer was full.
    pub overflowed: u64,
    /// Datagrams dropped for a wrong checksum.
    pub checksum_errors: u64,
}

impl Receiving {
    /// A receiver that begins at `now`.
    pub fn new(plan: StreamAccountPlan, host: &mut Host, now: u64) -> Self {
        let sockets = plan.ports.iter().map(|_| Socket::default()).collect();
        Receiving {
            account: StreamAccount::new(plan, now, host.clock.unix(now)),
            sockets,
            ready: VecDeque::new(),
            thread: host.thread(now),
            app_ns: None,
            free_ns: 0,
            read: ReadTime::new(now),
            start_ns: now,
            overtaken: VecDeque::new(),
            buffers: 0,
            packets: 0,
            cpu_ns: 0,
            backlog_drops: 0,
            overflowed: 0,
            checksum_errors: 0,
        }
    }

    pub fn next_wake(&self) -> u64 {
        let overtaken = self.overtaken.front().map_or(u64::MAX, |(at, _)| *at);
        // An application that does not get to its sockets does not get to anything else.
        self.app_ns
            .unwrap_or_else(|| self.account.next_wake())
            .min(overtaken)
    }

    /// Whether its sockets hold unread packets.
    pub fn is_waiting(&self) -> bool {
        self.app_ns.is_some()
    }

    /// Takes a packet off the wire.
    pub fn receive(&mut self, departure: Departure<Datagram>, host: &mut Host) {
        let now = departure.at.0;
        if departure.corrupted.is_some() {
            self.checksum_errors += 1;
            return;
        }
        let (drop, overtaken) = (host.model.receive_drop, host.model.overtaken);
        if drop > 0.0 && host.random().chance(drop) {
            self.backlog_drops += 1;
            return;
        }
        if overtaken > 0.0 && host.random().chance(overtaken) {
            let mean = host.model.overtaken_ns;
            let late = now + host.random().exponential(mean) as u64;
            let place = self.overtaken.partition_point(|(at, _)| *at <= late);
            self.overtaken.insert(place, (late, departure));
            return;
        }
        self.buffer(now, &departure, host);
    }

    /// Puts a packet into its socket's buffer.
    fn buffer(&mut self, now: u64, departure: &Departure<Datagram>, host: &mut Host) {
        let Some(packet) = flow_data(&departure.packet.payload) else {
            return;
        };
        let index = usize::from(packet.flow.0);
        let payload = departure.packet.length - OVERHEAD;
        let Some(socket) = self.sockets.get_mut(index) else {
            return;
        };
        let heads = socket.merge(now, payload, host);
        let charge = u64::from(payload) + BUFFER_OVERHEAD;
        if heads {
            socket.train.dropped = socket.bytes + charge > host.model.receive_buffer;
            socket.drops += u64::from(socket.train.dropped);
        }
        if socket.train.dropped {
            self.overflowed += 1;
            return;
        }
        socket.bytes += charge;
        if socket.waiting.is_empty() {
            self.ready.push_back(index);
        }
        let noticed = now.max(socket.train.stamp.at_ns);
        socket.waiting.push_back(Waiting {
            kernel_ns: socket.train.stamp.unix_ns,
            heads,
            payload,
            packet,
        });
        if self.app_ns.is_none() {
            self.app_ns = Some(if self.free_ns > noticed {
                self.thread.running(self.free_ns)
            } else {
                self.thread.woken(noticed)
            });
        }
    }

    /// Does what is due: packets that were overtaken, the application, the polls and seconds.
    pub fn wake(&mut self, now: u64, host: &mut Host, rows: &mut Recording) {
        while self.overtaken.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, departure)) = self.overtaken.pop_front() {
                self.buffer(now, &departure, host);
            }
        }
        if self.app_ns.is_some_and(|at| at <= now) {
            self.read(now, host);
        } else if self.app_ns.is_none() {
            self.read.passed(now, true);
        }
        let until = self.read.ns();
        if until >= self.account.next_wake() {
            let sockets = &self.sockets;
            let second = self
                .account
                .wake(until, host.clock.unix(until), || drops_at(sockets));
            if second.is_some() {
                self.hand_on(now, rows);
            }
        }
    }

    /// One pass of the application over the sockets that are ready.
    fn read(&mut self, now: u64, host: &Host) {
        let (mut cost, until) = (0, self.read.ns());
        for _ in 0..self.ready.len() {
            let Some(index) = self.ready.pop_front() else {
                break;
            };
            cost += host.model.send_call_ns;
            let socket = &mut self.sockets[index];
            let mut buffers = 0;
            while let Some(waiting) = socket.waiting.front() {
                buffers += usize::from(waiting.heads);
                if buffers > BATCH {
                    break;
                }
                let Some(waiting) = socket.waiting.pop_front() else {
                    break;
                };
                socket.bytes -= u64::from(waiting.payload) + BUFFER_OVERHEAD;
                self.buffers += u64::from(waiting.heads);
                self.packets += 1;
                cost += host.model.packet_cost(waiting.payload);
                self.account
                    .on_packet(until, waiting.kernel_ns, &waiting.packet, waiting.payload);
            }
            if !socket.waiting.is_empty() {
                self.ready.push_back(index);
            }
        }
        self.read.passed(now, self.ready.is_empty());
        self.cpu_ns += cost;
        self.free_ns = now + cost;
        self.app_ns = (!self.ready.is_empty()).then(|| self.thread.running(self.free_ns));
    }

    /// Buffers dropped at all sockets so far.
    pub fn socket_drops(&self) -> u64 {
        drops_at(&self.sockets).iter().sum()
    }

    fn hand_on(&mut self, now: u64, rows: &mut Recording) {
        for record in self.account.take_records() {
            rows.add(now, record);
        }
    }

    /// Closes the account with the sender's report; returns its own report.
    pub fn finish(
        &mut self,
        now: u64,
        sender: &SenderReport,
        host: &Host,
        rows: &mut Recording,
    ) -> ReceiverReport {
        let drops = drops_at(&self.sockets);
        let sent = Some((sender.counts.sent, sender.sent_per_flow.as_slice()));
        let report = self.account.finish(now, host.clock.unix(now), sent, &drops);
        self.hand_on(now, rows);
        ReceiverReport {
            merged_receive: host.model.merge_packets > 1 && self.packets > self.buffers,
            packets_per_buffer: self.packets as f64 / self.buffers.max(1) as f64,
            receive_buffer: host.model.receive_buffer,
            cpu_ns: self.cpu_ns,
            wall_ns: now - self.start_ns,
            ..report
        }
    }
}

impl Socket {
    /// Merges a packet into the previous buffer, or starts one; returns whether it starts one.
    fn merge(&mut self, now: u64, payload: u32, host: &mut Host) -> bool {
        let train = &mut self.train;
        let joins = train.packets > 0
            && train.packets < host.model.merge_packets
            && train.payload == payload
            && train.bytes + u64::from(payload) <= MERGED_BYTES
            && now - train.began_ns <= host.model.merge_within_ns;
        if joins {
            train.packets += 1;
            train.bytes += u64::from(payload);
            return false;
        }
        *train = Train {
            began_ns: now,
            stamp: host.kernel_stamp(now),
            packets: 1,
            bytes: u64::from(payload),
            payload,
            dropped: false,
        };
        true
    }
}

fn drops_at(sockets: &[Socket]) -> Vec<u64> {
    sockets.iter().map(|socket| socket.drops).collect()
}

/// The decoded header; none for other datagrams.
fn flow_data(datagram: &Datagram) -> Option<FlowData> {
    let Datagram::Flow {
        stream_sequence,
        flow_sequence,
        flow,
        last_of_frame,
        frame,
        sent,
    } = *datagram
    else {
        return None;
    };
    Some(FlowData {
        session: SessionId::default(),
        stream_sequence: Sequence(stream_sequence),
        flow_sequence: Sequence(flow_sequence),
        flow: FlowId(flow),
        flags: u16::from(last_of_frame),
        frame,
        frame_offset: 0,
        sent: UnixNanos(sent),
    })
}
