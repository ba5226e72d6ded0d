//! The path MTU search in virtual time: the real search between a prober and a responder. It must not know surveys or
//! stores.

use std::collections::{BTreeMap, VecDeque};

use weir_link::discrete::Endpoint;
use weir_link::{Departure, Nanos, Packet};
use weir_measure::path_mtu::{MtuReport, MtuSearch, Outcome, Step};
use weir_results::{Direction, MtuProbe, Record};

use crate::datagram::{Datagram, OVERHEAD, Ports};
use crate::host::{Host, Thread};
use crate::path::Wire;

const ANSWER_PAYLOAD: u32 = weir_wire::MTU_HEADER_LENGTH as u32;

struct Prober {
    host: Host,
    direction: Direction,
    ports: Ports,
    thread: Thread,
    search: MtuSearch,
    wake_ns: Option<u64>,
    /// Rows of the unanswered probes, by number.
    open: BTreeMap<u32, MtuProbe>,
    outcome: Option<Outcome>,
    rows: Vec<Record>,
}

impl Prober {
    fn settle(&mut self, mut row: MtuProbe, acknowledged: bool) {
        row.acknowledged = acknowledged;
        self.rows.push(Record::MtuProbe(self.direction, row));
    }
}

impl Endpoint<Datagram> for Prober {
    fn next_wake(&self) -> Option<Nanos> {
        self.wake_ns.map(Nanos)
    }

    fn wake(&mut self, now: Nanos, out: &mut Vec<Packet<Datagram>>) {
        loop {
            match self.search.next(now.0) {
                Step::Done(outcome) => {
                    self.outcome = Some(outcome);
                    self.wake_ns = None;
                    for (_, row) in std::mem::take(&mut self.open) {
                        self.settle(row, false);
                    }
                    return;
                }
                Step::Wait { until_ns } => {
                    self.wake_ns = Some(until_ns);
                    return;
                }
                Step::Probe { probe, size } => {
                    let row = MtuProbe {
                        unix_ns: self.host.clock.unix(now.0),
                        size,
                        ..MtuProbe::default()
                    };
                    self.open.insert(probe, row);
                    out.push(self.ports.packet(size - OVERHEAD, Datagram::Probe { probe }));
                }
            }
        }
    }

    fn receive(&mut self, departure: Departure<Datagram>, _out: &mut Vec<Packet<Datagram>>) {
        let Datagram::ProbeAnswer { probe } = departure.packet.payload else {
            return;
        };
        if departure.corrupted.is_some() {
            return;
        }
        let woken = self.thread.woken(departure.at.0);
        if self.search.on_acknowledged(probe, woken) {
            if let Some(row) = self.open.remove(&probe) {
                self.settle(row, true);
            }
            self.wake_ns = Some(woken);
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
        direction,
        ports,
        search: MtuSearch::new(interface_mtu),
        wake_ns: Some(now),
        open: BTreeMap::new(),
        outcome: None,
        rows: Vec::new(),
    };
    let mut responder = Responder {
        thread: other.thread(now),
        answers: VecDeque::new(),
    };
    let limit = u64::MAX;
    let ended_ns = match direction {
        Direction::Forward => wire.run_while(&mut prober, &mut responder, limit, |prober, _| {
            prober.outcome.is_none()
        }),
        Direction::Reverse => wire.run_while(&mut responder, &mut prober, limit, |_, prober| {
            prober.outcome.is_none()
        }),
    };
    let outcome = prober.outcome.unwrap_or(Outcome {
        path_mtu: None,
        probes: 0,
    });
    let report = MtuReport {
        path_mtu: outcome.path_mtu,
        probes: outcome.probes,
        interface_mtu,
    };
    (report, prober.rows, ended_ns)
}
