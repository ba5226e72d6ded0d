//! The path MTU search in virtual time: the real search between a prober and a responder. It must not know surveys or
//! stores.

use std::collections::VecDeque;

use weir_link::discrete::Endpoint;
use weir_link::{Departure, Nanos, Packet};
use weir_measure::path_mtu::{MtuProber, MtuReport};
use weir_results::{Direction, Record};

use crate::datagram::{Datagram, OVERHEAD, Ports};
use crate::host::{Host, Thread};
use crate::wire::Wire;

const ANSWER_PAYLOAD: u32 = weir_wire::MTU_HEADER_LENGTH as u32;

struct Prober {
    host: Host,
    ports: Ports,
    thread: Thread,
    core: MtuProber,
}

impl Endpoint<Datagram> for Prober {
    fn next_wake(&self) -> Option<Nanos> {
        self.core.next_wake().map(Nanos)
    }

    fn wake(&mut self, now: Nanos, out: &mut Vec<Packet<Datagram>>) {
        while let Some((probe, size)) = self.core.wake(now.0, self.host.clock.unix(now.0)) {
            out.push(self.ports.packet(size - OVERHEAD, Datagram::Probe { probe }));
        }
    }

    fn receive(&mut self, departure: Departure<Datagram>, _out: &mut Vec<Packet<Datagram>>) {
        let Datagram::ProbeAnswer { probe } = departure.packet.payload else {
            return;
        };
        if departure.corrupted.is_none() {
            let woken = self.thread.woken(departure.at.0);
            self.core.acknowledged(probe, woken);
        }
    }
}

struct Responder {
    thread: Thread,
    answers: VecDeque<(u64, Packet<Datagram>)>,
}

impl Endpoint<Datagram> for Responder {
    fn next_wake(&self) -> Option<Nanos> {
        self.answers.front().map(|(at, _)| Nanos(*at))
    }

    fn wake(&mut self, now: Nanos, out: &mut Vec<Packet<Datagram>>) {
        while self.answers.front().is_some_and(|(at, _)| *at <= now.0) {
            out.extend(self.answers.pop_front().map(|(_, answer)| answer));
        }
    }

    fn receive(&mut self, departure: Departure<Datagram>, _out: &mut Vec<Packet<Datagram>>) {
        let Datagram::Probe { probe } = departure.packet.payload else {
            return;
        };
        if departure.corrupted.is_none() {
            let back = Ports::of(departure.packet.flow).swapped();
            let answer = back.packet(ANSWER_PAYLOAD, Datagram::ProbeAnswer { probe });
            self.answers
                .push_back((self.thread.woken(departure.at.0), answer));
        }
    }
}

/// Searches one direction from virtual time `now` on. Returns the report, its records, and the end time.
pub(crate) fn run(
    wire: &mut Wire,
    direction: Direction,
    ports: Ports,
    now: u64,
) -> (MtuReport, Vec<Record>, u64) {
    let interface_mtu = wire.interface_mtu().min(65_535);
    let (near, far) = wire.hosts();
    let (mut host, mut other) = match direction {
        Direction::Forward => (near, far),
        Direction::Reverse => (far, near),
    };
    let mut prober = Prober {
        thread: host.thread(now),
        host,
        ports,
        core: MtuProber::new(direction, interface_mtu, now),
    };
    let mut responder = Responder {
        thread: other.thread(now),
        answers: VecDeque::new(),
    };
    let searches = |prober: &Prober| prober.next_wake().is_some();
    let ended_ns = match direction {
        Direction::Forward => wire.run_while(&mut prober, &mut responder, u64::MAX, |prober, _| {
            searches(prober)
        }),
        Direction::Reverse => wire.run_while(&mut responder, &mut prober, u64::MAX, |_, prober| {
            searches(prober)
        }),
    };
    let report = prober.core.finish();
    (report, prober.core.take_records(), ended_ns)
}
