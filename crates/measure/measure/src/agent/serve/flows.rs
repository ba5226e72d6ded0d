//! The agent's half of a multi-flow test.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver as Inbox, Sender, channel};
use std::time::{Duration, Instant};

use weir_control::Greeted;
use weir_net::{UdpOptions, UdpSocket};
use weir_record::{Direction, Record, Side};

use super::{HAND_ON, NAP, Outcome, PATIENCE, Served, Serving, SessionEnd, not_begun};
use crate::clock_prober::ClockEstimate;
use crate::control::{FlowsReport, FromAgent, Ready, ToAgent};
use crate::flows::{
    FlowsRequest, Receiver, ReceiverPlan, SenderPlan, SenderThread, account_plan, join, sending_options,
    spawn_sender,
};
use crate::host_watch::HostWatch;
use crate::rtt::Reflector;
use crate::{MeasureError, Stop};

/// Sockets of a test that has not begun.
struct OpenFlows {
    receivers: Vec<UdpSocket>,
    source: Option<UdpSocket>,
    reflector: Reflector,
}

/// Threads of a test that runs.
struct RunningFlows {
    receiver: Option<Receiver>,
    sending: Option<SenderThread>,
    sender_stop: Stop,
    watch: HostWatch,
    records: Inbox<Vec<Record>>,
}

/// Why a test is over.
enum Ending {
    /// The client says so, with its counts where they can be true.
    Reported(Option<(u64, Vec<u64>)>),
    /// This end was the only sender and is done.
    Sent,
    /// The receiver has broken off; its report says why.
    Overrun,
    /// The client has not said anything of the end.
    Overdue,
}

