//! The survey: which measurements to make of a path, in which order, and which settings came out best. Pure: it
//! plans steps and takes their results; [`run_step`] alone touches a session.

use std::collections::VecDeque;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use weir_record::Direction;
use weir_units::{Rate, format_bytes};

use crate::flows::{
    self, DirectionSummary, FlowsPlan, FlowsSummary, FlowsWays, HostLimit, SHORTEST, VariedPort,
};
use crate::path_mtu::{self, MtuSummary, largest_payload};
use crate::rtt::{self, RttPlan, RttSummary, Span};
use crate::tcp_throughput::{self, TcpRequest, TcpSummary};
use crate::{Limits, MeasureError, Session, Sink, Stop, VideoFormat};

mod best;
mod cliff;
mod families;
mod held_rates;
mod hidden_cliff;
mod onset;

pub use best::Settings;
use best::best;
use cliff::carried_length;
use families::Families;
pub use families::{FamilySummary, IpVersion};
use held_rates::HeldRates;
pub use onset::LossOnset;

/// Flow counts of the sweep, as far as the limits allow.
const FLOW_COUNTS: [u16; 5] = [1, 2, 4, 8, 16];
/// Payload lengths of the sweep; the largest that the path carries is added.
const LENGTHS: [u32; 5] = [1200, 1400, 3900, 6000, 8100];
/// TCP connections side by side.
const STREAM_COUNTS: [u16; 4] = [1, 2, 4, 8];
/// Flows of the length sweep, and the number preferred when more make no difference.
const USUAL_FLOWS: u16 = 8;
/// Packets in the largest window of the RTT sweep.
const WINDOW: u32 = 32;
/// From one window of the RTT sweep to the next, unless the agent's rate wants more.
const INTERVAL_NS: u64 = 100_000_000;
/// Longest RTT sweep.
const RTT_NS: u64 = 8_000_000_000;
/// Time that the path MTU search is expected to take, and payload bytes that it sends at most.
const MTU_NS: u64 = 4_000_000_000;
const MTU_BYTES: u64 = 2_000_000;
/// Longest TCP test.
const TCP_NS: u64 = 2_000_000_000;
/// Time that setting up a step takes.
const SETUP_NS: u64 = 500_000_000;
/// Steps that a survey makes at most to find the length at which loss begins, and as many for the rate.
pub const MOST_FURTHER_STEPS: u32 = 6;

/// What the user asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SurveyPlan {
    /// Media to be carried.
    pub format: VideoFormat,
    /// Time of each flow and TCP step, nanoseconds.
    pub step_ns: u64,
    /// Most flows of the sweep.
    pub max_flows: u16,
    /// UDP and TCP payload bytes that may be sent in all, both hosts together.
    pub max_bytes: u64,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Path MTU, both directions.
    Mtu,
    /// RTT over window sizes and packet lengths.
    Rtt(RttPlan),
    /// TCP throughput.
    Tcp(TcpRequest),
    /// Flows at the media rate.
    Flows(FlowsPlan),
}

impl Step {
    /// Kind of run, as the store names it.
    pub fn kind(&self) -> &'static str {
        match self {
            Step::Mtu => "mtu",
            Step::Rtt(_) => "rtt",
            Step::Tcp(_) => "tcp",
            Step::Flows(_) => "flows",
        }
    }

    /// In a few words.
    pub fn title(&self) -> String {
        match self {
            Step::Mtu => "path MTU, both directions".into(),
            Step::Rtt(plan) => format!(
                "RTT, windows of {} to {} packets, {} to {} bytes",
                plan.window.from, plan.window.to, plan.length.from, plan.length.to
            ),
            Step::Tcp(request) => {
                let window = request
                    .window_bytes
                    .map(|bytes| format!(", window {}", format_bytes(bytes)));
                format!(
                    "TCP {}, {} stream(s){}",
                    request.direction.as_str(),
                    request.streams,
                    window.unwrap_or_default()
                )
            }
            Step::Flows(plan) => {
                let way = if plan.ways == FlowsWays::Reverse {
                    "reverse"
                } else {
                    "forward"
                };
                let rate = plan.format.rate().rounded();
                let from = match plan.varied {
                    VariedPort::Destination => "",
                    VariedPort::Source => " from as many ports",
                };
                format!(
                    "{} flow(s) {way}{from}, {} bytes, {rate}",
                    plan.flows, plan.length
                )
            }
        }
    }

    /// How long it takes, and how many payload bytes it sends at most.
    pub fn estimate(&self, ceiling: Rate) -> (u64, u64) {
        match self {
            Step::Mtu => (MTU_NS, MTU_BYTES),
            Step::Rtt(plan) => (plan.duration_ns + SETUP_NS, 2 * plan.volume().1),
            Step::Tcp(request) => {
                let rate = request.max_rate.min(ceiling);
                (request.duration_ns + SETUP_NS, rate.bytes_in(request.duration_ns))
            }
            Step::Flows(plan) => (plan.duration_ns + 2 * SETUP_NS, plan.bytes(ceiling)),
        }
    }
}

