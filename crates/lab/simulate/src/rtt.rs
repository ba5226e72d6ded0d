//! The windowed RTT test in virtual time: the real plan and account between a client and a reflector. It must not know
//! surveys or stores.

use std::collections::VecDeque;

use weir_link::discrete::Endpoint;
use weir_link::{Departure, Nanos, Packet};
use weir_measure::rtt::{ReflectorReport, ReplyTimes, RttAccount, RttPlan, RttSummary, WindowSender};
use weir_results::{HostSecond, Record, Side};
use weir_stats::HostCounts;

use crate::clock::Reflector;
use crate::datagram::{Datagram, Ports};
use crate::host::{Host, Stamp, Thread};
use crate::record::SimulationError;
use crate::wire::Wire;

/// From the start of a test to its first window.
const FIRST_NS: u64 = 1_000_000;
/// Interval at which settled packets are passed on.
const NAP_NS: u64 = 50_000_000;
/// From the system call to the kernel's transmit timestamp.
const TO_CARD_NS: u64 = 1_500;
/// Cost of the system call for one probe or one reply, as a multiple of a host's bare send call: these carry one
/// packet each, with their timestamps.
const CALLS: u64 = 2;

/// From the system call to a packet's leaving: the kernel copies it.
fn to_card_ns(host: &Host, length: u32) -> u64 {
    TO_CARD_NS + host.model.kilobyte_ns * u64::from(length) / 1000
}

/// The client.
struct Client {
    host: Host,
    ports: Ports,
    ttl: u8,
    windows: WindowSender,
    account: RttAccount,
    sending: Thread,
    taking: Thread,
    wake_ns: Option<u64>,
    nap_ns: u64,
    sent: Vec<Sent>,
    /// Replies queued for the application: delivery time, kernel timestamp, and content.
    replies: VecDeque<(u64, u64, Datagram)>,
    taken_ns: u64,
    /// Replies received while their thread had no core.
    held: Vec<(Stamp, Datagram)>,
    crowded: bool,
    rows: Vec<Record>,
}

/// The client's state of a packet.
#[derive(Clone, Copy)]
struct Sent {
    at_ns: u64,
    kernel_ns: u64,
}

impl Client {
    fn new(mut host: Host, plan: &RttPlan, ports: Ports, now: u64) -> Self {
        let mut sending = host.thread(now);
        let windows = WindowSender::new(plan, now + FIRST_NS);
        Client {
            ports,
            ttl: plan.ttl,
            account: RttAccount::new(plan.clone()),
            taking: host.thread(now),
            wake_ns: windows.next_wake().map(|due| sending.woken(due)),
            windows,
            sending,
            host,
            nap_ns: now + NAP_NS,
            sent: Vec::new(),
            replies: VecDeque::new(),
            taken_ns: now,
            held: Vec::new(),
            crowded: false,
            rows: Vec::new(),
        }
    }

    fn call_ns(&self) -> u64 {
        CALLS * self.host.model.send_call_ns
    }

    fn send(&mut self, now: u64, out: &mut Vec<Packet<Datagram>>) {
        let Some(probe) = self.windows.wake() else {
            return;
        };
        let window = probe.window;
        let called = now - to_card_ns(&self.host, window.length);
        let unix = self.host.clock.unix(called);
        self.account.sent(called, &probe, unix);
        self.sent.push(Sent {
            at_ns: called,
            kernel_ns: self.host.clock.unix(now),
        });
        let request = Datagram::Request {
            sequence: probe.sequence as u32,
            sent: unix,
        };
        out.push(self.ports.packet(window.length, request));
        if probe.position == 0 {
            self.crowded = self.taking.chance(self.host.model.crowded);
        }
        let call = self.call_ns() + self.host.model.packet_cost(window.length);
        let next = now + self.sending.call(call);
        let due = self.windows.next_wake();
        self.wake_ns = due.map(|due| {
            if due > next {
                self.sending.woken(due)
            } else {
                self.sending.running(next)
            }
        });
        if probe.position + 1 < window.packets {
            return;
        }
        self.crowded = false;
        for (stamp, reply) in std::mem::take(&mut self.held) {
            self.queue(next.max(stamp.at_ns), stamp.unix_ns, window.length, reply);
        }
    }

    fn take(&mut self, now: u64, kernel: u64, reply: &Datagram) {
        let Datagram::Reply {
            sequence,
            sent,
            reflector_kernel,
            reflector_received,
            reflector_sent,
        } = *reply
        else {
            return;
        };
        let Some(remembered) = self.sent.get(sequence as usize) else {
            return;
        };
        let times = ReplyTimes {
            rtt_ns: now.saturating_sub(remembered.at_ns),
            sent,
            received: self.host.clock.unix(now),
            kernel_sent: Some(remembered.kernel_ns),
            kernel_received: Some(kernel),
            reflector_kernel: Some(reflector_kernel),
            reflector_received,
            reflector_sent,
            ttl: Some(self.ttl),
        };
        self.account.reply(now, u64::from(sequence), times);
    }

    /// Queues a reply for the application at `now`.
    fn queue(&mut self, now: u64, kernel: u64, length: u32, reply: Datagram) {
        let taken = if self.taken_ns > now {
            self.taking.running(self.taken_ns)
        } else {
            self.taking.woken(now)
        };
        self.taken_ns = taken + self.call_ns() + self.host.model.packet_cost(length);
        self.replies.push_back((self.taken_ns, kernel, reply));
    }

