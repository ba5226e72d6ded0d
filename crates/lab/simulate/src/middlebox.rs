//! A device between the near host and the link, forward direction: what it does to packets, no key of a link file
//! describes. It must not know what is measured, nor what a diagnosis makes of it.

use std::collections::{BTreeMap, VecDeque};

use weir_link::discrete::Endpoint;
use weir_link::{Departure, Nanos, Packet};

use crate::datagram::Datagram;
use crate::random::Random;

/// What the device does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Middlebox {
    /// Holds packets until a shared channel is free, and sends all that wait at once, in order: a radio link that
    /// aggregates frames.
    Radio {
        /// Median wait, nanoseconds, log-normal.
        median_ns: f64,
        /// Standard deviation of its logarithm.
        sigma: f64,
    },
    /// Drops the packets of a flow that do not fit into both of its buckets: a policer with two rates (RFC 2698) that
    /// drops what is not green.
    TwoBuckets {
        /// The lower rate, with the larger bucket.
        committed: Bucket,
        /// The higher rate.
        peak: Bucket,
    },
    /// Drops packets at random for a while of each period: a router that is busy with periodic work.
    Periodic {
        /// From one time to the next, nanoseconds.
        period_ns: u64,
        /// Duration of each, nanoseconds.
        lasts_ns: u64,
        /// Probability of loss meanwhile.
        loss: f64,
    },
    /// Drops packets with one value in one byte of their payload, as a faulty card did (Intel 82574L, 2013). The byte is the
    /// last of the sequence number.
    Content {
        /// Bits of the byte that matter.
        mask: u8,
        /// Their value.
        value: u8,
    },
    /// Delays packets at random, so that later ones overtake them, and drops those that are behind a window: the replay
    /// protection of a tunnel (RFC 4303) behind a network that reorders.
    ReplayWindow {
        /// Share of packets that are delayed.
        delayed: f64,
        /// Mean delay, nanoseconds, exponential.
        delay_ns: f64,
        /// Packets behind the newest one that still pass.
        window: u64,
    },
    /// Sends the packets of a new flow over a slow path, and drops what this cannot carry, until hardware forwards the flow.
    SlowPath {
        /// Until then, nanoseconds.
        lasts_ns: u64,
        /// Packets per second of the slow path, all flows together.
        rate: u64,
    },
}

/// Rate and burst of a token bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// Tokens per second: bits, or packets.
    pub rate: f64,
    /// Most tokens.
    pub burst: f64,
}

/// Tokens in a bucket at a time.
#[derive(Clone, Copy, Debug)]
struct Level {
    tokens: f64,
    at_ns: u64,
}

impl Level {
    fn full(bucket: Bucket, now: u64) -> Self {
        Level {
            tokens: bucket.burst,
            at_ns: now,
        }
    }

    fn fill(&mut self, bucket: Bucket, now: u64) {
        let more = bucket.rate * now.saturating_sub(self.at_ns) as f64 / 1e9;
        self.tokens = (self.tokens + more).min(bucket.burst);
        self.at_ns = now;
    }
}

/// What the device remembers of a flow.
struct Flow {
    first_ns: u64,
    committed: Level,
    peak: Level,
}

/// A packet on its way through the device.
struct Held {
    leaves_ns: u64,
    number: u64,
    packet: Packet<Datagram>,
}

/// The device at work.
pub(crate) struct Device {
    kind: Middlebox,
    random: Random,
    held: VecDeque<Held>,
    flows: BTreeMap<u64, Flow>,
    slow_path: Level,
    /// Memory for the packets of one event, reused.
    offered: Vec<Packet<Datagram>>,
    taken: u64,
    newest: u64,
    /// Packets dropped so far.
    pub dropped: u64,
}

impl Device {
    pub fn new(kind: Middlebox, random: Random) -> Self {
        Device {
            kind,
            random,
            held: VecDeque::new(),
            flows: BTreeMap::new(),
            slow_path: Level {
                tokens: 0.0,
                at_ns: 0,
            },
            offered: Vec::new(),
            taken: 0,
            newest: 0,
            dropped: 0,
        }
    }

    fn take_all(&mut self, now: u64, mut packets: Vec<Packet<Datagram>>) {
        for packet in packets.drain(..) {
            self.take(now, packet);
        }
        self.offered = packets;
    }

    /// Takes a packet at `now`; times must not decrease.
    fn take(&mut self, now: u64, packet: Packet<Datagram>) {
        self.taken += 1;
        if self.drops(now, &packet) {
            self.dropped += 1;
            return;
        }
        let leaves_ns = now + self.delay(now);
        let place = self.held.partition_point(|held| held.leaves_ns <= leaves_ns);
        let number = self.taken;
        self.held.insert(
            place,
            Held {
                leaves_ns,
                number,
                packet,
            },
        );
    }

