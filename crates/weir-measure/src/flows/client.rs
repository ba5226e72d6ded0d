//! Runs a multi-flow test from this end, in either direction or both, and joins both ends' accounts.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver as Inbox, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use weir_net::{UdpOptions, UdpSocket};
use weir_results::{Direction, Quantiles, Record, Side};
use weir_stats::{Attribution, attribute_buffers, loss_interval};
use weir_wire::{FlowId, HELLO_LENGTH, Hello, HelloAck, SessionId, Spread, UdpKey};

use super::request::FlowsPlan;
use super::{
    FlowsRequest, Receiver, ReceiverPlan, ReceiverReport, SenderPlan, SenderReport, StreamAccountPlan,
    run_sender,
};
use crate::clock_watch::{ClockEstimate, ClockWatch, probe_options};
use crate::control::{FlowsReport, FromAgent, Ready, Stopped, ToAgent};
use crate::host_watch::{HostDrops, HostWatch};
use crate::{BitRate, MeasureError, Progress, Session, Sink, Stop};

const ANSWER_LIMIT: Duration = Duration::from_secs(20);
const NAP: Duration = Duration::from_millis(50);
/// A flow is silent after this long, or after this many of its usual gaps, whichever is longer.
const SILENCE_NS: u64 = 100_000_000;
const SILENCE_GAPS: u64 = 20;

/// One direction of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectionSummary {
    /// Which way.
    pub direction: Direction,
    /// Asked media rate; none when unpaced.
    pub asked: Option<BitRate>,
    /// Media rate at the receiver, from the first packet to the last.
    pub rate: BitRate,
    /// Packets sent.
    pub sent: u64,
    /// Packets received in time.
    pub received: u64,
    /// Packets lost after reordering.
    pub lost: u64,
    /// Lost share of the sent, 0 to 1.
    pub loss: f64,
    /// Bounds of the loss, 95 % (Clopper-Pearson).
    pub loss_interval: (f64, f64),
    /// Where the packets that never came were lost; those that came too late are not among them.
    pub attribution: Attribution,
    /// UDP payload bytes of each packet.
    pub length: u32,
    /// Flows.
    pub flows: u16,
    /// Packets sent back to back.
    pub burst: u32,
    /// Trains were cut by the kernel or card on send (GSO).
    pub segmented: bool,
    /// How late bursts left the sender.
    pub schedule_error: Quantiles,
    /// CPU time of the sending thread, nanoseconds.
    pub sender_cpu_ns: u64,
    /// Time over which it was used, nanoseconds.
    pub sender_wall_ns: u64,
    /// Packets that the sender's kernel had no room for.
    pub refused: u64,
    /// The byte limit ended the test.
    pub hit_byte_limit: bool,
    /// The receiver's whole account.
    #[serde(flatten)]
    pub receiver: ReceiverFields,
}

/// The receiver's account without the fields that [`DirectionSummary`] has itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReceiverFields {
    /// Of the lost ones, those that came after all.
    pub late: u64,
    /// Copies of packets received before.
    pub duplicates: u64,
    /// Arrivals below the highest sequence before.
    pub reordered: u64,
    /// Datagrams that were not of this test.
    pub rejected: u64,
    /// Runs of lost packets.
    pub bursts: u64,
    /// The longest.
    pub longest_burst: u64,
    /// How many runs of each length.
    pub burst_lengths: std::collections::BTreeMap<u64, u64>,
    /// Windows of 100 ms with loss, by the number of flows that lost in them.
    pub windows_by_flows_losing: std::collections::BTreeMap<u32, u64>,
    /// Times that all flows were silent at once.
    pub stream_silences: u64,
    /// The longest of them, nanoseconds.
    pub longest_stream_silence_ns: u64,
    /// One-way delay, an estimate.
    pub owd: Quantiles,
    /// Each flow.
    pub per_flow: Vec<super::FlowReport>,
    /// Burst records that were counted but not kept one by one.
    pub events_merged: u64,
    /// The kernel merged datagrams on receive (GRO).
    pub merged_receive: bool,
    /// Datagrams in one receive buffer, on average.
    pub packets_per_buffer: f64,
    /// Receive buffer granted per flow, bytes as the kernel counts.
    pub receive_buffer: u64,
    /// CPU time of the receiving thread, nanoseconds.
    pub receiver_cpu_ns: u64,
    /// Time over which it was used, nanoseconds.
    pub receiver_wall_ns: u64,
    /// Why the receiver ended the test itself, if it did.
    pub aborted: Option<String>,
}

