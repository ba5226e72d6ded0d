//! One flow test in virtual time: both hosts, their senders and receivers, and the clock watch beside them. It must
//! not know surveys or stores.

mod receiver;
mod sender;

use std::collections::BTreeMap;

use weir_link::discrete::Endpoint;
use weir_link::{Departure, Nanos, Packet};
use weir_measure::ClockEstimate;
use weir_measure::flows::{BothEnds, FlowsPlan, FlowsSummary, StreamAccountPlan, account_plan};
use weir_results::{Direction, HostSecond, Record, Side};
use weir_stats::{Counters, HostCounts};

use crate::clock::{ClockWatch, Reflector};
use crate::datagram::{Datagram, Ports};
use crate::host::{Host, ReceiveDropper};
use crate::record::{Recording, SimulationError};
use crate::wire::Wire;
use receiver::Receiving;
use sender::Sending;

const SECOND_NS: u64 = 1_000_000_000;
/// Maximum delay of the clock watch's first answer, beyond the lead.
const MOST_WAIT_NS: u64 = 300 * SECOND_NS;
/// Wait after the last packet before a receiver closes its account, beyond its depth.
const PATIENCE_NS: u64 = 300_000_000;

/// Routes of each flow: packets delivered per flow and route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteUse {
    /// By flow, then by route.
    pub flows: Vec<BTreeMap<u16, u64>>,
}

impl RouteUse {
    fn count(&mut self, flow: u16, route: u16) {
        let flow = usize::from(flow);
        if self.flows.len() <= flow {
            self.flows.resize(flow + 1, BTreeMap::new());
        }
        *self.flows[flow].entry(route).or_default() += 1;
    }
}

/// Ports of both streams of a test.
pub(crate) struct TestPorts {
    pub clock: Ports,
    pub forward: Vec<Ports>,
    pub reverse: Vec<Ports>,
}

/// Result of a flow test.
pub(crate) struct Tested {
    pub summary: FlowsSummary,
    pub records: Vec<Record>,
    pub forward_routes: RouteUse,
    pub reverse_routes: RouteUse,
    pub forward_host_losses: u64,
    pub reverse_host_losses: u64,
    pub ended_ns: u64,
}

/// One host in a flow test.
struct FlowsHost {
    host: Host,
    sender: Option<Sending>,
    receiver: Option<Receiving>,
    prober: Option<ClockWatch>,
    reflector: Reflector,
    watch: HostWatch,
    rows: Recording,
    routes: RouteUse,
}

impl FlowsHost {
    fn new(mut host: Host, side: Side, clock: Option<Ports>, now: u64) -> Self {
        let prober = clock.map(|ports| ClockWatch::new(ports, host.thread(now), now));
        let reflector = Reflector::new(host.thread(now), 2 * host.model.send_call_ns, 0);
        FlowsHost {
            host,
            sender: None,
            receiver: None,
            prober,
            reflector,
            watch: HostWatch::new(side, now),
            rows: Recording::default(),
            routes: RouteUse::default(),
        }
    }

    fn sender_is_done(&self) -> bool {
        self.sender
            .as_ref()
            .is_none_or(|sender| sender.next_wake().is_none())
    }
}

impl Endpoint<Datagram> for FlowsHost {
    fn next_wake(&self) -> Option<Nanos> {
        let sender = self.sender.as_ref().and_then(Sending::next_wake);
        let receiver = self.receiver.as_ref().map(Receiving::next_wake);
        let prober = self.prober.as_ref().map(ClockWatch::next_wake);
        // Asked for several times at every event of a simulation, so without a loop.
        let or_never = |wake: Option<u64>| wake.unwrap_or(u64::MAX);
        let next = or_never(sender)
            .min(or_never(receiver))
            .min(or_never(prober))
            .min(or_never(self.reflector.next_wake()))
            .min(self.watch.next_ns);
        Some(Nanos(next))
    }