    fn drops(&mut self, now: u64, packet: &Packet<Datagram>) -> bool {
        match self.kind {
            Middlebox::Radio { .. } | Middlebox::ReplayWindow { .. } => false,
            Middlebox::TwoBuckets { committed, peak } => {
                let bits = f64::from(packet.length) * 8.0;
                let flow = self.flow(packet.flow.five_tuple, now);
                flow.committed.fill(committed, now);
                flow.peak.fill(peak, now);
                let passes = flow.committed.tokens.min(flow.peak.tokens) >= bits;
                if passes {
                    flow.committed.tokens -= bits;
                    flow.peak.tokens -= bits;
                }
                !passes
            }
            Middlebox::Periodic {
                period_ns,
                lasts_ns,
                loss,
            } => now % period_ns < lasts_ns && self.random.chance(loss),
            Middlebox::Content { mask, value } => match packet.payload {
                Datagram::Flow { stream_sequence, .. } => stream_sequence as u8 & mask == value & mask,
                _ => false,
            },
            Middlebox::SlowPath { lasts_ns, rate } => {
                let first_ns = self.flow(packet.flow.five_tuple, now).first_ns;
                now < first_ns + lasts_ns && !self.slow_path_carries(now, rate as f64)
            }
        }
    }

    fn slow_path_carries(&mut self, now: u64, rate: f64) -> bool {
        // A queue of 10 ms, as of a punt path.
        let bucket = Bucket {
            rate,
            burst: (rate / 100.0).max(1.0),
        };
        self.slow_path.fill(bucket, now);
        let carries = self.slow_path.tokens >= 1.0;
        self.slow_path.tokens -= if carries { 1.0 } else { 0.0 };
        carries
    }

    fn flow(&mut self, five_tuple: u64, now: u64) -> &mut Flow {
        let (committed, peak) = match self.kind {
            Middlebox::TwoBuckets { committed, peak } => (committed, peak),
            _ => (
                Bucket {
                    rate: 0.0,
                    burst: 0.0,
                },
                Bucket {
                    rate: 0.0,
                    burst: 0.0,
                },
            ),
        };
        self.flows.entry(five_tuple).or_insert_with(|| Flow {
            first_ns: now,
            committed: Level::full(committed, now),
            peak: Level::full(peak, now),
        })
    }

    fn delay(&mut self, now: u64) -> u64 {
        match self.kind {
            Middlebox::Radio { median_ns, sigma } => match self.held.back() {
                Some(waiting) => waiting.leaves_ns.saturating_sub(now),
                None => self.random.log_normal(median_ns, sigma) as u64,
            },
            Middlebox::ReplayWindow {
                delayed, delay_ns, ..
            } if self.random.chance(delayed) => self.random.exponential(delay_ns) as u64,
            _ => 0,
        }
    }

    fn next_wake(&self) -> Option<u64> {
        self.held.front().map(|held| held.leaves_ns)
    }

    /// Sends what leaves by `now`.
    fn send(&mut self, now: u64, out: &mut Vec<Packet<Datagram>>) {
        while self.held.front().is_some_and(|held| held.leaves_ns <= now) {
            let Some(held) = self.held.pop_front() else {
                return;
            };
            if self.is_behind_window(held.number) {
                self.dropped += 1;
                continue;
            }
            self.newest = self.newest.max(held.number);
            out.push(held.packet);
        }
    }

    fn is_behind_window(&self, number: u64) -> bool {
        match self.kind {
            Middlebox::ReplayWindow { window, .. } => number + window < self.newest,
            _ => false,
        }
    }
}

/// A host behind the device.
pub(crate) struct Behind<'a> {
    pub host: &'a mut dyn Endpoint<Datagram>,
    pub device: &'a mut Device,
}

impl Endpoint<Datagram> for Behind<'_> {
    fn next_wake(&self) -> Option<Nanos> {
        let device = self.device.next_wake().map(Nanos);
        self.host.next_wake().into_iter().chain(device).min()
    }

    fn wake(&mut self, now: Nanos, out: &mut Vec<Packet<Datagram>>) {
        if self.host.next_wake().is_some_and(|wake| wake <= now) {
            let mut sent = std::mem::take(&mut self.device.offered);
            self.host.wake(now, &mut sent);
            self.device.take_all(now.0, sent);
        }
        self.device.send(now.0, out);
    }

    fn receive(&mut self, departure: Departure<Datagram>, _out: &mut Vec<Packet<Datagram>>) {
        let now = departure.at.0;
        let mut sent = std::mem::take(&mut self.device.offered);
        self.host.receive(departure, &mut sent);
        self.device.take_all(now, sent);
    }
}