impl Serving<'_> {
    pub(super) fn serve_flows(&mut self, request: &FlowsRequest) -> Served<Outcome> {
        let stop = self.shared.stop.child();
        let opened = match self.open_flows(request) {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error)),
        };
        let shared = self.shared;
        let _lent = match shared.threads.lend(request) {
            Ok(lent) => lent,
            Err(error) => return Ok(Err(error)),
        };
        let outcome = self.run_flows(request, opened, &stop);
        // Whatever ended the test, its threads end with it.
        stop.set();
        outcome
    }

    fn open_flows(&self, request: &FlowsRequest) -> Result<OpenFlows, MeasureError> {
        let plan = &request.plan;
        plan.check()?;
        let limits = &self.shared.limits;
        limits.check(plan.rate(), plan.duration_ns, plan.length, plan.flows)?;
        request.check_threads(limits)?;
        let receiving = UdpOptions {
            receive_buffer: plan.receive_buffer.min(64 << 20) as usize,
            merge_receive: plan.merge,
            receive_timestamps: true,
            ecn: plan.ecn,
            ..UdpOptions::default()
        };
        let mut receivers = Vec::new();
        if plan.ways.forward() {
            for _ in 0..plan.flows {
                receivers.push(self.socket(&receiving)?);
            }
        }
        let source = plan
            .ways
            .reverse()
            .then(|| self.socket(&sending_options(plan)))
            .transpose()?;
        Ok(OpenFlows {
            receivers,
            source,
            reflector: self.reflector(weir_wire::RTT_HEADER_LENGTH as u32)?,
        })
    }

    fn run_flows(&mut self, request: &FlowsRequest, opened: OpenFlows, stop: &Stop) -> Served<Outcome> {
        let OpenFlows {
            receivers,
            source,
            reflector,
        } = opened;
        self.say(&FromAgent::Ready(Ready {
            ports: receivers.iter().map(|socket| socket.local().port()).collect(),
            source_port: source.as_ref().map(|socket| socket.local().port()),
            clock_port: Some(reflector.port()),
        }))?;
        let mut destinations = Vec::new();
        let not_begun = match &source {
            Some(source) => self.await_hellos(source, request.plan.flows, &mut destinations)?,
            None => self.await_go(PATIENCE)?,
        };
        if let Some(outcome) = not_begun {
            return Ok(outcome);
        }
        let running = match self.start_flows(request, receivers, source.zip(Some(destinations)), stop) {
            Ok(running) => running,
            Err(error) => return Ok(Err(error)),
        };
        let ending = self.follow(request, &running)?;
        let (report, records) = finish(running, ending, stop);
        reflector.finish();
        self.say_records(records)?;
        // The threads of a test end with the agent, too. What they report then is not the whole test, though it looks so.
        if self.shared.stop.is_set() {
            return Err(SessionEnd::Stopped);
        }
        match report {
            Ok(report) => Ok(Ok(self.say(&FromAgent::Flows(Box::new(report)))?)),
            Err(error) => Ok(Err(error)),
        }
    }

    fn start_flows(
        &self,
        request: &FlowsRequest,
        receivers: Vec<UdpSocket>,
        sending: Option<(UdpSocket, Vec<SocketAddr>)>,
        stop: &Stop,
    ) -> Result<RunningFlows, MeasureError> {
        let (sender, records) = channel();
        let watch = HostWatch::start(Side::Remote, self.interface.clone(), sender.clone())?;
        let receiver = if receivers.is_empty() {
            None
        } else {
            Some(self.start_receiver(request, receivers, sender.clone(), stop)?)
        };
        let sender_stop = stop.child();
        let sending = sending.map(|(socket, destinations)| {
            let plan = SenderPlan {
                plan: request.plan.clone(),
                direction: Direction::Reverse,
                destinations,
                session: self.established.session,
                key: self.established.keys.udp,
                ceiling: self.shared.limits.max_rate,
                max_bytes: request.max_bytes,
                threads: request.threads,
            };
            spawn_sender(plan, vec![socket], sender_stop.clone(), sender)
        });
        Ok(RunningFlows {
            receiver,
            sending: sending.transpose()?,
            sender_stop,
            watch,
            records,
        })
    }

    fn start_receiver(
        &self,
        request: &FlowsRequest,
        receivers: Vec<UdpSocket>,
        records: Sender<Vec<Record>>,
        stop: &Stop,
    ) -> Result<Receiver, MeasureError> {
        let ports = receivers.iter().map(|socket| socket.local().port()).collect();
        let plan = ReceiverPlan {
            account: account_plan(&request.plan, Direction::Forward, ports, ClockEstimate::default()),
            session: self.established.session,
            key: self.established.keys.udp,
            max_rate: self.shared.limits.max_rate,
            max_length: request.plan.length,
            threads: request.threads,
        };
        Receiver::start(plan, receivers, records, stop.clone())
    }

    /// Hands on records until the test is over.
    fn follow(&mut self, request: &FlowsRequest, running: &RunningFlows) -> Served<Ending> {
        let deadline = Instant::now() + Duration::from_nanos(request.plan.duration_ns) + PATIENCE;
        let mut handed_on = Instant::now();
        loop {
            let message = self.next(NAP)?;
            if handed_on.elapsed() >= HAND_ON {
                handed_on = Instant::now();
                self.say_records(running.records.try_iter().flatten().collect())?;
            }
            match message {
                Some(ToAgent::Stop(stopped)) => {
                    if stopped.early {
                        running.sender_stop.set();
                    }
                    self.await_sender(running, deadline)?;
                    let told = (stopped.sent, stopped.sent_per_flow);
                    let ceiling = self.shared.limits.max_rate;
                    return Ok(Ending::Reported(
                        Some(told).filter(|told| request.plan.can_have_sent(told, ceiling)),
                    ));
                }
                _ if running.receiver.is_none() && running.has_sent() => return Ok(Ending::Sent),
                _ if running.receiver.as_ref().is_some_and(Receiver::is_finished) => {
                    return Ok(Ending::Overrun);
                }
                _ if Instant::now() > deadline => return Ok(Ending::Overdue),
                _ => {}
            }
        }
    }

    /// In a test both ways the client may be done a little before the agent's sender is.
    fn await_sender(&self, running: &RunningFlows, deadline: Instant) -> Served<()> {
        while running.sending.is_some() && !running.has_sent() && Instant::now() < deadline {
            self.next(NAP)?;
            self.say_records(running.records.try_iter().flatten().collect())?;
        }
        Ok(())
    }

    /// Learns where each flow of the reverse direction is to go, from authentic hellos of the client's host, until
    /// the client says that it is ready: an acknowledgement that is lost is asked for again. None when the test can
    /// begin.
    fn await_hellos(
        &self,
        socket: &UdpSocket,
        flows: u16,
        destinations: &mut Vec<SocketAddr>,
    ) -> Served<Option<Outcome>> {
        let keys = &self.established.keys;
        let mut greeted = Greeted::new(self.established.session, keys.udp, self.client, flows);
        let deadline = Instant::now() + PATIENCE;
        loop {
            greeted.answer(socket);
            match self.next(Duration::from_millis(2))? {
                Some(ToAgent::Go) => break,
                Some(ToAgent::Stop(_)) => return Ok(Some(Ok(()))),
                _ if Instant::now() > deadline => return Ok(Some(Err(not_begun(PATIENCE)))),
                _ => {}
            }
        }
        // A hello may still be in the socket when the word to begin is here.
        greeted.answer(socket);
        let Some(known) = greeted.destinations() else {
            return Ok(Some(Err(MeasureError::FarEnd(
                "the hello of a flow did not come".into(),
            ))));
        };
        destinations.extend(known);
        Ok(None)
    }
}

impl RunningFlows {
    fn has_sent(&self) -> bool {
        self.sending
            .as_ref()
            .is_some_and(std::thread::JoinHandle::is_finished)
    }
}

/// Ends a test's threads and gives both halves of the agent's account.
fn finish(
    running: RunningFlows,
    ending: Ending,
    stop: &Stop,
) -> (Result<FlowsReport, MeasureError>, Vec<Record>) {
    if matches!(ending, Ending::Overrun | Ending::Overdue) {
        running.sender_stop.set();
    }
    let overdue = matches!(ending, Ending::Overdue);
    let told = match ending {
        Ending::Reported(told) => told,
        Ending::Sent | Ending::Overrun | Ending::Overdue => None,
    };
    let sender = running.sending.map(join).transpose();
    let receiver = running.receiver.map(|receiver| receiver.finish(told)).transpose();
    stop.set();
    // The watch leaves its last, shorter sample behind when it ends.
    drop(running.watch);
    let records = running.records.try_iter().flatten().collect();
    let report = sender.and_then(|sender| {
        let mut receiver = receiver?;
        if let Some(report) = receiver.as_mut().filter(|_| overdue) {
            report
                .aborted
                .get_or_insert_with(|| "nothing was heard of the end of the stream".into());
        }
        Ok(FlowsReport { receiver, sender })
    });
    (report, records)
}
