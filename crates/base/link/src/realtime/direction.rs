//! One direction of a real-time link: reads packets from one TUN device, offers them to the link, and writes delivered
//! packets to the other device when they are due. One thread, which sleeps whenever it is idle.

use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use weir_net::clock;
use weir_net::realtime::{Awake, Sleeper, run_before_others};
use weir_net::tun::{TUN_BUFFER, TUN_HEADER, Tun};
use weir_stats::DurationHistogram;

use super::buffers::{Buffer, Piece, Pool};
use super::report::{DirectionSecond, OwnLoss, Way};
use super::rest::Rest;
use super::shared::Shared;
use crate::coalesce::{Coalescer, Merging};
use crate::headers::{FlowHasher, complete_checksum, ecn, flip_bit, mark_ce, packet_too_big};
use crate::link::Link;
use crate::offload::{Offload, Segmentation};
use crate::packet::{Departure, DropCause, Ecn, FlowKey, Nanos, Packet, Verdict};
use crate::segment::{Cut, MAX_HEADER};

/// Maximum number of packets (large ones count as one) read before due ones are written.
const READS: usize = 64;
/// Reading continues until a packet is overdue by this time, so that packets leave in batches.
const PATIENCE_NS: u64 = 60_000;
/// Maximum number of packets merged at once.
const BATCH: usize = 512;
/// Parts of one write: header, packet header, and a payload for each member.
const PARTS: usize = 72;
/// How long before its time a packet wakes a thread that has slept for longer.
const EARLY_NS: u64 = 60_000;
const SECOND_NS: u64 = 1_000_000_000;
/// Flow of a packet that is not IP.
const NO_FLOW: FlowKey = FlowKey {
    five_tuple: 0,
    host_pair: 0,
    source_port: 0,
};

/// A packet to write.
struct Leaving {
    buffer: Rc<Buffer>,
    start: usize,
    end: usize,
    due_ns: u64,
}

/// A direction with its devices and state.
pub struct DirectionDriver<'a> {
    way: Way,
    shared: &'a Shared,
    link: Link<Piece>,
    ingress: &'a Tun,
    egress: &'a Tun,
    pool: Pool,
    batch: Coalescer<Leaving>,
    batched: usize,
    flows: FlowHasher,
    /// Lateness of the current second.
    lateness: DurationHistogram,
    total_lateness: DurationHistogram,
    own: OwnLoss,
    real_time_priority: bool,
    second_ends_ns: u64,
    second_began_ns: u64,
    reports: Sender<DirectionSecond>,
}

impl<'a> DirectionDriver<'a> {
    /// Call on the thread that will run it.
    pub fn new(
        way: Way,
        shared: &'a Shared,
        ingress: &'a Tun,
        egress: &'a Tun,
        reports: Sender<DirectionSecond>,
    ) -> Self {
        let link = match way {
            Way::Forward => Link::forward(&shared.spec),
            Way::Reverse => Link::reverse(&shared.spec),
        };
        DirectionDriver {
            way,
            shared,
            link,
            ingress,
            egress,
            pool: Pool::default(),
            batch: Coalescer::new(merging(egress)),
            batched: 0,
            flows: FlowHasher::new(shared.spec.seed),
            lateness: DurationHistogram::new(),
            total_lateness: DurationHistogram::new(),
            own: OwnLoss::default(),
            real_time_priority: false,
            second_ends_ns: shared.began_ns + SECOND_NS,
            second_began_ns: shared.began_ns,
            reports,
        }
    }

    /// Runs until it is stopped.
    ///
    /// # Errors
    /// When a TUN device cannot be read.
    pub fn run(mut self) -> io::Result<()> {
        clock::sharpen_timers();
        self.real_time_priority = run_before_others().is_ok();
        let mut sleeper = Sleeper::new(&self.shared.bell, &[self.ingress.as_raw_fd()]);
        let mut rest = Rest::default();
        while !self.shared.stop.load(Ordering::Relaxed) {
            let empty = self.read_waiting()?;
            self.write_due();
            let now = clock::monotonic_ns();
            if now >= self.second_ends_ns {
                self.end_second(now);
            }
            if !empty {
                continue;
            }
            if let Some(until) = rest.after_wake(now) {
                clock::sleep_until(until);
            } else {
                let due = self.link.next_departure().map_or(u64::MAX, |due| self.wall(due));
                sleep(&mut sleeper, due.min(self.second_ends_ns), now)?;
            }
        }
        self.end_second(clock::monotonic_ns());
        Ok(())
    }

    fn link_time(&self, monotonic_ns: u64) -> Nanos {
        Nanos(monotonic_ns.saturating_sub(self.shared.began_ns))
    }

    fn wall(&self, time: Nanos) -> u64 {
        time.0.saturating_add(self.shared.began_ns)
    }