/// What a multi-flow test found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowsSummary {
    /// From here to the agent.
    pub forward: Option<DirectionSummary>,
    /// From the agent to here.
    pub reverse: Option<DirectionSummary>,
    /// Offset of the clocks, by which one-way delays were corrected.
    pub clock: Option<ClockEstimate>,
}

/// Runs a multi-flow test. `max_bytes` is a hard stop for what is sent, both directions together.
///
/// # Errors
/// When the plan or the agent refuses, the agent is lost, or packets do not fit. Records taken until then have
/// gone to `sink`.
pub fn run(
    session: &mut Session,
    plan: &FlowsPlan,
    max_bytes: u64,
    sink: &dyn Sink,
    stop: &Stop,
) -> Result<FlowsSummary, MeasureError> {
    plan.check()?;
    session
        .limits
        .check(plan.rate(), plan.duration_ns, plan.length, plan.flows)?;
    crate::path_mtu::check_fits(session.address().ip(), plan.length)?;
    Test::prepare(session, plan, max_bytes, sink, stop)?.run()
}

struct Test<'a> {
    session: &'a mut Session,
    plan: FlowsPlan,
    max_bytes: u64,
    sink: &'a dyn Sink,
    clock: ClockWatch,
    clock_at_start: ClockEstimate,
    ready: Ready,
    local_drops: HostDrops,
    remote_drops: HostDrops,
    progress: Progress,
    started: Instant,
    stop: Stop,
}

/// A sending thread and its report.
pub(crate) type SenderThread = JoinHandle<Result<SenderReport, MeasureError>>;

impl<'a> Test<'a> {
    fn prepare(
        session: &'a mut Session,
        plan: &FlowsPlan,
        max_bytes: u64,
        sink: &'a dyn Sink,
        stop: &Stop,
    ) -> Result<Self, MeasureError> {
        // The clocks are compared after this, since the agent opens its reflector with it; the offset is taken off
        // when rows arrive.
        session.send(&ToAgent::Flows(FlowsRequest { plan: plan.clone() }))?;
        let ready = match session.receive(ANSWER_LIMIT)? {
            FromAgent::Ready(ready) => ready,
            other => return Err(session.unexpected("a ready test", &other)),
        };
        let socket = session.udp_socket(&probe_options())?;
        let reflector = session.agent_port(ready.clock_port.unwrap_or(0));
        socket.connect(reflector)?;
        let clock = ClockWatch::start(socket, session.id(), session.key())?;
        let Some(clock_at_start) = clock.estimate() else {
            return Err(MeasureError::Blocked {
                peer: reflector.to_string(),
                hint: "no clock probe was answered; does a firewall let the agent's UDP ports (--udp-ports there) pass?"
                    .into(),
            });
        };
        Ok(Test {
            session,
            plan: plan.clone(),
            max_bytes,
            sink,
            clock,
            clock_at_start,
            ready,
            local_drops: HostDrops::default(),
            remote_drops: HostDrops::default(),
            progress: Progress {
                total_ns: plan.duration_ns,
                ..Progress::default()
            },
            started: Instant::now(),
            stop: stop.child(),
        })
    }

    fn run(mut self) -> Result<FlowsSummary, MeasureError> {
        let stop = self.stop.clone();
        let (records, inbox) = channel();
        let interface = weir_net::host::HostFacts::read(Some(self.session.address().ip())).interface;
        let watch = HostWatch::start(Side::Local, interface, records.clone());
        let receiver = self
            .plan
            .ways
            .reverse()
            .then(|| self.start_receiver(&records))
            .transpose()?;
        self.session.send(&ToAgent::Go)?;
        let sender = self
            .plan
            .ways
            .forward()
            .then(|| self.start_sender(&records, &stop))
            .transpose()?;
        self.started = Instant::now();
        let mut agent_said = None;
        let threads = (sender.as_ref(), receiver.as_ref());
        let waited = self.wait(&inbox, threads, &mut agent_said, &stop);
        if waited.is_err() {
            stop.set();
        }
        let sent = sender.map(join).transpose();
        // Whatever went wrong, what the local receiver has counted is kept.
        let finished = waited
            .and(sent)
            .and_then(|sent| self.finish(&inbox, sent, receiver, agent_said));
        drop(watch);
        inbox.try_iter().flatten().for_each(|record| self.take(record));
        finished
    }

