//! A simulated path: an emulated link between two modelled hosts, and the measurements over it. It
//! must not know the link's faults.

use std::net::{IpAddr, Ipv4Addr};

use weir_link::discrete::Network;
use weir_link::{Counters, LinkSpec};
use weir_measure::Limits;
use weir_measure::flows::{FlowsPlan, LENGTH_FROM_PATH_MTU, VariedPort};
use weir_measure::path_mtu::{MtuSummary, largest_payload};
use weir_measure::rtt::RttPlan;
use weir_measure::survey::{Step, StepSummary, Survey, SurveyPlan, SurveySummary};
use weir_measure::tcp_sweep::{self, Sweep, SweepPlan, SweepSummary};
use weir_results::{Direction, Outcome, Record, RunId, Store};

use crate::datagram::Ports;
use crate::flows::{self, RouteUse, TestPorts};
use crate::host::HostModel;
use crate::middlebox::{Device, Middlebox};
use crate::random::Random;
use crate::record::{Pair, SimulationError, json, store_run};
use crate::wire::{Nobody, Wire, round_trip_ns};
use crate::{mtu, rtt, tcp};

const SECOND_NS: u64 = 1_000_000_000;
/// The far host's address, of a network for documentation (RFC 5737).
const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
/// Default Unix start time of a path: 2026-01-01 00:00 UTC.
pub(crate) const START_UNIX_NS: u64 = 1_767_225_600 * SECOND_NS;
/// Default UDP ports of the agent.
const AGENT_PORTS: (u16, u16) = (4_750, 4_849);
/// Ports of a client's sockets, the default range of Linux.
const CLIENT_PORTS: (u64, u64) = (32_768, 60_999);
/// Minimum time between steps.
const SLOT_NS: u64 = 40 * SECOND_NS;
/// Minimum time from the start of a flow step to its first packet.
const LEAD_NS: u64 = SECOND_NS;
/// Round trips that fit into it.
const LEAD_ROUND_TRIPS: u64 = 20;

/// From one step to the next.
fn slot_ns(round_trip_ns: u64) -> u64 {
    SLOT_NS + 2 * LEAD_ROUND_TRIPS * round_trip_ns
}

/// From the start of a flow step to its first packet.
fn lead_ns(round_trip_ns: u64) -> u64 {
    LEAD_NS + LEAD_ROUND_TRIPS * round_trip_ns
}

/// The true events of one step, to judge a diagnosis.
#[derive(Clone, Debug)]
pub struct StepTruth {
    /// The run that the step was recorded as.
    pub run: RunId,
    /// The measurement.
    pub step: Step,
    /// The result.
    pub summary: StepSummary,
    /// Routes of the forward flows.
    pub forward_routes: RouteUse,
    /// Routes of the reverse flows.
    pub reverse_routes: RouteUse,
    /// Packets that hosts dropped in forward direction.
    pub forward_host_losses: u64,
    /// Packets that hosts dropped in reverse direction.
    pub reverse_host_losses: u64,
    /// Packets that the device before the link dropped, forward direction.
    pub middlebox_losses: u64,
    /// The link's forward counters, before and after.
    pub forward: (Counters, Counters),
    /// The link's reverse counters, before and after.
    pub reverse: (Counters, Counters),
}

/// Result of a simulated survey.
#[derive(Clone, Debug)]
pub struct Surveyed {
    /// The survey's run; its steps are parts of it.
    pub run: RunId,
    /// Its summary.
    pub summary: SurveySummary,
    /// Its steps.
    pub steps: Vec<StepTruth>,
}

/// A path for repeated measurements; its time continues from one measurement to the next.
pub struct Path {
    wire: Wire,
    pair: Pair,
    limits: Limits,
    /// Whether surveys have their TCP steps.
    tcp: bool,
    ports: Random,
    agent_port: u16,
    /// Steps made so far: each has a slot of time of its own.
    steps: u64,
    slot_ns: u64,
}