/// What a step found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepSummary {
    /// Of [`Step::Mtu`].
    Mtu(MtuSummary),
    /// Of [`Step::Rtt`].
    Rtt(Box<RttSummary>),
    /// Of [`Step::Tcp`].
    Tcp(TcpSummary),
    /// Of [`Step::Flows`].
    Flows(Box<FlowsSummary>),
}

impl StepSummary {
    /// Why an end gave the step up before its time, if one did.
    pub fn aborted(&self) -> Option<MeasureError> {
        match self {
            StepSummary::Flows(flows) => flows.aborted(),
            StepSummary::Mtu(_) | StepSummary::Rtt(_) | StepSummary::Tcp(_) => None,
        }
    }
}

/// A step that says little about the network, since an end did not keep up with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitedStep {
    /// Which way.
    pub direction: Direction,
    /// Flows.
    pub flows: u16,
    /// UDP payload bytes.
    pub length: u32,
    /// Media rate of the step.
    pub asked: Rate,
    /// What the end did not keep up with.
    pub limit: HostLimit,
    /// Media rate at which it was repeated; none where it was not, and its result stands for want of a better one.
    pub repeated_at: Option<Rate>,
}

/// What the survey found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SurveySummary {
    /// Path MTU.
    pub mtu: Option<MtuSummary>,
    /// RTT.
    pub rtt: Option<RttSummary>,
    /// TCP throughput, each number of streams and direction.
    pub tcp: Vec<TcpSummary>,
    /// Rate at which the agent's limit holds TCP.
    pub tcp_ceiling: Rate,
    /// Flow tests over the number of flows, with the longest payload that the path carries well.
    pub by_flows: Vec<DirectionSummary>,
    /// Flow tests over the payload length.
    pub by_length: Vec<DirectionSummary>,
    /// Forward flow tests at lower rates than the media's, where the loss of one asked for them, the slowest first.
    #[serde(default)]
    pub by_rate: Vec<DirectionSummary>,
    /// The rate at which loss begins, where it begins at one.
    #[serde(default)]
    pub onset: Option<LossOnset>,
    /// The forward flow test whose flows differ in their source port, and not in their destination port as in all others.
    #[serde(default)]
    pub by_source_port: Option<DirectionSummary>,
    /// The flow test in the reverse direction.
    pub reverse: Option<DirectionSummary>,
    /// The same payloads over IPv4 and over IPv6, where the far host answers over both; else nothing.
    #[serde(default)]
    pub families: Vec<FamilySummary>,
    /// Steps that an end did not keep up with, in the order in which they were made.
    #[serde(default)]
    pub limited: Vec<LimitedStep>,
    /// What worked best; none when no flow test was made.
    pub best: Option<Settings>,
    /// Payload bytes sent in all.
    pub bytes: u64,
    /// The byte limit kept steps from being made, or cut one short.
    pub hit_byte_limit: bool,
}

/// A survey in progress.
#[derive(Clone, Debug)]
pub struct Survey {
    plan: SurveyPlan,
    limits: Limits,
    peer: IpAddr,
    steps: VecDeque<Step>,
    held: HeldRates,
    /// Steps made to find the length at which loss begins.
    cliff_steps: u32,
    /// Steps made to find the rate at which it begins.
    rate_steps: u32,
    /// Payload bytes that repeats and those steps may bring the survey to.
    volume: u64,
    families: Option<Families>,
    found: SurveySummary,
}

impl Survey {
    /// A survey of the path to `peer` within the agent's limits.
    pub fn new(plan: SurveyPlan, limits: Limits, peer: IpAddr) -> Self {
        let steps = VecDeque::from([Step::Mtu]);
        Survey {
            plan,
            limits,
            peer,
            steps,
            held: HeldRates::default(),
            cliff_steps: 0,
            rate_steps: 0,
            volume: 0,
            families: None,
            found: SurveySummary::default(),
        }
    }