    fn wake(&mut self, now: Nanos, out: &mut Vec<Packet<Datagram>>) {
        let now = now.0;
        if let Some(sender) = &mut self.sender
            && sender.next_wake().is_some_and(|at| at <= now)
        {
            sender.wake(now, &mut self.host, out, &mut self.rows);
        }
        if let Some(receiver) = &mut self.receiver
            && receiver.next_wake() <= now
        {
            receiver.wake(now, &mut self.host, &mut self.rows);
        }
        if let Some(prober) = &mut self.prober
            && prober.next_wake() <= now
        {
            prober.wake(now, &self.host.clock, out);
        }
        self.reflector.wake(now, out);
        if self.watch.next_ns <= now {
            self.close_host_second(now);
        }
    }

    fn receive(&mut self, departure: Departure<Datagram>, _out: &mut Vec<Packet<Datagram>>) {
        let now = departure.at.0;
        match departure.packet.payload {
            Datagram::Flow { flow, .. } => {
                self.routes.count(flow, departure.route);
                if let Some(receiver) = &mut self.receiver {
                    receiver.receive(departure, &mut self.host);
                }
            }
            Datagram::Request { .. } if departure.corrupted.is_none() => {
                let stamp = self.host.kernel_stamp(now);
                self.reflector.receive(stamp, &self.host.clock, &departure.packet);
            }
            Datagram::Reply { .. } if departure.corrupted.is_none() => {
                let stamp = self.host.kernel_stamp(now);
                if let Some(prober) = &mut self.prober {
                    prober.receive(stamp, &self.host.clock, &departure.packet.payload);
                }
            }
            _ => {}
        }
    }
}

/// Counters of a host, recorded once per second.
struct HostWatch {
    side: Side,
    next_ns: u64,
    counts: HostCounts,
}

impl HostWatch {
    fn new(side: Side, now: u64) -> Self {
        HostWatch {
            side,
            next_ns: now + SECOND_NS,
            counts: HostCounts::default(),
        }
    }
}

impl FlowsHost {
    fn close_host_second(&mut self, now: u64) {
        let mut watch = HostWatch::new(self.watch.side, now);
        if let Some(receiver) = &self.receiver {
            watch.counts.udp_rcvbuf_errors = receiver.socket_drops();
            watch.counts.udp_in_errors = receiver.checksum_errors;
            let counts = &mut watch.counts;
            let dropped = match self.host.model.receive_dropper {
                ReceiveDropper::Kernel => &mut counts.softnet_dropped,
                ReceiveDropper::Ring => &mut counts.driver_rx_dropped,
                ReceiveDropper::Allowance => &mut counts.bw_in_allowance_exceeded,
            };
            *dropped = receiver.backlog_drops;
        }
        watch.counts.interface_tx_dropped = self.sender.as_ref().map_or(0, |sender| sender.dropped_trains);
        let before = std::mem::replace(&mut self.watch, watch);
        let load = self.host.model.other_load;
        let row = HostSecond {
            unix_ns: self.host.clock.unix(now),
            side: self.watch.side,
            counts: self.watch.counts.since(&before.counts),
            cpu_busy: load + 0.3,
            cpu_steal: self.host.model.stolen,
            cpu_weir: 0.3,
            cpu_softirq: 0.0,
            cpu_softirq_core: 0.0,
            memory_bytes: 40 << 20,
        };
        self.rows.add(now, Record::HostSecond(row));
    }
}

/// Runs a flow test over the wire from virtual time `now` on; the stream begins `lead_ns` later.
pub(crate) fn run(
    wire: &mut Wire,
    plan: &FlowsPlan,
    max_bytes: u64,
    ports: &TestPorts,
    now: u64,
    lead_ns: u64,
) -> Result<Tested, SimulationError> {
    let (near, far) = wire.hosts();
    let mut near = FlowsHost::new(near, Side::Local, Some(ports.clock), now);
    let mut far = FlowsHost::new(far, Side::Remote, None, now);
    let mut start = now + lead_ns;
    wire.run_until(&mut near, &mut far, start);
    // A loss process advances per packet, not with time, so that it may lose many consecutive probes.
    while estimate(&near, start).is_err() && start < now + lead_ns + MOST_WAIT_NS {
        start += SECOND_NS;
        wire.run_until(&mut near, &mut far, start);
    }
    let clock = estimate(&near, start)?;
    set_up(&mut near, &mut far, plan, max_bytes, ports, clock, start);
    let longest = start + 3 * plan.duration_ns + SECOND_NS;
    wire.run_while(&mut near, &mut far, longest, |near, far| {
        !(near.sender_is_done() && far.sender_is_done())
    });
    let sent = [&near, &far].into_iter().filter_map(|host| host.sender.as_ref());
    let last = sent.map(Sending::ended_ns).max().unwrap_or(start);
    let ended_ns = last + plan.reorder_ns.max(PATIENCE_NS) + PATIENCE_NS + 2 * wire.round_trip_ns();
    wire.run_until(&mut near, &mut far, ended_ns);
    // A stalled receiver still reads the packets in its sockets.
    let held = |host: &FlowsHost| host.receiver.as_ref().is_some_and(Receiving::is_waiting);
    let ended_ns = wire
        .run_while(&mut near, &mut far, ended_ns + MOST_WAIT_NS, |near, far| {
            held(near) || held(far)
        })
        .max(ended_ns);
    Ok(conclude(near, far, plan, clock, ended_ns))
}

