//! The clock watch of a flow test: probes that compare both hosts' clocks, as the real watch sends them. It must not
//! know the concurrent test.

use weir_link::Packet;
use weir_measure::{ClockEstimate, clock_estimator};
use weir_stats::{Exchange, OffsetEstimator};

use crate::datagram::{Datagram, OVERHEAD, Ports};
use crate::host::{HostClock, Stamp, Thread};

const FIRST_PROBES: u32 = 16;
const FIRST_GAP_NS: u64 = 5_000_000;
const GAP_NS: u64 = 250_000_000;
const REPLY_LIMIT_NS: u64 = 200_000_000;
/// Payload of an RTT packet without padding.
const PAYLOAD: u32 = weir_wire::RTT_HEADER_LENGTH as u32;

/// Probes the other host's clock, one exchange after the other.
pub(crate) struct ClockProber {
    ports: Ports,
    thread: Thread,
    estimator: OffsetEstimator,
    sequence: u32,
    /// Completed exchanges, answered or not.
    done: u32,
    /// Request time of the current exchange.
    awaited: Option<u64>,
    next_ns: u64,
    /// Estimates, and the start of validity of each.
    estimates: Vec<(u64, ClockEstimate)>,
}

impl ClockProber {
    /// Begins at virtual time `now`.
    pub fn new(ports: Ports, thread: Thread, now: u64) -> Self {
        ClockProber {
            ports,
            thread,
            estimator: clock_estimator(),
            sequence: 0,
            done: 0,
            awaited: None,
            next_ns: now,
            estimates: Vec::new(),
        }
    }

    pub fn next_wake(&self) -> u64 {
        self.next_ns
    }

    /// Whether the first series of probes is complete.
    pub fn is_ready(&self) -> bool {
        self.done >= FIRST_PROBES
    }

    /// Sends the next probe, or gives up on the last one.
    pub fn wake(&mut self, now: u64, clock: &HostClock, out: &mut Vec<Packet<Datagram>>) {
        if self.awaited.take().is_some() {
            self.rest(now);
            return;
        }
        self.sequence += 1;
        let sent = clock.unix(now);
        self.awaited = Some(sent);
        self.next_ns = now + REPLY_LIMIT_NS;
        let request = Datagram::Request {
            sequence: self.sequence,
            sent,
        };
        out.push(self.ports.packet(PAYLOAD, request));
    }

    /// Takes a reply.
    pub fn receive(&mut self, stamp: Stamp, clock: &HostClock, reply: &Datagram) {
        let now = stamp.at_ns;
        let Datagram::Reply {
            sequence,
            sent,
            reflector_kernel,
            reflector_sent,
            ..
        } = *reply
        else {
            return;
        };
        if sequence != self.sequence || self.awaited.take().is_none() {
            return;
        }
        self.estimator.add(Exchange {
            t1: sent,
            t2: reflector_kernel,
            t3: reflector_sent,
            t4: stamp.unix_ns,
        });
        if let Some(estimate) = self.estimator.estimate(clock.unix(now)) {
            self.estimates.push((now, estimate.into()));
        }
        self.rest(now);
    }

    fn rest(&mut self, now: u64) {
        self.done += 1;
        let gap = if self.is_ready() { GAP_NS } else { FIRST_GAP_NS };
        self.next_ns = self.thread.woken(now + gap);
    }

    /// The estimate valid at `now`; none before the first reply.
    pub fn estimate(&self, now: u64) -> Option<ClockEstimate> {
        let later = self.estimates.partition_point(|(from, _)| *from <= now);
        self.estimates[..later].last().map(|(_, estimate)| *estimate)
    }
}

/// Answers requests one after the other, as the agent's reflector does.
pub(crate) struct Reflector {
    thread: Thread,
    call_ns: u64,
    kilobyte_ns: u64,
    free_ns: u64,
    waiting: std::collections::VecDeque<(u64, Packet<Datagram>)>,
    /// Requests answered.
    pub answered: u64,
}

impl Reflector {
    /// A reflector whose two system calls for each request take `call_ns` together, and `kilobyte_ns` for each
    /// thousand bytes.
    pub fn new(thread: Thread, call_ns: u64, kilobyte_ns: u64) -> Self {
        Reflector {
            thread,
            call_ns,
            kilobyte_ns,
            free_ns: 0,
            waiting: std::collections::VecDeque::new(),
            answered: 0,
        }
    }

    /// When the next reply leaves.
    pub fn next_wake(&self) -> Option<u64> {
        self.waiting.front().map(|(leaves, _)| *leaves)
    }

    /// Takes a request.
    pub fn receive(&mut self, stamp: Stamp, clock: &HostClock, request: &Packet<Datagram>) {
        let Datagram::Request { sequence, sent } = request.payload else {
            return;
        };
        let taken = if self.free_ns <= stamp.at_ns {
            self.thread.woken(stamp.at_ns)
        } else {
            self.thread.running(self.free_ns)
        };
        let copying = self.kilobyte_ns * u64::from(request.length) / 1000;
        let leaves = taken + self.thread.call(self.call_ns + copying);
        self.free_ns = leaves;
        let reply = Datagram::Reply {
            sequence,
            sent,
            reflector_kernel: stamp.unix_ns,
            reflector_received: clock.unix(taken),
            reflector_sent: clock.unix(leaves),
        };
        let back = Ports::of(request.flow).swapped();
        self.waiting
            .push_back((leaves, back.packet(request.length - OVERHEAD, reply)));
    }

    /// Sends the replies that are due.
    pub fn wake(&mut self, now: u64, out: &mut Vec<Packet<Datagram>>) {
        while self.waiting.front().is_some_and(|(leaves, _)| *leaves <= now) {
            if let Some((_, reply)) = self.waiting.pop_front() {
                self.answered += 1;
                out.push(reply);
            }
        }
    }
}
