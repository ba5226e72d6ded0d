//! Runs a multi-flow test from this end, in either direction or both, and joins both ends' accounts.

use std::net::IpAddr;
use std::sync::mpsc::{Receiver as Inbox, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use weir_control::greet;
use weir_net::{UdpOptions, UdpSocket};
use weir_record::{Direction, Record, Side};
use weir_units::Rate;

use super::request::{FlowsPlan, VariedPort};
use super::{
    BothEnds, FlowEnds, FlowsRequest, FlowsSummary, Receiver, ReceiverPlan, SenderPlan, SenderReport,
    account_plan, run_sender, sending_options,
};
use crate::clock_prober::ClockEstimate;
use crate::clock_watch::{ClockWatch, probe_options};
use crate::control::{FlowsReport, FromAgent, READY_LIMIT, Ready, Stopped, ToAgent};
use crate::host_watch::HostWatch;
use crate::{MeasureError, Progress, Session, Sink, Stop};

const ANSWER_LIMIT: Duration = Duration::from_secs(20);
const NAP: Duration = Duration::from_millis(50);

/// Runs a multi-flow test. `max_bytes` of UDP payload, or fewer if the plan says so, is a hard stop for what is sent,
/// both directions together: each sender gets its share. A test that an end gave up ([`FlowsSummary::aborted`]) gives what was found until then.
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
    /// What each sender may send.
    max_bytes: u64,
    /// Packet threads at each end, in each direction.
    threads: u16,
    sink: &'a dyn Sink,
    clock: ClockWatch,
    clock_at_start: ClockEstimate,
    ready: Ready,
    /// Address of the flows here, and source ports of those that leave.
    local: IpAddr,
    forward_sources: Vec<u16>,
    both_ends: BothEnds,
    progress: Progress,
    started: Instant,
    stop: Stop,
}