    fn start_receiver(&self, records: &Sender<Vec<Record>>) -> Result<Receiver, MeasureError> {
        let options = UdpOptions {
            receive_buffer: self.plan.receive_buffer as usize,
            merge_receive: self.plan.merge,
            receive_timestamps: true,
            ..UdpOptions::default()
        };
        let source = self.session.agent_port(self.ready.source_port.unwrap_or(0));
        let mut sockets = Vec::new();
        for _ in 0..self.plan.flows {
            let socket = self.session.udp_socket(&options)?;
            socket.connect(source)?;
            sockets.push(socket);
        }
        greet(&sockets, self.session.id(), &self.session.key(), source)?;
        let ports = sockets.iter().map(|socket| socket.local().port()).collect();
        let plan = ReceiverPlan {
            account: account_plan(&self.plan, Direction::Reverse, ports, self.clock_at_start),
            session: self.session.id(),
            key: self.session.key(),
            max_rate: BitRate(u64::MAX),
            max_length: self.plan.length,
        };
        // An interrupted test ends at the sender: what is on its way then is still received and counted.
        Receiver::start(plan, sockets, records.clone(), Stop::default())
    }

    fn start_sender(&self, records: &Sender<Vec<Record>>, stop: &Stop) -> Result<SenderThread, MeasureError> {
        let options = UdpOptions {
            send_buffer: 8 << 20,
            ..UdpOptions::default()
        };
        let socket = self.session.udp_socket(&options)?;
        let plan = SenderPlan {
            plan: self.plan.clone(),
            direction: Direction::Forward,
            destinations: self
                .ready
                .ports
                .iter()
                .map(|port| self.session.agent_port(*port))
                .collect(),
            session: self.session.id(),
            key: self.session.key(),
            ceiling: self.session.limits.max_rate,
            max_bytes: self.max_bytes,
        };
        spawn_sender(plan, socket, stop.clone(), records.clone())
    }

    /// Runs until the sender is done: the local one, or the agent, which then reports. A receiver that has broken
    /// off ends the test, too.
    fn wait(
        &mut self,
        inbox: &Inbox<Vec<Record>>,
        (sender, receiver): (Option<&SenderThread>, Option<&Receiver>),
        agent_said: &mut Option<FlowsReport>,
        stop: &Stop,
    ) -> Result<(), MeasureError> {
        let mut asked_to_stop = false;
        loop {
            if let Some(message) = self.session.receive_within(NAP)? {
                self.take_message(message, agent_said)?;
            }
            inbox.try_iter().flatten().for_each(|record| self.take(record));
            let local_done = sender.is_none_or(JoinHandle::is_finished);
            // The agent ends a test by itself only when its sender is done or its receiver was overrun.
            if agent_said.is_some() {
                return Ok(());
            }
            if sender.is_some() && local_done {
                return Ok(());
            }
            if receiver.is_some_and(Receiver::is_finished) {
                stop.set();
            }
            if stop.is_set() && sender.is_none() && !asked_to_stop {
                self.session.send(&ToAgent::Stop(Stopped {
                    early: true,
                    ..Stopped::default()
                }))?;
                asked_to_stop = true;
            }
        }
    }

    fn take_message(
        &mut self,
        message: FromAgent,
        agent_said: &mut Option<FlowsReport>,
    ) -> Result<(), MeasureError> {
        match message {
            FromAgent::Records(records) => records.into_iter().for_each(|record| self.take(record)),
            FromAgent::Flows(report) => *agent_said = Some(*report),
            other => return Err(self.session.unexpected("records", &other)),
        }
        Ok(())
    }

    /// Corrects a record by the clock offset, notes what the summary needs, and hands it on.
    fn take(&mut self, mut record: Record) {
        let offset = self.clock.estimate().unwrap_or(self.clock_at_start).offset_ns;
        match &mut record {
            Record::StreamSecond(direction, row) => {
                self.progress.elapsed_ns = self.started.elapsed().as_nanos() as u64;
                self.progress.expected += row.received + row.lost;
                self.progress.lost += row.lost;
                self.progress.rate = BitRate::of(row.bytes, row.duration_ns).0;
                self.sink.progress(self.progress);
                row.owd.shift(self.correction(*direction, offset));
            }
            Record::FlowSecond(direction, row) => row.owd.shift(self.correction(*direction, offset)),
            Record::HostSecond(row) if row.side == Side::Local => self.local_drops.add(row),
            Record::HostSecond(row) => self.remote_drops.add(row),
            _ => {}
        }
        self.sink.record(record);
    }