    /// How long the whole survey takes, nanoseconds, and how many payload bytes it sends at most, supposing that
    /// the path carries packets of `mtu` bytes. Steps with which a host does not keep up take longer, since they are repeated,
    /// and a length or a rate at which loss begins takes further ones, as far as the bytes suffice.
    pub fn estimate(&self, mtu: u32) -> (u64, u64) {
        let steps = self.measuring_steps(mtu);
        let (mut time, mut bytes) = self.total([&Step::Mtu].into_iter().chain(&steps));
        // One step made twice, and those to a cliff and to a rate.
        let largest = steps.iter().map(|step| self.of_flows(step)).max();
        let further = 1 + u64::from(2 * MOST_FURTHER_STEPS);
        bytes = bytes.saturating_add(largest.unwrap_or(0).saturating_mul(further));
        let (more_time, more_bytes) = self.estimate_of_families(largest_payload(self.peer, mtu));
        time += SETUP_NS + more_time;
        bytes = bytes.saturating_add(more_bytes);
        (time, bytes.min(self.plan.max_bytes))
    }

    fn of_flows(&self, step: &Step) -> u64 {
        match step {
            Step::Flows(_) => step.estimate(self.limits.max_rate).1,
            _ => 0,
        }
    }

    fn total<'a>(&self, steps: impl Iterator<Item = &'a Step>) -> (u64, u64) {
        steps
            .map(|step| step.estimate(self.limits.max_rate))
            .fold((0, 0), |(time, bytes), (step_time, step_bytes)| {
                (time + step_time, bytes + step_bytes)
            })
    }

    /// The next step, and the bytes that it may send; none at the end.
    pub fn next_step(&mut self) -> Option<(Step, u64)> {
        let left = self.plan.max_bytes.saturating_sub(self.found.bytes);
        while let Some(step) = self.steps.pop_front() {
            let step = match step {
                Step::Flows(plan) => Step::Flows(self.held.lowered(&plan, self.plan.format.rate())),
                other => other,
            };
            let (_, bytes) = step.estimate(self.limits.max_rate);
            // TCP and flows stop at the limit by themselves; the others are small and are made whole or not.
            let stops_itself = matches!(step, Step::Tcp(_) | Step::Flows(_));
            if left > 0 && (stops_itself || bytes <= left) {
                return Some((step, left));
            }
            self.found.hit_byte_limit = true;
        }
        None
    }

    /// Takes what a step found, and `bytes` that it sent.
    pub fn on_result(&mut self, step: &Step, summary: StepSummary) {
        self.found.bytes += bytes_of(step, &summary);
        self.found.hit_byte_limit |= self.found.bytes >= self.plan.max_bytes;
        match summary {
            StepSummary::Mtu(mtu) => {
                self.found.mtu = Some(mtu);
                let size = mtu.smallest().or(mtu.forward.path_mtu).unwrap_or(1500);
                // The comparison of both families comes last, and keeps its share.
                let (_, of_families) = self.estimate_of_families(largest_payload(self.peer, size));
                self.volume = self.estimate(size).1.saturating_sub(of_families);
                self.steps.extend(self.measuring_steps(size));
            }
            StepSummary::Rtt(rtt) => self.found.rtt = Some(*rtt),
            StepSummary::Tcp(tcp) => {
                self.found.tcp.push(tcp);
            }
            StepSummary::Flows(flows) => self.take_flows(step, *flows),
        }
    }

    fn take_flows(&mut self, step: &Step, flows: FlowsSummary) {
        let hit = |way: &Option<DirectionSummary>| way.as_ref().is_some_and(|way| way.hit_byte_limit);
        self.found.hit_byte_limit |= hit(&flows.forward) || hit(&flows.reverse);
        if let Step::Flows(plan) = step
            && self.repeats(plan, &flows)
        {
            return;
        }
        self.found.reverse = flows.reverse.or(self.found.reverse.take());
        let (Some(forward), Step::Flows(plan)) = (flows.forward, step) else {
            return;
        };
        if plan.varied == VariedPort::Source {
            self.found.by_source_port = Some(forward);
        } else if self.rate_steps > 0 && plan.format == self.plan.format {
            // The longest payload that passed more slowly: the sweeps are over.
            self.found.by_length.push(forward);
        } else if self.rate_steps > 0 {
            self.found.by_rate.push(forward);
        } else if plan.flows == self.usual_flows() {
            self.found.by_length.push(forward);
            self.approach_cliff(plan);
            self.adapt_length();
        } else {
            self.found.by_flows.push(forward);
        }
        self.approach_onset(plan.duration_ns);
    }

    /// The sweep over the flows takes the longest payload that is carried well.
    fn adapt_length(&mut self) {
        let Some(length) = carried_length(&self.found.by_length) else {
            return;
        };
        let usual = self.usual_flows();
        for step in &mut self.steps {
            if let Step::Flows(plan) = step
                && (plan.flows != usual || plan.varied == VariedPort::Source)
            {
                let next = FlowsPlan {
                    length,
                    burst: None,
                    ..plan.clone()
                };
                *plan = next.with_bursts_of_media();
            }
        }
    }

    /// After the sweep over lengths, queues a step like `plan` in the gap in which loss begins.
    fn approach_cliff(&mut self, plan: &FlowsPlan) {
        let of_sweep = |step: &Step| match step {
            Step::Flows(next) => (next.flows, next.ways, next.varied) == (plan.flows, plan.ways, plan.varied),
            _ => false,
        };
        if self.cliff_steps == MOST_FURTHER_STEPS || self.steps.iter().any(of_sweep) {
            return;
        }
        let between = cliff::next_length(&self.found.by_length).map(|length| {
            let plan = FlowsPlan {
                length,
                format: self.plan.format,
                burst: None,
                ..plan.clone()
            };
            plan.with_bursts_of_media()
        });
        if let Some(between) = between.filter(|between| self.has_volume_for(between)) {
            self.cliff_steps += 1;
            self.steps.push_front(Step::Flows(between));
        }
    }

    /// Notes whether the hosts kept up with a step, and queues its repeat if they did not and one is worth making.
    fn repeats(&mut self, plan: &FlowsPlan, flows: &FlowsSummary) -> bool {
        let mut directions = flows.forward.iter().chain(&flows.reverse);
        let Some((row, limit)) = directions.find_map(|row| Some((row, row.host_limit()?))) else {
            self.held.kept_up();
            return false;
        };
        let repeat = self.held.repeat_of(plan, self.plan.format.rate(), limit);
        let repeat = repeat.filter(|repeat| self.has_volume_for(repeat));
        self.found.limited.push(LimitedStep {
            direction: row.direction,
            flows: row.flows,
            length: row.length,
            asked: plan.format.rate(),
            limit,
            repeated_at: repeat.as_ref().map(|repeat| repeat.format.rate()),
        });
        match repeat {
            Some(repeat) => self.steps.push_front(Step::Flows(repeat)),
            None => return false,
        }
        true
    }

    /// A repeat leaves enough bytes for the steps to come.
    fn has_volume_for(&self, repeat: &FlowsPlan) -> bool {
        let to_come = self.steps.iter().map(|step| match step {
            Step::Flows(plan) => Step::Flows(self.held.lowered(plan, self.plan.format.rate())),
            other => other.clone(),
        });
        let steps: Vec<Step> = to_come.chain([Step::Flows(repeat.clone())]).collect();
        self.found.bytes + self.total(steps.iter()).1 <= self.volume
    }

    /// The steps so far that an end did not keep up with.
    pub fn limited(&self) -> &[LimitedStep] {
        &self.found.limited
    }

    /// What has been found; the best settings are those with the least loss that held the rate.
    pub fn summary(&self) -> SurveySummary {
        let mut found = self.found.clone();
        found.tcp_ceiling = self.limits.max_rate;
        found.families = self.families.as_ref().map(Families::found).unwrap_or_default();
        found.onset = self.onset();
        found.by_rate.sort_by_key(|row| row.asked);
        found.by_length.sort_by_key(|row| row.length);
        let carried = carried_length(&found.by_length);
        let usual = found.by_length.iter().find(|row| Some(row.length) == carried);
        found.by_flows.extend(usual.cloned());
        found.by_flows.sort_by_key(|row| row.flows);
        found.best = best(&found, self.plan.format.rate());
        found
    }

    fn usual_flows(&self) -> u16 {
        USUAL_FLOWS.min(self.plan.max_flows).min(self.limits.max_flows)
    }

    /// The RTT sweep up to `longest` bytes of payload, within the agent's limits; none when they leave no room for a
    /// packet.
    fn rtt_step(&self, longest: u32) -> Option<Step> {
        let shortest = weir_wire::RTT_HEADER_LENGTH as u32;
        if longest < shortest {
            return None;
        }
        let rate = self.limits.max_rate;
        let in_interval = rate.bytes_in(INTERVAL_NS) / u64::from(longest);
        // A packet of the longest, at the agent's rate, may take longer than the usual interval.
        let one_packet_ns = u64::from(longest) * 8_000_000_000 / rate.0.max(1) + 1;
        let duration_ns = RTT_NS.min(self.limits.max_duration_ns);
        Some(Step::Rtt(RttPlan {
            window: Span {
                from: 1,
                to: u32::try_from(in_interval).unwrap_or(WINDOW).clamp(1, WINDOW),
            },
            length: Span {
                from: 100.min(longest),
                to: longest,
            },
            interval_ns: one_packet_ns.max(INTERVAL_NS),
            duration_ns,
            over_ns: duration_ns,
            ..RttPlan::default()
        }))
    }

    /// All steps but the path MTU, for packets of `mtu` bytes.
    fn measuring_steps(&self, mtu: u32) -> Vec<Step> {
        let longest = largest_payload(self.peer, mtu).min(self.limits.max_length);
        let mut steps: Vec<Step> = self.rtt_step(longest).into_iter().collect();
        for direction in [Direction::Forward, Direction::Reverse] {
            steps.extend(
                STREAM_COUNTS
                    .iter()
                    .filter(|streams| **streams <= self.limits.max_flows)
                    .map(|streams| {
                        Step::Tcp(TcpRequest {
                            direction,
                            streams: *streams,
                            duration_ns: self.plan.step_ns.min(TCP_NS),
                            max_rate: self.limits.max_rate,
                            // What the estimate says is what is sent at most.
                            max_bytes: self.limits.max_rate.bytes_in(self.plan.step_ns.min(TCP_NS)),
                            window_bytes: None,
                            omit_ns: 0,
                        })
                    }),
            );
        }
        if longest < SHORTEST {
            return steps;
        }
        let flows = |flows, length, ways| {
            let plan = FlowsPlan {
                format: self.plan.format,
                length,
                flows,
                ways,
                duration_ns: self.plan.step_ns,
                ..FlowsPlan::default()
            };
            Step::Flows(plan.with_bursts_of_media())
        };
        let most = self.plan.max_flows.min(self.limits.max_flows);
        let usual = self.usual_flows();
        let lengths = LENGTHS
            .into_iter()
            .filter(|length| *length < longest)
            .chain([longest]);
        steps.extend(lengths.map(|length| flows(usual, length, FlowsWays::Forward)));
        // The usual number is in the sweep over lengths. This sweep takes the length that came out best there.
        let counts = FLOW_COUNTS
            .into_iter()
            .filter(|count| *count <= most && *count != usual);
        steps.extend(counts.map(|count| flows(count, longest, FlowsWays::Forward)));
        let most_of_sweep = FLOW_COUNTS.into_iter().filter(|count| *count <= most).max();
        steps.extend(most_of_sweep.filter(|count| *count > 1).map(|count| {
            let mut step = flows(count, longest, FlowsWays::Forward);
            if let Step::Flows(plan) = &mut step {
                plan.varied = VariedPort::Source;
            }
            step
        }));
        steps.push(flows(usual, longest, FlowsWays::Reverse));
        steps
    }
}