/// The thread that a sender's own threads report to, and its report.
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
        let max_bytes = plan.ways.share(max_bytes.min(plan.max_bytes.unwrap_or(u64::MAX)));
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        let cores = cores.min(session.remote_host.cores);
        let request = FlowsRequest {
            plan: plan.clone(),
            max_bytes,
            threads: plan.threads_on(cores, &session.limits),
        };
        let threads = request.threads;
        session.limits.check_threads(threads)?;
        session.send(&ToAgent::Flows(request))?;
        let ready = match session.receive(READY_LIMIT)? {
            FromAgent::Ready(ready) => ready,
            other => return Err(session.unexpected("a ready test", &other)),
        };
        let socket = session.udp_socket(&probe_options())?;
        let local = socket.local().ip();
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
            threads,
            sink,
            clock,
            clock_at_start,
            ready,
            local,
            forward_sources: Vec::new(),
            both_ends: BothEnds::new(plan.clone(), clock_at_start),
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
        let interface = weir_net::host::interface_towards(self.session.address().ip());
        let watch = HostWatch::start(Side::Local, interface, records.clone())?;
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
        let (sender, sources) = sender.unzip();
        self.forward_sources = sources.unwrap_or_default();
        self.started = Instant::now();
        let mut agent_said = None;
        let threads = (sender.as_ref(), receiver.as_ref());
        let waited = self.wait(&inbox, threads, &mut agent_said, &stop);
        // An agent that has ended the test, or is gone, takes no more packets.
        if waited.is_err() || agent_said.is_some() {
            stop.set();
        }
        let sent = sender.map(join).transpose();
        // Whatever went wrong, what the local receiver has counted is kept.
        let finished = waited
            .and(sent)
            .and_then(|sent| self.finish(&inbox, sent, (receiver, watch), agent_said));
        inbox.try_iter().flatten().for_each(|record| self.take(record));
        finished
    }

    fn start_receiver(&self, records: &Sender<Vec<Record>>) -> Result<Receiver, MeasureError> {
        let options = UdpOptions {
            receive_buffer: self.plan.receive_buffer as usize,
            merge_receive: self.plan.merge,
            receive_timestamps: true,
            ecn: self.plan.ecn,
            ..UdpOptions::default()
        };
        let source = self.session.agent_port(self.ready.source_port.unwrap_or(0));
        let mut sockets = Vec::new();
        for _ in 0..self.plan.flows {
            let socket = self.session.udp_socket(&options)?;
            socket.connect(source)?;
            sockets.push(socket);
        }
        if !greet(&sockets, self.session.id(), &self.session.key())? {
            return Err(MeasureError::Blocked {
                peer: source.to_string(),
                hint: "the agent did not answer the hello of every flow; does a firewall let UDP replies back in?"
                    .into(),
            });
        }
        let ports = sockets.iter().map(|socket| socket.local().port()).collect();
        let plan = ReceiverPlan {
            account: account_plan(&self.plan, Direction::Reverse, ports, self.clock_at_start),
            session: self.session.id(),
            key: self.session.key(),
            max_rate: Rate(u64::MAX),
            max_length: self.plan.length,
            threads: self.threads,
        };
        // An interrupted test ends at the sender: what is on its way then is still received and counted.
        Receiver::start(plan, sockets, records.clone(), Stop::default())
    }

    /// The thread, and the source ports.
    fn start_sender(
        &self,
        records: &Sender<Vec<Record>>,
        stop: &Stop,
    ) -> Result<(SenderThread, Vec<u16>), MeasureError> {
        let options = sending_options(&self.plan);
        let (sources, destinations) = match self.plan.varied {
            VariedPort::Destination => (1, self.ready.ports.as_slice()),
            VariedPort::Source => (self.plan.flows, self.ready.ports.get(..1).unwrap_or_default()),
        };
        let sockets = (0..sources).map(|_| self.session.udp_socket(&options));
        let sockets: Vec<UdpSocket> = sockets.collect::<Result<_, _>>()?;
        let plan = SenderPlan {
            plan: self.plan.clone(),
            direction: Direction::Forward,
            destinations: destinations
                .iter()
                .map(|port| self.session.agent_port(*port))
                .collect(),
            session: self.session.id(),
            key: self.session.key(),
            ceiling: self.session.limits.max_rate,
            max_bytes: self.max_bytes,
            threads: self.threads,
        };
        let ports = sockets.iter().map(|socket| socket.local().port()).collect();
        let thread = spawn_sender(plan, sockets, stop.clone(), records.clone())?;
        Ok((thread, ports))
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
        if let Record::StreamSecond(_, row) = &record {
            self.progress.elapsed_ns = self.started.elapsed().as_nanos() as u64;
            self.progress.expected += row.received + row.lost;
            self.progress.lost += row.lost;
            self.progress.rate = Rate::of(row.bytes, row.duration_ns).0;
            self.sink.progress(self.progress);
        }
        let clock = self.clock.estimate().unwrap_or(self.clock_at_start);
        self.both_ends.correct(&mut record, clock);
        self.sink.record(record);
    }

    fn finish(
        &mut self,
        inbox: &Inbox<Vec<Record>>,
        sent: Option<SenderReport>,
        (receiver, watch): (Option<Receiver>, HostWatch),
        mut agent_said: Option<FlowsReport>,
    ) -> Result<FlowsSummary, MeasureError> {
        if agent_said.is_none() {
            let mut stopped = Stopped {
                early: self.stop.is_set(),
                ..Stopped::default()
            };
            if let Some(report) = &sent {
                (stopped.sent, stopped.sent_per_flow) = (report.counts.sent, report.sent_per_flow.clone());
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
                    .map(|report| (report.counts.sent, report.sent_per_flow.clone()));
                let ceiling = self.session.limits.max_rate;
                receiver.finish(told.filter(|told| self.plan.can_have_sent(told, ceiling)))
            })
            .transpose()?;
        // The watch leaves its last, shorter sample behind when it ends; the summary needs it.
        drop(watch);
        inbox.try_iter().flatten().for_each(|record| self.take(record));
        let clock = self.clock.estimate().unwrap_or(self.clock_at_start);
        let forward = sent
            .zip(agent.receiver)
            .map(|(sent, received)| self.both_ends.summary(Direction::Forward, sent, received, clock));
        let reverse = agent
            .sender
            .zip(received)
            .map(|(sent, received)| self.both_ends.summary(Direction::Reverse, sent, received, clock));
        Ok(FlowsSummary {
            forward,
            reverse,
            clock: Some(clock),
            ends: Some(FlowEnds {
                local: self.local,
                remote: self.session.address().ip(),
                forward_sources: std::mem::take(&mut self.forward_sources),
                reverse_source: self.ready.source_port,
            }),
        })
    }
}

/// Starts a sender on one socket, or on one for each flow.
pub(crate) fn spawn_sender(
    plan: SenderPlan,
    sockets: Vec<UdpSocket>,
    stop: Stop,
    records: Sender<Vec<Record>>,
) -> Result<SenderThread, MeasureError> {
    std::thread::Builder::new()
        .name("flows-send".into())
        .spawn(move || run_sender(&plan, &sockets, &stop, &records))
        .map_err(|error| MeasureError::Internal(format!("cannot start a sending thread: {error}")))
}

/// Waits for a sending thread.
pub(crate) fn join(thread: SenderThread) -> Result<SenderReport, MeasureError> {
    thread
        .join()
        .unwrap_or_else(|_| Err(MeasureError::Internal("the sending thread broke off".into())))
}