fn estimate(near: &FlowsHost, now: u64) -> Result<ClockEstimate, SimulationError> {
    near.prober
        .as_ref()
        .and_then(|prober| prober.estimate(now))
        .ok_or(SimulationError::Blocked {
            step: "flows",
            reason: "no reply to any clock probe",
        })
}

fn set_up(
    near: &mut FlowsHost,
    far: &mut FlowsHost,
    plan: &FlowsPlan,
    max_bytes: u64,
    ports: &TestPorts,
    clock: ClockEstimate,
    start: u64,
) {
    let account = |direction, ports: &[Ports]| -> StreamAccountPlan {
        let ports = ports.iter().map(|ports| ports.destination).collect();
        account_plan(plan, direction, ports, clock)
    };
    let direct = |from: &mut FlowsHost, to: &mut FlowsHost, direction, ports: &[Ports]| {
        to.receiver = Some(Receiving::new(account(direction, ports), &mut to.host, start));
        let sender = Sending::new(plan, direction, ports.to_vec(), max_bytes, &mut from.host, start);
        from.sender = Some(sender);
    };
    if plan.ways.forward() {
        direct(near, far, Direction::Forward, &ports.forward);
    }
    if plan.ways.reverse() {
        direct(far, near, Direction::Reverse, &ports.reverse);
    }
}

/// Closes the accounts and joins them as the real client does.
fn conclude(
    mut near: FlowsHost,
    mut far: FlowsHost,
    plan: &FlowsPlan,
    clock_at_start: ClockEstimate,
    now: u64,
) -> Tested {
    near.close_host_second(now);
    far.close_host_second(now);
    let mut both_ends = BothEnds::new(plan.clone(), clock_at_start);
    let finish = |from: &FlowsHost, to: &mut FlowsHost| {
        let sender = from.sender.as_ref()?.report().clone();
        let receiver = to.receiver.as_mut()?;
        let report = receiver.finish(now, &sender, &to.host, &mut to.rows);
        Some((sender, report))
    };
    let lost = |from: &FlowsHost, to: &FlowsHost| {
        let sender = from.sender.as_ref().map_or(0, |sender| sender.dropped);
        let receiver = to.receiver.as_ref();
        sender + receiver.map_or(0, |to| to.overflowed + to.backlog_drops + to.checksum_errors)
    };
    let (forward_host_losses, reverse_host_losses) = (lost(&near, &far), lost(&far, &near));
    let forward = finish(&near, &mut far);
    let reverse = finish(&far, &mut near);
    let prober = near.prober;
    let at = |now| {
        prober
            .as_ref()
            .and_then(|prober| prober.estimate(now))
            .unwrap_or(clock_at_start)
    };
    let records = near
        .rows
        .merged(far.rows)
        .into_iter()
        .map(|(made, mut record)| {
            both_ends.correct(&mut record, at(made));
            record
        })
        .collect();
    let clock = at(now);
    let direction = |direction, ends: Option<_>| {
        ends.map(|(sender, receiver)| both_ends.summary(direction, sender, receiver, clock))
    };
    Tested {
        summary: FlowsSummary {
            forward: direction(Direction::Forward, forward),
            reverse: direction(Direction::Reverse, reverse),
            clock: Some(clock),
            ends: None,
        },
        records,
        forward_routes: far.routes,
        reverse_routes: near.routes,
        forward_host_losses,
        reverse_host_losses,
        ended_ns: now,
    }
}