    fn hand_on(&mut self, now: u64) {
        self.account.poll(now, self.host.clock.unix(now));
        let packets = self.account.take_packets();
        self.rows.extend(packets.into_iter().map(Record::RttPacket));
    }

    /// Whether all packets are sent and settled.
    fn is_done(&self) -> bool {
        self.wake_ns.is_none() && self.account.pending() == 0
    }
}

impl Endpoint<Datagram> for Client {
    fn next_wake(&self) -> Option<Nanos> {
        let reply = self.replies.front().map(|(at, _, _)| *at);
        [self.wake_ns, reply, Some(self.nap_ns)]
            .into_iter()
            .flatten()
            .min()
            .map(Nanos)
    }

    fn wake(&mut self, now: Nanos, out: &mut Vec<Packet<Datagram>>) {
        let now = now.0;
        while self.replies.front().is_some_and(|(at, _, _)| *at <= now) {
            if let Some((_, kernel, reply)) = self.replies.pop_front() {
                self.take(now, kernel, &reply);
            }
        }
        if self.wake_ns.is_some_and(|at| at <= now) {
            self.send(now, out);
        }
        if self.nap_ns <= now {
            self.hand_on(now);
            self.nap_ns = now + NAP_NS;
        }
    }

    fn receive(&mut self, departure: Departure<Datagram>, _out: &mut Vec<Packet<Datagram>>) {
        if departure.corrupted.is_some() {
            return;
        }
        let stamp = self.host.kernel_stamp(departure.at.0);
        if self.crowded {
            self.held.push((stamp, departure.packet.payload));
        } else {
            let length = departure.packet.length;
            self.queue(stamp.at_ns, stamp.unix_ns, length, departure.packet.payload);
        }
    }
}

/// The agent.
struct Agent {
    host: Host,
    reflector: Reflector,
}

impl Endpoint<Datagram> for Agent {
    fn next_wake(&self) -> Option<Nanos> {
        self.reflector.next_wake().map(Nanos)
    }

    fn wake(&mut self, now: Nanos, out: &mut Vec<Packet<Datagram>>) {
        self.reflector.wake(now.0, out);
    }

    fn receive(&mut self, departure: Departure<Datagram>, _out: &mut Vec<Packet<Datagram>>) {
        if departure.corrupted.is_none() && !departure.duplicate {
            let stamp = self.host.kernel_stamp(departure.at.0);
            self.reflector.receive(stamp, &self.host.clock, &departure.packet);
        }
    }
}

/// Result of an RTT test.
pub(crate) struct Tested {
    pub summary: RttSummary,
    pub records: Vec<Record>,
    pub ended_ns: u64,
}

/// Runs an RTT test over the wire from virtual time `now` on.
pub(crate) fn run(
    wire: &mut Wire,
    plan: &RttPlan,
    ports: Ports,
    now: u64,
) -> Result<Tested, SimulationError> {
    plan.check(weir_wire::RTT_HEADER_LENGTH as u32)?;
    let (near, mut far) = wire.hosts();
    let call_ns = CALLS * far.model.send_call_ns;
    let reflector = Reflector::new(far.thread(now), 2 * call_ns, 2 * far.model.kilobyte_ns);
    let mut agent = Agent { host: far, reflector };
    let mut client = Client::new(near, plan, ports, now);
    let limit = now + plan.duration_ns + plan.timeout_ns + 1_000_000_000;
    let ended_ns = wire.run_while(&mut client, &mut agent, limit, |client, _| !client.is_done());
    let ended_unix = client.host.clock.unix(ended_ns);
    client.account.finish(ended_unix);
    let last = client.account.take_packets();
    client.rows.extend(last.into_iter().map(Record::RttPacket));
    let report = ReflectorReport {
        answered: agent.reflector.answered,
        ..ReflectorReport::default()
    };
    let summary = client.account.summary(Some(&report), false);
    if summary.received == 0 {
        return Err(SimulationError::Blocked {
            step: "rtt",
            reason: "all packets were lost",
        });
    }
    let mut records = client.rows;
    records.extend(quiet_seconds(&client.host, &agent.host, now, ended_ns));
    Ok(Tested {
        summary,
        records,
        ended_ns,
    })
}

/// Both hosts' counters once a second: an RTT test does not fill buffers.
fn quiet_seconds(near: &Host, far: &Host, start: u64, end: u64) -> Vec<Record> {
    let row = |host: &Host, side, at| {
        Record::HostSecond(HostSecond {
            unix_ns: host.clock.unix(at),
            side,
            counts: HostCounts::default(),
            cpu_busy: host.model.other_load + 0.1,
            cpu_steal: 0.0,
            cpu_weir: 0.1,
            cpu_softirq: 0.0,
            cpu_softirq_core: 0.0,
            memory_bytes: 40 << 20,
        })
    };
    (1..=(end - start) / 1_000_000_000)
        .map(|second| start + second * 1_000_000_000)
        .flat_map(|at| [row(near, Side::Local, at), row(far, Side::Remote, at)])
        .collect()
}
