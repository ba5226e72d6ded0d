//! Window-based sources for queues under load: one per flow, as TCP is in congestion avoidance, without its details. Each
//! packet is acknowledged; a gap in the sequence is a loss. Packets are not sent again: only the rates matter here.

use weir_link::discrete::Endpoint;
use weir_link::{Departure, Ecn, Nanos, Packet};

use super::flow;

pub const LENGTH: u32 = 1_500;
const SILENCE_NS: u64 = 1_000_000_000;

/// How a source reacts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Halves its window once per round trip with loss or marks (RFC 5681, RFC 3168).
    Reno(Ecn),
    /// Reduces its window by half of the share of marks (RFC 8257), and sends ECT(1).
    Dctcp,
    /// Sends 100 bytes each 20 ms, whatever happens.
    Sparse,
}

/// A packet, or its acknowledgement.
#[derive(Clone, Copy)]
pub struct Segment {
    pub source: usize,
    pub sequence: u64,
    pub sent: u64,
    pub marked: bool,
}

struct Source {
    control: Control,
    window: f64,
    threshold: f64,
    next: u64,
    expected: u64,
    in_flight: u64,
    /// No further reduction before this packet is acknowledged.
    recover: u64,
    heard: u64,
    alpha: f64,
    acknowledged: u64,
    marked: u64,
}

impl Source {
    fn new(control: Control) -> Self {
        Self {
            control,
            window: 2.0,
            threshold: f64::INFINITY,
            next: 0,
            expected: 0,
            in_flight: 0,
            recover: 0,
            heard: 0,
            alpha: 1.0,
            acknowledged: 0,
            marked: 0,
        }
    }

    fn ecn(&self) -> Ecn {
        match self.control {
            Control::Reno(ecn) => ecn,
            Control::Dctcp => Ecn::Ect1,
            Control::Sparse => Ecn::NotEct,
        }
    }

    fn reduce(&mut self, factor: f64) {
        self.window = (self.window * factor).max(2.0);
        self.threshold = self.window;
        self.recover = self.next;
    }

    fn acknowledge(&mut self, now: u64, segment: Segment) {
        // What was sent before a silence counts no more.
        let lost = segment.sequence.saturating_sub(self.expected);
        self.in_flight = self.in_flight.saturating_sub(lost + 1);
        self.expected = self.expected.max(segment.sequence + 1);
        self.heard = now;
        self.acknowledged += 1;
        self.marked += u64::from(segment.marked);
        let over = segment.sequence >= self.recover;
        match self.control {
            Control::Dctcp if over => {
                let share = self.marked as f64 / self.acknowledged as f64;
                self.alpha += (share - self.alpha) / 16.0;
                let factor = if lost > 0 { 0.5 } else { 1.0 - self.alpha / 2.0 };
                let reduced = self.marked > 0 || lost > 0;
                (self.acknowledged, self.marked) = (0, 0);
                if reduced {
                    return self.reduce(factor);
                }
                self.recover = self.next;
            }
            Control::Reno(_) if over && (lost > 0 || segment.marked) => return self.reduce(0.5),
            _ => {}
        }
        self.window += if self.window < self.threshold {
            1.0
        } else {
            1.0 / self.window
        };
    }
}

/// All sources, at the near host.
pub struct Sources {
    sources: Vec<Source>,
    now: u64,
    wake: u64,
}

impl Sources {
    pub fn new(controls: &[Control]) -> Self {
        Self {
            sources: controls.iter().copied().map(Source::new).collect(),
            now: 0,
            wake: 0,
        }
    }

    fn send(&mut self, index: usize, out: &mut Vec<Packet<Segment>>) {
        let source = &mut self.sources[index];
        while source.in_flight < source.window as u64 {
            out.push(packet(source, index, self.now, LENGTH));
        }
    }
}

fn packet(source: &mut Source, index: usize, now: u64, length: u32) -> Packet<Segment> {
    source.next += 1;
    source.in_flight += 1;
    Packet {
        length,
        flow: flow(index as u64, 0),
        ecn: source.ecn(),
        payload: Segment {
            source: index,
            sequence: source.next - 1,
            sent: now,
            marked: false,
        },
    }
}

impl Endpoint<Segment> for Sources {
    fn next_wake(&self) -> Option<Nanos> {
        Some(Nanos(self.wake))
    }

    /// Every 20 ms: starts one more source, and those that have heard nothing for a second.
    fn wake(&mut self, now: Nanos, out: &mut Vec<Packet<Segment>>) {
        let turn = (self.wake / 20_000_000) as usize;
        self.wake += 20_000_000;
        self.now = now.0;
        for index in 0..self.sources.len().min(turn + 1) {
            let source = &mut self.sources[index];
            if source.control == Control::Sparse {
                out.push(packet(source, index, now.0, 100));
                continue;
            }
            if now.0 - source.heard >= SILENCE_NS {
                (source.in_flight, source.heard) = (0, now.0);
                source.reduce(0.0);
            }
            self.send(index, out);
        }
    }

    fn receive(&mut self, departure: Departure<Segment>, out: &mut Vec<Packet<Segment>>) {
        self.now = departure.at.0;
        let segment = departure.packet.payload;
        let source = &mut self.sources[segment.source];
        if source.control != Control::Sparse {
            source.acknowledge(self.now, segment);
            self.send(segment.source, out);
        }
    }
}

/// The far host: acknowledges, and counts from a time on.
pub struct Sink {
    pub from: u64,
    /// Of each source: packets, marked ones, and the longest one-way delay.
    pub received: Vec<(u64, u64, u64)>,
}

impl Endpoint<Segment> for Sink {
    fn next_wake(&self) -> Option<Nanos> {
        None
    }

    fn wake(&mut self, _now: Nanos, _out: &mut Vec<Packet<Segment>>) {}

    fn receive(&mut self, departure: Departure<Segment>, out: &mut Vec<Packet<Segment>>) {
        let mut segment = departure.packet.payload;
        segment.marked = departure.packet.ecn == Ecn::Ce;
        if departure.at.0 >= self.from {
            let (packets, marked, delay) = &mut self.received[segment.source];
            *packets += 1;
            *marked += u64::from(segment.marked);
            *delay = (*delay).max(departure.at.0 - segment.sent);
        }
        out.push(Packet {
            length: 40,
            ecn: Ecn::NotEct,
            flow: departure.packet.flow,
            payload: segment,
        });
    }
}