    /// What to add to a delay that was computed with the offset known to its receiver at the start.
    fn correction(&self, direction: Direction, offset: i64) -> i64 {
        match direction {
            Direction::Forward => -offset,
            Direction::Reverse => offset - self.clock_at_start.offset_ns,
        }
    }

    fn finish(
        &mut self,
        inbox: &Inbox<Vec<Record>>,
        sent: Option<SenderReport>,
        receiver: Option<Receiver>,
        mut agent_said: Option<FlowsReport>,
    ) -> Result<FlowsSummary, MeasureError> {
        if agent_said.is_none() {
            let mut stopped = Stopped {
                early: self.stop.is_set(),
                ..Stopped::default()
            };
            if let Some(report) = &sent {
                (stopped.sent, stopped.sent_per_flow) = (report.sent, report.sent_per_flow.clone());
            }
            self.session.send(&ToAgent::Stop(stopped))?;
        }
        while agent_said.is_none() {
            let message = self.session.receive(ANSWER_LIMIT)?;
            self.take_message(message, &mut agent_said)?;
            inbox.try_iter().flatten().for_each(|record| self.take(record));
        }
        let agent = agent_said.unwrap_or_default();
        let received = receiver
            .map(|receiver| {
                let told = agent
                    .sender
                    .as_ref()
                    .map(|report| (report.sent, report.sent_per_flow.clone()));
                let ceiling = self.session.limits.max_rate;
                receiver.finish(told.filter(|told| self.plan.can_have_sent(told, ceiling)))
            })
            .transpose()?;
        inbox.try_iter().flatten().for_each(|record| self.take(record));
        let clock = self.clock.estimate().unwrap_or(self.clock_at_start);
        let forward = sent
            .zip(agent.receiver)
            .map(|(sent, received)| self.summary(Direction::Forward, sent, received, clock));
        let reverse = agent
            .sender
            .zip(received)
            .map(|(sent, received)| self.summary(Direction::Reverse, sent, received, clock));
        Ok(FlowsSummary {
            forward,
            reverse,
            clock: Some(clock),
        })
    }

    fn summary(
        &self,
        direction: Direction,
        sender: SenderReport,
        mut receiver: ReceiverReport,
        clock: ClockEstimate,
    ) -> DirectionSummary {
        let (at_receiver, at_sender) = match direction {
            Direction::Forward => (self.remote_drops, self.local_drops),
            Direction::Reverse => (self.local_drops, self.remote_drops),
        };
        let correction = self.correction(direction, clock.offset_ns);
        receiver.owd.shift(correction);
        receiver
            .flows
            .iter_mut()
            .for_each(|flow| flow.owd.shift(correction));
        let socket_drops: u64 = receiver.flows.iter().map(|flow| flow.socket_drops).sum();
        let socket_drops = socket_drops.saturating_sub(at_receiver.damaged);
        // A train that the host drops is many packets, but one in the host's count.
        let train = if sender.segmented {
            sender.sent.div_ceil(sender.sends.max(1)).max(1)
        } else {
            1
        };
        let mut attribution = attribute_buffers(
            receiver.lost - receiver.late.min(receiver.lost),
            socket_drops,
            at_receiver.receive,
            at_sender.send * train + sender.refused,
            // A full buffer refuses whole trains, so the mean is rounded up.
            receiver.packets_per_buffer.ceil(),
        );
        attribution.estimated |= train > 1 && at_sender.send > 0;
        DirectionSummary {
            direction,
            asked: self.plan.rate(),
            rate: BitRate::of(receiver.bytes, receiver.active_ns),
            sent: sender.sent,
            received: receiver.received,
            lost: receiver.lost,
            loss: receiver.lost as f64 / sender.sent.max(1) as f64,
            loss_interval: loss_interval(receiver.lost.min(sender.sent), sender.sent),
            attribution,
            length: self.plan.length,
            flows: self.plan.flows,
            burst: self.plan.burst_packets(),
            segmented: sender.segmented,
            schedule_error: sender.schedule_error,
            sender_cpu_ns: sender.cpu_ns,
            sender_wall_ns: sender.wall_ns,
            refused: sender.refused,
            hit_byte_limit: sender.hit_byte_limit,
            receiver: receiver.into(),
        }
    }
}

