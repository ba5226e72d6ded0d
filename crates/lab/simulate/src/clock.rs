//! The clock watch of a flow test in virtual time: the real prober, and the reflector that answers it. It must not
//! know the concurrent test.

use weir_link::Packet;
use weir_measure::{ClockEstimate, ClockProber};

use crate::datagram::{Datagram, OVERHEAD, Ports};
use crate::host::{HostClock, Stamp, Thread};

/// Payload of an RTT packet without padding.
const PAYLOAD: u32 = weir_wire::RTT_HEADER_LENGTH as u32;

/// Compares the other host's clock.
pub(crate) struct ClockWatch {
    ports: Ports,
    thread: Thread,
    core: ClockProber,
    wake_ns: u64,
    /// Estimates, and the start of validity of each.
    estimates: Vec<(u64, ClockEstimate)>,
}

impl ClockWatch {
    /// Begins at virtual time `now`.
    pub fn new(ports: Ports, thread: Thread, now: u64) -> Self {
        ClockWatch {
            ports,
            thread,
            core: ClockProber::new(now),
            wake_ns: now,
            estimates: Vec::new(),
        }
    }

    pub fn next_wake(&self) -> u64 {
        self.wake_ns
    }

    /// Sends the next probe.
    pub fn wake(&mut self, now: u64, clock: &HostClock, out: &mut Vec<Packet<Datagram>>) {
        let (sequence, sent) = self.core.wake(now, clock.unix(now));
        self.wake_ns = self.thread.woken(self.core.next_wake());
        out.push(self.ports.packet(PAYLOAD, Datagram::Request { sequence, sent }));
    }

    /// Takes a reply.
    pub fn receive(&mut self, stamp: Stamp, clock: &HostClock, reply: &Datagram) {
        let Datagram::Reply {
            sequence,
            reflector_kernel,
            reflector_sent,
            ..
        } = *reply
        else {
            return;
        };
        let there = (reflector_kernel, reflector_sent);
        if !self.core.answered(stamp.at_ns, sequence, there, stamp.unix_ns) {
            return;
        }
        let estimate = self.core.estimate(clock.unix(stamp.at_ns));
        self.estimates
            .extend(estimate.map(|estimate| (stamp.at_ns, estimate)));
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