/// Payload bytes that a step sent, from both ends.
fn bytes_of(step: &Step, summary: &StepSummary) -> u64 {
    let sent = |direction: &DirectionSummary| direction.sent * u64::from(direction.length);
    match (step, summary) {
        (Step::Rtt(plan), StepSummary::Rtt(_)) => 2 * plan.volume().1,
        (_, StepSummary::Tcp(tcp)) => tcp.bytes,
        (_, StepSummary::Flows(flows)) => {
            flows.forward.as_ref().map_or(0, sent) + flows.reverse.as_ref().map_or(0, sent)
        }
        (_, StepSummary::Mtu(mtu)) => {
            u64::from(mtu.forward.probes) * u64::from(mtu.forward.interface_mtu)
                + u64::from(mtu.reverse.probes) * u64::from(mtu.reverse.interface_mtu)
        }
        (_, StepSummary::Rtt(_)) => 0,
    }
}

/// Makes one step.
///
/// # Errors
/// As the measurement itself.
pub fn run_step(
    session: &mut Session,
    step: &Step,
    max_bytes: u64,
    sink: &dyn Sink,
    stop: &Stop,
) -> Result<StepSummary, MeasureError> {
    Ok(match step {
        Step::Mtu => StepSummary::Mtu(path_mtu::run(session, sink, stop)?),
        Step::Rtt(plan) => StepSummary::Rtt(Box::new(rtt::run(session, plan, sink, stop)?)),
        Step::Tcp(request) => {
            let request = TcpRequest {
                max_bytes: max_bytes.min(request.max_bytes),
                ..request.clone()
            };
            StepSummary::Tcp(tcp_throughput::run(session, &request, sink, stop)?)
        }
        Step::Flows(plan) => StepSummary::Flows(Box::new(flows::run(session, plan, max_bytes, sink, stop)?)),
    })
}

#[cfg(test)]
mod tests;