impl Path {
    /// A path over `link` between two hosts, named `target` in runs. Equal seeds give equal measurements.
    ///
    /// # Errors
    /// When the link's specification is not valid.
    pub fn new(
        link: &LinkSpec,
        near: &HostModel,
        far: &HostModel,
        target: &str,
        seed: u64,
    ) -> Result<Self, SimulationError> {
        link.check()?;
        let mut random = Random::new(seed);
        let mut ports = random.fork();
        let agent_port = AGENT_PORTS.0 + ports.whole(0, 99) as u16;
        let wire = Wire {
            network: Network::new(link),
            spec: link.clone(),
            device: None,
            near: near.clone(),
            far: far.clone(),
            random,
            start_unix_ns: START_UNIX_NS,
            now: 0,
        };
        let slot_ns = slot_ns(wire.round_trip_ns());
        Ok(Path {
            wire,
            pair: Pair {
                target: target.to_owned(),
                interface_mtu: link.interface_mtu,
                lab_link: None,
            },
            limits: Limits::default(),
            tcp: false,
            ports,
            agent_port,
            steps: 0,
            slot_ns,
        })
    }

    /// The same path, whose time begins at another Unix time, nanoseconds.
    #[must_use]
    pub fn starting_at(mut self, unix_ns: u64) -> Self {
        self.wire.start_unix_ns = unix_ns;
        self
    }

    /// The same path behind a device, if there is one. Equal seeds give equal measurements.
    #[must_use]
    pub fn behind(mut self, middlebox: Option<Middlebox>, seed: u64) -> Self {
        self.wire.device = middlebox.map(|kind| Device::new(kind, Random::new(seed).fork()));
        self
    }

    /// The same path, whose runs have the tag `simulated` and name the link.
    #[must_use]
    pub fn marked(mut self) -> Self {
        self.pair.lab_link = Some(format!("simulated {}", self.wire.spec.fingerprint()));
        self
    }

    /// The same path, whose surveys have their TCP steps.
    #[must_use]
    pub fn with_tcp(mut self) -> Self {
        self.tcp = true;
        self
    }

    /// Send time, on the link's clock, of the first packet of step `number` if it is a flow test: steps
    /// are numbered from 0, and a survey's first two are the path MTU and the RTT. For faults that begin during a
    /// step. Steps longer than half a minute shift all later ones.
    pub fn stream_begins_ns(link: &LinkSpec, number: u64) -> u64 {
        let trip = round_trip_ns(link);
        number * slot_ns(trip) + lead_ns(trip)
    }

    /// Runs a whole survey, with TCP steps only [where asked for](Self::with_tcp), and records it. `each` is called with every step made.
    ///
    /// # Errors
    /// When no packet arrives, or the store fails. Earlier records stay.
    pub fn survey(
        &mut self,
        plan: &SurveyPlan,
        store: &mut Store,
        each: &mut dyn FnMut(&StepTruth),
    ) -> Result<Surveyed, SimulationError> {
        self.limits.check(Some(plan.format.rate()), plan.step_ns, 1, 1)?;
        let mut survey = Survey::new(plan.clone(), self.limits, PEER);
        let started = self.wire.start_unix_ns + self.next_start();
        let parent = self
            .pair
            .begin(store, &self.pair.run("survey", None, plan, started))?;
        let mut steps = Vec::new();
        while let Some((step, max_bytes)) = survey.next_step() {
            if matches!(step, Step::Tcp(_)) && !self.tcp {
                continue;
            }
            let made = self.step(&step, &step, max_bytes, Some(parent), store)?;
            survey.on_result(&step, made.summary.clone());
            each(&made);
            steps.push(made);
        }
        let summary = survey.summary();
        let ended = self.wire.start_unix_ns + self.wire.now;
        store.end_run(parent, Outcome::Finished, None, ended, &json(&summary))?;
        Ok(Surveyed {
            run: parent,
            summary,
            steps,
        })
    }

    /// Runs one flow test and records it. A length that is to follow from the path MTU does so by a search first, whose
    /// probes are not recorded.
    ///
    /// # Errors
    /// As [`Path::survey`].
    pub fn flows(&mut self, plan: &FlowsPlan, store: &mut Store) -> Result<StepTruth, SimulationError> {
        let mut plan = plan.clone();
        if plan.length == LENGTH_FROM_PATH_MTU {
            let (mtu, ..) = self.search_mtu(self.next_start());
            let smallest = mtu.smallest().or(mtu.forward.path_mtu);
            let path_mtu = smallest.ok_or(SimulationError::Blocked {
                step: "mtu",
                reason: "no packet of any size was answered",
            })?;
            plan.length = largest_payload(PEER, path_mtu).min(self.limits.max_length);
        }
        self.step(&Step::Flows(plan.clone()), &plan, u64::MAX, None, store)
    }