impl From<ReceiverReport> for ReceiverFields {
    fn from(report: ReceiverReport) -> Self {
        ReceiverFields {
            late: report.late,
            duplicates: report.duplicates,
            reordered: report.reordered,
            rejected: report.rejected,
            bursts: report.bursts,
            longest_burst: report.longest_burst,
            burst_lengths: report.burst_lengths,
            windows_by_flows_losing: report.windows_by_flows_losing,
            stream_silences: report.stream_silences,
            longest_stream_silence_ns: report.longest_stream_silence_ns,
            owd: report.owd,
            per_flow: report.flows,
            events_merged: report.events_merged,
            merged_receive: report.merged_receive,
            packets_per_buffer: report.packets_per_buffer,
            receive_buffer: report.receive_buffer,
            receiver_cpu_ns: report.cpu_ns,
            receiver_wall_ns: report.wall_ns,
            aborted: report.aborted,
        }
    }
}

/// What the receiver of `direction` has to know beforehand.
pub(crate) fn account_plan(
    plan: &FlowsPlan,
    direction: Direction,
    ports: Vec<u16>,
    clock: ClockEstimate,
) -> StreamAccountPlan {
    let packet_ns =
        BitRate(8_000_000_000).bytes_in(u64::from(plan.length)) * 8_000_000_000 / plan.format.rate().0.max(1);
    let gap_ns = packet_ns * u64::from(plan.flows);
    StreamAccountPlan {
        direction,
        ports,
        depth: plan.depth(),
        spread: Spread::new(plan.spread, plan.flows, plan.seed),
        first_sequence: plan.first_sequence,
        silence_ns: SILENCE_NS.max(SILENCE_GAPS * gap_ns),
        // Receiver's clock minus sender's: this end is the receiver of the reverse direction.
        clock_offset_ns: if direction == Direction::Reverse {
            -clock.offset_ns
        } else {
            0
        },
    }
}

/// Starts a sending thread.
pub(crate) fn spawn_sender(
    plan: SenderPlan,
    socket: UdpSocket,
    stop: Stop,
    records: Sender<Vec<Record>>,
) -> Result<SenderThread, MeasureError> {
    std::thread::Builder::new()
        .name("flows-send".into())
        .spawn(move || run_sender(&plan, &socket, &stop, &records))
        .map_err(|error| MeasureError::Internal(format!("cannot start a sending thread: {error}")))
}

/// Waits for a sending thread.
pub(crate) fn join(thread: SenderThread) -> Result<SenderReport, MeasureError> {
    thread
        .join()
        .unwrap_or_else(|_| Err(MeasureError::Internal("the sending thread broke off".into())))
}

/// Says hello from each flow's socket until the agent has answered all: it then knows where to send, and any
/// address translation in between is open.
fn greet(
    sockets: &[UdpSocket],
    session: SessionId,
    key: &UdpKey,
    agent: SocketAddr,
) -> Result<(), MeasureError> {
    const TRIES: u32 = 25;
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce)
        .map_err(|error| MeasureError::Internal(format!("no random numbers from the system: {error}")))?;
    let nonce = u64::from_le_bytes(nonce);
    let mut answered = vec![false; sockets.len()];
    for attempt in 0..TRIES {
        for (flow, socket) in sockets.iter().enumerate().filter(|(flow, _)| !answered[*flow]) {
            let hello = Hello {
                session,
                flow: FlowId(flow as u16),
                nonce,
                ..Hello::default()
            };
            let mut packet = [0; HELLO_LENGTH];
            hello.encode(key, &mut packet);
            // A hello that is lost or refused is said again.
            let _ = socket.send(&packet);
        }
        std::thread::sleep(Duration::from_millis(if attempt == 0 { 10 } else { 100 }));
        let mut buffer = [0; 256];
        for (flow, socket) in sockets.iter().enumerate() {
            while let Ok(Some((length, _, _))) = socket.receive(&mut buffer) {
                // An acknowledgement of an earlier test's hello does not count.
                answered[flow] |=
                    HelloAck::decode(key, session, &buffer[..length]).is_ok_and(|ack| ack.nonce == nonce);
            }
        }
        if answered.iter().all(|answered| *answered) {
            return Ok(());
        }
    }
    Err(MeasureError::Blocked {
        peer: agent.to_string(),
        hint: "the agent did not answer the hello of every flow; does a firewall let UDP replies back in?"
            .into(),
    })
}