    /// Reads and offers waiting packets; true when none is left.
    fn read_waiting(&mut self) -> io::Result<bool> {
        for _ in 0..READS {
            let Some(mut buffer) = self.pool.take(TUN_BUFFER) else {
                return self.read_and_forget();
            };
            // The pool returns only buffers with a single owner.
            let Some(inside) = Rc::get_mut(&mut buffer) else {
                continue;
            };
            let Some(length) = self.ingress.read(inside.space())? else {
                self.pool.give_back(buffer);
                return Ok(true);
            };
            inside.set_length(length);
            if prepare(inside) {
                let buffer = self.pool.shrink(buffer);
                self.offer(&buffer);
                self.pool.give_back(buffer);
            } else {
                self.own.unreadable += 1;
                self.pool.give_back(buffer);
            }
            let late = Nanos(
                self.link_time(clock::monotonic_ns())
                    .0
                    .saturating_sub(PATIENCE_NS),
            );
            if self.link.next_departure().is_some_and(|due| due <= late) {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Reads and discards waiting packets, since memory is full.
    fn read_and_forget(&mut self) -> io::Result<bool> {
        let mut start = [0; TUN_HEADER];
        let read = self.ingress.read(&mut start)?;
        self.own.no_memory += u64::from(read.is_some());
        Ok(read.is_none())
    }

    /// Offers the packets of `buffer` to the link.
    fn offer(&mut self, buffer: &Rc<Buffer>) {
        let now = self.link_time(clock::monotonic_ns());
        let flow = self.flows.flow_key(buffer.packet()).unwrap_or(NO_FLOW);
        let ecn = ecn(buffer.packet());
        let count = buffer.cut.map_or(1, |cut| cut.count());
        let mut told = false;
        for index in 0..count {
            let length = match buffer.cut {
                Some(cut) => cut.length(index),
                None => buffer.packet().len(),
            };
            let packet = Packet {
                length: length as u32,
                flow,
                ecn,
                payload: Piece {
                    buffer: buffer.clone(),
                    index: index as u16,
                },
            };
            if let Verdict::Dropped(cause, piece) = self.link.enqueue(now, packet) {
                // Once per batch, as routers limit such messages.
                if cause == DropCause::TooBigTold && !told {
                    self.tell_too_big(&piece);
                    told = true;
                }
                self.pool.give_back(piece.buffer);
            }
        }
    }

    /// Sends the ICMP message about a packet that does not fit back to its sender.
    fn tell_too_big(&mut self, piece: &Piece) {
        let Some(whole) = self.materialize(piece) else {
            return;
        };
        let mtu = self.shared.spec_of(self.way).mtu.bytes;
        if let Some(message) = packet_too_big(whole.packet(), mtu, &self.shared.router) {
            let header = Offload::default().encode();
            // If the message cannot be sent, the packet is dropped all the same.
            let told = self
                .ingress
                .write_parts(&[IoSlice::new(&header), IoSlice::new(&message)]);
            self.own.not_written += u64::from(told.is_err());
        }
        self.pool.give_back(whole);
    }

    /// A packet in a buffer of its own, with its checksum.
    fn materialize(&mut self, piece: &Piece) -> Option<Rc<Buffer>> {
        let mut whole = self.pool.take(TUN_BUFFER)?;
        let inside = Rc::get_mut(&mut whole)?;
        let source = &piece.buffer;
        let payload = &source.packet()[source.payload(usize::from(piece.index))];
        let (mut header, mut header_length) = ([0; MAX_HEADER], 0);
        if let Some(cut) = &source.cut {
            header_length = cut.write_header(source.packet(), usize::from(piece.index), &mut header);
        }
        let end = TUN_HEADER + header_length + payload.len();
        let space = &mut inside.space()[TUN_HEADER..end];
        space[..header_length].copy_from_slice(&header[..header_length]);
        space[header_length..].copy_from_slice(payload);
        let offload = source.cut.map_or(source.offload, |cut| cut.offload());
        if offload.needs_checksum {
            let (start, offset) = (offload.checksum_start, offload.checksum_offset);
            complete_checksum(space, usize::from(start), usize::from(offset));
        }
        inside.set_length(end);
        inside.offload = Offload::default();
        inside.cut = None;
        Some(whole)
    }

    /// Writes all packets that are due.
    fn write_due(&mut self) {
        let now = self.link_time(clock::monotonic_ns());
        while let Some(departure) = self.link.poll(now) {
            self.gather(departure);
            if self.batched >= BATCH {
                self.write_batch();
            }
        }
        self.write_batch();
    }

    fn gather(&mut self, departure: Departure<Piece>) {
        let due_ns = self.wall(departure.at);
        let flow = departure.packet.flow.five_tuple;
        let piece = departure.packet.payload;
        self.batched += 1;
        // Of the packets that others were cut from, the link may have marked this one only.
        let marked = departure.packet.ecn == Ecn::Ce && ecn(piece.buffer.packet()) != Ecn::Ce;
        if marked || departure.corrupted.is_some() {
            match self.materialize(&piece) {
                Some(mut whole) => {
                    if let Some(inside) = Rc::get_mut(&mut whole) {
                        if marked {
                            mark_ce(inside.packet_mut());
                        }
                        if let Some(random) = departure.corrupted {
                            flip_bit(inside.packet_mut(), random);
                        }
                    }
                    self.batch
                        .push_whole(flow, Offload::default(), leaving_whole(whole, due_ns));
                }
                None => self.own.no_memory += 1,
            }
            self.pool.give_back(piece.buffer);
            return;
        }
        let index = usize::from(piece.index);
        let source = piece.buffer;
        match source.cut {
            None => self
                .batch
                .push_whole(flow, source.offload, leaving_whole(source, due_ns)),
            Some(cut) => {
                let payload = cut.payload(index);
                let leaving = Leaving {
                    buffer: source.clone(),
                    start: payload.start,
                    end: payload.end,
                    due_ns,
                };
                self.batch
                    .push_segment(flow, &cut, source.packet(), index, leaving);
            }
        }
    }

    fn write_batch(&mut self) {
        if self.batched == 0 {
            return;
        }
        self.batch.finish();
        for outgoing in self.batch.outgoing() {
            let now = clock::monotonic_ns();
            let header = outgoing.offload().encode();
            let mut parts = [IoSlice::new(&[]); PARTS];
            parts[0] = IoSlice::new(&header);
            parts[1] = IoSlice::new(outgoing.header());
            let used = payload_parts(outgoing.members(), &mut parts, 2);
            if self.egress.write_parts(&parts[..used]).is_err() {
                self.own.not_written += outgoing.members().len() as u64;
            }
            for leaving in outgoing.members() {
                self.lateness.record(now.saturating_sub(leaving.due_ns) as i64);
            }
        }
        for leaving in self.batch.drain() {
            self.pool.give_back(leaving.buffer);
        }
        self.batched = 0;
    }

    fn end_second(&mut self, now: u64) {
        self.total_lateness.merge(&self.lateness);
        let second = DirectionSecond {
            way: self.way,
            unix_ns: clock::unix_ns(),
            duration_ns: now - self.second_began_ns,
            lateness: self.lateness.quantiles(),
            total_lateness: self.total_lateness.quantiles(),
            counters: self.link.counters(),
            sojourns: self.link.sojourns().quantiles(),
            own: self.own,
            cpu_ns: clock::thread_cpu_ns(),
            real_time_priority: self.real_time_priority,
        };
        // The receiver is gone when the driver is being stopped.
        let _ = self.reports.send(second);
        self.lateness.clear();
        self.second_began_ns = now;
        while self.second_ends_ns <= now {
            self.second_ends_ns += SECOND_NS;
        }
    }
}

/// Sleeps until `until_ns` or until a packet arrives. A core wakes slowly from a long sleep and fast from
/// a short one: so a long sleep ends early and a short one follows.
fn sleep(sleeper: &mut Sleeper, until_ns: u64, now_ns: u64) -> io::Result<()> {
    let early = until_ns.saturating_sub(EARLY_NS);
    if early > now_ns + EARLY_NS && sleeper.until(early)? != Awake::default() {
        return Ok(());
    }
    sleeper.until(until_ns).map(drop)
}

/// A kernel accepts the kinds of large packets that it sends.
fn merging(egress: &Tun) -> Merging {
    Merging {
        tcp: egress.offloads().tcp,
        udp: egress.offloads().udp,
    }
}

/// Parses the header of a packet; false if the link cannot carry it.
fn prepare(buffer: &mut Buffer) -> bool {
    let Ok(offload) = Offload::decode(buffer.space()) else {
        return false;
    };
    let Ok(cut) = Cut::of(&offload, buffer.packet()) else {
        // A packet that needs only its checksum can pass unchanged.
        buffer.offload = offload;
        buffer.cut = None;
        return offload.segmentation == Segmentation::None;
    };
    buffer.offload = offload;
    buffer.cut = cut;
    true
}

fn leaving_whole(buffer: Rc<Buffer>, due_ns: u64) -> Leaving {
    Leaving {
        start: 0,
        end: buffer.packet().len(),
        buffer,
        due_ns,
    }
}

/// Adds the payloads to `parts` from `first` on, neighbours in one buffer as one part; returns the number of parts.
fn payload_parts<'b>(members: &'b [Leaving], parts: &mut [IoSlice<'b>; PARTS], first: usize) -> usize {
    let mut used = first;
    let mut rest = members;
    while let Some(head) = rest.first() {
        let mut end = head.end;
        let mut count = 1;
        while let Some(next) = rest.get(count) {
            if !Rc::ptr_eq(&next.buffer, &head.buffer) || next.start != end {
                break;
            }
            end = next.end;
            count += 1;
        }
        parts[used] = IoSlice::new(&head.buffer.packet()[head.start..end]);
        used += 1;
        rest = &rest[count..];
    }
    used
}