    /// Runs TCP tests over windows or over numbers of connections, and records them.
    ///
    /// # Errors
    /// As [`Path::survey`].
    pub fn sweep(
        &mut self,
        plan: &SweepPlan,
        store: &mut Store,
    ) -> Result<(RunId, SweepSummary), SimulationError> {
        self.limits.check(None, plan.duration_ns, 1, plan.streams)?;
        let mut sweep = Sweep::new(plan.clone(), self.limits);
        let started = self.wire.start_unix_ns + self.next_start();
        let parent = self
            .pair
            .begin(store, &self.pair.run(tcp_sweep::KIND, None, plan, started))?;
        while let Some(request) = sweep.next_request() {
            let step = Step::Tcp(request);
            let made = self.step(&step, &step, u64::MAX, Some(parent), store)?;
            if let StepSummary::Tcp(test) = made.summary {
                sweep.on_result(test);
            }
        }
        let summary = sweep.summary();
        let ended = self.wire.start_unix_ns + self.wire.now;
        store.end_run(parent, Outcome::Finished, None, ended, &json(&summary))?;
        Ok((parent, summary))
    }

    /// Runs one RTT test and records it.
    ///
    /// # Errors
    /// As [`Path::survey`].
    pub fn rtt(&mut self, plan: &RttPlan, store: &mut Store) -> Result<StepTruth, SimulationError> {
        self.step(&Step::Rtt(plan.clone()), plan, u64::MAX, None, store)
    }

    fn next_start(&self) -> u64 {
        (self.steps * self.slot_ns).max(self.wire.now)
    }

    /// Runs one step in its slot and records it with these parameters.
    fn step(
        &mut self,
        step: &Step,
        parameters: &impl serde::Serialize,
        max_bytes: u64,
        parent: Option<RunId>,
        store: &mut Store,
    ) -> Result<StepTruth, SimulationError> {
        let now = self.next_start();
        self.wire.run_until(&mut Nobody, &mut Nobody, now);
        let before = self.counters();
        let dropped_before = self.dropped_by_device();
        let made = self.measure(step, max_bytes, now)?;
        self.steps = (self.steps + 1).max(made.ended_ns.div_ceil(self.slot_ns));
        let after = self.counters();
        let start = self.wire.start_unix_ns;
        let new = self.pair.run(step.kind(), parent, parameters, start + now);
        let run = store_run(
            store,
            &self.pair,
            &new,
            &made.records,
            start + made.ended_ns,
            &summary_json(&made.summary),
        )?;
        Ok(StepTruth {
            run,
            step: step.clone(),
            summary: made.summary,
            forward_routes: made.forward_routes,
            reverse_routes: made.reverse_routes,
            forward_host_losses: made.forward_host_losses,
            reverse_host_losses: made.reverse_host_losses,
            middlebox_losses: self.dropped_by_device() - dropped_before,
            forward: (before.0, after.0),
            reverse: (before.1, after.1),
        })
    }

    fn dropped_by_device(&self) -> u64 {
        self.wire.device.as_ref().map_or(0, |device| device.dropped)
    }

    fn counters(&self) -> (Counters, Counters) {
        let network = &self.wire.network;
        (network.forward().counters(), network.reverse().counters())
    }

    fn measure(&mut self, step: &Step, max_bytes: u64, now: u64) -> Result<Made, SimulationError> {
        match step {
            Step::Mtu => {
                let (summary, records, ended_ns) = self.search_mtu(now);
                Ok(Made::of(StepSummary::Mtu(summary), records, ended_ns))
            }
            Step::Rtt(plan) => {
                let ports = self.socket_to_agent();
                let tested = rtt::run(&mut self.wire, plan, ports, now)?;
                Ok(Made::of(
                    StepSummary::Rtt(Box::new(tested.summary)),
                    tested.records,
                    tested.ended_ns,
                ))
            }
            Step::Flows(plan) => self.measure_flows(plan, max_bytes, now),
            Step::Tcp(request) => {
                // Far from the numbers of UDP flows, which are of 32 bits.
                let five_tuple = (1 << 40) + (self.steps << 16);
                let start = (self.wire.start_unix_ns, now);
                let tested = tcp::run(&self.wire.spec, request, five_tuple, start);
                let summary = StepSummary::Tcp(tested.summary);
                Ok(Made::of(summary, tested.records, tested.ended_ns))
            }
        }
    }

    /// The path MTU both ways, the probes' records, and the time of the last.
    fn search_mtu(&mut self, now: u64) -> (MtuSummary, Vec<Record>, u64) {
        let ports = self.socket_to_agent();
        let (forward, mut records, ended) = mtu::run(&mut self.wire, Direction::Forward, ports, now);
        let back = ports.swapped();
        let (reverse, more, ended_ns) = mtu::run(&mut self.wire, Direction::Reverse, back, ended);
        records.extend(more);
        (MtuSummary { forward, reverse }, records, ended_ns)
    }

    fn measure_flows(&mut self, plan: &FlowsPlan, max_bytes: u64, now: u64) -> Result<Made, SimulationError> {
        plan.check()?;
        self.limits
            .check(plan.rate(), plan.duration_ns, plan.length, plan.flows)?;
        let ports = self.test_ports(plan);
        let lead_ns = lead_ns(self.wire.round_trip_ns());
        let tested = flows::run(&mut self.wire, plan, max_bytes, &ports, now, lead_ns)?;
        Ok(Made {
            summary: StepSummary::Flows(Box::new(tested.summary)),
            records: tested.records,
            forward_routes: tested.forward_routes,
            reverse_routes: tested.reverse_routes,
            forward_host_losses: tested.forward_host_losses,
            reverse_host_losses: tested.reverse_host_losses,
            ended_ns: tested.ended_ns,
        })
    }

    /// A new socket of the client towards a new port of the agent.
    fn socket_to_agent(&mut self) -> Ports {
        Ports {
            source: self.client_port(),
            destination: self.next_agent_port(),
        }
    }

    fn test_ports(&mut self, plan: &FlowsPlan) -> TestPorts {
        let clock = self.socket_to_agent();
        let first = self.socket_to_agent();
        let further = (1..plan.flows).map(|_| match plan.varied {
            VariedPort::Destination => Ports {
                destination: self.next_agent_port(),
                ..first
            },
            VariedPort::Source => Ports {
                source: self.client_port(),
                ..first
            },
        });
        let forward = [first].into_iter().chain(further).collect();
        let source = self.next_agent_port();
        let reverse = (0..plan.flows).map(|_| Ports {
            source,
            destination: self.client_port(),
        });
        TestPorts {
            clock,
            forward,
            reverse: reverse.collect(),
        }
    }

    fn client_port(&mut self) -> u16 {
        self.ports.whole(CLIENT_PORTS.0, CLIENT_PORTS.1) as u16
    }

    fn next_agent_port(&mut self) -> u16 {
        let port = self.agent_port;
        self.agent_port = if port == AGENT_PORTS.1 {
            AGENT_PORTS.0
        } else {
            port + 1
        };
        port
    }
}

/// Result of one step, before it is stored.
struct Made {
    summary: StepSummary,
    records: Vec<Record>,
    forward_routes: RouteUse,
    reverse_routes: RouteUse,
    forward_host_losses: u64,
    reverse_host_losses: u64,
    ended_ns: u64,
}

impl Made {
    fn of(summary: StepSummary, records: Vec<Record>, ended_ns: u64) -> Self {
        Made {
            summary,
            records,
            forward_routes: RouteUse::default(),
            reverse_routes: RouteUse::default(),
            forward_host_losses: 0,
            reverse_host_losses: 0,
            ended_ns,
        }
    }
}

/// A step's summary in the form of a run.
fn summary_json(summary: &StepSummary) -> serde_json::Value {
    match summary {
        StepSummary::Mtu(summary) => json(summary),
        StepSummary::Rtt(summary) => json(summary),
        StepSummary::Tcp(summary) => json(summary),
        StepSummary::Flows(summary) => json(summary),
    }
}
